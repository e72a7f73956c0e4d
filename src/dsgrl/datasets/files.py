"""Tables on disk become a graph; ids come back unchanged."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from dsgrl.datasets.npz import read_npz
from dsgrl.datasets.table import DATASETS, load_dataset, suggest
from dsgrl.datasets.typed_tables import (
    DEFAULT_TYPE,
    split_graphs,
    split_types,
    text_column,
)
from dsgrl.io.tables import read_table
from dsgrl.typing import FloatArray, InputError, IntArray

RESERVED_COLUMNS = ("id", "type", "graph", "label")


def read_graph(
    source: str | Path,
    nodes: str | Path | None = None,
    *,
    directed: bool = False,
    data_folder: Path | None = None,
) -> Any:
    """Read a graph as PyG `Data`, a `HeteroData` or a list of `Data`.

    Args:
        source: a dataset's name; a table of edges (csv, tsv, parquet) with columns
            `source, target[, weight][, type]`; or an npz file.
        nodes: a table of nodes with column `id`, optionally `label`, `type` or
            `graph`, and numeric features (or one list column `features`).
        directed: keep the direction of the edges; by default they go both ways.
            Relations of a graph with types keep theirs, and are seen from both ends.
        data_folder: where datasets live.

    Returns:
        `Data` with `edge_index`, `ids` and, where given, `x`, `edge_weight`, `y`,
        `feature_names` and `label_names`. A `HeteroData` of the same if a table has a
        column `type`; a list of `Data`, each with an `id`, if the table of nodes has a
        column `graph`.

    Raises:
        InputError: one line on what is wrong with the files.
    """
    path, name = Path(source), str(source)
    is_name = not path.is_file() and (name.lower() in DATASETS or not path.suffix)
    if nodes is not None and (is_name or path.suffix == ".npz"):
        raise InputError(
            f"'{name}' has its own nodes: a table of nodes ({nodes}) goes with a table "
            f"of edges only"
        )
    if is_name and directed:
        raise InputError(
            f"'{name}': a dataset's edges are taken as they are: leave out directed"
        )
    if is_name:
        if name.lower() not in DATASETS:
            raise InputError(f"'{name}' is neither a file nor a dataset{suggest(name)}")
        return load_dataset(name, data_folder)
    if path.suffix == ".npz":
        data = read_npz(path)
    else:
        data = _from_tables(path, Path(nodes) if nodes else None)
    if directed or hasattr(data, "node_types"):
        return data
    if isinstance(data, list):
        return [_both_ways(graph) for graph in data]
    return _both_ways(data)


def _from_tables(path: Path, nodes_path: Path | None) -> Any:
    from torch_geometric.data import Data

    edges = read_table(path)
    _require(path, edges, ("source", "target"))
    ends = [_ids(path, edges, column) for column in ("source", "target")]
    if ends[0].type != ends[1].type:
        ends = [end.cast(pa.string()) for end in ends]
    if nodes_path is None:
        chunks = [*ends[0].chunks, *ends[1].chunks]
        ids = pc.unique(pa.chunked_array(chunks, type=ends[0].type))
        ids = kept = ids.take(pc.sort_indices(ids))
    else:
        nodes = read_table(nodes_path)
        _require(nodes_path, nodes, ("id",))
        ids = kept = _ids(nodes_path, nodes, "id").combine_chunks()
        _refuse_duplicates(nodes_path, ids)
        if ids.type != ends[0].type:
            ids, ends = ids.cast(pa.string()), [e.cast(pa.string()) for e in ends]
    data = Data(edge_index=_number(path, ends, ids), num_nodes=len(ids))
    data.ids = kept.to_pylist()
    if "weight" in edges.column_names:
        weight = _numbers(path, edges, "weight")
        if (weight < 0).any():
            row = int((weight < 0).argmax())
            raise InputError(
                f"{path}: row {row + 1} has the negative weight {weight[row]:g}, "
                f"expected weights >= 0"
            )
        data.edge_weight = torch.from_numpy(weight)
    if nodes_path is None:
        return _split(path, data, edges, None, None)
    _add_labels(nodes_path, data, nodes)
    if "type" in nodes.column_names:
        data.tables = _tables_by_type(nodes_path, nodes)
    else:
        _add_features(nodes_path, data, nodes)
    return _split(path, data, edges, nodes_path, nodes)


def _split(
    path: Path,
    data: Any,
    edges: pa.Table,
    nodes_path: Path | None,
    nodes: pa.Table | None,
) -> Any:
    """Turn a graph with types into a `HeteroData`, one of graphs into a list."""
    columns = [] if nodes is None else nodes.column_names
    typed = "type" in columns
    if "graph" in columns:
        if typed or "type" in edges.column_names:
            raise InputError(
                f"{nodes_path}: columns 'graph' and 'type' together, expected one of "
                f"them: many graphs, or one of several types"
            )
        assert nodes_path is not None
        return split_graphs(path, data, _ids(nodes_path, nodes, "graph").to_pylist())
    if not typed and "type" not in edges.column_names:
        return data
    kinds = relations = None
    if typed:
        assert nodes_path is not None
        kinds = text_column(nodes_path, nodes, "type")
    else:
        held = (data.x, getattr(data, "feature_names", None))
        data.tables = {} if data.x is None else {DEFAULT_TYPE: held}
    if "type" in edges.column_names:
        relations = text_column(path, edges, "type")
    return split_types(data, kinds, relations)


def _require(path: Path, table: pa.Table, columns: Sequence[str]) -> None:
    missing = [c for c in columns if c not in table.column_names]
    if missing:
        kind = "edges" if "source" in columns else "nodes"
        raise InputError(
            f"{path}: the table of {kind} has no column {', '.join(missing)}; it has "
            f"{', '.join(table.column_names[:8])}; expected {', '.join(columns)}"
        )
    repeated = [c for c in table.column_names if table.column_names.count(c) > 1]
    if repeated:
        raise InputError(
            f"{path}: column '{repeated[0]}' stands twice, expected each name once"
        )


def _ids(path: Path, table: pa.Table, column: str) -> pa.ChunkedArray:
    """Return a column of ids as int64 or string."""
    ids = table.column(column)
    if pa.types.is_nested(ids.type):
        raise InputError(f"{path}: column '{column}' holds {ids.type}, expected ids")
    if ids.null_count:
        row = int(np.asarray(ids.is_null()).argmax())
        raise InputError(f"{path}: row {row + 1} has no {column}, expected an id")
    kind = pa.int64() if pa.types.is_integer(ids.type) else pa.string()
    try:
        return ids.cast(kind)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: column '{column}' has no usable ids ({reason})"
        ) from error


def _refuse_duplicates(path: Path, ids: pa.Array) -> None:
    counts = pc.value_counts(ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated[0]
        raise InputError(
            f"{path}: node id '{first['values']}' stands {first['counts']} times in "
            f"the table of nodes, expected each id once"
        )


def _number(path: Path, ends: list[pa.ChunkedArray], ids: pa.Array) -> torch.Tensor:
    """Replace ids by row numbers [2, E]."""
    columns = []
    for end in ends:
        position = pc.index_in(end, value_set=ids)
        if position.null_count:
            row = int(np.asarray(position.is_null()).argmax())
            raise InputError(
                f"{path}: row {row + 1} names node '{end[row]}', which is not in the "
                f"table of nodes: add it there or drop the edge"
            )
        columns.append(np.asarray(position, dtype=np.int64))
    return torch.from_numpy(np.stack(columns))


def _numbers(
    path: Path, table: pa.Table, column: str, rows: IntArray | None = None
) -> FloatArray:
    """Return a column of finite numbers; `rows` says where they stand in the file."""
    values = table.column(column)
    if not (
        pa.types.is_integer(values.type)
        or pa.types.is_floating(values.type)
        or pa.types.is_boolean(values.type)
        or pa.types.is_null(values.type)
    ):
        raise InputError(
            f"{path}: column '{column}' holds {values.type} (e.g. "
            f"'{values[0] if len(values) else ''}'), expected numbers: encode it"
        )
    array = np.asarray(values.cast(pa.float32(), safe=False)).astype(np.float32)
    if not np.isfinite(array).all():
        row = int((~np.isfinite(array)).argmax())
        row = row if rows is None else int(rows[row])
        raise InputError(
            f"{path}: column '{column}', row {row + 1} is empty, NaN or infinite: "
            f"fill or drop it first"
        )
    return array


def _add_labels(path: Path, data: Any, nodes: pa.Table) -> None:
    if "label" not in nodes.column_names:
        return
    if pa.types.is_nested(nodes.schema.field("label").type):
        raise InputError(f"{path}: column 'label' holds lists, expected one label")
    encoded = nodes.column("label").cast(pa.string()).combine_chunks()
    encoded = encoded.dictionary_encode()
    order = np.argsort([str(v) for v in encoded.dictionary.to_pylist()])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64)
    data.y = torch.from_numpy(np.append(rank, -1)[codes])
    data.label_names = [str(encoded.dictionary[int(i)]) for i in order]


def _add_features(
    path: Path, data: Any, nodes: pa.Table, rows: IntArray | None = None
) -> None:
    names = [c for c in nodes.column_names if c not in RESERVED_COLUMNS]
    if names == ["features"] and pa.types.is_nested(
        nodes.schema.field("features").type
    ):
        data.x = _stack_lists(path, nodes.column("features").combine_chunks())
    elif names:
        columns = [_numbers(path, nodes, name, rows) for name in names]
        data.x = torch.from_numpy(np.stack(columns, axis=1))
        data.feature_names = names


def _tables_by_type(path: Path, nodes: pa.Table) -> dict[str, tuple[Any, Any]]:
    """Return the features of every type: the columns any of its rows has filled."""
    from torch_geometric.data import Data

    kinds = nodes.column("type").cast(pa.string())
    tables = {}
    for kind in pc.unique(kinds.drop_null()).to_pylist():
        rows = np.flatnonzero(np.asarray(pc.fill_null(pc.equal(kinds, kind), False)))
        held, table = Data(), nodes.take(rows)
        filled = [c for c in table.column_names if table[c].null_count < len(rows)]
        _add_features(path, held, table.select(filled), rows)
        if held.x is not None:
            tables[kind] = (held.x, getattr(held, "feature_names", None))
    return tables


def _stack_lists(path: Path, lists: pa.Array) -> torch.Tensor:
    """Turn lists of one length into a matrix."""
    try:
        widths = pc.unique(pc.list_value_length(lists)).to_pylist()
        if len(widths) > 1 or None in widths:
            raise InputError(
                f"{path}: the lists in column 'features' differ in length, expected "
                f"one length for all nodes"
            )
        table = pa.table({"features": pc.list_flatten(lists)})
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise InputError(
            f"{path}: column 'features' holds {lists.type}, expected lists of numbers"
        ) from error
    width = widths[0] if widths else 0
    values = _numbers(path, table, "features")
    return torch.from_numpy(values.reshape(len(lists), width))


def _both_ways(data: Any) -> Any:
    """Let every edge go both ways; parallel edges become one, weights are kept."""
    from torch_geometric.utils import to_undirected

    weight = getattr(data, "edge_weight", None)
    if weight is None:
        data.edge_index = to_undirected(data.edge_index, num_nodes=data.num_nodes)
    else:
        data.edge_index, data.edge_weight = to_undirected(
            data.edge_index, weight, num_nodes=data.num_nodes, reduce="max"
        )
    return data
