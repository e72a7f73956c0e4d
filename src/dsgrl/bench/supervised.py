"""Supervised references: refitted for every split, on its training labels only."""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from dsgrl.bench.systems import System
from dsgrl.evaluation.labels import encode_labels
from dsgrl.evaluation.metrics import METRICS
from dsgrl.methods import FitConfig
from dsgrl.train import Labels, fit
from dsgrl.typing import InputError, IntArray, Score, Split


def score_supervised(
    system: System,
    config: FitConfig,
    data: Any,
    y: IntArray,
    splits: Sequence[Split],
    *,
    metric: str,
    protocol: str,
    target: str | None,
) -> tuple[Score, int]:
    """Fit a supervised system once per split and score its own predictions.

    Args:
        system: what is fitted.
        config: its parameters.
        data: the dataset without labels.
        y: labels [N]; the fit sees only those of the training rows.
        splits: training, validation and test rows.
        metric: a key of `METRICS`.
        protocol: the name of the splits.
        target: the labelled node type, if there are several types.

    Returns:
        The scores, and the median of the kept epochs.

    Raises:
        InputError: if a row has several labels.
    """
    targets = encode_labels(y)
    if targets.is_multi_label:
        raise InputError(
            f"method '{system.method}' learns one class per row, these rows have "
            f"several labels: choose another method ('dsgrl list')"
        )
    scores, validation, epochs = [], [], []
    for split in splits:
        seen = np.full_like(targets.values, -1)
        seen[split.train] = targets.values[split.train]
        labels = Labels(seen, targets.num_classes, target)
        fitted = fit(system.method, data, config, labels=labels)
        predicted: Any = fitted.predict(data)
        probabilities = predicted if target is None else predicted[target]
        reached = [
            METRICS[metric](probabilities[rows], targets.values[rows])
            for rows in (split.val, split.test)
        ]
        validation.append(reached[0])
        scores.append(reached[1])
        epochs.append(fitted.epoch)
    score = Score(scores, validation, metric=metric, protocol=protocol)
    return score, round(statistics.median(epochs))
