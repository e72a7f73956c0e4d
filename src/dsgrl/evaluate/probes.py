"""How good an embedding is: a linear classifier on top of it, honestly chosen."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from dsgrl.typing import FloatArray, IntArray, Split

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


def probe_accuracy(z: FloatArray, y: IntArray, split: Split) -> float:
    """Test accuracy in percent of a logistic regression on fixed embeddings.

    Its strength and the scaling (columns standardised on the training rows; rows of
    unit length; or first the one, then the other) are chosen on validation rows;
    test rows are looked at once, by the chosen one.

    Args:
        z: embeddings [N, D].
        y: class of every row [N].
        split: rows to fit, choose and judge by.
    """
    best_score, best = -1.0, None
    standardized = _standardized(z, split.train)
    for rows in (standardized, _unit_rows(z), _unit_rows(standardized)):
        scaled = _within_span(rows, split.train)
        # From strong to weak, each fit starting at the one before.
        model = LogisticRegression(max_iter=200, warm_start=True)
        for strength in STRENGTHS:
            model.set_params(C=strength)
            # Such small products lose an order of magnitude to waiting threads.
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(scaled[split.train], y[split.train])
            score = model.score(scaled[split.val], y[split.val])
            if score > best_score:
                best_score = score
                best = model.predict(scaled[split.test])
    return 100 * float(np.mean(best == y[split.test]))


def _standardized(z: FloatArray, train: IntArray) -> FloatArray:
    mean, deviation = z[train].mean(axis=0), z[train].std(axis=0)
    # A column constant on the training rows says nothing: leave it at its scale.
    scaled: FloatArray = (z - mean) / np.where(deviation > 1e-6, deviation, 1.0)
    return scaled


def _unit_rows(z: FloatArray) -> FloatArray:
    """Scale rows so that an entry is 1 on average, as in standardised columns."""
    length = np.linalg.norm(z, axis=1, keepdims=True) / np.sqrt(z.shape[1])
    scaled: FloatArray = z / np.maximum(length, np.finfo(np.float32).tiny)
    return scaled


def _within_span(z: FloatArray, train: IntArray) -> FloatArray:
    """Express rows by coordinates in the span of the training rows, if that is fewer.

    A penalised linear classifier lies in that span, so its predictions stay the same
    while a fit on few rows of many columns costs several times less.
    """
    if len(train) >= z.shape[1]:
        return z
    basis, _ = np.linalg.qr(z[train].T)
    projected: FloatArray = z @ basis
    return projected
