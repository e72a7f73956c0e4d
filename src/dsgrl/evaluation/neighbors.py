"""Votes of the nearest training rows."""

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from dsgrl.typing import FloatArray, IntArray

NUM_NEIGHBORS = (1, 3, 5, 10, 20)
TIE_BREAK = 0.1


def neighbor_votes(
    train: FloatArray, table: IntArray, rows: FloatArray, sizes: tuple[int, ...]
) -> dict[int, npt.NDArray[np.float64]]:
    """Share of votes for every class, by number of neighbours.

    Ties are broken by the nearer neighbours.

    Args:
        train: training rows [M, D].
        table: 0 and 1 per training row and class [M, C].
        rows: rows to classify [Q, D].
        sizes: numbers of neighbours; a size above M counts all training rows.

    Returns:
        {size: votes [Q, C]}
    """
    search = NearestNeighbors(n_neighbors=min(max(sizes), len(train)))
    search.set_params(algorithm="brute").fit(train)
    nearest = search.kneighbors(rows, return_distance=False)
    total = np.zeros((len(rows), table.shape[1]))
    weights = 0.0
    votes = {}
    for rank, size in enumerate(range(1, max(sizes) + 1)):
        if rank < nearest.shape[1]:
            # The extra weights of nearer rows add up to less than one vote.
            weight = 1 + TIE_BREAK / (rank + 2)
            total += weight * table[nearest[:, rank]]
            weights += weight
        if size in sizes:
            votes[size] = total / weights
    return votes
