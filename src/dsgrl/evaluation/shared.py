"""Principal axes of all rows of an embedding, computed once and used by every split.

Splits of one embedding differ little in their axes, and a probe needs axes only to see
the curvature along each: the axes of all rows serve as well as those of its
training rows, and neither depends on labels. The axes must be exactly orthonormal,
which leaves the penalty unchanged, and must span the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from dsgrl.evaluation.logistic import large_eigenvalues
from dsgrl.evaluation.scaling import SCALINGS, Scaling
from dsgrl.typing import FloatArray, Split

# With more axes per training row than this, a split computes its own axes.
MOST_AXES = 0.75


@dataclass(frozen=True, slots=True)
class SharedAxes:
    """Axes of all rows, for each scaling that a probe tries.

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
            None if there are too few training rows for the number of axes.
        """
        axes, deviation = self.by_scaling[scaling.name]
        if axes.shape[1] > MOST_AXES * num_rows:
            return None
        if scaling.name == "unit":
            return axes
        # Other column deviations: the rescaled axes are no longer quite orthogonal.
        rescaled = axes * (deviation / scaling.deviation)[:, None]
        turned: FloatArray = qr(rescaled, mode="economic", check_finite=False)[0]
        return turned


def are_worth_sharing(num_columns: int, splits: Sequence[Split]) -> bool:
    """Whether several splits would each compute the axes of all columns."""
    return len(splits) > 1 and all(num_columns <= len(part.train) for part in splits)
