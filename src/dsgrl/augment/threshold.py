r"""Which similarities are above the mean of their row; a tie is not.

.. math:: g(h_i, h_j) > \frac{1}{N} \sum_k g(h_i, h_k) = g(h_i, \bar h)

Both sides are computed with rounding errors. Where all nodes have the same vector, as
in a complete graph, the two are equal and rounding alone would decide. So a similarity
counts as above the mean only if it exceeds it by more than rounding can explain.
"""

import math

import torch
from torch import Tensor

# What rounding can explain, in units of the type's epsilon times the magnitudes
# involved: a constant, and a share of the square root of the columns D. Measured on
# equal rows of 16 to 8,000 columns, up to 3,000 of them: 4 for D = 16, 6 for D = 128,
# 14 for D = 2,048, 42 for D = 8,000.
TIE_EPSILONS, TIE_EPSILONS_BY_WIDTH = 8.0, 0.5


class RowMean:
    """The mean similarity of every row, in O(N D) for all rows together.

    Thresholds have no gradient.

    Args:
        h: one vector per node of one graph [N, D]; similarities are inner products.
    """

    def __init__(self, h: Tensor) -> None:
        h = h.detach()
        info, size = torch.finfo(h.dtype), h.abs()
        self.mean = h @ h.mean(dim=0)  # [N]
        epsilons = TIE_EPSILONS + TIE_EPSILONS_BY_WIDTH * math.sqrt(h.size(1))
        self._relative = epsilons * info.eps
        # Below the smallest normal number rounding is absolute.
        self._absolute = info.tiny
        self._length = h.norm(dim=1)  # [N]
        self._mean_size = size @ size.mean(dim=0)  # [N]: bounds the mean's error

    def is_above(
        self, similarity: Tensor, rows: Tensor | slice, columns: Tensor | slice
    ) -> Tensor:
        """Say which similarities are above the mean of their row [R, C].

        Args:
            similarity: inner products of some rows with some others [R, C].
            rows: the rows' numbers [R].
            columns: the others' numbers, the same for all rows [C] or not [R, C].
        """
        size = self._length[rows, None] * self._length[columns]
        size = torch.maximum(size, self._mean_size[rows, None])
        slack = (self._relative * size).add_(self._absolute)
        return similarity - self.mean[rows, None] > slack
