"""Scaling of an embedding before a probe is fitted.

Which of the scalings a probe uses is chosen on validation rows; means and deviations
are those of the training rows.
"""

from dataclasses import dataclass

import numpy as np

from dsgrl.typing import FloatArray

SCALINGS = ("standard", "unit", "standard-unit")


@dataclass(frozen=True, slots=True)
class Scaling:
    """Standardised columns, rows of unit length, or both in this order.

    Attributes:
        name: one of `SCALINGS`.
        mean: of the training rows' columns [D].
        deviation: of the training rows' columns [D].
    """

    name: str
    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, name: str, train: FloatArray) -> "Scaling":
        """Take means and deviations of the training rows [M, D]."""
        deviation = train.std(axis=0)
        # A column that is constant on the training rows keeps its scale.
        deviation[deviation <= 1e-6] = 1.0
        return cls(name, train.mean(axis=0), deviation)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Scale rows [M, D]."""
        if self.name != "unit":
            rows = (rows - self.mean) / self.deviation
        return rows if self.name == "standard" else _unit_rows(rows)


def _unit_rows(rows: FloatArray) -> FloatArray:
    """Scale rows so that an entry is 1 on average, as in standardised columns."""
    length = np.linalg.norm(rows, axis=1, keepdims=True) / np.sqrt(rows.shape[1])
    scaled: FloatArray = rows / np.maximum(length, np.finfo(np.float32).tiny)
    return scaled
