"""From an embedding and labels to a score, under one protocol."""

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
        y: class of every row [N], any kind of labels.
        num_splits: number of splits.
        random_state: seed of the splits.

    Returns:
        Test accuracies in percent, one per split, with `mean` and `std`.
    """
    rows = np.asarray(z, dtype=np.float32)
    _, classes = np.unique(np.asarray(y), return_inverse=True)
    if rows.ndim != 2 or len(rows) != len(classes):
        raise InputError(
            f"embeddings of shape {list(rows.shape)} for {len(classes)} labels, "
            f"expected [labels, columns]"
        )
    splits = stratified_splits(
        classes, num_splits=num_splits, random_state=random_state
    )
    return Score([probe_accuracy(rows, classes, split) for split in splits])
