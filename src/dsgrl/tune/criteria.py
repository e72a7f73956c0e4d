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
# Times that the labelled rows of a split are dealt.
DEALS = 20


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
    times, and the scores averaged. Rows that a probe has chosen its strength by praise
    it: others of them judge (see `redealt`).

    Args:
        y: labels [N]; those of other rows are not kept.
        split: whose rows to use; its own deal is the first.
        metric: what is measured.
    """
    rows = np.concatenate([split.train, split.val])
    known = y[rows]
    deals = list(redealt(known, len(split.train), DEALS))

    def score(embedded: Embedded) -> float:
        judged = evaluate(embedded.z[rows], known, splits=deals, metric=metric)
        return judged.mean

    return score


def redealt(y: IntArray, num_train: int, deals: int) -> Iterator[Split]:
    """Deal rows to fit, to choose and to judge by; at first as they come.

    Those to judge by are taken where there are more: as many as there are validation
    rows of the rows to fit, or else half of the validation rows.

    Args:
        y: labels of the rows, those to fit first [N]; of each class as many rows are
            dealt to fit, or held back for validation, every time.
        num_train: rows to fit, those to be taken of them included.
        deals: how many times.
    """
    order = np.arange(len(y))
    classes = [order] if y.ndim > 1 else [order[y == value] for value in np.unique(y)]
    for number in range(deals):
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
        f"dealt {DEALS} times",
    )
