"""Clusters of an embedding: k-means with a simple number, or HDBSCAN."""

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dsgrl.explore.vectors import unit_rows
from dsgrl.typing import FloatArray, InputError, IntArray

ClusteringName = Literal["kmeans", "hdbscan"]
FEWEST, MOST = 2, 10
# A cluster per so many rows, by the square root: 2,000 rows and more have MOST.
ROWS_UNIT = 20
# The centres are fitted to at most so many rows.
MOST_FITTED = 50_000
# HDBSCAN's trees need few columns.
TREE_COLUMNS = 16


def suggest_number(num_rows: int) -> int:
    """Return the number of clusters for so many rows: sqrt(N / 20), from 2 to 10."""
    wanted = round(math.sqrt(num_rows / ROWS_UNIT))
    return max(1, min(max(FEWEST, min(MOST, wanted)), num_rows))


def find_clusters(
    z: FloatArray,
    number: int | None = None,
    *,
    method: ClusteringName = "kmeans",
    random_state: int = 0,
) -> IntArray:
    """Group the rows of an embedding by direction.

    Args:
        z: embeddings [N, D].
        number: of clusters, for k-means; by `suggest_number` if not given.
        method: "kmeans", or "hdbscan" (extra `report`), which finds the number and
            leaves out rows between clusters.
        random_state: seed of the first centres.

    Returns:
        Cluster of every row [N], the largest is 0; -1 for a row in none.
    """
    if number is not None and not 1 <= number <= len(z):
        raise InputError(f"{number} clusters of {len(z)} rows: expected 1 to {len(z)}")
    unit = unit_rows(z)
    if method == "hdbscan":
        return by_size(_dense_regions(unit))
    return by_size(_kmeans(unit, number or suggest_number(len(z)), random_state))


def clusters_in_groups(
    z: FloatArray, bounds: Sequence[int], random_state: int = 0
) -> IntArray:
    """Cluster each group of rows, e.g. a node type, by itself; numbers go on [N]."""
    found = np.empty(len(z), dtype=np.int64)
    first = 0
    for low, high in itertools.pairwise(bounds):
        if high > low:
            share = round(suggest_number(len(z)) * (high - low) / len(z))
            number = min(max(1, share), suggest_number(high - low))
            part = find_clusters(z[low:high], number, random_state=random_state)
            found[low:high] = part + first
            first += int(part.max()) + 1
    return found


def by_size(cluster: IntArray) -> IntArray:
    """Number clusters from the largest to the smallest; -1 stays."""
    names, counts = np.unique(cluster[cluster >= 0], return_counts=True)
    rank = np.full(int(cluster.max(initial=-1)) + 2, -1)
    rank[names[np.argsort(-counts, kind="stable")]] = np.arange(len(names))
    numbered: IntArray = rank[cluster]
    return numbered


def _kmeans(unit: FloatArray, number: int, random_state: int) -> IntArray:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    step = -(-len(unit) // MOST_FITTED)
    kmeans = KMeans(number, n_init=4, random_state=random_state)
    with warnings.catch_warnings():
        # Fewer different rows than clusters: some clusters stay empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        kmeans.fit(unit[::step])
    found: IntArray = kmeans.predict(unit).astype(np.int64)
    return found


def _dense_regions(unit: FloatArray) -> IntArray:
    try:
        from fast_hdbscan import HDBSCAN
    except ModuleNotFoundError as error:
        raise InputError(
            "method 'hdbscan' needs fast-hdbscan: pip install 'dsgrl[report]', or "
            "choose 'kmeans'"
        ) from error
    from sklearn.decomposition import PCA

    columns = min(TREE_COLUMNS, *unit.shape)
    reduced = PCA(columns, random_state=0).fit_transform(unit)
    size = max(5, len(unit) // 200)
    found: IntArray = HDBSCAN(min_cluster_size=size).fit_predict(reduced)
    return found.astype(np.int64)
