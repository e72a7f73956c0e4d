"""Every pair above its row's mean, exactly as the paper's equation, never held."""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dsgrl.augment.threshold import RowMean
from dsgrl.graph import Adjacency, Pattern
from dsgrl.typing import NormalizationName

# Similarities held at once: 64 MB of float32.
BLOCK_ELEMENTS = 1 << 24


class AboveMean(Adjacency):
    """A learned graph of about N^2 / 2 edges, applied in blocks of rows.

    A product computes one block of similarities, uses it and forgets it; the backward
    pass computes it again. Memory is O(block N), work O(N^2) per product.

    Args:
        h: one vector per node [N, D1]; similarities are inner products.
        bounds: where each graph begins, and N at the end; edges stay inside. One
            graph if left out.
    """

    def __init__(self, h: Tensor, bounds: list[int] | None = None) -> None:
        self.h = h
        self.bounds = bounds or [0, h.size(0)]
        self.bipartite = False
        self.attr = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (N, N)."""
        return self.h.size(0), self.h.size(0)

    @property
    def device(self) -> torch.device:
        """Where the graph lives."""
        return self.h.device

    def normalized(self, kind: NormalizationName) -> "AboveMean":
        """Return the graph itself: its rows sum to 1 already."""
        return self

    def diagonal_blocks(self, bounds: list[int]) -> list[Adjacency]:
        """Cut into the graphs it is made of."""
        return [AboveMean(self.h[a:b]) for a, b in itertools.pairwise(bounds)]

    def multiply(self, h: Tensor) -> Tensor:
        """Return A' H for dense rows [N, ...]."""
        flat = h.flatten(1)
        blocks = [
            checkpoint(
                _apply_rows, graph, mean, rows, flat[low:high], use_reentrant=False
            )
            for graph, mean, rows, (low, high) in self._blocks()
        ]
        return torch.cat(blocks).view(h.shape) if blocks else torch.zeros_like(h)

    def materialize(self) -> Adjacency:
        """Hold all edges as an ordinary graph, to look at (about N^2 / 2 of them)."""
        columns, values, counts = [], [], []
        for graph, mean, rows, (low, _) in self._blocks():
            weight = _weights(graph, mean, rows)
            row, column = weight.nonzero(as_tuple=True)
            columns.append(column + low)
            values.append(weight[row, column])
            counts.append(torch.bincount(row, minlength=weight.size(0)))
        if not counts:
            none = self.h.new_zeros(1, dtype=torch.long)
            return Adjacency(Pattern(none, none[:0], 0), self.h.new_zeros(0))
        pointer = F.pad(torch.cat(counts).cumsum(0), (1, 0))
        pattern = Pattern(pointer, torch.cat(columns), self.h.size(0))
        return Adjacency(pattern, torch.cat(values))

    def _blocks(self) -> list[tuple[Tensor, RowMean, slice, tuple[int, int]]]:
        """Return, per block, its graph's rows and their means, its rows, its range."""
        blocks = []
        for low, high in itertools.pairwise(self.bounds):
            if high > low:
                graph = self.h[low:high]
                mean = RowMean(graph)
                size = max(1, BLOCK_ELEMENTS // (high - low))
                blocks += [
                    (graph, mean, slice(start, start + size), (low, high))
                    for start in range(0, high - low, size)
                ]
        return blocks


def _weights(h: Tensor, mean: RowMean, rows: slice) -> Tensor:
    """Weights of a block of rows [block, N], each row summing to 1 (or empty)."""
    similarity = h[rows] @ h.t()
    kept = F.relu(similarity) * mean.is_above(similarity, rows, slice(None))
    return kept / kept.sum(dim=1, keepdim=True).clamp_min(1e-12)


def _apply_rows(h: Tensor, mean: RowMean, rows: slice, x: Tensor) -> Tensor:
    return _weights(h, mean, rows) @ x
