"""What a study maximises: a validation score, or one that needs no label."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.bench.suites import CASES, SUITES
from dsgrl.bench.systems import Embedded, labels_of, masks_of
from dsgrl.datasets.table import DATASETS
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.typing import InputError, IntArray, Split

# From what a system made of the data to what is maximised.
Criterion = Callable[[Embedded], float]
# How often the labelled rows of a split are resampled.
NUM_RESAMPLES = 20


def label_free_score(embedded: Embedded) -> float:
    """Judge an embedding without labels: the AUC of hidden links.

    Raises:
        InputError: if it was trained without hiding any.
    """
    if embedded.link_auc is None:
        raise InputError(
            "no links were held out: tuning without labels needs epochs='auto' and a "
            "graph of some more edges"
        )
    return embedded.link_auc


def validation_score(y: IntArray, split: Split, *, metric: str) -> Criterion:
    """Make a criterion that knows the labels of training and validation rows only.

    A few dozen validation rows say little: the labelled rows are resampled several
    times, and the scores are averaged. A score on the rows by which the probe chose its
    strength is too high: others of them judge (see `resample`).

    Args:
        y: labels [N]; those of other rows are not kept.
        split: whose rows to use; the first sample is the split itself.
        metric: what is measured.
    """
    rows = np.concatenate([split.train, split.val])
    known = y[rows]
    splits = list(resample(known, len(split.train), NUM_RESAMPLES))

    def score(embedded: Embedded) -> float:
        judged = evaluate(embedded.z[rows], known, splits=splits, metric=metric)
        return judged.mean

    return score


def resample(y: IntArray, num_train: int, times: int) -> Iterator[Split]:
    """Split rows into those to fit, to choose and to judge by; first in their order.

    The rows to judge by come from the larger part: as many of the rows to fit as there
    are validation rows, or else half of the validation rows.

    Args:
        y: labels of the rows, those to fit first [N]; every split has the same number
            of rows of each class to fit, and to validate.
        num_train: number of rows to fit, including those taken to judge by.
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
    """Judge by held-out links; say so in words."""
    return label_free_score, "held-out links, no label used"


def by_validation(
    data: Any, dataset: str, folder: Path | None
) -> tuple[Criterion, str]:
    """Judge by the labelled rows of the first split, as `validation_score`.

    The split is the benchmark's own. Where that is stratified, drawing it takes all
    labels; nothing after it sees those of its test rows.
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
