"""Bring feature columns of different units to one scale, once, before training."""

from typing import NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.typing import ScalingName


class ColumnScale(NamedTuple):
    """Mean and deviation of every column, as seen in training [F]."""

    mean: Tensor
    deviation: Tensor

    def apply(self, x: Tensor | Adjacency) -> Tensor:
        """Give every column mean 0 and deviation 1 on the training graph."""
        if isinstance(x, Adjacency):
            x = x.to_dense()
        return (x - self.mean) / self.deviation


def fit_scale(x: Tensor | Adjacency, scaling: ScalingName) -> ColumnScale | None:
    """Measure the columns; None if the features stay as they are.

    Args:
        x: features [N, F].
        scaling: "standard", "none", or "auto": standard for dense features that are
            not all 0 or 1.
    """
    if scaling == "none" or x.shape[0] == 0:
        return None
    if isinstance(x, Adjacency):
        if scaling == "auto":
            return None
        x = x.to_dense()
    if scaling == "auto" and bool(((x == 0) | (x == 1)).all()):
        return None
    mean = x.mean(dim=0)
    deviation = x.std(dim=0, correction=0)
    # A constant column stays zero instead of blowing up rounding errors.
    constant = deviation <= 1e-6 * mean.abs().clamp_min(1e-30)
    return ColumnScale(mean, torch.where(constant, 1.0, deviation))
