"""From an embedding and labels to a score, under one protocol."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dsgrl.evaluate.probes import probe_accuracy
from dsgrl.evaluate.splits import stratified_splits
from dsgrl.typing import InputError, Score


def evaluate(
    z: npt.ArrayLike, y: npt.ArrayLike, *, num_splits: int = 10, random_state: int = 0
) -> Score:
    """Score embeddings by linear probes over seeded 5/15/80 splits.

    Args:
        z: embeddings [N, D].
        y: class of every row [N], any kind of labels; rows without one (None, NaN or
            a negative number) are left out.
        num_splits: number of splits.
        random_state: seed of the splits.

    Returns:
        Test accuracies in percent, one per split, with `mean` and `std`.
    """
    rows = np.asarray(z, dtype=np.float32)
    labels = np.asarray(y)
    if rows.ndim != 2 or len(rows) != len(labels):
        raise InputError(
            f"embeddings of shape {list(rows.shape)} for {len(labels)} labels, "
            f"expected [labels, columns]"
        )
    known = _has_label(labels)
    rows = rows[known]
    _, classes = np.unique(labels[known], return_inverse=True)
    splits = stratified_splits(
        classes, num_splits=num_splits, random_state=random_state
    )
    return Score([probe_accuracy(rows, classes, split) for split in splits])


def _has_label(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if labels.dtype.kind in "if":
        known: npt.NDArray[np.bool_] = ~(np.isnan(labels) | (labels < 0))
        return known
    return np.array([label is not None and label == label for label in labels])
