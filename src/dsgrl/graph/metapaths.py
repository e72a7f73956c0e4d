"""Meta-paths: which types of nodes a walk visits, one after the other.

A meta-path is written with the names of node types, "movie-director-movie"; several of
them are separated by semicolons. A step takes every relation between two types, in both
directions.
"""

import itertools
import re

import numpy as np
import scipy.sparse as sp

from dsgrl.graph.relations import Relations, Schema
from dsgrl.graph.sampled_walks import NeighborSampler, Numbers, undirected
from dsgrl.graph.structural import to_scipy
from dsgrl.typing import InputError

# Indices of node types.
MetaPath = tuple[int, ...]


def linked_types(schema: Schema) -> list[tuple[int, int]]:
    """Return the pairs of types with a relation between them, in both directions."""
    # A relation "self" only lets a layer see a node's own features.
    ends = [
        pair
        for pair, (_, name, _) in zip(schema.ends(), schema.relations, strict=True)
        if pair[0] != pair[1] or name != "self"
    ]
    return sorted({*ends, *((target, source) for source, target in ends)})


def there_and_back(schema: Schema) -> str:
    """Return the meta-paths from every type to each linked type and back."""
    return ";".join(
        "-".join(schema.types[kind] for kind in (one, other, one))
        for one, other in linked_types(schema)
    )


def parse_metapaths(text: str, schema: Schema) -> list[MetaPath]:
    """Read meta-paths.

    Args:
        text: e.g. "movie-director-movie;movie-actor-movie".
        schema: the node types and the relations between them.

    Raises:
        InputError: if a type is unknown, two types are not linked, or a meta-path has
            no step.
    """
    types = schema.types
    # Longest first: the name of a type may contain a dash.
    names = "|".join(re.escape(name) for name in sorted(types, key=len, reverse=True))
    linked = linked_types(schema)
    paths = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        if not re.fullmatch(f"({names})(-({names}))+", part):
            raise InputError(
                f"metapaths: '{part}' is not a meta-path, expected node types joined "
                f"by '-', e.g. '{types[0]}-{types[-1]}-{types[0]}'; the types are "
                f"{', '.join(types)}"
            )
        path = tuple(types.index(n) for n in re.findall(f"({names})(?:-|$)", part))
        for one, other in itertools.pairwise(path):
            if (one, other) not in linked:
                raise InputError(
                    f"metapaths: '{part}' has a step from '{types[one]}' to "
                    f"'{types[other]}', expected types with a relation between them"
                )
        paths.append(path)
    if not paths:
        raise InputError(
            f"metapaths={text!r}: expected one meta-path at least; the types are "
            f"{', '.join(types)}"
        )
    return paths


class TypedEdges:
    """The edges of a heterogeneous graph in both directions, by pairs of types.

    Args:
        relations: the graph.
    """

    def __init__(self, relations: Relations) -> None:
        self.bounds = relations.bounds
        self.types = relations.schema.types
        self.all = undirected(to_scipy(relations.as_one())).tocoo()
        self.kind = np.repeat(np.arange(len(self.types)), np.diff(self.bounds))

    def nodes(self, kind: int) -> Numbers:
        """Return the nodes of a type."""
        return np.arange(self.bounds[kind], self.bounds[kind + 1])

    def between(self, one: int, other: int) -> sp.csr_matrix:
        """Return the edges from nodes of one type to those of another [N, N]."""
        row, col = self.all.row, self.all.col
        kept = (self.kind[row] == one) & (self.kind[col] == other)
        arrays = (self.all.data[kept], (row[kept], col[kept]))
        return sp.csr_matrix(arrays, shape=self.all.shape)

    def samplers(self, path: MetaPath) -> list[NeighborSampler]:
        """Return the edges of every step along a meta-path."""
        return [
            NeighborSampler(self.between(*ends)) for ends in itertools.pairwise(path)
        ]

    def instances(self, path: MetaPath) -> tuple[Numbers, list[NeighborSampler]]:
        """Return what draws each path of the graph along a meta-path equally often.

        A neighbour is as likely as there are paths that go on from it; a path counts
        with the product of its weights.

        Returns:
            How many paths start at each node [N], and the edges of every step.
        """
        onward = np.ones(self.all.shape[0])
        samplers: list[NeighborSampler] = []
        for one, other in reversed(list(itertools.pairwise(path))):
            edges = self.between(one, other) @ sp.diags(onward)
            edges.eliminate_zeros()
            samplers.insert(0, NeighborSampler(edges))
            onward = np.asarray(edges.sum(axis=1)).ravel()
        return onward, samplers
