"""The data's own splits, given as masks over its rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dsgrl.typing import InputError, Split

Masks = Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike]


def mask_splits(masks: Sequence[npt.NDArray[np.bool_]]) -> list[Split]:
    """Turn three masks, each [N] or [N, S], into splits; [N] serves every split."""
    count = max(mask.shape[1] if mask.ndim == 2 else 1 for mask in masks)
    columns = [mask[:, None] if mask.ndim == 1 else mask for mask in masks]
    if any(mask.shape[1] not in (1, count) for mask in columns):
        shapes = ", ".join(str(list(mask.shape)) for mask in masks)
        raise InputError(f"masks of shapes {shapes}, expected one number of splits")
    return [
        Split(*(np.flatnonzero(mask[:, min(i, mask.shape[1] - 1)]) for mask in columns))
        for i in range(count)
    ]


def checked_masks(
    protocol: str, masks: Masks | None, num_rows: int
) -> list[npt.NDArray[np.bool_]]:
    """Return the masks of training, validation and test rows.

    Args:
        protocol: name of the protocol that needs them.
        masks: as a tuple, or by name (`train_mask` or `train`, ...).
        num_rows: length every mask must have.
    """
    if masks is None:
        raise InputError(
            f"protocol '{protocol}' needs the data's masks: pass "
            f"splits=protocol_splits('{protocol}', y, masks=(train, val, test))"
        )
    given: list[Any]
    if isinstance(masks, Mapping):
        names = ("train", "val", "test")
        given = [masks.get(f"{name}_mask", masks.get(name)) for name in names]
    else:
        given = list(masks)
    if len(given) != 3 or any(mask is None for mask in given):
        raise InputError(
            "masks without training, validation or test rows, expected all three: "
            "train_mask, val_mask, test_mask"
        )
    arrays = [np.asarray(mask) for mask in given]
    for mask in arrays:
        if mask.dtype != np.bool_ or mask.ndim not in (1, 2) or len(mask) != num_rows:
            raise InputError(
                f"a mask of {mask.dtype} and shape {list(mask.shape)} for {num_rows} "
                f"labels, expected true and false, [rows] or [rows, splits]"
            )
    return arrays
