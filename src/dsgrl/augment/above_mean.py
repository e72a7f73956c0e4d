"""Every pair above its row's mean, exactly as the paper's equation, never held."""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

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
    """

    def __init__(self, h: Tensor) -> None:
        self.h = h
        # The mean over k of h_i . h_k is h_i . mean(h); as a threshold it has no
        # gradient.
        self.mean = (h @ h.mean(dim=0)).detach()

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

    def multiply(self, h: Tensor) -> Tensor:
        """Return A' H for dense rows [N, ...]."""
        flat = h.reshape(h.size(0), -1)
        blocks = [
            checkpoint(_apply_rows, rows, mean, self.h, flat, use_reentrant=False)
            for rows, mean in self._blocks()
        ]
        return torch.cat(blocks).view(h.shape)

    def materialize(self) -> Adjacency:
        """Hold all edges as an ordinary graph, to look at (about N^2 / 2 of them)."""
        columns, values, counts = [], [], []
        for rows, mean in self._blocks():
            weight = _weights(rows, mean, self.h)
            row, column = weight.nonzero(as_tuple=True)
            columns.append(column)
            values.append(weight[row, column])
            counts.append(torch.bincount(row, minlength=rows.size(0)))
        pointer = F.pad(torch.cat(counts).cumsum(0), (1, 0))
        pattern = Pattern(pointer, torch.cat(columns), self.h.size(0))
        return Adjacency(pattern, torch.cat(values))

    def _blocks(self) -> list[tuple[Tensor, Tensor]]:
        size = max(1, BLOCK_ELEMENTS // self.h.size(0))
        return list(zip(self.h.split(size), self.mean.split(size), strict=True))


def _weights(rows: Tensor, mean: Tensor, h: Tensor) -> Tensor:
    """Weights of a block of rows [block, N], each row summing to 1 (or empty)."""
    similarity = rows @ h.t()
    kept = F.relu(similarity) * (similarity > mean[:, None])
    return kept / kept.sum(dim=1, keepdim=True).clamp_min(1e-12)


def _apply_rows(rows: Tensor, mean: Tensor, h: Tensor, x: Tensor) -> Tensor:
    return _weights(rows, mean, h) @ x
