"""Ten folds of a set of graphs: the public ones where there are any.

The public folds are those of Errica et al., "A Fair Comparison of Graph Neural
Networks for Graph Classification" (ICLR 2020; repository diningphil/gnn-comparison,
`data_splits`): ten test folds that cover a set, and for each of them one division of
all other graphs into training and validation. `public_folds.npz` holds them by the
name of the file they were taken from, 16 bits per graph in TU order: the number of the
test fold the graph is in in the upper four, and bit i of the lower ten set if it is a
validation graph while fold i is the test fold.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from dsgrl.typing import InputError, IntArray, Split

NUM_FOLDS = 10
# Share of validation rows outside the test fold, as in the public folds.
INNER_VALIDATION = 0.1
# Dataset's name: folder and name in the public collection.
PUBLIC = {
    "dd": ("CHEMICAL", "DD"),
    "nci1": ("CHEMICAL", "NCI1"),
    "proteins": ("CHEMICAL", "PROTEINS_full"),
    "enzymes": ("CHEMICAL", "ENZYMES"),
    "imdb-b": ("COLLABORATIVE_DEGREE", "IMDB-BINARY"),
    "imdb-m": ("COLLABORATIVE_DEGREE", "IMDB-MULTI"),
    "reddit-b": ("COLLABORATIVE_DEGREE", "REDDIT-BINARY"),
    "collab": ("COLLABORATIVE_DEGREE", "COLLAB"),
}


def public_folds(dataset: str, folder: Path | None = None) -> list[Split]:
    """Return the ten public folds of a dataset.

    Args:
        dataset: one of `PUBLIC`.
        folder: a data folder whose `splits/` has the collection's own files; without
            it, or without the file, the folds that come with the package.
    """
    group, name = PUBLIC[dataset.lower()]
    if folder is not None:
        path = Path(folder) / "splits" / group / f"{name}_splits.json"
        if path.is_file():
            return read_folds(path)
    with np.load(Path(__file__).with_name("public_folds.npz")) as shipped:
        code = shipped[name]
    splits = []
    for number in range(NUM_FOLDS):
        is_test = code >> 12 == number
        is_val = (code >> number & 1).astype(bool)
        splits.append(_split_by(~is_test & ~is_val, is_val, is_test))
    return splits


def read_folds(path: Path) -> list[Split]:
    """Read a file of the public collection."""
    try:
        folds: list[Any] = json.loads(path.read_text())
        return [
            Split(
                _rows(fold["model_selection"][0]["train"]),
                _rows(fold["model_selection"][0]["validation"]),
                _rows(fold["test"]),
            )
            for fold in folds
        ]
    except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise InputError(
            f"{path}: cannot be read as folds ({error!r}): remove it to use the folds "
            f"that come with the package"
        ) from error


def stratified_folds(y: IntArray, *, random_state: int = 0) -> list[Split]:
    """Draw ten folds that keep the shares of the classes.

    Each is the test fold once; a tenth of the other rows are validation rows.

    Args:
        y: class of every row [N].
        random_state: same number, same folds.
    """
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2 or counts.min() < NUM_FOLDS:
        raise InputError(
            f"cannot make {NUM_FOLDS} folds of {len(y)} labels: the smallest of "
            f"{len(classes)} classes has {counts.min()} rows, expected two or more "
            f"classes of {NUM_FOLDS} or more rows"
        )
    outer = StratifiedKFold(NUM_FOLDS, shuffle=True, random_state=random_state)
    splits = []
    for number, (rest, test) in enumerate(outer.split(y, y)):
        inner = StratifiedShuffleSplit(
            1,
            test_size=max(round(INNER_VALIDATION * len(rest)), len(classes)),
            random_state=random_state + number,
        )
        train, val = next(inner.split(rest, y[rest]))
        splits.append(Split(np.sort(rest[train]), np.sort(rest[val]), test))
    return splits


def _split_by(train: Any, val: Any, test: Any) -> Split:
    return Split(*(np.flatnonzero(mask) for mask in (train, val, test)))


def _rows(numbers: list[int]) -> IntArray:
    return np.sort(np.array(numbers, dtype=np.int64))
