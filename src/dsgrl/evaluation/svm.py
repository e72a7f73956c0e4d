"""A support vector machine on embeddings, as graph-level papers evaluate them.

GraphCL, InfoGraph and GraphMAE report a `sklearn.svm.SVC` with its default kernel on
embeddings as they are. Its cost C is chosen by cross-validation inside the training
folds. Here the distances of all pairs are computed once per split and shared by all
costs and inner folds, which is faster and gives the same machines.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from dsgrl.typing import FloatArray, InputError, IntArray

COSTS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
INNER_FOLDS = 5
# Distances of all pairs of this many rows take 1.2 GB.
MOST_ROWS = 12_000

Scores = npt.NDArray[np.float64]


class KernelRows(NamedTuple):
    """Rows of an embedding and the distances between them.

    Attributes:
        z: the rows [M, D].
        distance: squared distance of every pair [M, M].
        y: class of every row [M].
        num_classes: C; a class may be missing among the rows.
    """

    z: npt.NDArray[np.float64]
    distance: npt.NDArray[np.float64]
    y: IntArray
    num_classes: int

    @classmethod
    def of(cls, z: FloatArray, y: IntArray, num_classes: int) -> "KernelRows":
        """Compare all pairs of rows [M, D].

        Raises:
            InputError: if there are too many.
        """
        if len(z) > MOST_ROWS:
            raise InputError(
                f"a support vector machine on {len(z)} rows compares all pairs, "
                f"expected at most {MOST_ROWS}: choose another protocol"
            )
        rows = z.astype(np.float64)
        return cls(rows, euclidean_distances(rows, squared=True), y, num_classes)

    def classify(
        self, fit: IntArray, judge: IntArray, costs: Sequence[float]
    ) -> Iterator[Scores]:
        """Fit a machine per cost and yield its scores of other rows.

        Args:
            fit: rows to fit.
            judge: rows to score.
            costs: values of C.

        Yields:
            One score per row and class [len(judge), C]; the highest one is predicted.
        """
        spread = self.z[fit].var() * self.z.shape[1]
        gamma = 1 / spread if spread else 1.0
        known, asked = (
            np.exp(-gamma * self.distance[np.ix_(rows, fit)]) for rows in (fit, judge)
        )
        for cost in costs:
            machine = SVC(C=cost, kernel="precomputed").fit(known, self.y[fit])
            yield self._by_class(machine.decision_function(asked), machine.classes_)

    def _by_class(self, decided: Scores, classes: IntArray) -> Scores:
        """Spread scores over all classes; those that were not fitted come last."""
        if decided.ndim == 1:
            decided = np.stack([-decided, decided], axis=1)
        scores = np.full((len(decided), self.num_classes), decided.min() - 1)
        scores[:, classes] = decided
        return scores


def choose_cost(
    rows: KernelRows, fit: IntArray, score: Callable[[Scores, IntArray], float]
) -> tuple[float, float]:
    """Choose C by cross-validation.

    Args:
        rows: all rows.
        fit: the rows to choose by; no other label is read.
        score: a metric of scores [M, C] and classes [M].

    Returns:
        The smallest C of the highest mean score, and that score.
    """
    smallest = int(np.unique(rows.y[fit], return_counts=True)[1].min())
    if smallest < 2:
        raise InputError(
            "a class of one training row, expected two or more to choose the machine by"
        )
    reached = []
    for one, other in StratifiedKFold(min(INNER_FOLDS, smallest)).split(
        fit, rows.y[fit]
    ):
        found = rows.classify(fit[one], fit[other], COSTS)
        reached.append([score(scores, rows.y[fit[other]]) for scores in found])
    mean = np.mean(reached, axis=0)
    best = int(mean.argmax())
    return COSTS[best], float(mean[best])
