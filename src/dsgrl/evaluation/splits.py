"""Training, validation and test rows: seeded, disjoint, stratified."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedShuffleSplit

from dsgrl.evaluation.folds import PUBLIC, public_folds, stratified_folds
from dsgrl.evaluation.labels import Targets, encode_labels
from dsgrl.evaluation.masks import Masks, checked_masks, mask_splits
from dsgrl.typing import InputError, IntArray, Split

DEFAULT_PROTOCOL = "5/15/80"
SVM_PROTOCOL = "10-fold-svm"
PROTOCOLS = (
    DEFAULT_PROTOCOL,
    "10/10/80",
    "balanced",
    "public",
    "folds",
    SVM_PROTOCOL,
    "imdb-20",
    "imdb-40",
    "imdb-60",
    "imdb-80",
)
NUM_SPLITS = 10
# Published results use more splits of this protocol.
NUM_SPLITS_OF = {"10/10/80": 20}


def protocol_splits(
    protocol: str,
    y: npt.ArrayLike,
    *,
    num_splits: int | None = None,
    random_state: int = 0,
    masks: Masks | None = None,
    dataset: str | None = None,
    folder: Path | None = None,
) -> list[Split]:
    """Return the splits of a protocol.

    =============  ==================================================================
    protocol       splits
    =============  ==================================================================
    5/15/80        ten stratified draws: percent of training, validation and test
                   rows (any three numbers that add up to 100)
    10/10/80       twenty of them
    balanced       ten draws: 5 % training rows, equally many of every class; 15 %
                   validation rows, drawn at random; the rest are test rows
    public         the data's own, from `masks`
    folds          the ten public folds of `dataset`; ten seeded stratified ones for
                   other sets
    10-fold-svm    ten seeded stratified folds, not the public ones, for a support
                   vector machine that is chosen inside the training folds
    imdb-20 ... 80  ten stratified draws among the test rows of `masks`: that percent
                   for training, the rest for testing; the data's validation rows
    =============  ==================================================================

    Args:
        protocol: one of the above.
        y: labels as in `evaluate`; rows without one are in no split.
        num_splits: how many; if not given, as the table says.
        random_state: seed of the splits.
        masks: of the data's training, validation and test rows, as a tuple or by
            name (`train_mask`, `val_mask`, `test_mask`), each [N] or [N, splits].
        dataset: name of the set of graphs.
        folder: data folder; the public folds come with the package, too.
    """
    targets = encode_labels(y)
    if num_splits is not None and num_splits < 1:
        raise InputError(f"{num_splits} splits, expected one or more")
    count = num_splits or NUM_SPLITS_OF.get(protocol, NUM_SPLITS)
    if protocol == "public":
        splits = mask_splits(checked_masks(protocol, masks, len(targets.known)))[
            :num_splits
        ]
    elif protocol in ("folds", SVM_PROTOCOL):
        public = dataset if protocol == "folds" else None
        splits = _folds(targets, public, folder, random_state)[:count]
    else:
        splits = _draw(protocol, targets, masks, count, random_state)
    return checked_splits(splits, targets)


def _draw(
    protocol: str, targets: Targets, masks: Masks | None, count: int, seed: int
) -> list[Split]:
    rows = np.flatnonzero(targets.known)
    if protocol.startswith("imdb-") and protocol in PROTOCOLS:
        _, choose, judge = checked_masks(protocol, masks, len(targets.known))
        if choose.ndim == 2 or judge.ndim == 2:
            raise InputError(f"'{protocol}' with masks of several splits, expected one")
        return part_of_test_splits(
            targets.values,
            np.flatnonzero(choose & targets.known),
            np.flatnonzero(judge & targets.known),
            share=int(protocol.removeprefix("imdb-")) / 100,
            num_splits=count,
            random_state=seed,
        )
    y = targets.values[rows]
    if protocol == "balanced" and not targets.is_multi_label:
        splits = balanced_splits(y, num_splits=count, random_state=seed)
    else:
        train, val = _shares(protocol)
        draw = shuffled_splits if targets.is_multi_label else stratified_splits
        splits = draw(y, num_splits=count, train=train, val=val, random_state=seed)
    return [Split(*(rows[part] for part in split)) for split in splits]


def _shares(protocol: str) -> tuple[float, float]:
    parts = re.fullmatch(r"(\d+)/(\d+)/(\d+)", protocol)
    percent = [int(part) for part in parts.groups()] if parts else []
    if sum(percent) != 100 or min(percent) == 0:
        raise InputError(
            f"unknown protocol '{protocol}', expected {', '.join(PROTOCOLS)}, or three "
            f"numbers a/b/c that add up to 100"
        )
    return percent[0] / 100, percent[1] / 100


def stratified_splits(
    y: IntArray,
    *,
    num_splits: int = NUM_SPLITS,
    train: float = 0.05,
    val: float = 0.15,
    random_state: int = 0,
) -> list[Split]:
    """Draw splits that keep the shares of the classes; all other rows are test rows.

    Every class has at least one training row, even if its share is small.

    Args:
        y: class of every row [N].
        num_splits: how many to draw.
        train: share of training rows.
        val: share of validation rows.
        random_state: seed of the splits.
    """
    num_classes = _refuse_few(y, least=3)
    num_train, num_val = (
        _at_least(share, num_classes, len(y)) for share in (train, val)
    )
    try:
        outer = StratifiedShuffleSplit(
            num_splits, train_size=num_train, random_state=random_state
        )
        splits = []
        for number, drawn in enumerate(outer.split(y, y)):
            fit, rest = _with_every_class(y, *drawn)
            inner = StratifiedShuffleSplit(
                1, train_size=num_val, random_state=random_state + number
            )
            choose, judge = next(inner.split(rest, y[rest]))
            parts = (fit, rest[choose], rest[judge])
            splits.append(Split(*(np.sort(part) for part in parts)))
    except ValueError as error:
        raise InputError(
            f"cannot split {len(y)} labels into {num_train} for training, "
            f"{num_val} for validation and the rest for testing: a class has too few "
            f"rows ({error})"
        ) from error
    return splits


def shuffled_splits(
    y: IntArray, *, num_splits: int, train: float, val: float, random_state: int = 0
) -> list[Split]:
    """Draw splits at random, not stratified: for rows with several labels.

    Arguments as those of `stratified_splits`.
    """
    num_train, num_val = round(train * len(y)), round(val * len(y))
    splits = []
    for number in range(num_splits):
        order = np.random.default_rng((random_state, number)).permutation(len(y))
        parts = np.split(order, [num_train, num_train + num_val])
        splits.append(Split(*(np.sort(part) for part in parts)))
    return splits


def balanced_splits(
    y: IntArray,
    *,
    num_splits: int = NUM_SPLITS,
    train: float = 0.05,
    val: float = 0.15,
    random_state: int = 0,
) -> list[Split]:
    """Draw the same number of training rows per class, as the paper's authors do.

    The share of training rows is divided equally among the classes (a class with too
    few rows keeps two of them back); validation rows are drawn at random from the
    others. Arguments as those of `stratified_splits`.
    """
    num_classes = _refuse_few(y, least=3)
    per_class = max(int(train * len(y)) // num_classes, 1)
    num_val = int(val * len(y))
    splits = []
    for number in range(num_splits):
        order = np.random.default_rng((random_state, number)).permutation(len(y))
        members = [order[y[order] == value] for value in np.unique(y)]
        fit = np.concatenate([m[: min(per_class, len(m) - 2)] for m in members])
        rest = order[~np.isin(order, fit)]
        parts = (fit, rest[:num_val], rest[num_val:])
        splits.append(Split(*(np.sort(part) for part in parts)))
    return splits


def part_of_test_splits(
    y: IntArray,
    val: IntArray,
    test: IntArray,
    *,
    share: float,
    num_splits: int = NUM_SPLITS,
    random_state: int = 0,
) -> list[Split]:
    """Train on a part of the test rows and test on the others (MAGNN's protocol).

    The data's training rows are not used. Its validation rows are kept, so that no
    choice depends on test rows.

    Args:
        y: class of every row [N].
        val: the data's validation rows.
        test: the data's test rows.
        share: share of the test rows to train on.
        num_splits: how many to draw.
        random_state: seed of the splits.
    """
    _refuse_few(y[test], least=2)
    drawn = StratifiedShuffleSplit(
        num_splits, train_size=share, random_state=random_state
    )
    return [
        Split(np.sort(test[fit]), val, np.sort(test[judge]))
        for fit, judge in drawn.split(test, y[test])
    ]


def checked_splits(splits: Sequence[Split], targets: Targets) -> list[Split]:
    """Leave rows without a label out of the splits; refuse invalid splits.

    Raises:
        InputError: if parts of a split overlap, are empty or name other rows, or if
            the training rows are of one class.
    """
    num_rows = len(targets.known)
    checked = []
    for number, split in enumerate(splits):
        parts = [np.asarray(part, dtype=np.int64) for part in split]
        named = np.concatenate(parts)
        if len(named) and not (named.min() >= 0 and named.max() < num_rows):
            raise InputError(
                f"split {number} names row {named.max()}, expected rows 0 to "
                f"{num_rows - 1}: is it a split of other data?"
            )
        if len(np.unique(named)) != len(named):
            raise InputError(
                f"split {number} has rows in two of its parts, or twice, expected "
                f"disjoint training, validation and test rows"
            )
        parts = [part[targets.known[part]] for part in parts]
        if not all(len(part) for part in parts):
            sizes = "/".join(str(len(part)) for part in parts)
            raise InputError(
                f"split {number} has {sizes} labelled training, validation and "
                f"test rows, expected some of each"
            )
        if not targets.is_multi_label and len(np.unique(targets.values[parts[0]])) < 2:
            raise InputError(f"split {number} has training rows of one class only")
        checked.append(Split(*parts))
    return checked


def _folds(
    targets: Targets, dataset: str | None, folder: Path | None, seed: int
) -> list[Split]:
    if dataset is not None and dataset.lower() in PUBLIC:
        splits = public_folds(dataset, folder)
        num_graphs = sum(len(part) for part in splits[0])
        if num_graphs != len(targets.known):
            raise InputError(
                f"{len(targets.known)} labels for the {num_graphs} graphs of "
                f"'{dataset}' in the public folds, expected one each"
            )
        return splits
    if targets.is_multi_label:
        raise InputError("folds of rows with several labels, expected one class a row")
    rows = np.flatnonzero(targets.known)
    drawn = stratified_folds(targets.values[rows], random_state=seed)
    return [Split(*(rows[part] for part in split)) for split in drawn]


def _refuse_few(y: IntArray, least: int) -> int:
    """Return the number of classes."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2 or counts.min() < least:
        raise InputError(
            f"cannot split {len(y)} labels: the smallest of {len(classes)} classes has "
            f"{counts.min() if len(counts) else 0} rows, expected two or more classes "
            f"of {least} or more rows: leave smaller ones out"
        )
    return len(classes)


def _with_every_class(
    y: IntArray, fit: IntArray, rest: IntArray
) -> tuple[IntArray, IntArray]:
    """Move one row of each missing class to the training rows (random order)."""
    missing = np.setdiff1d(y, y[fit])
    moved = np.array([rest[y[rest] == value][0] for value in missing], dtype=np.int64)
    return np.append(fit, moved), rest[~np.isin(rest, moved)]


def _at_least(share: float, classes: int, rows: int) -> int:
    """Rows of a share, but one per class or more."""
    return max(round(share * rows), classes)
