"""Penalised logistic regression, fast for many fits to the same rows.

The fit minimises, over weights W and intercepts b,

    mean over rows of the negative log-likelihood + |W|^2 / (2 * strength * rows),

scikit-learn's `LogisticRegression(C=strength)`, and finds the same optimum. It
is faster for two reasons. Rows are written in the principal axes of the training rows,
which changes no prediction (the penalty does not see a rotation) and shows the
curvature along every axis; columns are then rescaled by that curvature, so L-BFGS
solves a well-conditioned problem. Each strength starts from the weights of the last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize

from dsgrl.typing import FloatArray, IntArray

# Axes of less variance than this, of the largest, are float32's rounding.
LEAST_VARIANCE = 1e-7
# Bounds the scale of a class that is predicted with certainty.
LEAST_CURVATURE = 1e-4
MAX_STEPS = 500


@dataclass(frozen=True, slots=True)
class PrincipalAxes:
    """Orthonormal axes that span the training rows, nearly or fully principal ones.

    Attributes:
        coordinates: of the training rows in these axes [M, R].
        mean: of the training rows [D].
        factors: matrices whose product has one axis per column [D, R].
    """

    coordinates: FloatArray
    mean: FloatArray
    factors: tuple[FloatArray, ...]

    @classmethod
    def of(cls, train: FloatArray, basis: FloatArray | None = None) -> "PrincipalAxes":
        """Find the axes of rows [M, D] from the smaller of their two Gram matrices.

        Args:
            train: the rows.
            basis: orthonormal axes that span the rows [D, R], if already computed.
        """
        mean: FloatArray = train.mean(axis=0)
        centered: FloatArray = train - mean
        if basis is not None:
            return cls(centered @ basis, mean, (basis,))
        num_rows, num_columns = train.shape
        if num_rows >= num_columns:
            _, axes = large_eigenvalues(centered.T @ centered)
            return cls(centered @ axes, mean, (axes,))
        # float64: the axes are divided by their deviations below.
        exact = centered.astype(np.float64)
        variance, rows = large_eigenvalues(exact @ exact.T)
        deviation = np.sqrt(variance)
        coordinates = (rows * deviation).astype(np.float32)
        mixture = (rows / deviation).astype(np.float32)
        return cls(coordinates, mean, (centered.T, mixture))

    def to_columns(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn weights on the axes [K, R + 1] into weights [D, K], intercepts [K]."""
        columns: FloatArray = weights[:, :-1].T
        for factor in reversed(self.factors):
            columns = factor @ columns
        return columns, weights[:, -1] - self.mean @ columns


