"""Positions of rows on a map: PaCMAP where it is installed, else two main directions.

Neighbours on the map are neighbours in the embedding; distances between far groups
mean little.
"""

import importlib.util
import itertools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dsgrl.explore.vectors import unit_rows
from dsgrl.typing import FloatArray, IntArray

# Neighbours of every row that PaCMAP keeps together.
NUM_NEIGHBORS = 10
# Fewer rows are not worth more than their main directions.
FEWEST_ROWS = 50
# Free space between the maps of two node types, as a share of the larger.
GAP = 0.15


def layout_name() -> str:
    """Return which layout is used for all but the smallest data."""
    return "PaCMAP" if importlib.util.find_spec("pacmap") else "PCA"


def make_layout(
    z: FloatArray, near: IntArray, bounds: Sequence[int], random_state: int = 0
) -> FloatArray:
    """Place the rows of an embedding on a map.

    Args:
        z: embeddings [N, D].
        near: nearest rows of every row within its group [N, k], k >= 10; -1 for none.
        bounds: first row of each group, then N. Groups are placed side by side:
            vectors of different node types cannot be compared.
        random_state: seed; the same seed gives the same map.

    Returns:
        Positions [N, 2], the centre of all at 0, the longer side of length 2.
    """
    parts, left = [], 0.0
    for low, high in itertools.pairwise(bounds):
        rows = _scaled(_place(z[low:high], near[low:high] - low, random_state))
        # As large as the number of points asks for.
        size = (high - low) ** 0.5
        rows = rows * size
        parts.append(rows + np.array([left + size, 0.0]))
        left += 2 * size * (1 + GAP)
    return _scaled(np.concatenate(parts)).astype(np.float32)


def _place(z: FloatArray, near: IntArray, random_state: int) -> FloatArray:
    if len(z) < FEWEST_ROWS or layout_name() == "PCA":
        return main_directions(z)
    from pacmap import PaCMAP

    near = near[:, :NUM_NEIGHBORS]
    own = np.repeat(np.arange(len(z)), NUM_NEIGHBORS)
    pairs = np.stack([own, near.ravel()], axis=1).astype(np.int32)
    with _quiet("pacmap.pacmap"):
        placed: FloatArray = PaCMAP(
            n_neighbors=NUM_NEIGHBORS,
            # Found before: the search of PaCMAP differs from run to run.
            pair_neighbors=pairs,
            # It counts on from the seed in 32 bits.
            random_state=random_state % 2**30,
        ).fit_transform(unit_rows(z), init="pca")
    return placed


def main_directions(z: FloatArray) -> FloatArray:
    """Return coordinates along the two directions of largest variance [N, 2]."""
    centered = unit_rows(z).astype(np.float64)
    centered -= centered.mean(axis=0)
    _, vectors = np.linalg.eigh(centered.T @ centered)
    leading = vectors[:, ::-1][:, :2]
    # The sign of a direction is arbitrary: make its largest entry positive.
    peak = np.take_along_axis(leading, np.abs(leading).argmax(axis=0)[None], axis=0)
    placed: FloatArray = np.zeros((len(z), 2), dtype=np.float32)
    placed[:, : leading.shape[1]] = centered @ (leading * np.sign(peak))
    return placed


def _scaled(rows: FloatArray) -> FloatArray:
    """Move the middle to 0 and give the longer side the length 2."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-12)
    scaled: FloatArray = (rows - (low + high) / 2) / half
    return scaled


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silence notes on what was asked for, such as a fixed seed."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
