"""Batch normalisation with the statistics of all rows, on however many processes."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.ranks import ALONE, Ranks


class BatchNorm(nn.BatchNorm1d):
    """`nn.BatchNorm1d` on rows [N, C] that may be divided among processes.

    torch's `SyncBatchNorm` does the same, on a GPU only. A single row has no spread: it
    is normalised by the running statistics.

    Attributes:
        ranks: the processes.
    """

    ranks: Ranks = ALONE

    def forward(self, h: Tensor) -> Tensor:
        """Normalise rows [N, C]."""
        if not self.training:
            return super().forward(h)
        if self.ranks.count > 1:
            return self._normalize_shares(h)
        return self._by_running(h) if h.size(0) == 1 else super().forward(h)

    def _by_running(self, h: Tensor) -> Tensor:
        return F.batch_norm(
            h, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )

    def _normalize_shares(self, h: Tensor) -> Tensor:
        """Normalise the rows of this process by the mean and variance of all rows."""
        mean, rows = self.ranks.mean(h)
        if rows == 1:
            return self._by_running(h)
        centered = h - mean
        variance = self.ranks.sum(centered.square().sum(dim=0)) / max(rows, 1)
        self._track(mean.detach(), variance.detach() * (rows / max(rows - 1, 1)))
        result: Tensor = centered * (variance + self.eps).rsqrt()
        return torch.addcmul(self.bias, result, self.weight)

    @torch.no_grad()
    def _track(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics towards those of a batch."""
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(variance, self.momentum)
        self.num_batches_tracked.add_(1)