def large_eigenvalues(
    gram: npt.NDArray[Any],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Eigenvalues above `LEAST_VARIANCE` of the largest, and their vectors [R, K]."""
    # SciPy is faster than NumPy here, a large part of the time on small sets.
    values, vectors = eigh(gram, driver="evd", check_finite=False)
    kept = values > LEAST_VARIANCE * values[-1]
    return values[kept], vectors[:, kept]


@dataclass(frozen=True, slots=True)
class LogisticProblem:
    """Rows and their classes or labels.

    Attributes:
        x: coordinates of the training rows in their principal axes [M, R].
        x_by_axis: the same, axis by axis [R, M]: each product uses its faster layout.
        y: 0 and 1 [K, M]: one row per class or label; two classes need one row.
        exclusive: whether exactly one row of `y` holds (softmax); else every row is
            a binary problem of its own, solved in the same pass.
    """

    x: FloatArray
    x_by_axis: FloatArray
    y: FloatArray
    exclusive: bool

    @classmethod
    def of(
        cls, x: FloatArray, y: IntArray, num_classes: int, *, several: bool
    ) -> "LogisticProblem":
        """Take classes [M] or, for several labels a row, a table of 0 and 1 [M, C]."""
        if several:
            table = y.T
        elif num_classes == 2:
            table = y[None]
        else:
            table = y[None] == np.arange(num_classes)[:, None]
        return cls(
            np.ascontiguousarray(x),
            np.ascontiguousarray(x.T),
            np.ascontiguousarray(table, dtype=np.float32),
            exclusive=not several and num_classes != 2,
        )

    def solve(
        self, strength: float, start: FloatArray | None, precision: float
    ) -> FloatArray:
        """Fit the weights [K, R + 1], the intercepts in the last column.

        Args:
            strength: inverse weight of the penalty.
            start: weights to start from.
            precision: stop when a step lowers the objective by less than this.
        """
        num_rows, num_axes = self.x.shape
        penalty = np.full(num_axes + 1, 1 / (strength * num_rows), dtype=np.float32)
        penalty[-1] = 0
        weights = self._uninformed() if start is None else start
        scale = self._scale(weights, penalty)
        objective = self._objective(scale, penalty)
        found = minimize(
            objective,
            (weights / scale).ravel().astype(np.float64),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": precision, "gtol": 0, "maxfun": MAX_STEPS},
        )
        solution: FloatArray = found.x.reshape(scale.shape).astype(np.float32) * scale
        return solution

    def _uninformed(self) -> FloatArray:
        """Weights that predict the class frequencies for every row."""
        half_a_row = 0.5 / self.y.shape[1]
        share = self.y.mean(axis=1).clip(half_a_row, 1 - half_a_row)
        weights = np.zeros((len(self.y), self.x.shape[1] + 1), dtype=np.float32)
        weights[:, -1] = (
            np.log(share) if self.exclusive else np.log(share / (1 - share))
        )
        return weights

    def _scale(self, weights: FloatArray, penalty: FloatArray) -> FloatArray:
        """One over the root of the curvature along every axis, class by class."""
        chance = _likelihood(self._logits(weights), self.y, self.exclusive)[1] + self.y
        doubt = (chance * (1 - chance)).mean(axis=1) + LEAST_CURVATURE
        variance = np.append(np.square(self.x).mean(axis=0), 1).astype(np.float32)
        scale: FloatArray = 1 / np.sqrt(doubt[:, None] * variance + penalty)
        return scale

    def _logits(self, weights: FloatArray) -> FloatArray:
        logits: FloatArray = weights[:, :-1] @ self.x_by_axis
        logits += weights[:, -1:]
        return logits

    def _objective(
        self, scale: FloatArray, penalty: FloatArray
    ) -> Callable[[npt.NDArray[np.float64]], tuple[float, npt.NDArray[np.float64]]]:
        num_rows = len(self.x)

        def value_and_gradient(
            scaled: npt.NDArray[np.float64],
        ) -> tuple[float, npt.NDArray[np.float64]]:
            weights = scaled.reshape(scale.shape).astype(np.float32) * scale
            loss, residual = _likelihood(self._logits(weights), self.y, self.exclusive)
            gradient = penalty * weights
            value = loss / num_rows + 0.5 * float(np.vdot(gradient, weights))
            gradient[:, :-1] += residual @ self.x / num_rows
            gradient[:, -1] += residual.mean(axis=1)
            return value, (gradient * scale).ravel().astype(np.float64)

        return value_and_gradient


def probabilities(logits: FloatArray, *, exclusive: bool) -> npt.NDArray[np.float64]:
    """Turn logits [M, K] into probabilities [M, K]."""
    exact = logits.astype(np.float64)
    if not exclusive:
        chance: npt.NDArray[np.float64] = 0.5 + 0.5 * np.tanh(exact / 2)
        return chance
    odds = np.exp(exact - exact.max(axis=1, keepdims=True))
    shares: npt.NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
    return shares


def _likelihood(
    logits: FloatArray, y: FloatArray, exclusive: bool
) -> tuple[float, FloatArray]:
    """Return the summed negative log-likelihood and its gradient [K, M]."""
    # Differences are taken row by row: those of two large sums would be rounding.
    if exclusive:
        below = logits - logits.max(axis=0)
        odds = np.exp(below)
        total = odds.sum(axis=0)
        return float(np.log(total).sum() - np.vdot(below, y)), odds / total - y
    smaller = np.exp(-np.abs(logits))
    loss = np.log1p(smaller).sum() + (np.maximum(logits, 0) - logits * y).sum()
    chance = np.where(logits > 0, 1, smaller) / (1 + smaller)
    return float(loss), chance - y
