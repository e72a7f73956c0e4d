"""Encodes labels of any type as class numbers or as a table of 0 and 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dsgrl.typing import InputError, IntArray


@dataclass(frozen=True, slots=True)
class Targets:
    """Labels that a probe predicts.

    Attributes:
        values: class of every row [N]; or, with several labels a row, 0 and 1 for
            every row and label [N, C].
        known: whether a row has a label at all [N].
        num_classes: number of classes or labels C.
    """

    values: IntArray
    known: npt.NDArray[np.bool_]
    num_classes: int

    @property
    def is_multi_label(self) -> bool:
        """Whether a row may have several labels at once."""
        return self.values.ndim == 2


def encode_labels(y: npt.ArrayLike) -> Targets:
    """Number the classes in the order of their names.

    Args:
        y: one label per row [N] of any kind, None, NaN or a negative number for
            none; or 0 and 1 per row and label [N, C], a row with NaN for none.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2:
        return _encode_many(labels)
    if labels.ndim != 1:
        raise InputError(
            f"labels of shape {list(labels.shape)}, expected [rows], or [rows, labels] "
            f"of 0 and 1"
        )
    known = _has_label(labels)
    values = np.full(len(labels), -1, dtype=np.int64)
    try:
        names, values[known] = np.unique(labels[known], return_inverse=True)
    except TypeError as error:
        raise InputError(
            f"labels of several kinds that cannot be put in order ({error}): make them "
            f"all text"
        ) from error
    if len(names) < 2:
        raise InputError(
            f"{len(names)} class in {len(labels)} labels, expected two or more: a "
            f"probe needs classes to distinguish"
        )
    return Targets(values, known, len(names))


def _encode_many(labels: npt.NDArray[Any]) -> Targets:
    try:
        table = labels.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"labels of shape {list(labels.shape)} that are not numbers ({error}), "
            f"expected 0 and 1"
        ) from error
    known: npt.NDArray[np.bool_] = ~np.asarray(np.isnan(table).any(axis=1))
    if not np.isin(table[known], (0, 1)).all():
        raise InputError(
            f"labels of shape {list(labels.shape)} with other values than 0 and 1: "
            f"give one class per row, or 0 and 1 per row and label"
        )
    values = np.where(known[:, None], table, 0).astype(np.int64)
    return Targets(values, known, labels.shape[1])


def _has_label(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if labels.dtype.kind in "if":
        known: npt.NDArray[np.bool_] = ~(np.isnan(labels) | (labels < 0))
        return known
    return np.array([label is not None and label == label for label in labels], bool)
