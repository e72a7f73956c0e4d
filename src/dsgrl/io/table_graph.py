"""A graph as tables give it, and how it becomes arrays.

Every source (tables, NetworkX, GraphML, a folder) becomes a `TableGraph` first: edges
as row numbers, and columns that are no features yet. Then the columns become features
by a plan, and the graph one of `GraphArrays`, `HeteroArrays` and `FlatArrays`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dsgrl.io.arrays import FeatureTable, FlatArrays, GraphArrays, HeteroArrays
from dsgrl.io.choices import Choices, Notes
from dsgrl.io.columns import infer_columns
from dsgrl.io.grouping import DEFAULT_TYPE, Groups, split_graphs, split_types
from dsgrl.io.node_table import Plans, number_labels
from dsgrl.typing import FloatArray, InputError, IntArray

Arrays = GraphArrays | HeteroArrays | FlatArrays


class NamedTable(NamedTuple):
    """A table and its name, for messages."""

    name: str
    table: pa.Table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TableGraph:
    """A graph whose nodes are numbered and whose columns are no features yet.

    Attributes:
        name: of the edges, for messages.
        ids: id of every node [N].
        edges: source and target of every edge, as row numbers [2, E].
        weight: weight of every edge [E].
        relations: relation of every edge.
        kinds: type of every node.
        graphs: graph of every node.
        labels: label of every node as text, null if unknown [N].
        columns: by type (`DEFAULT_TYPE` if there are none), what may be features, a row
            per node of the type.
    """

    name: str
    ids: pa.Array
    edges: IntArray
    weight: FloatArray | None = None
    relations: Groups | None = None
    kinds: Groups | None = None
    graphs: Groups | None = None
    labels: pa.ChunkedArray | None = None
    columns: dict[str, NamedTable]


def as_arrays(
    graph: TableGraph, choices: Choices, notes: Notes, plans: Plans | None = None
) -> Arrays:
    """Make features of the columns, and split the graph by its types or graphs.

    Args:
        graph: the graph.
        choices: what the user chose.
        notes: takes what was left out or filled.
        plans: how a trained model makes features; None to infer it.

    Raises:
        InputError: if a column cannot be read, or types and graphs come together.
    """
    if graph.graphs is not None and (graph.kinds or graph.relations):
        raise InputError(
            f"{graph.name}: columns 'graph' and 'type' together, expected one of "
            f"them: many graphs, or one of several types"
        )
    tables = {
        kind: features
        for kind, found in graph.columns.items()
        if (features := _make_features(kind, found, choices, notes, plans)) is not None
    }
    y, label_names = (None, None)
    if graph.labels is not None:
        y, label_names = number_labels(graph.labels)
    is_typed = graph.kinds is not None or graph.relations is not None
    arrays = GraphArrays(
        edges=graph.edges,
        ids=graph.ids.to_pylist(),
        weight=graph.weight,
        features=None if is_typed else tables.get(DEFAULT_TYPE),
        y=y,
        label_names=label_names,
    )
    if graph.graphs is not None:
        return split_graphs(graph.name, arrays, graph.graphs)
    if is_typed:
        return split_types(arrays, tables, graph.kinds, graph.relations)
    return arrays


def _make_features(
    kind: str, found: NamedTable, choices: Choices, notes: Notes, plans: Plans | None
) -> FeatureTable | None:
    """Return the features of one type of nodes, if it has some."""
    name, table = found
    if plans is not None:
        plan = plans.get(kind)
    else:
        plan = infer_columns(table, choices, notes, name)
    return None if plan is None else plan.apply(table, notes, name)


def columns_by_type(name: str, table: pa.Table, kinds: Groups) -> dict[str, NamedTable]:
    """Return the columns of every type: those that any of its rows has filled."""
    found = {}
    for number, kind in enumerate(kinds.names):
        rows = np.flatnonzero(kinds.number == number)
        part = table.take(rows)
        filled = [c for c in part.column_names if part[c].null_count < len(rows)]
        found[str(kind)] = NamedTable(f"{name}, type '{kind}'", part.select(filled))
    return found


def stack_graphs(graphs: list[tuple[Any, TableGraph]]) -> TableGraph:
    """Put many graphs, each with its id, into one; ids of nodes may repeat.

    Raises:
        InputError: if a graph has types.
    """
    for name, graph in graphs:
        if graph.kinds is not None or graph.relations is not None:
            raise InputError(
                f"graph '{name}' has types of nodes or edges, expected none where "
                f"there are many graphs"
            )
    sizes = [len(graph.ids) for _, graph in graphs]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parts = [graph for _, graph in graphs]
    has_weights = any(part.weight is not None for part in parts)
    has_labels = any(part.labels is not None for part in parts)
    ids = [part.ids for part in parts]
    if len({each.type for each in ids}) > 1:
        ids = [each.cast(pa.string()) for each in ids]
    return TableGraph(
        name=parts[0].name,
        ids=pa.concat_arrays(ids),
        edges=np.concatenate(
            [part.edges + start for part, start in zip(parts, starts, strict=False)],
            axis=1,
        ),
        weight=np.concatenate([weights_of(part) for part in parts])
        if has_weights
        else None,
        graphs=Groups(
            [name for name, _ in graphs], np.repeat(np.arange(len(sizes)), sizes)
        ),
        labels=stack_text([part.labels for part in parts], sizes)
        if has_labels
        else None,
        columns=_stack_columns(parts),
    )


def weights_of(graph: Any) -> FloatArray:
    """Return the weights of edges, 1 where there are none [E]."""
    if graph.weight is not None:
        weight: FloatArray = graph.weight
        return weight
    count = graph.edges.shape[1] if isinstance(graph, TableGraph) else len(graph)
    return np.ones(count, dtype=np.float32)


def stack_text(columns: list[Any], sizes: list[int]) -> pa.ChunkedArray:
    """Put columns of text below each other; a column that is not there is null."""
    return pa.chunked_array(
        [
            chunk
            for column, size in zip(columns, sizes, strict=True)
            for chunk in (
                [pa.nulls(size, pa.string())] if column is None else column.chunks
            )
        ],
        pa.string(),
    )


def _stack_columns(parts: list[TableGraph]) -> dict[str, NamedTable]:
    found = [part.columns.get(DEFAULT_TYPE) for part in parts]
    given = [each for each in found if each is not None]
    if not given or not any(each.table.num_columns for each in given):
        return {}
    names = dict.fromkeys(c for each in given for c in each.table.column_names)
    columns = {}
    for name in names:
        pieces = [
            each.table.column(name)
            if each is not None and name in each.table.column_names
            else pa.chunked_array([pa.nulls(len(part.ids))])
            for each, part in zip(found, parts, strict=True)
        ]
        columns[name] = stack_values(pieces)
    return {DEFAULT_TYPE: NamedTable(given[0].name, pa.table(columns))}


def stack_values(pieces: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Put columns below each other; those of different types become one, or text."""
    tables = [pa.table({"": piece}) for piece in pieces]
    try:
        return pa.concat_tables(tables, promote_options="permissive").column(0)
    except pa.ArrowException:
        text = [pa.table({"": piece.cast(pa.string())}) for piece in pieces]
        return pa.concat_tables(text).column(0)
