"""Tables on disk become a graph; ids come back unchanged."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import scipy.sparse as sp
import torch

from dsgrl.graph.datasets import DATASETS, load_dataset, suggest
from dsgrl.typing import FloatArray, InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
RESERVED_COLUMNS = ("id", "type", "label")


def read_graph(
    source: str | Path,
    nodes: str | Path | None = None,
    *,
    directed: bool = False,
    data_folder: Path | None = None,
) -> Any:
    """Read a graph as PyG `Data`.

    Args:
        source: a dataset's name; a table of edges (csv, tsv, parquet) with columns
            `source, target[, weight]`; or an npz file.
        nodes: a table of nodes with column `id`, optionally `label`, and numeric
            features (or one list column `features`).
        directed: keep the direction of the edges; by default they go both ways.
        data_folder: where datasets live.

    Returns:
        `Data` with `edge_index`, `ids` and, where given, `x`, `edge_weight`, `y`,
        `feature_names` and `label_names`.

    Raises:
        InputError: one line on what is wrong with the files.
    """
    path = Path(source)
    name = str(source)
    if not path.exists() and (name.lower() in DATASETS or not path.suffix):
        if name.lower() not in DATASETS:
            raise InputError(f"'{name}' is neither a file nor a dataset{suggest(name)}")
        return load_dataset(name, data_folder)
    if path.suffix == ".npz":
        data = _read_npz(path)
    else:
        data = _from_tables(path, Path(nodes) if nodes else None)
    return data if directed else _both_ways(data)


def read_table(path: Path) -> pa.Table:
    """Read a csv, tsv or parquet file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of file '{path.suffix}', expected "
            f"{', '.join(TABLE_SUFFIXES)} (or .npz for a whole graph)"
        )
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        delimiter = "\t" if path.suffix == ".tsv" else ","
        options = pyarrow.csv.ParseOptions(delimiter=delimiter)
        return pyarrow.csv.read_csv(path, parse_options=options)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        hint = "is it UTF-8?" if "UTF8" in reason else "is it whole?"
        raise InputError(f"{path}: cannot be read ({reason}): {hint}") from error


def _from_tables(path: Path, nodes_path: Path | None) -> Any:
    from torch_geometric.data import Data

    edges = read_table(path)
    _require(path, edges, ("source", "target"))
    ends = [_ids(path, edges, column) for column in ("source", "target")]
    if ends[0].type != ends[1].type:
        ends = [end.cast(pa.string()) for end in ends]
    if nodes_path is None:
        ids = pc.unique(pa.chunked_array([*ends[0].chunks, *ends[1].chunks]))
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
    if nodes_path is not None:
        _add_node_columns(nodes_path, data, nodes)
    return data


def _require(path: Path, table: pa.Table, columns: Sequence[str]) -> None:
    missing = [c for c in columns if c not in table.column_names]
    if missing:
        kind = "edges" if "source" in columns else "nodes"
        raise InputError(
            f"{path}: the table of {kind} has no column {', '.join(missing)}; it has "
            f"{', '.join(table.column_names[:8])}; expected {', '.join(columns)}"
        )


def _ids(path: Path, table: pa.Table, column: str) -> pa.ChunkedArray:
    """Return a column of ids as int64 or string."""
    ids = table.column(column)
    if ids.null_count:
        row = int(np.asarray(ids.is_null()).argmax())
        raise InputError(f"{path}: row {row + 1} has no {column}, expected an id")
    kind = pa.int64() if pa.types.is_integer(ids.type) else pa.string()
    return ids.cast(kind)


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


def _numbers(path: Path, table: pa.Table, column: str) -> FloatArray:
    """Return a column of finite numbers."""
    values = table.column(column)
    if not (
        pa.types.is_integer(values.type)
        or pa.types.is_floating(values.type)
        or pa.types.is_boolean(values.type)
    ):
        raise InputError(
            f"{path}: column '{column}' holds {values.type} (e.g. "
            f"'{values[0] if len(values) else ''}'), expected numbers: encode it"
        )
    array = np.asarray(values.cast(pa.float32(), safe=False)).astype(np.float32)
    if not np.isfinite(array).all():
        row = int((~np.isfinite(array)).argmax())
        raise InputError(
            f"{path}: column '{column}', row {row + 1} is empty, NaN or infinite: "
            f"fill or drop it first"
        )
    return array


def _add_node_columns(path: Path, data: Any, nodes: pa.Table) -> None:
    if "label" in nodes.column_names:
        encoded = nodes.column("label").combine_chunks().dictionary_encode()
        order = np.argsort([str(v) for v in encoded.dictionary.to_pylist()])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        codes = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64)
        data.y = torch.from_numpy(np.where(codes < 0, -1, rank[codes]))
        data.label_names = [str(encoded.dictionary[int(i)]) for i in order]
    names = [c for c in nodes.column_names if c not in RESERVED_COLUMNS]
    if names == ["features"] and pa.types.is_nested(
        nodes.schema.field("features").type
    ):
        rows = nodes.column("features").to_pylist()
        widths = {len(row) if row is not None else -1 for row in rows}
        if len(widths) != 1:
            raise InputError(
                f"{path}: the lists in column 'features' differ in length, expected "
                f"one length for all nodes"
            )
        data.x = torch.tensor(rows, dtype=torch.float32)
    elif names:
        columns = [_numbers(path, nodes, name) for name in names]
        data.x = torch.from_numpy(np.stack(columns, axis=1))
        data.feature_names = names


def _read_npz(path: Path) -> Any:
    """Read `edge_index` (or CSR parts `adj_*`), `x` (or `attr_*`), `ids`, labels."""
    from torch_geometric.data import Data

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read ({reason}): is it whole?") from error
    data = Data()
    if "edge_index" in arrays:
        data.edge_index = torch.from_numpy(arrays["edge_index"].astype(np.int64))
    elif "adj_indptr" in arrays:
        matrix = _csr(arrays, "adj").tocoo()
        data.edge_index = torch.from_numpy(np.stack([matrix.row, matrix.col])).long()
        if not (matrix.data == 1).all():
            data.edge_weight = torch.from_numpy(matrix.data.astype(np.float32))
    else:
        raise InputError(
            f"{path}: has {', '.join(arrays)}; expected edge_index (or adj_data, "
            f"adj_indices, adj_indptr, adj_shape) and, if there are features, x"
        )
    if "edge_weight" in arrays:
        data.edge_weight = torch.from_numpy(arrays["edge_weight"].astype(np.float32))
    if "x" in arrays:
        data.x = torch.from_numpy(arrays["x"].astype(np.float32))
    elif "attr_indptr" in arrays:
        data.x = torch.from_numpy(_csr(arrays, "attr").toarray().astype(np.float32))
    labels = arrays.get("y", arrays.get("labels"))
    if labels is not None:
        data.y = torch.from_numpy(labels.astype(np.int64))
    nodes = data.x.size(0) if data.x is not None else _highest(data.edge_index) + 1
    data.num_nodes = max(nodes, len(arrays.get("ids", ())))
    data.ids = arrays["ids"].tolist() if "ids" in arrays else list(range(nodes))
    return data


def _csr(arrays: dict[str, npt.NDArray[Any]], prefix: str) -> sp.csr_matrix:
    parts = tuple(arrays[f"{prefix}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_matrix(parts, shape=arrays[f"{prefix}_shape"])


def _highest(edge_index: torch.Tensor) -> int:
    return int(edge_index.max()) if edge_index.numel() else -1


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
