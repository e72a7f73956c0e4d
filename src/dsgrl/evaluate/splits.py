"""Which rows fit, choose and judge: seeded, disjoint, stratified."""

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from dsgrl.typing import InputError, IntArray, Split


def stratified_splits(
    y: IntArray,
    *,
    num_splits: int = 10,
    train: float = 0.05,
    val: float = 0.15,
    random_state: int = 0,
) -> list[Split]:
    """Draw splits that keep the shares of the classes; all other rows are test rows.

    Args:
        y: class of every row [N].
        num_splits: how many to draw.
        train: share of the rows to fit on.
        val: share of the rows to choose by.
        random_state: same number, same splits.
    """
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2 or counts.min() < 3:
        raise InputError(
            f"cannot split {len(y)} labels: the smallest of {len(classes)} classes has "
            f"{counts.min()} rows, expected two or more classes of three or more rows"
        )
    splits = []
    outer = StratifiedShuffleSplit(
        num_splits,
        train_size=_at_least(train, len(classes), len(y)),
        random_state=random_state,
    )
    for number, (fit, rest) in enumerate(outer.split(y, y)):
        inner = StratifiedShuffleSplit(
            1,
            train_size=_at_least(val, len(classes), len(y)),
            random_state=random_state + number,
        )
        choose, judge = next(inner.split(rest, y[rest]))
        splits.append(Split(np.sort(fit), np.sort(rest[choose]), np.sort(rest[judge])))
    return splits


def _at_least(share: float, classes: int, rows: int) -> int:
    """Rows of a share, but one per class or more."""
    return max(round(share * rows), classes)
