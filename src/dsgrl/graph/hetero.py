"""Converts a `HeteroData` to one checked `Graph` with `Relations`."""

import logging
from functools import partial
from typing import Any

import torch

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.checks import check_features, edges_of
from dsgrl.graph.graph import Features, Graph
from dsgrl.graph.relations import (
    Relations,
    Schema,
    forward_of,
    reversed_edges,
    with_reverse_relations,
)
from dsgrl.graph.structural import degree_columns
from dsgrl.typing import InputError, Relation

logger = logging.getLogger(__name__)


def as_hetero_graph(data: Any, schema: Schema | None) -> Graph:
    """Convert a graph of several types; types without features get degrees.

    Args:
        data: a `torch_geometric.data.HeteroData`.
        schema: the types and relations of training; None while training.

    Raises:
        InputError: one line that says what is wrong with the data.
    """
    given = {kind: getattr(data[kind], "x", None) for kind in data.node_types}
    sizes = _count_nodes(data, given)
    if schema is not None:
        if unknown := [kind for kind in sizes if kind not in schema.types]:
            raise InputError(
                f"node type '{unknown[0]}' was not there in training, expected "
                f"{', '.join(schema.types)}"
            )
        sizes = {kind: sizes.get(kind, 0) for kind in schema.types}
    adjacencies = with_reverse_relations(sizes, _read_relations(data, sizes))
    if schema is not None:
        adjacencies = _as_trained(sizes, adjacencies, set(data.edge_types), schema)
    relations = Relations(sizes, adjacencies)
    if not relations.num_edges:
        logger.warning(
            "the graph has no edges: only the features will tell nodes apart"
        )
    tables: list[Features | None] = []
    for kind, size in sizes.items():
        x = given.get(kind)
        try:
            tables.append(None if x is None else check_features(x, size))
        except InputError as error:
            raise InputError(f"node type '{kind}': {error}") from error
    bare = [kind for kind in given if given[kind] is None]
    if bare:
        logger.warning(
            "no features for node type %s: using degrees", ", ".join(map(repr, bare))
        )
    make = partial(_fill_tables, tables)
    is_made = any(table is None for table in tables)
    return Graph(make(relations), relations, make if is_made else None)


def _count_nodes(data: Any, given: dict[str, Any]) -> dict[str, int]:
    sizes = {}
    for kind, x in given.items():
        count = len(x) if x is not None else data[kind].num_nodes
        if count is None:
            raise InputError(f"node type '{kind}': expected x or num_nodes")
        sizes[kind] = int(count)
    if not sum(sizes.values()):
        raise InputError("the graph is empty: expected at least one node")
    return sizes


def _read_relations(data: Any, sizes: dict[str, int]) -> dict[Relation, Adjacency]:
    adjacencies: dict[Relation, Adjacency] = {}
    for relation in data.edge_types:
        source, _, target = relation
        if unknown := [kind for kind in (source, target) if kind not in sizes]:
            raise InputError(
                f"relation {' '.join(relation)}: no nodes of type '{unknown[0]}'"
            )
        counts = (sizes[source], sizes[target])
        try:
            edges, weight, attr = edges_of(data[relation], counts)
        except InputError as error:
            raise InputError(f"relation {' '.join(relation)}: {error}") from error
        adjacencies[relation] = Adjacency.from_edge_index(
            edges,
            weight,
            num_nodes=counts[0] if source == target else counts,
            edge_attr=attr,
        )
    return adjacencies


def _fill_tables(
    tables: list[Features | None], relations: Relations
) -> tuple[Features, ...]:
    """Compute degree features for the types without features."""
    return tuple(
        degree_columns(relations, number) if table is None else table
        for number, table in enumerate(tables)
    )


def _as_trained(
    sizes: dict[str, int],
    found: dict[Relation, Adjacency],
    given: set[Relation],
    schema: Schema,
) -> dict[Relation, Adjacency]:
    """Return the relations of training, in order; missing ones are empty."""
    if unknown := [r for r in given if r not in schema.relations]:
        raise InputError(
            f"relation {' '.join(unknown[0])} was not there in training, expected "
            f"{'; '.join(' '.join(r) for r in schema.relations)}"
        )
    none = torch.empty(2, 0, dtype=torch.long)
    result = {}
    for relation in schema.relations:
        source, _, target = relation
        counts = (sizes[source], sizes[target])
        forward = found.get(forward_of(relation) or relation)
        if relation in found:
            result[relation] = found[relation]
        elif forward is not None:
            # Here the relation is symmetric and has no reverse; in training it had.
            result[relation] = reversed_edges(forward)
        else:
            result[relation] = Adjacency.from_edge_index(
                none, num_nodes=counts[0] if source == target else counts
            )
    return result
