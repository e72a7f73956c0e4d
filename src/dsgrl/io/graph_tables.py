"""A graph in tables: one of edges and, optionally, one of nodes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.arrays import FeatureTable, FlatArrays, GraphArrays, HeteroArrays
from dsgrl.io.grouping import DEFAULT_TYPE, split_graphs, split_types
from dsgrl.io.tables import (
    flatten_lists,
    is_numeric,
    read_table,
    refuse_repeated_columns,
)
from dsgrl.typing import FloatArray, InputError, IntArray

RESERVED_COLUMNS = ("id", "type", "graph", "label")


def read_graph_tables(
    path: Path, nodes_path: Path | None = None
) -> GraphArrays | HeteroArrays | FlatArrays:
    """Read a graph from a table of edges and, optionally, one of nodes.

    Args:
        path: edges (csv, tsv, parquet), columns `source, target[, weight][, type]`.
        nodes_path: nodes, column `id`, optionally `label`, `type` or `graph`, and
            numeric features (or one list column `features`).

    Returns:
        One graph; one with types if a table has a column `type`; many if the table
        of nodes has a column `graph`.

    Raises:
        InputError: one line on what is wrong with the files.
    """
    edges = read_table(path)
    _require(path, edges, ("source", "target"))
    ends = [_ids(path, edges, column) for column in ("source", "target")]
    if ends[0].type != ends[1].type:
        ends = [end.cast(pa.string()) for end in ends]
    nodes = None if nodes_path is None else read_table(nodes_path)
    if nodes_path is None or nodes is None:
        chunks = [*ends[0].chunks, *ends[1].chunks]
        ids = pc.unique(pa.chunked_array(chunks, type=ends[0].type))
        ids = kept = ids.take(pc.sort_indices(ids))
    else:
        _require(nodes_path, nodes, ("id",))
        ids = kept = _ids(nodes_path, nodes, "id").combine_chunks()
        _refuse_duplicates(nodes_path, ids)
        if ids.type != ends[0].type:
            ids, ends = ids.cast(pa.string()), [e.cast(pa.string()) for e in ends]
    numbered = _number(path, ends, ids)
    weight = _weights(path, edges)
    if nodes_path is None or nodes is None:
        graph = GraphArrays(edges=numbered, ids=kept.to_pylist(), weight=weight)
        return _typed(path, graph, edges, {}, None)
    y, label_names = _labels(nodes_path, nodes)
    typed = "type" in nodes.column_names
    tables = _tables_by_type(nodes_path, nodes) if typed else {}
    graph = GraphArrays(
        edges=numbered,
        ids=kept.to_pylist(),
        weight=weight,
        features=None if typed else _features(nodes_path, nodes),
        y=y,
        label_names=label_names,
    )
    if "graph" in nodes.column_names:
        if typed or "type" in edges.column_names:
            raise InputError(
                f"{nodes_path}: columns 'graph' and 'type' together, expected one of "
                f"them: many graphs, or one of several types"
            )
        names = _ids(nodes_path, nodes, "graph").to_pylist()
        return split_graphs(path, graph, names)
    kinds = _text(nodes_path, nodes, "type") if typed else None
    return _typed(path, graph, edges, tables, kinds)


def _typed(
    path: Path,
    graph: GraphArrays,
    edges: pa.Table,
    tables: dict[str, FeatureTable],
    kinds: list[str] | None,
) -> GraphArrays | HeteroArrays:
    """Split a graph by its types, if nodes or edges have some."""
    if "type" not in edges.column_names:
        return graph if kinds is None else split_types(graph, tables, kinds, None)
    if kinds is None and graph.features is not None:
        tables = {DEFAULT_TYPE: graph.features}
    return split_types(graph, tables, kinds, _text(path, edges, "type"))


def _require(path: Path, table: pa.Table, columns: Sequence[str]) -> None:
    missing = [c for c in columns if c not in table.column_names]
    if missing:
        kind = "edges" if "source" in columns else "nodes"
        raise InputError(
            f"{path}: the table of {kind} has no column {', '.join(missing)}; it has "
            f"{', '.join(table.column_names[:8])}; expected {', '.join(columns)}"
        )
    refuse_repeated_columns(path, table)


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
            f"{path}: node id '{first['values']}' appears {first['counts']} times in "
            f"the table of nodes, expected each id once"
        )


def _number(path: Path, ends: list[pa.ChunkedArray], ids: pa.Array) -> IntArray:
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
    return np.stack(columns)


def _numbers(
    path: Path, table: pa.Table, column: str, rows: IntArray | None = None
) -> FloatArray:
    """Return a column of finite numbers; `rows` are their row numbers in the file."""
    values = table.column(column)
    if not is_numeric(values.type) and not pa.types.is_null(values.type):
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


def _text(path: Path, table: pa.Table, column: str) -> list[str]:
    """Return a column of names; every row must have one."""
    values = table.column(column).cast(pa.string())
    if values.null_count:
        row = int(np.asarray(values.is_null()).argmax())
        raise InputError(
            f"{path}: row {row + 1} has no {column}, expected one in every row"
        )
    names: list[str] = values.to_pylist()
    return names


def _weights(path: Path, edges: pa.Table) -> FloatArray | None:
    if "weight" not in edges.column_names:
        return None
    weight = _numbers(path, edges, "weight")
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise InputError(
            f"{path}: row {row + 1} has the negative weight {weight[row]:g}, "
            f"expected weights >= 0"
        )
    return weight


def _labels(path: Path, nodes: pa.Table) -> tuple[IntArray | None, list[str] | None]:
    """Return the label of every node [N], -1 if it has none, and the labels' names."""
    if "label" not in nodes.column_names:
        return None, None
    if pa.types.is_nested(nodes.schema.field("label").type):
        raise InputError(f"{path}: column 'label' holds lists, expected one label")
    encoded = nodes.column("label").cast(pa.string()).combine_chunks()
    encoded = encoded.dictionary_encode()
    order = np.argsort([str(v) for v in encoded.dictionary.to_pylist()])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64)
    names = [str(encoded.dictionary[int(i)]) for i in order]
    return np.append(rank, -1)[codes], names


def _features(
    path: Path, nodes: pa.Table, rows: IntArray | None = None
) -> FeatureTable | None:
    names = [c for c in nodes.column_names if c not in RESERVED_COLUMNS]
    if names == ["features"] and pa.types.is_nested(
        nodes.schema.field("features").type
    ):
        lists = nodes.column("features").combine_chunks()
        flat, width = flatten_lists(path, "features", lists)
        values = _numbers(path, pa.table({"features": flat}), "features")
        return FeatureTable(values.reshape(len(lists), width))
    if not names:
        return None
    columns = [_numbers(path, nodes, name, rows) for name in names]
    return FeatureTable(np.stack(columns, axis=1), names)


def _tables_by_type(path: Path, nodes: pa.Table) -> dict[str, FeatureTable]:
    """Return the features of every type: the columns any of its rows has filled."""
    kinds = nodes.column("type").cast(pa.string())
    tables = {}
    for kind in pc.unique(kinds.drop_null()).to_pylist():
        rows = np.flatnonzero(np.asarray(pc.fill_null(pc.equal(kinds, kind), False)))
        table = nodes.take(rows)
        filled = [c for c in table.column_names if table[c].null_count < len(rows)]
        features = _features(path, table.select(filled), rows)
        if features is not None:
            tables[kind] = features
    return tables
