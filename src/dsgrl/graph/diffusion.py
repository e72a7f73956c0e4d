r"""Diffusion: how strongly random walks tie any two nodes, as a sparse matrix.

======  ================================================  ========================
kind    matrix S                                          strength
======  ================================================  ========================
"ppr"   :math:`a (I - (1-a) D^{-1/2} A D^{-1/2})^{-1}`    a, the chance of a walk
                                                          to return to its start
"heat"  :math:`\exp(t A D^{-1} - t I)`                    t, the time
======  ================================================  ========================

These are Eqs. 2 and 3 of MVGRL (https://arxiv.org/abs/2006.05582). A has both
directions of every edge, and a self-loop for every node. Both matrices are functions of
the symmetric T = D^-1/2 A D^-1/2, whose eigenvalues lie in [-1, 1]: a Chebyshev series
in T converges in 10 to 14 terms for the usual strengths, where the powers of T need 40.

S is dense. It is computed for some nodes at a time, and of each row only the largest
entries are kept: memory grows with N times their number, never with N x N.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency, propagate
from dsgrl.graph.structural import to_scipy
from dsgrl.typing import DiffusionName

# Elements of a block of rows of S: 8 MB of float32, which stay in the cache.
BLOCK_ELEMENTS = 1 << 21
# Largest sum of the coefficients that are left out of the series, and most terms.
TOLERANCE = 1e-4
MOST_TERMS = 1000


@torch.no_grad()
def diffuse(
    adjacency: Adjacency,
    bounds: list[int],
    *,
    kind: DiffusionName,
    strength: float,
    edges_per_node: int,
) -> Adjacency:
    """Return the largest entries of every row of S; each row keeps the sum it has in S.

    Args:
        adjacency: the graph, not normalised [N, N]; directions are not used.
        bounds: first node of each graph, then N: nothing spreads between graphs.
        kind: "ppr" or "heat".
        strength: a chance of return between 0 and 1, or a time above 0.
        edges_per_node: entries kept per row; from N, the matrix is S itself.
    """
    graph = _undirected(adjacency)
    transition = graph.normalized("gcn")
    degree = propagate(graph.normalized("loops"), torch.ones(graph.shape[0], 1))
    # S = D^1/2 f(T) D^-1/2 for heat, S = f(T) for PPR.
    scale = degree.flatten().sqrt() if kind == "heat" else torch.ones(graph.shape[0])
    series = _coefficients(kind, strength)
    found: list[tuple[Tensor, Tensor, Tensor]] = []
    for first, block in zip(
        bounds[:-1], transition.diagonal_blocks(bounds), strict=True
    ):
        own = scale[first : first + block.shape[0]]
        for start, rows in _blocks_of_rows(block, series):
            end = start + rows.size(0)
            rows.mul_(own[start:end, None]).div_(own)
            row, col, value = _largest(rows, edges_per_node)
            found.append((row + first + start, col + first, value))
    row, col, value = (torch.cat(parts) for parts in zip(*found, strict=True))
    kept = Adjacency.from_edge_index(
        torch.stack([col, row]), value, num_nodes=graph.shape[0]
    )
    return kept.to(adjacency.device)


def _undirected(adjacency: Adjacency) -> Adjacency:
    """Return the graph with both directions of every edge, on the CPU."""
    edges = to_scipy(adjacency)
    both = edges.maximum(edges.T).tocoo()
    return Adjacency.from_edge_index(
        torch.from_numpy(np.stack([both.col, both.row])),
        torch.from_numpy(both.data),
        num_nodes=adjacency.shape[0],
    )


def _coefficients(kind: DiffusionName, strength: float) -> list[float]:
    """Return the Chebyshev coefficients of S as a function of an eigenvalue of T."""
    functions: dict[DiffusionName, Callable[[Any], Any]] = {
        "ppr": lambda x: strength / (1 - (1 - strength) * x),
        "heat": lambda x: np.exp(strength * (x - 1)),
    }
    series = chebyshev.chebinterpolate(functions[kind], MOST_TERMS)
    left_out = np.abs(series)[::-1].cumsum()[::-1]
    terms = int((left_out > TOLERANCE).sum())
    return [float(value) for value in series[: max(terms, 2)]]


def _blocks_of_rows(
    transition: Adjacency, series: list[float]
) -> Iterator[tuple[int, Tensor]]:
    """Yield f(T), some rows at a time: the first row and the rows [rows, n]."""
    size = transition.shape[0]
    width = max(1, BLOCK_ELEMENTS // max(size, 1))
    for start in range(0, size, width):
        count = min(width, size - start)
        seed = torch.zeros(size, count)
        seed.diagonal(-start).fill_(1)
        # T_0 = I, T_1 = T, T_k = 2 T T_k-1 - T_k-2, applied to columns of I.
        before, now = seed, propagate(transition, seed)
        total = series[0] * before + series[1] * now
        for coefficient in series[2:]:
            after = propagate(transition, now).mul_(2).sub_(before)
            before, now = now, after
            total.add_(now, alpha=coefficient)
        # f(T) is symmetric: its columns are its rows.
        yield start, total.t().contiguous()


def _largest(rows: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the largest positive entries of each row, scaled to the row's sum.

    Returns:
        Row, column and value of the kept entries [E].
    """
    # Entries of unconnected nodes are 0; those of far ones may be rounded below it.
    rows = rows.clamp_min_(0)
    value, col = rows.topk(min(count, rows.size(1)), sorted=False)
    value = value * (rows.sum(1) / value.sum(1))[:, None]
    number = torch.arange(rows.size(0))[:, None].expand_as(col)
    kept = value > 0
    return number[kept], col[kept], value[kept]
