"""From a few labels to predictions for all rows, with probabilities that hold.

A penalised logistic regression is fitted to the labelled rows. Its scaling and strength
are those with the best likelihood on rows left out of the fit, and so is a temperature
that all logits are divided by: of the predictions with probability 0.8, about 80 % are
right. What is reported of the quality is computed on rows left out of the fit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits

from dsgrl.evaluation.logistic import LogisticProblem, PrincipalAxes, probabilities
from dsgrl.evaluation.scaling import Scaling
from dsgrl.typing import FloatArray, InputError, IntArray

MOST_FOLDS = 5
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
SCALING_NAMES = ("standard", "unit")
PRECISION = 1e-6
# Fewer left-out labels say too little of a temperature.
LEAST_CHECKED = 10
# Bins of the calibration error, or as many as leave 20 rows in each.
BINS, LEAST_IN_BIN = 10, 20
SURE = 0.9

Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predicted labels with their probabilities.

    Attributes:
        classes: names of the classes [C].
        chance: probability of every class [N, C].
        counts: labels given per class [C].
        accuracy: on labels left out of the fit, from 0 to 1; None if too few.
        calibration_error: mean difference between probability and share of right
            predictions, on labels left out; None if too few.
        num_checked: number of labels that were left out once.
        temperature: that logits were divided by.
    """

    classes: list[str]
    chance: Probabilities
    counts: IntArray
    accuracy: float | None
    calibration_error: float | None
    num_checked: int
    temperature: float

    @property
    def best(self) -> IntArray:
        """The most probable class of every row [N]."""
        best: IntArray = self.chance.argmax(axis=1)
        return best

    def summary(self) -> dict[str, Any]:
        """Return what is to be said of them, as plain values."""
        top = self.chance.max(axis=1)
        return {
            "labels": int(self.counts.sum()),
            "classes": len(self.classes),
            "fewest_labels": int(self.counts.min()),
            "most_labels": int(self.counts.max()),
            "accuracy": _rounded(self.accuracy),
            "largest_class": round(float(self.counts.max() / self.counts.sum()), 4),
            "calibration_error": _rounded(self.calibration_error),
            "checked": self.num_checked,
            "mean_probability": round(float(top.mean()), 4),
            "sure": round(float((top >= SURE).mean()), 4),
        }


class _Choice:
    """A scaling and a strength, and the logits of rows left out of the fit."""

    def __init__(self, scaling: str, strength: float, logits: FloatArray) -> None:
        self.scaling, self.strength, self.logits = scaling, strength, logits


def classify(
    z: FloatArray, labels: list[str | None], random_state: int = 0
) -> Predictions:
    """Predict the label of every row from a few.

    Args:
        z: embeddings [N, D].
        labels: of the rows, None where unknown [N].
        random_state: seed of the folds.

    Raises:
        InputError: if there are fewer than two classes.
    """
    rows = np.flatnonzero([label is not None for label in labels])
    names, y = np.unique([str(labels[i]) for i in rows], return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"{len(rows)} labels of {len(names)} class, expected labels of two classes "
            f"or more"
        )
    counts = np.bincount(y)
    fold = make_folds(y, random_state)
    checked = fold >= 0
    # Such small matrix products are slower with several threads.
    with threadpool_limits(1):
        choice, temperature = _choose(z[rows], y, fold, len(names))
        logits = _logits(z[rows], y, z, len(names), choice.scaling, [choice.strength])
    chance = _to_chance(logits[0] / temperature)
    accuracy = error = None
    if checked.sum() >= LEAST_CHECKED:
        left_out = _to_chance(choice.logits[checked] / temperature)
        is_right = left_out.argmax(axis=1) == y[checked]
        accuracy = float(is_right.mean())
        error = calibration_error(left_out.max(axis=1), is_right)
    return Predictions(
        classes=names.tolist(),
        chance=chance,
        counts=counts,
        accuracy=accuracy,
        calibration_error=error,
        num_checked=int(checked.sum()),
        temperature=temperature,
    )


