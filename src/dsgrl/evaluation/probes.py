"""Probes: simple classifiers that measure how good an embedding is.

A probe tries every scaling with every strength (or number of neighbours), keeps the
one with the best score on the validation rows and scores the test rows once.
The chosen classifier is not refitted on training and validation rows together: the
validation score and the test score belong to the same classifier, for nodes and for
graphs. The support vector machine is the exception, as published results have it:
cross-validation on training and validation rows chooses, then all of them are fitted.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dsgrl.evaluation.labels import Targets
from dsgrl.evaluation.logistic import LogisticProblem, PrincipalAxes, probabilities
from dsgrl.evaluation.metrics import METRICS
from dsgrl.evaluation.neighbors import NUM_NEIGHBORS, neighbor_votes
from dsgrl.evaluation.scaling import SCALINGS, Scaling
from dsgrl.evaluation.shared import SharedAxes
from dsgrl.evaluation.svm import KernelRows, choose_cost
from dsgrl.typing import FloatArray, InputError, IntArray, Split

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
# Candidates are ranked by a rough fit; the best one is then fitted precisely.
ROUGH, FINE = 1e-5, 1e-6
# Beyond this many training rows, candidates are compared on a sample of them.
MOST_ROWS_TO_CHOOSE = 20_000

Predictor = Callable[[FloatArray], npt.NDArray[np.float64]]


class ProbeResult(NamedTuple):
    """Scores of an embedding on one split.

    Attributes:
        test: score on the test rows, in percent.
        validation: score of the same classifier on the validation rows, in percent;
            of a support vector machine, the mean of its inner cross-validation.
        choice: scaling, and strength, number of neighbours or cost.
    """

    test: float
    validation: float
    choice: tuple[str, float]


class _Candidate(NamedTuple):
    validation: float
    fit: "_Fit"
    strength: float
    weights: FloatArray


def logistic_probe(
    z: FloatArray,
    targets: Targets,
    split: Split,
    metric: str,
    *,
    shared: SharedAxes | None = None,
) -> ProbeResult:
    """Fit a logistic regression; several labels a row: one against the rest for each.

    Args:
        z: embeddings [N, D].
        targets: labels to predict.
        split: training, validation and test rows.
        metric: one of `METRICS`.
        shared: precomputed axes of `z`: faster, and equally accurate.
    """
    score = METRICS[metric]
    val_y = targets.values[split.val]
    sample = _sample(split.train)
    share = len(sample) / len(split.train)
    best: _Candidate | None = None
    for name in SCALINGS:
        fit = _Fit.of(name, z, targets, sample, shared)
        val_rows = fit.scaling(z[split.val])
        weights = None
        for strength in STRENGTHS:
            # The penalty per row stays the same on a sample.
            weights = fit.problem.solve(strength / share, weights, ROUGH)
            reached = score(fit.predictor(weights)(val_rows), val_y)
            if best is None or reached > best.validation:
                best = _Candidate(reached, fit, strength, weights)
    assert best is not None
    fit = best.fit
    if share < 1:
        fit = _Fit.of(fit.scaling.name, z, targets, split.train, shared)
    start = best.weights if share == 1 else None
    predict = fit.predictor(fit.problem.solve(best.strength, start, FINE))
    return _judge(
        lambda rows: predict(fit.scaling(z[rows])),
        targets,
        split,
        metric,
        (fit.scaling.name, best.strength),
    )


def neighbor_probe(
    z: FloatArray, targets: Targets, split: Split, metric: str
) -> ProbeResult:
    """Let the k nearest training rows vote; k is chosen on the validation rows.

    Args:
        z: embeddings [N, D].
        targets: labels to predict.
        split: training, validation and test rows.
        metric: one of `METRICS`.
    """
    score = METRICS[metric]
    table = targets.values[split.train]
    if not targets.is_multi_label:
        table = np.eye(targets.num_classes, dtype=np.int64)[table]
    best = (-1.0, "", 0)
    for name in SCALINGS:
        scaling = Scaling.of(name, z[split.train])
        votes = neighbor_votes(
            scaling(z[split.train]), table, scaling(z[split.val]), NUM_NEIGHBORS
        )
        for size in NUM_NEIGHBORS:
            reached = score(votes[size], targets.values[split.val])
            if reached > best[0]:
                best = (reached, name, size)
    _, name, size = best
    scaling = Scaling.of(name, z[split.train])
    train = scaling(z[split.train])
    return _judge(
        lambda rows: neighbor_votes(train, table, scaling(z[rows]), (size,))[size],
        targets,
        split,
        metric,
        (name, size),
    )


def svm_probe(
    z: FloatArray, targets: Targets, split: Split, metric: str
) -> ProbeResult:
    """Fit a support vector machine; its cost is chosen by inner cross-validation.

    Args:
        z: embeddings [N, D]; they are not scaled.
        targets: labels to predict, one a row.
        split: training, validation and test rows.
        metric: one of `METRICS`.
    """
    if targets.is_multi_label:
        raise InputError("probe 'svm' on rows with several labels, expected one a row")
    score = METRICS[metric]
    inside = np.sort(np.concatenate([split.train, split.val]))
    both = np.concatenate([inside, split.test])
    rows = KernelRows.of(z[both], targets.values[both], targets.num_classes)
    fit, judge = np.split(np.arange(len(both)), [len(inside)])
    cost, validation = choose_cost(rows, fit, score)
    (found,) = rows.classify(fit, judge, [cost])
    return ProbeResult(score(found, rows.y[judge]), validation, ("none", cost))


PROBES = {"logistic": logistic_probe, "knn": neighbor_probe, "svm": svm_probe}


class _Fit(NamedTuple):
    """Training rows, scaled and in the coordinates of their principal axes."""

    scaling: Scaling
    axes: PrincipalAxes
    problem: LogisticProblem
    two_classes: bool

    @classmethod
    def of(
        cls,
        name: str,
        z: FloatArray,
        targets: Targets,
        train: IntArray,
        shared: SharedAxes | None,
    ) -> "_Fit":
        scaling = Scaling.of(name, z[train])
        rows = scaling(z[train])
        basis = None if shared is None else shared.fitted_to(scaling, len(rows))
        axes = PrincipalAxes.of(rows, basis)
        several = targets.is_multi_label
        problem = LogisticProblem.of(
            axes.coordinates,
            targets.values[train],
            targets.num_classes,
            several=several,
        )
        return cls(scaling, axes, problem, targets.num_classes == 2 and not several)

    def predictor(self, weights: FloatArray) -> Predictor:
        columns, intercept = self.axes.to_columns(weights)

        def predict(rows: FloatArray) -> npt.NDArray[np.float64]:
            chance = probabilities(
                rows @ columns + intercept, exclusive=self.problem.exclusive
            )
            return np.hstack([1 - chance, chance]) if self.two_classes else chance

        return predict


def _sample(train: IntArray) -> IntArray:
    if len(train) <= MOST_ROWS_TO_CHOOSE:
        return train
    drawn = np.random.default_rng(0).choice(train, MOST_ROWS_TO_CHOOSE, replace=False)
    return np.sort(drawn)


def _judge(
    predict: Callable[[IntArray], npt.NDArray[np.float64]],
    targets: Targets,
    split: Split,
    metric: str,
    choice: tuple[str, float],
) -> ProbeResult:
    """Score the chosen classifier; nothing is chosen after this."""
    validation, test = (
        METRICS[metric](predict(rows), targets.values[rows])
        for rows in (split.val, split.test)
    )
    return ProbeResult(test, validation, choice)
