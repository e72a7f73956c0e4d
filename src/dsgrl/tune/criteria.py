"""What a study maximises: a validation score, or a score without labels."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.bench.suites import CASES, SUITES
from dsgrl.bench.systems import Embedded, labels_of, masks_of
from dsgrl.datasets.table import DATASETS
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.typing import InputError, IntArray, Split

# From the embedding of a system to the score that is maximised.
Criterion = Callable[[Embedded], float]
# How often the labelled rows of a split are resampled.
NUM_RESAMPLES = 20


def label_free_score(embedded: Embedded) -> float:
    """Score an embedding without labels: the AUC of held-out links.

    Raises:
        InputError: if no links were held out in training.
    """
    if embedded.link_auc is None:
        raise InputError(
            "no links were held out: tuning without labels needs epochs='auto' and a "
            "graph with more edges"
        )
    return embedded.link_auc


def validation_score(y: IntArray, split: Split, *, metric: str) -> Criterion:
    """Make a criterion that uses the labels of training and validation rows only.

    A score on a few dozen validation rows is noisy: the labelled rows are resampled
    several times, and the scores are averaged. The rows that choose the strength of the
    probe would give a score that is too high, so other rows are scored (`resample`).

    Args:
        y: labels [N]; those of other rows are not stored.
        split: the rows to use; the first sample is the split itself.
        metric: a key of `METRICS`.
    """
    rows = np.concatenate([split.train, split.val])
    known = y[rows]
    splits = list(resample(known, len(split.train), NUM_RESAMPLES))

    def score(embedded: Embedded) -> float:
        judged = evaluate(embedded.z[rows], known, splits=splits, metric=metric)
        return judged.mean

    return score


def resample(y: IntArray, num_train: int, times: int) -> Iterator[Split]:
    """Split labelled rows into training, validation and scored rows.

    The first split keeps the given order, the others are random. The scored rows come
    from the larger part: as many training rows as there are validation rows, or else
    half of the validation rows.

    Args:
        y: labels of the rows, training rows first [N]; every split has the same number
            of training and of validation rows of each class.
        num_train: number of training rows, including those that are scored.
        times: number of splits.
    """
    order = np.arange(len(y))
    classes = [order] if y.ndim > 1 else [order[y == value] for value in np.unique(y)]
    for number in range(times):
        generator = np.random.default_rng(number)
        train, val = order[:num_train], order[num_train:]
        if number:
            parts = [
                np.split(generator.permutation(members), [(members < num_train).sum()])
                for members in classes
            ]
            train, val = (np.concatenate(part) for part in zip(*parts, strict=True))
        if len(train) > 2 * len(val):
            judge, train = np.split(generator.permutation(train), [len(val)])
        else:
            judge, val = np.split(generator.permutation(val), [len(val) // 2])
        yield Split(*map(np.sort, (train, val, judge)))


def by_links() -> tuple[Criterion, str]:
    """Return the score of held-out links and its description."""
    return label_free_score, "held-out links, no label used"


def by_validation(
    data: Any, dataset: str, folder: Path | None
) -> tuple[Criterion, str]:
    """Return the validation score of the first split and its description.

    The split is that of the benchmark. A stratified split is drawn with all labels;
    after that, nothing sees the labels of its test rows.
    """
    row = DATASETS[dataset]
    suite = next(suite for suite in SUITES.values() if suite.level == row.level)
    protocol, metric = CASES.get(dataset, suite.cases)[0]
    y = labels_of(data, row.target)
    split = protocol_splits(
        protocol, y, masks=masks_of(data, row.target), dataset=dataset, folder=folder
    )[0]
    criterion = validation_score(y, split, metric=metric)
    return (
        criterion,
        f"validation {metric} of the first split of {protocol}, its labelled rows "
        f"resampled {NUM_RESAMPLES} times",
    )
