"""Bring features of different units and lengths to one scale, once, before training."""

from typing import NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.typing import ScalingName

# The mean squared length that "length" gives to shorter rows: that of 36 words.
SQUARED_LENGTH = 36.0


class ColumnScale(NamedTuple):
    """What is taken from every column, and what it is divided by [F]."""

    mean: Tensor
    deviation: Tensor

    def apply(self, x: Tensor | Adjacency) -> Tensor | Adjacency:
        """Scale every column; sparse ones stay sparse unless they are shifted."""
        if isinstance(x, Adjacency):
            if not self.mean.any():
                return x.with_value(x.value / self.deviation[x.pattern.col.long()])
            x = x.to_dense()
        return (x - self.mean) / self.deviation


def fit_scale(x: Tensor | Adjacency, scaling: ScalingName) -> ColumnScale | None:
    """Measure the columns; None if the features stay as they are.

    Args:
        x: features [N, F].
        scaling: "none"; "standard", mean 0 and deviation 1; "columns", standard for
            dense features that are not all 0 or 1; "unit", as "columns", and sparse
            ones are divided by one number, so that their entries are of size 1;
            "length", as "columns", then all multiplied by one number if rows are short:
            the same weights do more with them, training is faster, and decay does not
            outweigh what is learned.
    """
    if scaling == "none" or x.shape[0] == 0:
        return None
    as_they_are = isinstance(x, Adjacency) or bool(((x == 0) | (x == 1)).all())
    scale = None if as_they_are and scaling != "standard" else _standard(x)
    if scaling == "unit" and isinstance(x, Adjacency):
        scale = _one_unit(x)
    if scaling == "length":
        scale = _lengthened(x, scale)
    return scale


def _standard(x: Tensor | Adjacency) -> ColumnScale:
    if isinstance(x, Adjacency):
        x = x.to_dense()
    mean = x.mean(dim=0)
    deviation = x.std(dim=0, correction=0)
    # A constant column stays zero instead of blowing up rounding errors.
    constant = deviation <= 1e-6 * mean.abs().clamp_min(1e-30)
    return ColumnScale(mean, torch.where(constant, 1.0, deviation))


def _one_unit(x: Adjacency) -> ColumnScale | None:
    """Make the entries that are not 0 of size 1, on average, and leave the zeros."""
    entries = x.value[x.value != 0].double()
    size = float(entries.square().mean().sqrt()) if len(entries) else 1.0
    if size == 1.0:
        return None
    ones = x.value.new_ones(x.shape[1])
    return ColumnScale(torch.zeros_like(ones), size * ones)


def _lengthened(x: Tensor | Adjacency, scale: ColumnScale | None) -> ColumnScale | None:
    """Lengthen rows that are short on average; longer ones and zeros stay."""
    rows = x if scale is None else scale.apply(x)
    values = rows.value if isinstance(rows, Adjacency) else rows
    squared = float(values.square().sum()) / x.shape[0]
    if not 0 < squared < SQUARED_LENGTH:
        return scale
    factor = (SQUARED_LENGTH / squared) ** 0.5
    if scale is None:
        ones = values.new_ones(x.shape[1])
        return ColumnScale(torch.zeros_like(ones), ones / factor)
    return ColumnScale(scale.mean, scale.deviation / factor)
