r"""Walk factorisation: columns that describe a node by the nodes near it.

Short random walks are sampled from every node. With p_ij the share of steps from i that
end in j, d the degrees and vol their sum, the factors of

.. math:: M_{ij} = \log \max(1, \, vol \; p_{ij} / d_j)

are the columns: how much more often j is met than by chance. It is the matrix that
DeepWalk factorises implicitly (Qiu et al., 2018, https://arxiv.org/abs/1710.02971).
Sampling keeps it sparse: memory and time grow with the number of nodes times the number
of steps, never with N x N.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from dsgrl.graph.sampled_walks import NeighborSampler, undirected
from dsgrl.typing import FloatArray

WALK_LENGTH = 10
WALKS_PER_NODE = 40
POWER_ITERATIONS = 3
# Steps that are sampled at once.
BLOCK_STEPS = 1 << 22


def walk_factors(
    edges: sp.csr_matrix,
    columns: int,
    *,
    walk_length: int = WALK_LENGTH,
    walks_per_node: int = WALKS_PER_NODE,
) -> FloatArray:
    """Describe every node by the nodes that random walks from it meet.

    Args:
        edges: weights of the edges [N, N]; walks take them in both directions, and
            heavier ones more often. Self-loops and negative weights are left out.
        columns: how many columns; fewer than nodes.
        walk_length: steps of a walk.
        walks_per_node: walks from every node.

    Returns:
        The leading left singular vectors times their singular values [N, columns], so
        that inner products are those of the rows of M. Nodes without edges are zeros.
        Always the same for the same edges.
    """
    graph = undirected(edges)
    if columns == 0 or graph.nnz == 0:
        return np.zeros((graph.shape[0], columns), dtype=np.float32)
    matrix = _surprise(graph, walk_length, walks_per_node)
    left, values, _ = randomized_svd(
        matrix, columns, n_iter=POWER_ITERATIONS, random_state=0
    )
    factors: FloatArray = (left * values).astype(np.float32)
    factors[np.diff(graph.indptr) == 0] = 0.0
    return factors


def _surprise(graph: sp.csr_matrix, length: int, walks: int) -> sp.csr_matrix:
    """Return M, sparse: only pairs that were met more often than by chance."""
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = degree.sum() / (walks * length) / np.maximum(degree, 1e-30)
    rows = []
    for counts in _count_meetings(graph, length, walks):
        ratio = counts.data * scale[counts.indices]
        counts.data = np.log(np.maximum(ratio, 1)).astype(np.float32)
        counts.eliminate_zeros()
        rows.append(counts)
    return sp.vstack(rows).tocsr()


def _count_meetings(
    graph: sp.csr_matrix, length: int, walks: int
) -> Iterator[sp.csr_matrix]:
    """Yield, block by block of rows, how often walks from a node meet each node."""
    num_nodes = graph.shape[0]
    generator = np.random.default_rng(0)
    sampler = NeighborSampler(graph)
    per_block = max(1, BLOCK_STEPS // (length * walks))
    for first in range(0, num_nodes, per_block):
        last = min(first + per_block, num_nodes)
        start = np.repeat(np.arange(first, last), walks)
        start = start[sampler.degree[start] > 0]
        here, met = start, []
        for _ in range(length):
            here = sampler.step(here, generator)
            met.append((start - first) * num_nodes + here)
        pair, count = np.unique(np.concatenate(met), return_counts=True)
        yield sp.csr_matrix(
            (count.astype(np.float32), (pair // num_nodes, pair % num_nodes)),
            shape=(last - first, num_nodes),
        )
