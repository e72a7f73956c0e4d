"""What a study maximises: a validation score, or one that needs no label."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.bench.suites import CASES, SUITES
from dsgrl.bench.systems import Embedded, labels_of, masks_of
from dsgrl.evaluate import evaluate, protocol_splits
from dsgrl.graph.datasets import DATASETS
from dsgrl.typing import InputError, IntArray, Split

# From what a system made of the data to what is maximised.
Criterion = Callable[[Embedded], float]
# Times that the labelled rows of a split are dealt.
DEALS = 10


def label_free_score(embedded: Embedded) -> float:
    """Judge an embedding without labels: how well it tells hidden links, as AUC.

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

    A few dozen validation rows tell little: the labelled rows are dealt anew several
    times, to fit and to choose by as before, and the scores averaged.

    Args:
        y: labels [N]; those of other rows are not kept.
        split: whose rows to use; its own deal is the first.
        metric: what is measured.
    """
    # A probe asks for rows to judge by: the validation rows stand in a second time.
    rows = np.concatenate([split.train, split.val])
    known, count = y[rows], len(rows)
    deals = [
        Split(train, val, val + count)
        for train, val in redealt(known, len(split.train), DEALS)
    ]
    rows, known = np.concatenate([rows, rows]), np.concatenate([known, known])

    def score(embedded: Embedded) -> float:
        judged = evaluate(embedded.z[rows], known, splits=deals, metric=metric)
        return float(np.mean(judged.validation))

    return score


def redealt(
    y: IntArray, num_train: int, deals: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Deal rows to fit and rows to choose by, the first time as they come.

    Args:
        y: labels of the rows, those to fit first [N]; of each class as many rows are
            dealt to fit every time.
        num_train: rows to fit.
        deals: how many times.
    """
    order = np.arange(len(y))
    classes = [order] if y.ndim > 1 else [order[y == value] for value in np.unique(y)]
    yield order[:num_train], order[num_train:]
    for number in range(1, deals):
        generator = np.random.default_rng(number)
        parts = [
            np.split(generator.permutation(members), [(members < num_train).sum()])
            for members in classes
        ]
        train, val = (
            np.sort(np.concatenate(part)) for part in zip(*parts, strict=True)
        )
        yield train, val


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
        f"dealt {DEALS} times",
    )
