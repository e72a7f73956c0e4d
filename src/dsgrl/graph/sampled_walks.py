r"""Random walks on a graph, many at once: one array operation per step of all walks.

=====================  =============================================================
`guided_walks`         the next node is a neighbour, in proportion to the weights of
                       the edges; each step may use other edges (a meta-path)
`second_order_walks`   node2vec: also in proportion to 1/p for the node before, 1 for
                       its neighbours and 1/q for all others
=====================  =============================================================

Walks are rows of node numbers. A walk that reaches a node without neighbours ends
there; the rest of its row is `MISSING`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Numbers = npt.NDArray[np.int64]
MISSING = -1


class NeighborSampler:
    """Draws a neighbour of each node, in proportion to the weights of its edges.

    Args:
        graph: weights of the edges [N, N], all above 0; row i lists the neighbours
            of node i.
    """

    def __init__(self, graph: sp.csr_matrix) -> None:
        self.first = graph.indptr[:-1].astype(np.int64)
        self.degree = np.diff(graph.indptr).astype(np.int64)
        self.neighbors = graph.indices
        # Where all edges weigh the same, any neighbour is as likely as another.
        is_weighted = bool(graph.nnz and np.ptp(graph.data) > 0)
        self.cumulated = (
            np.concatenate([[0.0], np.cumsum(graph.data, dtype=np.float64)])
            if is_weighted
            else None
        )

    def step(self, nodes: Numbers, generator: np.random.Generator) -> Numbers:
        """Return a neighbour of each of the nodes; each has one at least."""
        draw = generator.random(len(nodes), dtype=np.float32)
        first, degree = self.first[nodes], self.degree[nodes]
        if self.cumulated is None:
            entry = first + (draw * degree).astype(np.int64)
        else:
            low, high = self.cumulated[first], self.cumulated[first + degree]
            entry = self.cumulated.searchsorted(low + draw * (high - low), "right") - 1
        # Rounding up must not lead into the next row.
        entry = np.clip(entry, first, first + degree - 1)
        found: Numbers = self.neighbors[entry].astype(np.int64)
        return found


class _EdgeSet:
    """The edges as a set, to check whether pairs of nodes are linked."""

    def __init__(self, sampler: NeighborSampler) -> None:
        self.num_nodes = len(sampler.degree)
        row = np.repeat(np.arange(self.num_nodes), sampler.degree)
        self.keys = np.sort(row * self.num_nodes + sampler.neighbors)

    def has(self, one: Numbers, other: Numbers) -> npt.NDArray[np.bool_]:
        key = one * self.num_nodes + other
        place = np.minimum(self.keys.searchsorted(key), len(self.keys) - 1)
        found: npt.NDArray[np.bool_] = self.keys[place] == key
        return found


def undirected(edges: sp.csr_matrix) -> sp.csr_matrix:
    """Take edges in both directions; drop self-loops and weights of 0 and below."""
    both = edges.maximum(edges.T).tocsr().astype(np.float32)
    both.setdiag(0)
    both.data = np.maximum(both.data, 0)
    both.eliminate_zeros()
    return both


def guided_walks(
    samplers: Sequence[NeighborSampler],
    starts: Numbers,
    length: int,
    generator: np.random.Generator,
) -> Numbers:
    """Walk from each start; step i uses sampler i, and after the last the first again.

    Args:
        samplers: the edges of each step; one for a plain random walk.
        starts: first node of each walk [W].
        length: number of steps.
        generator: of the random numbers.

    Returns:
        The nodes of each walk [W, 1 + length].
    """
    walks = np.full((len(starts), 1 + length), MISSING)
    walks[:, 0] = starts
    alive = np.arange(len(starts))
    for number in range(length):
        sampler = samplers[number % len(samplers)]
        alive = alive[sampler.degree[walks[alive, number]] > 0]
        walks[alive, number + 1] = sampler.step(walks[alive, number], generator)
    return walks


def second_order_walks(
    sampler: NeighborSampler,
    starts: Numbers,
    length: int,
    generator: np.random.Generator,
    *,
    p: float,
    q: float,
) -> Numbers:
    """Walk as node2vec does; with p = q = 1 a plain random walk.

    A neighbour is proposed and accepted with a probability in proportion to its bias
    (rejection sampling), so that no table over pairs of edges is needed.

    Args:
        sampler: the edges, in both directions.
        starts: first node of each walk [W].
        length: number of steps.
        generator: of the random numbers.
        p: a large one makes a return to the node before unlikely.
        q: a large one keeps walks near the node before.

    Returns:
        The nodes of each walk [W, 1 + length].
    """
    if p == q == 1:
        return guided_walks([sampler], starts, length, generator)
    walks = guided_walks([sampler], starts, min(length, 1), generator)
    walks = np.pad(walks, ((0, 0), (0, length - walks.shape[1] + 1)))
    alive = walks[:, min(length, 1)] != MISSING
    walks[~alive, 1:] = MISSING
    edges = _EdgeSet(sampler)
    for number in range(1, length):
        before, here = walks[alive, number - 1], walks[alive, number]
        walks[alive, number + 1] = _biased_step(
            sampler, edges, before, here, (1 / p, 1 / q), generator
        )
    return walks


def _biased_step(
    sampler: NeighborSampler,
    edges: _EdgeSet,
    before: Numbers,
    here: Numbers,
    biases: tuple[float, float],
    generator: np.random.Generator,
) -> Numbers:
    """Propose neighbours until each is accepted."""
    back, away = biases
    # The only neighbour of a node needs no second proposal.
    found = sampler.step(here, generator)
    open_ = np.flatnonzero(sampler.degree[here] > 1)
    while open_.size:
        proposed = sampler.step(here[open_], generator)
        start = before[open_]
        bias = np.where(edges.has(start, proposed), 1.0, away)
        bias[proposed == start] = back
        draw = generator.random(open_.size) * max(1.0, back, away)
        found[open_[draw < bias]] = proposed[draw < bias]
        open_ = open_[draw >= bias]
    return found
