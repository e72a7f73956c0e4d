"""Ids in tables of edges as row numbers of tables of nodes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import Choices, Notes, count_of
from dsgrl.io.edge_table import EdgeTable, same_type
from dsgrl.io.node_table import NodeTable
from dsgrl.typing import InputError, IntArray

Numbers = list[IntArray]


def number_ends(
    edges: list[EdgeTable], nodes: list[NodeTable], choices: Choices, notes: Notes
) -> tuple[list[EdgeTable], list[NodeTable], Numbers]:
    """Replace ids by row numbers, counted through all tables of nodes.

    Edges to unknown nodes are an error, dropped, or their nodes added.

    Returns:
        The edges that are left, the nodes with those that were added, and source and
        target of every table's edges [2, E].
    """
    starts = np.concatenate([[0], np.cumsum([len(table) for table in nodes])])
    are_apart = len(nodes) > 1 and _are_apart(nodes)
    left, pairs = [], []
    for table in edges:
        numbers = [
            _number(table, column, ids, nodes, starts, are_apart)
            for column, ids in (
                (table.roles.source, table.source),
                (table.roles.target, table.target),
            )
        ]
        pair = np.stack(numbers)
        is_unknown = (pair < 0).any(axis=0)
        if is_unknown.any():
            if choices.unknown == "error":
                _refuse_unknown(table, nodes, pair)
            if choices.unknown == "add":
                nodes = _add_unknown(table, nodes, pair, notes)
                return number_ends(edges, nodes, choices, notes)
            count = int(is_unknown.sum())
            notes.change(
                f"{table.name}: dropped {count_of(count, 'edge')} to nodes that the "
                f"table of nodes lacks"
            )
            table, pair = table.select(~is_unknown), pair[:, ~is_unknown]
        left.append(table)
        pairs.append(pair)
    if len(edges) == 1:
        _note_header(edges[0], nodes, notes)
    return left, nodes, pairs


def _number(
    table: EdgeTable,
    column: str,
    ids: pa.ChunkedArray,
    nodes: list[NodeTable],
    starts: IntArray,
    are_apart: bool,
) -> IntArray:
    """Return the row numbers of one end of every edge, -1 where it is unknown [E]."""
    if len(nodes) == 1:
        return _positions(ids, nodes[0].ids)
    named = [i for i, each in enumerate(nodes) if is_named_after(column, each.stem)]
    if len(named) == 1:
        return _shift(_positions(ids, nodes[named[0]].ids), starts[named[0]])
    if are_apart:
        return _positions(ids, pa.concat_arrays(same_type([t.ids for t in nodes])))
    found = [_positions(ids, each.ids) for each in nodes]
    complete = [i for i, each in enumerate(found) if (each >= 0).all()]
    if len(complete) == 1:
        return _shift(found[complete[0]], starts[complete[0]])
    if complete:
        raise InputError(
            f"{table.name}: the ids of column '{column}' are in "
            f"{nodes[complete[0]].name} and in {nodes[complete[1]].name}: name the "
            f"column after its table of nodes, e.g. '{nodes[complete[0]].stem}'"
        )
    best = int(np.argmax([(each >= 0).sum() for each in found]))
    return _shift(found[best], starts[best])


def is_named_after(column: str, stem: str) -> bool:
    """Whether a column is named after a table: author, authors, author_id."""
    return bool(column) and _bare(column) == _bare(stem)


def _bare(name: str) -> str:
    name = name.strip().casefold()
    for prefix in ("nodes_", "nodes-", "node_", "node-"):
        name = name.removeprefix(prefix)
    for suffix in ("_id", "-id", " id"):
        name = name.removesuffix(suffix)
    return name.removesuffix("s")


def _positions(ids: pa.ChunkedArray, known: pa.Array) -> IntArray:
    """Return the row number of every id, -1 where it is unknown [E]."""
    if ids.type != known.type:
        ids, known = ids.cast(pa.string()), known.cast(pa.string())
    found = pc.fill_null(pc.index_in(ids, value_set=known), -1)
    return np.asarray(found, dtype=np.int64)


def _shift(numbers: IntArray, start: Any) -> IntArray:
    return np.where(numbers < 0, numbers, numbers + int(start))


def _are_apart(nodes: list[NodeTable]) -> bool:
    """Whether no id is in two tables of nodes."""
    ids = pa.concat_arrays(same_type([table.ids for table in nodes]))
    return bool(pc.count_distinct(ids).as_py() == len(ids))


def _refuse_unknown(table: EdgeTable, nodes: list[NodeTable], pair: IntArray) -> None:
    row = int((pair < 0).any(axis=0).argmax())
    end = table.source if pair[0, row] < 0 else table.target
    count = int((pair < 0).any(axis=0).sum())
    many = f" ({count:,} such edges)" if count > 1 else ""
    where = "the table of nodes" if len(nodes) == 1 else "the tables of nodes"
    known = nodes[0].roles.id
    which = "" if known == "id" else f", whose ids are in '{known}'"
    raise InputError(
        f"{table.name}: row {row + 1} names node '{end[row]}', which is not in {where}"
        f"{which}{many}: add it there, or choose --unknown add or --unknown drop"
    )


def _add_unknown(
    table: EdgeTable, nodes: list[NodeTable], pair: IntArray, notes: Notes
) -> list[NodeTable]:
    """Add the nodes that the edges of a table name to the one table of nodes."""
    only = nodes[0]
    if len(nodes) > 1 or only.types is not None or only.graphs is not None:
        raise InputError(
            f"{table.name}: --unknown add: the type or graph of a node that no table "
            f"of nodes has cannot be told: add it there, or choose --unknown drop"
        )
    ends, known = same_type([table.source, table.target, only.ids])[:2], only.ids
    unknown = [
        end.filter(pa.array(numbers < 0))
        for end, numbers in zip(ends, pair, strict=True)
    ]
    chunks = [chunk for end in unknown for chunk in end.chunks]
    new = pc.unique(pa.chunked_array(chunks, type=ends[0].type))
    known, new = same_type([known, new])
    empty = pa.table(
        {field.name: pa.nulls(len(new), field.type) for field in only.columns.schema}
    )
    labels = only.labels
    if labels is not None:
        labels = pa.chunked_array([*labels.chunks, pa.nulls(len(new), pa.string())])
    notes.change(
        f"{only.name}: added {count_of(len(new), 'node')} that only {table.name} "
        f"names; their features are filled in"
    )
    columns = only.columns
    if columns.num_columns:
        columns = pa.concat_tables([columns, empty])
    ids = pa.concat_arrays([known, new])
    return [replace(only, ids=ids, labels=labels, columns=columns)]


def _note_header(table: EdgeTable, nodes: list[NodeTable], notes: Notes) -> None:
    """Note a first row that looks like an edge and was taken for a header."""
    names = (table.roles.source, table.roles.target)
    if not table.roles.guessed or not pa.types.is_string(nodes[0].ids.type):
        return
    value_set = pa.array(names)
    if pc.sum(pc.is_in(nodes[0].ids, value_set=value_set)).as_py() == len(set(names)):
        notes.change(
            f"{table.name}: the first row ({', '.join(names)}) was taken for a header, "
            f"but it names two nodes: add a header if it is an edge"
        )
