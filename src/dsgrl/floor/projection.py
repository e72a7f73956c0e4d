"""Truncated SVD as a module: fitted once, then a product with a fixed matrix."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from sklearn.utils.extmath import randomized_svd
from torch import Tensor, nn

from dsgrl.graph import Adjacency, propagate
from dsgrl.graph.structural import to_scipy

# Up to this many columns the exact eigenvectors of X^T X are computed.
EXACT_UP_TO = 2048
POWER_ITERATIONS = 4
# Eigenvalues below this share of the largest are rounding errors.
NOISE = 1e-7
# Rows that are handled at once.
BLOCK_ROWS = 1 << 14


class Projection(nn.Module):
    """Map rows to their leading singular directions, X -> X V, without centring.

    Args:
        in_channels: columns of the rows.
        out_channels: columns to keep; if there are no more than that, the rows stay as
            they are. Directions beyond the rank of the data are zeros.
    """

    weight: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = min(in_channels, out_channels)
        self.keeps_all = in_channels <= out_channels
        shape = (0, 0) if self.keeps_all else (in_channels, out_channels)
        self.register_buffer("weight", torch.zeros(shape))

    @torch.no_grad()
    def fit(self, rows: Tensor | Adjacency) -> "Projection":
        """Take the directions of a table of rows, dense or sparse [N, in_channels]."""
        if self.keeps_all:
            return self
        if isinstance(rows, Tensor) and self.in_channels <= EXACT_UP_TO:
            return self.fit_blocks(rows.split(BLOCK_ROWS))
        table: Any = rows.cpu().numpy() if isinstance(rows, Tensor) else to_scipy(rows)
        rank = min(self.out_channels, *table.shape)
        _, values, right = randomized_svd(
            table, rank, n_iter=POWER_ITERATIONS, random_state=0
        )
        right[values**2 <= NOISE * max(values, default=0.0) ** 2] = 0.0
        self.weight.zero_()
        self.weight[:, :rank] = torch.from_numpy(np.ascontiguousarray(right.T))
        return self

    @torch.no_grad()
    def fit_blocks(self, blocks: Iterable[Tensor]) -> "Projection":
        """Take the directions of rows that come in blocks [n, in_channels].

        They are the eigenvectors of X^T X, summed over the blocks: exact, and in memory
        that does not grow with the number of rows.
        """
        if self.keeps_all:
            return self
        size = self.in_channels
        gram = torch.zeros(size, size, dtype=torch.float64, device=self.weight.device)
        for rows in blocks:
            gram += (rows.t() @ rows).double()
        values, vectors = torch.linalg.eigh(gram)
        is_noise = values <= NOISE * values[-1].clamp_min(0)
        vectors = vectors.masked_fill(is_noise, 0.0)
        leading = vectors.flip(1)[:, : self.out_channels]
        # The sign of a direction is arbitrary: make its largest entry positive.
        peak = leading.gather(0, leading.abs().argmax(dim=0, keepdim=True))
        self.weight.copy_(leading * peak.sign())
        return self

    def forward(self, rows: Tensor | Adjacency) -> Tensor:
        """Project rows [N, in_channels] -> [N, out_channels]."""
        if self.keeps_all:
            return rows.to_dense() if isinstance(rows, Adjacency) else rows
        if isinstance(rows, Adjacency):
            return propagate(rows, self.weight)
        return rows @ self.weight
