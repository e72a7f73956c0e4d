"""Structural features for graphs without node features, computed from the edges."""

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.linalg import orthogonal_procrustes
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.relations import Relations
from dsgrl.graph.walks import walk_factors
from dsgrl.typing import FloatArray

STRUCTURAL_COLUMNS = 256
DEGREE_COLUMNS = 5


def structural_features(
    adjacency: Adjacency,
    columns: int | None = None,
    reference: Tensor | None = None,
) -> Tensor:
    """Compute features of every node from the edges [N, columns].

    The first five columns are the degree profile (see `degree_profile`). The others
    describe the nodes near a node (see `walk_factors`).

    Args:
        adjacency: the graph [N, N].
        columns: number of columns; missing factors are zeros. By default as many as
            the graph allows, at most 261.
        reference: features computed before, from other edges of the same nodes
            [N, width]. Factors are unique only up to signs and rotations, so the new
            ones are rotated as close to these as possible. The rotation does not
            change the inner products of the rows.
    """
    num_nodes = adjacency.shape[0]
    wanted = max(STRUCTURAL_COLUMNS, (columns or 0) - DEGREE_COLUMNS)
    rank = max(0, min(wanted, num_nodes - 2))
    width = DEGREE_COLUMNS + rank if columns is None else columns
    kept = min(width - DEGREE_COLUMNS, rank)
    factors = walk_factors(to_scipy(adjacency), rank)[:, :kept]
    if reference is not None and kept:
        known = reference[:, DEGREE_COLUMNS : DEGREE_COLUMNS + kept].numpy()
        factors = factors @ _rotation(factors, known)
    x = np.zeros((num_nodes, width), dtype=np.float32)
    x[:, :DEGREE_COLUMNS] = degree_profile(adjacency).numpy()
    x[:, DEGREE_COLUMNS : DEGREE_COLUMNS + kept] = factors
    return torch.from_numpy(x)


def to_scipy(adjacency: Adjacency) -> sp.csr_matrix:
    """Convert to a SciPy matrix."""
    pattern = adjacency.pattern
    arrays = (t.cpu().numpy() for t in (adjacency.value, pattern.col, pattern.rowptr))
    return sp.csr_matrix(tuple(arrays), shape=adjacency.shape)


def degree_features(adjacency: Adjacency, columns: int | None = None) -> Tensor:
    """Compute features of every node from degrees, which compare across graphs.

    The first five columns are the degree profile. The others are a one-hot encoding
    of the degree; the last of them also stands for all higher degrees.

    Args:
        adjacency: the graphs [N, N].
        columns: total number of columns; by default the first five.
    """
    profile = degree_profile(adjacency)
    more = 0 if columns is None else columns - DEGREE_COLUMNS
    if more <= 0:
        return profile
    degree = adjacency.pattern.rowptr.diff().long().clamp_max(more - 1).cpu()
    return torch.cat([profile, F.one_hot(degree, more).float()], dim=1)


def degree_profile(adjacency: Adjacency) -> Tensor:
    """Compute the degree profile of every node [N, 5].

    The node's degree, then minimum, maximum, mean and standard deviation of its
    neighbours' degrees, all as log(1 + d).
    """
    pattern = adjacency.pattern
    row, col = pattern.row.long(), pattern.col.long()
    degree = torch.bincount(row, minlength=pattern.num_rows).double().log1p()
    neighbor = degree[col]
    columns = [degree]
    for reduce in ("amin", "amax", "mean"):
        zeros = torch.zeros_like(degree)
        columns.append(
            zeros.scatter_reduce(0, row, neighbor, reduce, include_self=False)
        )
    gap = (neighbor - columns[-1][row]).square()
    spread = torch.zeros_like(degree).scatter_reduce(
        0, row, gap, "mean", include_self=False
    )
    return torch.stack([*columns, spread.sqrt()], dim=1).float().cpu()


def _rotation(vectors: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the orthogonal Q [K, K] for which V Q is closest to the reference."""
    rotation: FloatArray = orthogonal_procrustes(
        vectors.astype(np.float64), reference.astype(np.float64)
    )[0]
    return rotation


def degree_columns(relations: Relations, number: int) -> Tensor:
    """Compute features of one node type: a constant and the degree per relation.

    Args:
        relations: the graph.
        number: index of the node type.

    Returns:
        [N_type, 1 + relations into the type], degrees as log(1 + d).
    """
    kind = relations.schema.types[number]
    size = relations.sizes[kind]
    degrees = [
        adjacency.pattern.rowptr.diff().cpu().float().log1p()
        for (_, _, target), adjacency in relations.adjacencies.items()
        if target == kind
    ]
    return torch.stack([torch.ones(size), *degrees], dim=1)
