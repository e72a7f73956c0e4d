"""Principal axes of all rows of an embedding, found once and used by every split.

Splits of one embedding differ little in their axes, and a probe needs axes only to see
the curvature along each: those of all rows do as well as those of its training rows,
and labels have no part in either. What must be exact is that they are orthonormal,
which leaves the penalty as it is, and that they span the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from dsgrl.evaluation.logistic import large_eigenvalues
from dsgrl.evaluation.scaling import SCALINGS, Scaling
from dsgrl.typing import FloatArray, Split

# More axes for its rows, and a split is better served by its own.
MOST_AXES = 0.75


@dataclass(frozen=True, slots=True)
class SharedAxes:
    """Axes of all rows, scaled each way that a probe tries.

    Attributes:
        by_scaling: name of the scaling -> the axes [D, R], the largest first, and the
            deviations the columns were divided by [D].
    """

    by_scaling: dict[str, tuple[FloatArray, FloatArray]]

    @classmethod
    def of(cls, z: FloatArray) -> "SharedAxes":
        """Find them for rows [N, D]."""
        found = {}
        for name in SCALINGS:
            scaling = Scaling.of(name, z)
            rows = scaling(z)
            centered: FloatArray = rows - rows.mean(axis=0)
            _, axes = large_eigenvalues(centered.T @ centered)
            found[name] = np.ascontiguousarray(axes[:, ::-1]), scaling.deviation
        return cls(found)

    def fitted_to(self, scaling: Scaling, num_rows: int) -> FloatArray | None:
        """Turn the axes so that they span rows of a split's own scaling [D, R].

        Args:
            scaling: of the split.
            num_rows: training rows of the split.

        Returns:
            None if these are too few for so many axes.
        """
        axes, deviation = self.by_scaling[scaling.name]
        if axes.shape[1] > MOST_AXES * num_rows:
            return None
        if scaling.name == "unit":
            return axes
        # Columns divided by other numbers: axes that are a little askew.
        askew = axes * (deviation / scaling.deviation)[:, None]
        turned: FloatArray = qr(askew, mode="economic", check_finite=False)[0]
        return turned


def are_worth_sharing(num_columns: int, splits: Sequence[Split]) -> bool:
    """Whether splits would else look at all columns, one after the other."""
    return len(splits) > 1 and all(num_columns <= len(part.train) for part in splits)
