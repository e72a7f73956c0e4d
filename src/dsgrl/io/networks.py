"""Graphs of NetworkX, and files that it reads: GraphML and GML."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsgrl.io.choices import Choices, Notes, shorten
from dsgrl.io.edge_table import clean_names, read_weights
from dsgrl.io.grouping import DEFAULT_TYPE, number_groups
from dsgrl.io.roles import find_column
from dsgrl.io.table_graph import NamedTable, TableGraph, columns_by_type
from dsgrl.io.tables import MOST_COLUMNS, explained
from dsgrl.typing import InputError

NETWORK_SUFFIXES = (".graphml", ".gml")
# NetworkX holds a graph in Python objects, about twenty times the size of the file.
MOST_BYTES = 1 << 28


def is_network(value: Any) -> bool:
    """Whether a value is a graph of NetworkX, or one that looks like it."""
    names = ("nodes", "edges", "is_directed", "number_of_nodes")
    return all(hasattr(value, name) for name in names)


def read_network_file(path: Path) -> Any:
    """Read a GraphML or GML file as a graph of NetworkX.

    Raises:
        InputError: if it cannot be read or is too large.
    """
    import networkx as nx

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(
            f"{path}: is larger than {MOST_BYTES >> 20} MB: write the graph as tables "
            f"(csv or parquet)"
        )
    with explained(str(path)):
        if path.suffix.lower() == ".graphml":
            return nx.read_graphml(path)
        try:
            return nx.read_gml(path, label="label")
        except nx.NetworkXError as error:
            if "label" not in str(error):
                raise
            # Not every node has a label of its own.
            return nx.read_gml(path, label="id")


def read_network(
    graph: Any, name: str, choices: Choices, notes: Notes, *, directed: bool = False
) -> TableGraph:
    """Convert a graph of NetworkX; attributes of nodes may be features.

    Args:
        graph: the graph.
        name: of the file, for messages.
        choices: what the user chose; the weight and type are attributes of edges,
            label, type and features attributes of nodes.
        notes: takes what was assumed.
        directed: whether directions are kept.

    Raises:
        InputError: if an attribute cannot be read.
    """
    if directed and not graph.is_directed():
        raise InputError(f"{name}: the graph is undirected: leave out directed")
    if graph.is_directed() and not directed:
        notes.assume(f"{name}: is directed; its edges are used both ways")
    with explained(name):
        keys = list(graph.nodes)
        attributes = _tabulate(name, (values for _, values in graph.nodes(data=True)))
        position = {key: i for i, key in enumerate(keys)}
        links = list(graph.edges(data=True))
        edges = np.array(
            [[position[u] for u, _, _ in links], [position[v] for _, v, _ in links]],
            dtype=np.int64,
        ).reshape(2, len(links))
        of_edges = _tabulate(name, (values for _, _, values in links))
    choices.check_nodes({name: attributes.column_names})
    choices.check_edges({name: of_edges.column_names})
    weight, kind = _edge_columns(name, of_edges, choices, notes)
    label, node_kind = (
        choices.columns.get(role) or find_column(attributes.column_names, role)
        for role in ("label", "type")
    )
    if node_kind is not None and node_kind not in attributes.column_names:
        node_kind = None
    others = [
        c
        for c in attributes.column_names
        if c not in (label, node_kind) and c not in choices.ignore
    ]
    kinds = None
    table = attributes.select(others)
    columns = {DEFAULT_TYPE: NamedTable(name, table)} if others else {}
    if node_kind is not None:
        names = clean_names(attributes.column(node_kind))
        if names.null_count:
            raise InputError(
                f"{name}: {names.null_count} nodes have no '{node_kind}', expected a "
                f"type for all or none"
            )
        kinds = number_groups(names)
        columns = columns_by_type(name, table, kinds) if others else {}
    return TableGraph(
        name=name,
        ids=_ids(name, keys),
        edges=edges,
        weight=None
        if weight is None
        else read_weights(name, of_edges.column(weight), weight),
        relations=None if kind is None else number_groups(of_edges.column(kind)),
        kinds=kinds,
        labels=None if label is None else clean_names(attributes.column(label)),
        columns=columns,
    )


def _edge_columns(
    name: str, table: pa.Table, choices: Choices, notes: Notes
) -> tuple[str | None, str | None]:
    """Return the attributes of edges that hold weights and types, if any."""
    found: list[str | None] = []
    for role in ("weight", "type"):
        column = choices.columns.get(role) or find_column(table.column_names, role)
        if column is not None and column not in table.column_names:
            column = None
        if column is not None and table.column(column).null_count:
            notes.assume(
                f"{name}: '{column}' is not used as {role}: some edges lack it"
            )
            column = None
        found.append(column)
    unused = [c for c in table.column_names if c not in found]
    if unused:
        notes.assume(f"{name}: attributes of edges not used: {shorten(unused)}")
    return found[0], found[1]


def _tabulate(name: str, rows: Iterable[dict[Any, Any]]) -> pa.Table:
    """Hold attributes as a table; what a row lacks is null."""
    listed = list(rows)
    names = dict.fromkeys(str(key) for row in listed for key in row)
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{name}: has {len(names):,} attributes, expected at most {MOST_COLUMNS:,}"
        )
    columns: dict[str, list[Any]] = {key: [None] * len(listed) for key in names}
    for i, row in enumerate(listed):
        for key, value in row.items():
            columns[str(key)][i] = value
    return pa.table({key: _as_column(values) for key, values in columns.items()})


def _as_column(values: list[Any]) -> pa.Array:
    """Hold values of one type as they are, others as text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, OverflowError, ValueError):
        return pa.array([None if v is None else str(v) for v in values], pa.string())


def _ids(name: str, keys: list[Any]) -> pa.Array:
    """Return ids: whole numbers and text as they are, others as text."""
    if keys and all(type(key) is int and abs(key) < 1 << 62 for key in keys):
        return pa.array(keys, pa.int64())
    ids = pa.array([str(key) for key in keys], pa.string())
    if len(ids.unique()) < len(ids):
        raise InputError(
            f"{name}: two nodes have the same id as text, e.g. 1 and '1': expected ids "
            f"that differ as text"
        )
    return ids
