"""Nearest rows of an embedding, by cosine similarity."""

import importlib.util
import itertools
from collections.abc import Sequence

import numpy as np

from dsgrl.typing import FloatArray, IntArray

# Up to this many rows all pairs are compared; above, an index is used if there is one.
MOST_EXACT = 20_000
BLOCK_ROWS = 1024
MOST_MEASURED = 50_000


def unit_rows(z: FloatArray) -> FloatArray:
    """Centre the columns and scale rows to unit length; a row of zeros stays one.

    Columns are not standardised: the leading ones say most.
    """
    centered = z - z.mean(axis=0)
    length = np.linalg.norm(centered, axis=1, keepdims=True)
    unit: FloatArray = (centered / np.maximum(length, 1e-12)).astype(np.float32)
    return unit


def nearest_rows(
    z: FloatArray, count: int, rows: Sequence[int] | IntArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Return the nearest other rows, the nearest first.

    Exact up to 20,000 rows, and for some rows of more; else by an approximate index
    where faiss is installed (extra `scale` or `report`).

    Args:
        z: embeddings [N, D].
        count: k, how many per row; no more than N - 1.
        rows: row numbers to look up [M]; all if not given.

    Returns:
        Row numbers [M, k] and their cosine similarity [M, k].
    """
    unit = unit_rows(z)
    count = min(count, len(z) - 1)
    is_large = rows is None and len(z) > MOST_EXACT
    wanted = np.arange(len(z)) if rows is None else np.asarray(rows, dtype=np.int64)
    if is_large and importlib.util.find_spec("faiss") is not None:
        near = _by_index(unit, count)
    else:
        blocks = [
            _by_comparison(unit, wanted[start : start + BLOCK_ROWS], count)
            for start in range(0, len(wanted), BLOCK_ROWS)
        ]
        near = np.concatenate(blocks)
    similarity = np.empty(near.shape, dtype=np.float32)
    for column in range(count):
        pairs = unit[wanted] * unit[near[:, column]]
        similarity[:, column] = pairs.sum(axis=1)
    return near, similarity


def nearest_in_groups(
    z: FloatArray, count: int, bounds: Sequence[int]
) -> tuple[IntArray, FloatArray]:
    """Return the nearest rows within each group, e.g. a node type.

    Args:
        z: embeddings [N, D].
        count: k, how many per row.
        bounds: first row of each group, then N.

    Returns:
        Row numbers [N, k], -1 where a group has too few rows, and similarities [N, k].
    """
    near = np.full((len(z), count), -1, dtype=np.int64)
    similarity = np.zeros((len(z), count), dtype=np.float32)
    for low, high in itertools.pairwise(bounds):
        if high - low < 2:
            continue
        found, alike = nearest_rows(z[low:high], count)
        near[low:high, : found.shape[1]] = found + low
        similarity[low:high, : found.shape[1]] = alike
    return near, similarity


def spectrum(z: FloatArray) -> FloatArray:
    """Return the share of the variance along every principal direction [D].

    Computed from at most 50,000 rows.
    """
    rows = z[:: -(-len(z) // MOST_MEASURED)].astype(np.float64)
    centered = rows - rows.mean(axis=0)
    values = np.linalg.eigvalsh(centered.T @ centered)[::-1].clip(min=0)
    share: FloatArray = (values / max(values.sum(), 1e-300)).astype(np.float32)
    return share


def effective_rank(share: FloatArray) -> float:
    """Return the exponential of the entropy of a spectrum: directions in use."""
    positive = share[share > 0].astype(np.float64)
    return float(np.exp(-(positive * np.log(positive)).sum()))


def _by_comparison(unit: FloatArray, rows: IntArray, count: int) -> IntArray:
    """Compare some rows with all others [n, k]; ties go to the lower row number."""
    similarity = unit[rows] @ unit.T
    similarity[np.arange(len(rows)), rows] = -2.0
    some = min(4 * count, similarity.shape[1])
    part = np.argpartition(-similarity, some - 1, axis=1)[:, :some]
    part.sort(axis=1)
    values = np.take_along_axis(similarity, part, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    found: IntArray = np.take_along_axis(part, order, axis=1)
    return found


def _by_index(unit: FloatArray, count: int) -> IntArray:
    """Ask the index of learned edges, and leave out the row itself [N, k]."""
    import torch

    from dsgrl.augment.nearest import nearest_by_index

    found = nearest_by_index(torch.from_numpy(unit), count + 1).numpy()
    own = np.arange(len(unit))[:, None]
    # The row itself comes last and is cut off, wherever the index found it.
    order = np.argsort(found == own, axis=1, kind="stable")
    others: IntArray = np.take_along_axis(found, order, axis=1)[:, :count]
    return others
