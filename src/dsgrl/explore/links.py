"""The links of a graph as one plain matrix: who is beside whom."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dsgrl.graph.inputs import level_of
from dsgrl.typing import IntArray


def link_matrix(data: Any) -> Any:
    """Return which nodes are linked, in any direction or relation [N, N].

    Args:
        data: a `Data`, or a `HeteroData`, whose types follow each other.

    Returns:
        SciPy's compressed rows of ones, symmetric, without self-loops.
    """
    if level_of(data) == "hetero":
        ends, num_nodes = _typed_ends(data)
    else:
        ends, num_nodes = np.asarray(data.edge_index), int(data.num_nodes)
    return symmetric(ends, num_nodes)


def symmetric(ends: IntArray, num_nodes: int) -> Any:
    """Return pairs of nodes [2, E] as a symmetric matrix of ones, without loops."""
    source, target = ends[:, ends[0] != ends[1]]
    both = (
        np.concatenate([source, target]),
        np.concatenate([target, source]),
    )
    ones = np.ones(len(both[0]), dtype=np.float32)
    matrix = sp.csr_matrix((ones, both), shape=(num_nodes, num_nodes))
    matrix.data[:] = 1.0
    matrix.sort_indices()
    return matrix


def _typed_ends(data: Any) -> tuple[IntArray, int]:
    kinds = data.node_types
    sizes = [int(data[kind].num_nodes) for kind in kinds]
    firsts = np.cumsum([0, *sizes])
    starts = dict(zip(kinds, firsts.tolist(), strict=False))
    num_nodes = int(firsts[-1])
    shifted = [
        np.asarray(data[source, name, target].edge_index)
        + np.array([[starts[source]], [starts[target]]])
        for source, name, target in data.edge_types
    ]
    empty = np.empty((2, 0), dtype=np.int64)
    return np.concatenate([empty, *shifted], axis=1), num_nodes
