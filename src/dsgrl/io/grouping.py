"""One graph split by a column `type` or `graph`: several node types, or many graphs."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dsgrl.io.arrays import (
    FeatureTable,
    FlatArrays,
    GraphArrays,
    HeteroArrays,
    NodeArrays,
)
from dsgrl.typing import InputError, IntArray, Relation

DEFAULT_TYPE, DEFAULT_RELATION = "node", "to"


class Groups(NamedTuple):
    """A name for every row, held as numbers.

    Attributes:
        names: every name once.
        number: the number of every row's name [rows].
    """

    names: list[Any]
    number: IntArray


def number_groups(names: Any) -> Groups:
    """Number names, in a list or an Arrow column, in the order they first appear."""
    if isinstance(names, pa.Array | pa.ChunkedArray):
        if isinstance(names, pa.ChunkedArray):
            names = names.combine_chunks()
        encoded = names.dictionary_encode()
        number = np.asarray(encoded.indices, dtype=np.int64)
        return Groups(encoded.dictionary.to_pylist(), number)
    order = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return Groups(
        list(order), np.array([order[name] for name in names], dtype=np.int64)
    )


def split_types(
    graph: GraphArrays,
    tables: dict[str, FeatureTable],
    kinds: Groups | None,
    relations: Groups | None,
) -> HeteroArrays:
    """Split one graph by the types of its nodes and edges.

    Args:
        graph: the graph; its features are not read.
        tables: features of every node type that has some.
        kinds: type of every node; one type if left out.
        relations: name of every edge's relation; one name if left out.
    """
    names, kind = kinds or _one_group(DEFAULT_TYPE, len(graph.ids))
    position = np.zeros(len(graph.ids), dtype=np.int64)
    ids = _objects(graph.ids)
    nodes = {}
    for number, name in enumerate(names):
        rows = np.flatnonzero(kind == number)
        position[rows] = np.arange(len(rows))
        y = None if graph.y is None else graph.y[rows]
        nodes[name] = NodeArrays(
            ids=ids[rows].tolist(),
            features=tables.get(name),
            y=None if y is None or not (y >= 0).any() else y,
        )
    source, target = graph.edges
    links, link = relations or _one_group(DEFAULT_RELATION, len(source))
    # One number per (source type, relation, target type).
    number = (kind[source] * len(links) + link) * len(names) + kind[target]
    edges: dict[Relation, IntArray] = {}
    weights = {}
    for value in np.unique(number):
        chosen = np.flatnonzero(number == value)
        triple = (
            names[value // (len(links) * len(names))],
            links[value // len(names) % len(links)],
            names[value % len(names)],
        )
        edges[triple] = np.stack([position[source[chosen]], position[target[chosen]]])
        if graph.weight is not None:
            weights[triple] = graph.weight[chosen]
    return HeteroArrays(
        nodes=nodes, edges=edges, weights=weights, label_names=graph.label_names
    )


def _one_group(name: str, rows: int) -> Groups:
    return Groups([name] if rows else [], np.zeros(rows, dtype=np.int64))


def split_graphs(name: str, graph: GraphArrays, graphs: Groups) -> FlatArrays:
    """Split one graph into many.

    Args:
        name: of the table of edges, for messages.
        graph: all nodes and edges.
        graphs: id of every node's graph; graphs are sorted as they are numbered.
    """
    names, member = graphs
    if not len(names):
        raise InputError("the table of nodes is empty: expected at least one node")
    source, target = graph.edges
    across = member[source] != member[target]
    if across.any():
        row = int(across.argmax())
        raise InputError(
            f"{name}: row {row + 1} joins graph '{names[member[source[row]]]}' and "
            f"graph '{names[member[target[row]]]}', expected both ends in one graph"
        )
    node_order, node_ptr = _sort_groups(member, len(names))
    edge_order, edge_ptr = _sort_groups(member[source], len(names))
    position = np.empty(len(member), dtype=np.int64)
    position[node_order] = np.arange(len(member)) - node_ptr[member[node_order]]
    features = graph.features
    return FlatArrays(
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        edges=position[graph.edges[:, edge_order]],
        y=_one_label_each(graph, names, member),
        features=None
        if features is None
        else features._replace(x=features.x[node_order]),
        weight=None if graph.weight is None else graph.weight[edge_order],
        node_ids=_objects(graph.ids)[node_order].tolist(),
        graph_ids=names,
        label_names=graph.label_names,
    )


def _sort_groups(member: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the rows sorted by group, and where every group begins [count + 1]."""
    order: IntArray = np.argsort(member, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(member, minlength=count))])
    return order, ptr


def _one_label_each(
    graph: GraphArrays, names: list[Any], member: IntArray
) -> IntArray | None:
    """Return the label of every graph [B]: the one that its labelled nodes have."""
    if graph.y is None:
        return None
    known = graph.y >= 0
    highest = np.full(len(names), -1, dtype=np.int64)
    np.maximum.at(highest, member[known], graph.y[known])
    differs = known & (graph.y != highest[member])
    if differs.any():
        number = int(member[differs].min())
        assert graph.label_names is not None
        first, second = np.unique(graph.y[known & (member == number)])[:2]
        raise InputError(
            f"graph '{names[number]}' has nodes labelled "
            f"'{graph.label_names[first]}' and '{graph.label_names[second]}', expected "
            f"one label per graph"
        )
    return highest


def _objects(values: list[Any]) -> Any:
    return np.array(values, dtype=object)