def make_folds(y: IntArray, random_state: int) -> IntArray:
    """Divide the labels of every class over the folds.

    Returns:
        Fold of every label [M]; -1 for the only label of a class, which every fit
        needs.
    """
    random = np.random.default_rng(random_state)
    fold = np.full(len(y), -1)
    for code in range(int(y.max()) + 1):
        members = random.permutation(np.flatnonzero(y == code))
        if len(members) > 1:
            first = random.integers(MOST_FOLDS)
            fold[members] = (np.arange(len(members)) + first) % MOST_FOLDS
    return fold


def calibration_error(chance: Probabilities, is_right: npt.NDArray[np.bool_]) -> float:
    """Return the mean difference between probability and share of right predictions.

    Rows are sorted by probability and divided into bins of equal size.
    """
    bins = max(1, min(BINS, len(chance) // LEAST_IN_BIN))
    order = np.argsort(chance, kind="stable")
    gaps = [
        abs(chance[part].mean() - is_right[part].mean()) * len(part)
        for part in np.array_split(order, bins)
    ]
    return float(sum(gaps) / len(chance))


def _choose(
    z: FloatArray, y: IntArray, fold: IntArray, num_classes: int
) -> tuple[_Choice, float]:
    """Find scaling, strength and temperature of the best likelihood, left out."""
    checked = fold >= 0
    if checked.sum() < LEAST_CHECKED:
        # Nothing to choose by.
        return _Choice("unit", 1.0, np.empty((0, 0), np.float32)), 1.0
    best: tuple[float, _Choice, float] | None = None
    for scaling in SCALING_NAMES:
        width = 1 if num_classes == 2 else num_classes
        logits = np.zeros((len(STRENGTHS), len(y), width), dtype=np.float32)
        for number in range(MOST_FOLDS):
            out, kept = fold == number, fold != number
            if out.any():
                logits[:, out] = _logits(
                    z[kept], y[kept], z[out], num_classes, scaling, STRENGTHS
                )
        for strength, part in zip(STRENGTHS, logits, strict=True):
            temperature, loss = _temperature(part[checked], y[checked])
            if best is None or loss < best[0]:
                best = (loss, _Choice(scaling, strength, part), temperature)
    assert best is not None
    return best[1], best[2]


def _logits(
    train: FloatArray,
    y: IntArray,
    rows: FloatArray,
    num_classes: int,
    scaling: str,
    strengths: Any,
) -> FloatArray:
    """Fit every strength and return the logits of rows [strengths, M, K]."""
    scale = Scaling.of(scaling, train)
    axes = PrincipalAxes.of(scale(train))
    problem = LogisticProblem.of(axes.coordinates, y, num_classes, several=False)
    weights, found = None, []
    for strength in strengths:
        weights = problem.solve(strength, weights, PRECISION)
        columns, intercept = axes.to_columns(weights)
        found.append(scale(rows) @ columns + intercept)
    return np.stack(found)


def _to_chance(logits: FloatArray) -> Probabilities:
    """Turn logits of one column (two classes) or more into probabilities [M, C]."""
    chance = probabilities(logits, exclusive=logits.shape[1] > 1)
    return np.hstack([1 - chance, chance]) if logits.shape[1] == 1 else chance


def _temperature(logits: FloatArray, y: IntArray) -> tuple[float, float]:
    """Return what to divide logits by, and the mean negative log-likelihood then."""

    def loss(log_temperature: float) -> float:
        chance = _to_chance(logits / np.float32(np.exp(log_temperature)))
        return float(-np.log(np.maximum(chance[np.arange(len(y)), y], 1e-12)).mean())

    found = minimize_scalar(loss, bounds=(-3, 3), method="bounded")
    return float(np.exp(found.x)), float(found.fun)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
