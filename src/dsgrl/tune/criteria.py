"""What a study maximises: a validation score, or one that needs no label."""

from collections.abc import Callable
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

    Args:
        y: labels [N]; those of other rows are not kept.
        split: whose rows to use.
        metric: what is measured.
    """
    # A probe asks for rows to judge by: the validation rows stand in a second time.
    rows = np.concatenate([split.train, split.val, split.val])
    known = y[rows]
    ends = np.cumsum([len(split.train), len(split.val)])
    own = Split(*np.split(np.arange(len(rows)), ends))

    def score(embedded: Embedded) -> float:
        judged = evaluate(embedded.z[rows], known, splits=[own], metric=metric)
        return judged.validation[0]

    return score


def by_links() -> tuple[Criterion, str]:
    """Judge by held-out links; say so in words."""
    return label_free_score, "held-out links, no label used"


def by_validation(
    data: Any, dataset: str, folder: Path | None
) -> tuple[Criterion, str]:
    """Judge by the validation rows of the first split; say so in words.

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
    return criterion, f"validation {metric} of the first split of {protocol}"
