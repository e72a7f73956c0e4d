"""Scaling of the features, fitted once before training."""

from typing import NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency, inverse_or_zero
from dsgrl.typing import ScalingName

# Mean squared row length after scaling by "length" or "comparable": that of 36 words.
SQUARED_LENGTH = 36.0
# Columns are of one unit if the largest is at most so many times as large as the median
# and less than this share of their squares is due to their means.
MOST_SPREAD, MOST_MEAN = 20.0, 0.9


class ColumnScale(NamedTuple):
    """What is subtracted from every column, and its divisor [F]."""

    mean: Tensor
    deviation: Tensor

    def apply(self, x: Tensor | Adjacency) -> Tensor | Adjacency:
        """Scale every column; a sparse table stays sparse unless it is shifted."""
        if isinstance(x, Adjacency):
            if not self.mean.any():
                return x.with_value(x.value / self.deviation[x.pattern.col.long()])
            x = x.to_dense()
        # In place: a second copy of a large table may not fit.
        return (x - self.mean).div_(self.deviation)


def fit_scale(
    x: Tensor | Adjacency, scaling: ScalingName, *, in_proportion: bool = False
) -> ColumnScale | None:
    """Fit the scaling; None if the features stay unchanged.

    Args:
        x: features [N, F].
        scaling: one of

            * "none";
            * "standard": mean 0 and standard deviation 1;
            * "columns": "standard" for dense features that are not all 0 or 1;
            * "unit": "columns", and sparse features are divided by one number, so
              that their non-zeros have mean square 1;
            * "comparable": "columns", except that dense columns of one unit, such as
              principal components, stay in proportion; then all are multiplied by one
              number, so that one learning rate suits all data;
            * "length": "columns", and if rows are short, all are multiplied by one
              number. Training is then faster, and weight decay does not dominate;
            * "rows": nothing to fit, see `divide_rows`.
        in_proportion: the columns can be compared as they are. They are treated as
            sparse features are, whose columns are not brought to one scale.
    """
    if scaling in ("none", "rows") or x.shape[0] == 0:
        return None
    as_they_are = (
        in_proportion or isinstance(x, Adjacency) or bool(((x == 0) | (x == 1)).all())
    )
    scale = None if as_they_are and scaling != "standard" else _standard(x)
    if scaling == "unit" and isinstance(x, Adjacency):
        scale = _one_unit(x)
    if scaling == "comparable":
        is_one_unit = in_proportion or isinstance(x, Adjacency) or _are_of_one_unit(x)
        return _with_length(x, None if is_one_unit else scale)
    if scaling == "length":
        scale = _with_length(x, scale, shortens=False)
    return scale


def divide_rows(x: Tensor | Adjacency) -> Tensor | Adjacency:
    """Divide every row by the sum of its absolute values; rows of zeros stay."""
    if isinstance(x, Adjacency):
        zeros = x.value.new_zeros(x.shape[0])
        sums = zeros.index_add(0, x.pattern.row, x.value.abs())
        return x.with_value(x.value * inverse_or_zero(sums, 1.0)[x.pattern.row])
    return x * inverse_or_zero(x.abs().sum(dim=1, keepdim=True), 1.0)


def _standard(x: Tensor | Adjacency) -> ColumnScale:
    if isinstance(x, Adjacency):
        x = x.to_dense()
    mean = x.mean(dim=0)
    deviation = x.std(dim=0, correction=0)
    # A constant column becomes zero: dividing would amplify rounding errors.
    constant = deviation <= 1e-6 * mean.abs().clamp_min(1e-30)
    return ColumnScale(mean, torch.where(constant, 1.0, deviation))


def _one_unit(x: Adjacency) -> ColumnScale | None:
    """Scale the non-zeros to mean square 1; zeros stay zero."""
    entries = x.value[x.value != 0].double()
    size = float(entries.square().mean().sqrt()) if len(entries) else 1.0
    if size == 1.0:
        return None
    ones = x.value.new_ones(x.shape[1])
    return ColumnScale(torch.zeros_like(ones), size * ones)


def _are_of_one_unit(x: Tensor) -> bool:
    """Whether columns can be compared without bringing them to one scale."""
    squares = x.double().square().mean(dim=0)
    sizes = squares[squares > 0].sqrt()
    if not len(sizes) or sizes.max() > MOST_SPREAD * sizes.median():
        return False
    mean = x.double().mean(dim=0)
    return bool(mean.square().sum() <= MOST_MEAN * squares.sum())


def _with_length(
    x: Tensor | Adjacency, scale: ColumnScale | None, *, shortens: bool = True
) -> ColumnScale | None:
    """Multiply all by one number that gives rows a length, or only lengthens them."""
    rows = x if scale is None else scale.apply(x)
    values = rows.value if isinstance(rows, Adjacency) else rows
    squared = float(values.square().sum()) / x.shape[0]
    if not squared or (squared >= SQUARED_LENGTH and not shortens):
        return scale
    factor = (SQUARED_LENGTH / squared) ** 0.5
    if scale is None:
        ones = values.new_ones(x.shape[1])
        return ColumnScale(torch.zeros_like(ones), ones / factor)
    return ColumnScale(scale.mean, scale.deviation / factor)
