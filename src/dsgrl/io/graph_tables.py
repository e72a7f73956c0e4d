"""Tables of edges and of nodes as one graph.

One table of each is the plain case. With several tables of edges or of nodes, each
table of edges is a relation and each table of nodes a type, called as its file. The
ends of a relation are found in the table that its column is named after (`author` or
`author_id`: authors.csv), else in the table that has all of its ids.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.edge_table import EdgeTable, read_edges, same_type
from dsgrl.io.grouping import DEFAULT_TYPE, Groups, number_groups
from dsgrl.io.node_table import NodeTable, Plans, read_nodes
from dsgrl.io.numbering import number_ends
from dsgrl.io.roles import NodeRoles
from dsgrl.io.table_graph import (
    NamedTable,
    TableGraph,
    columns_by_type,
    stack_text,
    weights_of,
)
from dsgrl.io.tables import OpenTable
from dsgrl.typing import InputError

# Rows of edges whose ids are used to find the column of ids.
SAMPLE = 1000
PREFIX = re.compile(r"^(nodes?|edges?)[-_ .]+", re.IGNORECASE)


def read_graph_tables(
    edges: Sequence[OpenTable],
    nodes: Sequence[OpenTable] = (),
    choices: Choices | None = None,
    notes: Notes | None = None,
    plans: Plans | None = None,
) -> TableGraph:
    """Read a graph from tables of edges and, optionally, of nodes.

    Args:
        edges: tables of edges, one at least.
        nodes: tables of nodes.
        choices: what the user chose.
        notes: takes what was assumed and changed.
        plans: features of a trained model.

    Raises:
        InputError: one line on what is wrong with the tables.
    """
    choices = Choices() if choices is None else choices
    notes = Notes() if notes is None else notes
    of_edges = {table.name: table.columns for table in edges}
    of_nodes = {table.name: table.columns for table in nodes}
    choices.check_edges(of_edges)
    choices.check_nodes(of_nodes)
    choices.check_types({**of_edges, **of_nodes})
    read = [read_edges(table, choices, notes) for table in edges]
    named = _some_ids(read) if nodes else None
    known = [read_nodes(table, choices, notes, plans, named) for table in nodes]
    return join_tables(read, known, choices, notes)


def _some_ids(edges: list[EdgeTable]) -> pa.Array:
    """Return some of the ids that the edges name."""
    ends = [end.slice(0, SAMPLE) for t in edges for end in (t.source, t.target)]
    chunks = [chunk for end in same_type(ends) for chunk in end.chunks]
    return pc.unique(pa.chunked_array(chunks, same_type(ends)[0].type))


def join_tables(
    edges: list[EdgeTable], nodes: list[NodeTable], choices: Choices, notes: Notes
) -> TableGraph:
    """Join tables that were read to one graph."""
    given = len(nodes)
    is_several = len(edges) > 1 or given > 1
    if not nodes:
        nodes = _nodes_of(edges)
    _refuse_same_names(nodes)
    edges, nodes, pairs = number_ends(edges, nodes, choices, notes)
    sizes = [len(table) for table in nodes]
    if any(table.graphs is not None for table in nodes) and len(nodes) > 1:
        raise InputError(
            f"{nodes[0].name}: column 'graph' and several tables of nodes, expected "
            f"one of them: many graphs, or one of several types"
        )
    kinds = _kinds_of(nodes) if len(nodes) > 1 else None
    if kinds is None and nodes[0].types is not None:
        kinds = number_groups(nodes[0].types)
    relations = _relations_of(edges) if is_several else None
    if relations is None and edges[0].types is not None:
        relations = number_groups(edges[0].types)
    has_weights = any(table.weight is not None for table in edges)
    has_labels = any(table.labels is not None for table in nodes)
    graphs = nodes[0].graphs
    return TableGraph(
        name=edges[0].name,
        ids=pa.concat_arrays(same_type([table.ids for table in nodes])),
        edges=np.concatenate(pairs, axis=1),
        weight=np.concatenate([weights_of(t) for t in edges]) if has_weights else None,
        relations=relations,
        kinds=kinds,
        graphs=None if graphs is None else number_groups(graphs),
        labels=stack_text([t.labels for t in nodes], sizes) if has_labels else None,
        columns=_columns_of(nodes, kinds) if given else {},
    )


def type_of(table: NodeTable) -> str:
    """Return the node type that a table is called after."""
    return PREFIX.sub("", table.stem) or table.stem


def _nodes_of(edges: list[EdgeTable]) -> list[NodeTable]:
    """Make tables of the ids that the edges name, sorted.

    With several tables of edges, a column whose name is no common one names a type.
    """
    named = len(edges) > 1 and any(table.roles.guessed for table in edges)
    ids: dict[str, list[Any]] = {}
    for table in edges:
        if named and not table.roles.guessed:
            continue
        ends = ((table.roles.source, table.source), (table.roles.target, table.target))
        for column, values in ends:
            ids.setdefault(column if named else DEFAULT_TYPE, []).append(values)
    return [_bare_nodes(kind, columns) for kind, columns in ids.items()]


def _bare_nodes(kind: str, columns: list[pa.ChunkedArray]) -> NodeTable:
    columns = same_type(columns)
    chunks = [chunk for column in columns for chunk in column.chunks]
    ids = pc.unique(pa.chunked_array(chunks, type=columns[0].type))
    ids = ids.take(pc.sort_indices(ids))
    roles = NodeRoles("id", None, None, None, [])
    name = f"the ids of '{kind}'"
    return NodeTable(name, kind, ids, None, None, None, pa.table({}), roles)


def _refuse_same_names(nodes: list[NodeTable]) -> None:
    kinds = [type_of(table) for table in nodes]
    repeated = [kind for kind in kinds if kinds.count(kind) > 1]
    if repeated:
        raise InputError(
            f"two tables of nodes are called '{repeated[0]}', expected a name for each "
            f"type: rename a file, or in Python give {{name: table}}"
        )


def _kinds_of(nodes: list[NodeTable]) -> Groups:
    """Return the type of every node: of its column of types, else of its table."""
    names: dict[str, int] = {}
    numbers = []
    for table in nodes:
        if table.types is None:
            found = Groups([type_of(table)], np.zeros(len(table), dtype=np.int64))
        else:
            found = number_groups(table.types)
        numbers.append(_common(names, found))
    return Groups(list(names), np.concatenate(numbers))


def _relations_of(edges: list[EdgeTable]) -> Groups:
    """Return the relation of every edge: of its column of types, else of its table."""
    names: dict[str, int] = {}
    numbers = []
    for table in edges:
        if table.types is None:
            name = PREFIX.sub("", table.stem) or table.stem
            found = Groups([name], np.zeros(len(table), dtype=np.int64))
        else:
            found = number_groups(table.types)
        numbers.append(_common(names, found))
    return Groups(list(names), np.concatenate(numbers))


def _common(names: dict[str, int], found: Groups) -> Any:
    """Number groups by names that are shared with others, which are added to."""
    numbers = [names.setdefault(name, len(names)) for name in found.names]
    return np.array(numbers, dtype=np.int64)[found.number]


def _columns_of(nodes: list[NodeTable], kinds: Groups | None) -> dict[str, NamedTable]:
    """Return what may be features, by type."""
    if kinds is None:
        return {DEFAULT_TYPE: NamedTable(nodes[0].name, nodes[0].columns)}
    found: dict[str, NamedTable] = {}
    for table in nodes:
        if table.types is None:
            own = {type_of(table): NamedTable(table.name, table.columns)}
        else:
            types = number_groups(table.types)
            own = columns_by_type(table.name, table.columns, types)
        if shared := [kind for kind in own if kind in found]:
            raise InputError(
                f"{table.name}: nodes of type '{shared[0]}' are in two tables, "
                f"expected each type in one"
            )
        found.update(own)
    return found
