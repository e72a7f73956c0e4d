"""Heterogeneous graphs: several types of nodes, several relations between them.

The rows of all types are concatenated in the order of the schema. An embedding of the
whole graph is one tensor [N, ...], and a type is a range of its rows.
"""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.typing import Relation

# PyG's prefix for the name of a reverse relation.
REVERSE = "rev_"


class Schema(NamedTuple):
    """The types of nodes and the relations (source type, name, target type)."""

    types: tuple[str, ...]
    relations: tuple[Relation, ...]

    def ends(self) -> list[tuple[int, int]]:
        """Return the indices of the source and target type of every relation."""
        number = {name: i for i, name in enumerate(self.types)}
        return [(number[s], number[t]) for s, _, t in self.relations]


class Relations:
    """The edges of a heterogeneous graph: one matrix per relation.

    Every type has at least one relation to itself, which may have no edges: through it
    a layer sees a node's own features.

    Args:
        sizes: number of nodes of every type, in the order of the rows.
        adjacencies: the matrix of each relation [N_target, N_source].
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
        """Device of the graph."""
        return next(iter(self.adjacencies.values())).device

    def to(self, device: torch.device) -> "Relations":
        """Return the graph on another device."""
        return self.with_parts([a.to(device) for a in self.adjacencies.values()])

    def parts(self) -> list[tuple[Adjacency, int, int]]:
        """Return every matrix with its column and row offset."""
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
        """Replace the relations of each type to itself by one graph per type."""
        parts = [
            blocks[source] if source == target else adjacency
            for adjacency, (source, target) in zip(
                self.adjacencies.values(), self.schema.ends(), strict=True
            )
        ]
        return self.with_parts(parts)

    def as_one(self) -> Adjacency:
        """Return all relations in one matrix [N, N], without their names."""
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
        """Split the rows of all nodes [N, ...] by type."""
        return list(h.split(list(self.sizes.values())))


def with_reverse_relations(
    sizes: dict[str, int], adjacencies: dict[Relation, Adjacency]
) -> dict[Relation, Adjacency]:
    """Add missing reverse relations, and a relation of every type to itself.

    A relation gets no reverse if it is symmetric, if another relation has the same
    edges reversed, or if a relation has the name of the reverse.
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
    """Return the name of the reverse relation, as PyG forms it."""
    source, name, target = relation
    return target, f"{REVERSE}{name}", source


def reversed_edges(adjacency: Adjacency) -> Adjacency:
    """Reverse the direction of every edge."""
    targets, sources = adjacency.shape
    return Adjacency.from_edge_index(
        adjacency.edge_index.flip(0),
        adjacency.value,
        num_nodes=(targets, sources) if adjacency.bipartite else sources,
    )


def forward_of(relation: Relation) -> Relation | None:
    """Return the relation whose reverse this is by name; None if it is not one."""
    source, name, target = relation
    if not name.startswith(REVERSE):
        return None
    return target, name.removeprefix(REVERSE), source


def _numbers(pairs: Tensor, sources: int) -> Tensor:
    """Return one number per edge, sorted: equal for equal sets of edges."""
    return torch.sort(pairs[1] * max(sources, 1) + pairs[0]).values
