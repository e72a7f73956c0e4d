r"""How central every node is, by sparse products; nothing of size N x N.

=================  ==================================================================
kind               centrality of node i
=================  ==================================================================
`"degree"`         summed weight of its incoming edges
`"pagerank"`       share of visits of a random surfer, times N, so that the mean is 1
`"eigenvector"`    entry of the leading eigenvector of A, which has length 1
=================  ==================================================================

The surfer follows an edge with chance 0.85 and otherwise goes to any node; it also
does so where there is no edge to follow. The eigenvector is found by power iteration
on A + I: on a bipartite graph, iterating with A alone does not end.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency, inverse_or_zero, propagate

CentralityName = Literal["degree", "pagerank", "eigenvector"]

DAMPING = 0.85
MOST_STEPS = 200
# Largest change of any entry, relative to the largest entry, that ends the iteration.
PRECISION = 1e-6


def centrality(adjacency: Adjacency, kind: CentralityName) -> Tensor:
    """Return how central every node is [N].

    Args:
        adjacency: row i lists the incoming edges of node i [N, N].
        kind: "degree", "pagerank" or "eigenvector".
    """
    edges = adjacency.with_value(adjacency.value.detach().abs())
    found: Tensor = KINDS[kind](edges)
    return found


def degrees(edges: Adjacency) -> Tensor:
    """Return the summed weights of incoming edges [N]."""
    return propagate(edges, edges.value.new_ones(edges.shape[1]))


def pagerank(edges: Adjacency) -> Tensor:
    """Return the PageRank of every node, with mean 1 [N]."""
    zeros = edges.value.new_zeros(edges.shape[1])
    leaving = zeros.index_add(0, edges.pattern.col, edges.value)
    share = DAMPING * inverse_or_zero(leaving, 1.0)
    has_no_exit = (leaving == 0).to(leaving.dtype)

    def step(rank: Tensor) -> Tensor:
        lost = DAMPING * (rank * has_no_exit).mean()
        return propagate(edges, rank * share) + lost + (1 - DAMPING)

    return _iterate(step, torch.ones_like(leaving))


def eigenvector(edges: Adjacency) -> Tensor:
    """Return the leading eigenvector of A, not negative and of length 1 [N]."""

    def step(vector: Tensor) -> Tensor:
        return torch.nn.functional.normalize(propagate(edges, vector) + vector, dim=0)

    return _iterate(step, edges.value.new_ones(edges.shape[0]))


def _iterate(step: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    for _ in range(MOST_STEPS):
        before, values = values, step(values)
        if (values - before).abs().max() <= PRECISION * values.max():
            break
    return values


KINDS: dict[CentralityName, Callable[[Adjacency], Tensor]] = {
    "degree": degrees,
    "pagerank": pagerank,
    "eigenvector": eigenvector,
}
