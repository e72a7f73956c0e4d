"""Heterogeneous graphs: several types of nodes, several relations between them.

The rows of all types lie one after the other, in the order of the schema, so that an
embedding of the whole graph is one tensor [N, ...] and a type is a range of its rows.
"""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency

Relation = tuple[str, str, str]
# What PyG puts before the name of a relation seen from its other end.
REVERSE = "rev_"


class Schema(NamedTuple):
    """The types of nodes and the relations (source type, name, target type)."""

    types: tuple[str, ...]
    relations: tuple[Relation, ...]

    def ends(self) -> list[tuple[int, int]]:
        """Return the numbers of every relation's source and target type."""
        number = {name: i for i, name in enumerate(self.types)}
        return [(number[s], number[t]) for s, _, t in self.relations]


class Relations:
    """The edges of a heterogeneous graph: one matrix per relation.

    Every type has at least one relation to itself, if need be without edges: it is
    through it that a layer sees a node's own features.

    Args:
        sizes: number of nodes of every type, in the order of the rows.
        adjacencies: what flows along each relation [N_target, N_source].
    """

    def __init__(
        self, sizes: dict[str, int], adjacencies: dict[Relation, Adjacency]
    ) -> None:
        self.sizes = sizes
        self.adjacencies = adjacencies
        self.schema = Schema(tuple(sizes), tuple(adjacencies))
        self.bounds = [0, *itertools.accumulate(sizes.values())]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of all types together (N, N)."""
        return self.bounds[-1], self.bounds[-1]

    @property
    def num_edges(self) -> int:
        """Number of edges of all relations."""
        return sum(a.num_edges for a in self.adjacencies.values())

    @property
    def device(self) -> torch.device:
        """Where the graph lives."""
        return next(iter(self.adjacencies.values())).device

    def to(self, device: torch.device) -> "Relations":
        """Return the graph on another device."""
        return self.with_parts([a.to(device) for a in self.adjacencies.values()])

    def parts(self) -> list[tuple[Adjacency, int, int]]:
        """Return every matrix and where its columns and rows begin."""
        return [
            (adjacency, self.bounds[source], self.bounds[target])
            for adjacency, (source, target) in zip(
                self.adjacencies.values(), self.schema.ends(), strict=True
            )
        ]

    def with_parts(self, parts: list[Adjacency]) -> "Relations":
        """Return the same relations with other edges."""
        return Relations(self.sizes, dict(zip(self.adjacencies, parts, strict=True)))

    def with_inner(self, blocks: list[Adjacency]) -> "Relations":
        """Put one graph per type in the place of its relations to itself."""
        parts = [
            blocks[source] if source == target else adjacency
            for adjacency, (source, target) in zip(
                self.adjacencies.values(), self.schema.ends(), strict=True
            )
        ]
        return self.with_parts(parts)

    def as_one(self) -> Adjacency:
        """Return all relations in one matrix [N, N], their kinds forgotten."""
        edges = [
            adjacency.edge_index
            + torch.tensor([[source], [target]], device=adjacency.device)
            for adjacency, source, target in self.parts()
        ]
        weights = [adjacency.value for adjacency, _, _ in self.parts()]
        return Adjacency.from_edge_index(
            torch.cat(edges, dim=1), torch.cat(weights), num_nodes=self.bounds[-1]
        )

    def split_rows(self, h: Tensor) -> list[Tensor]:
        """Cut rows of all nodes [N, ...] into those of every type."""
        return list(h.split(list(self.sizes.values())))


def with_reverse_relations(
    sizes: dict[str, int], adjacencies: dict[Relation, Adjacency]
) -> dict[Relation, Adjacency]:
    """Let every edge be seen from both ends, and every type have its own relation.

    A relation whose reverse is there already (between the same types the other way
    round, or itself symmetric, or called so) gets no second one.
    """
    found = dict(adjacencies)
    for relation, adjacency in adjacencies.items():
        source, _, target = relation
        ours = _numbers(adjacency.edge_index.flip(0), sizes[target])
        known = any(
            (s, t) == (target, source)
            and torch.equal(_numbers(other.edge_index, sizes[target]), ours)
            for (s, _, t), other in adjacencies.items()
        )
        called = {reverse_of(relation), forward_of(relation)}
        if not known and called.isdisjoint(adjacencies):
            found[reverse_of(relation)] = reversed_edges(adjacency)
    for kind, size in sizes.items():
        if not any(s == t == kind for s, _, t in found):
            none = torch.empty(2, 0, dtype=torch.long)
            found[kind, "self", kind] = Adjacency.from_edge_index(none, num_nodes=size)
    return found


def reverse_of(relation: Relation) -> Relation:
    """Name the relation seen from its other end, as PyG does."""
    source, name, target = relation
    return target, f"{REVERSE}{name}", source


def reversed_edges(adjacency: Adjacency) -> Adjacency:
    """Let every edge go the other way."""
    targets, sources = adjacency.shape
    return Adjacency.from_edge_index(
        adjacency.edge_index.flip(0),
        adjacency.value,
        num_nodes=(targets, sources) if adjacency.bipartite else sources,
    )


def forward_of(relation: Relation) -> Relation | None:
    """Name the relation that this one is called the reverse of."""
    source, name, target = relation
    if not name.startswith(REVERSE):
        return None
    return target, name.removeprefix(REVERSE), source


def _numbers(pairs: Tensor, sources: int) -> Tensor:
    """One number per edge, sorted: equal for equal sets of edges."""
    return torch.sort(pairs[1] * max(sources, 1) + pairs[0]).values
