"""Where two-step walks lead: the nodes of a graph, or of a type, two steps away.

The product W W of the walk's matrix with itself is taken sparse, some rows at a time,
and only the k largest entries of a row are kept: memory O(N k + block), and work as
many products as there are two-step walks. A node with a great many neighbours lets
walks go on to some of them only.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dsgrl.augment.perturb import scatter_number
from dsgrl.graph import Graph, Relations
from dsgrl.graph.structural import to_scipy
from dsgrl.typing import IntArray

# Walks held at once: about 200 MB while they are sorted.
BLOCK_WALKS = 1 << 22
# Most neighbours of a node through which walks go on: a hub leads everywhere, and to
# follow all of its n^2 walks would take too long.
MOST_FOLLOWED = 2048
# A row's number, the likelihood and the tie break of a walk share 64 bits.
BLOCK_ROWS, TIE_BREAKS = 1 << 20, 1 << 12
# Rows with at most this many entries more than are kept are sorted in full.
SHORT_ROW = 64


def two_hop_pairs(graph: Graph, counts: list[int]) -> Tensor:
    """Find the nodes of the same graph or type that most two-step walks lead to.

    Ties are broken by a hash of the positions of both nodes in their graph or type:
    an embedding must not depend on the batch.

    Args:
        graph: of one or several types of nodes, or many graphs.
        counts: k, the most per node, for every graph or type.

    Returns:
        Pairs (node, row) [2, E], no node with itself.
    """
    adjacency, bounds = graph.adjacency, np.array(graph.bounds)
    whole = adjacency.as_one() if isinstance(adjacency, Relations) else adjacency
    walk = to_scipy(whole.normalized("mean")).astype(np.float64)
    sizes = np.diff(bounds)
    starts, most = np.repeat(bounds[:-1], sizes), np.repeat(counts, sizes)
    # Graphs are not linked with each other; types are.
    typed = isinstance(adjacency, Relations)
    cuts = graph.bounds if typed else [0, graph.num_nodes]
    onward = _thinned(walk)
    found = [np.empty((2, 0), dtype=np.int64)]
    for low, high in itertools.pairwise(cuts):
        inside = onward[:, low:high]
        for rows in _blocks(walk, inside, low, high):
            reached = walk[rows] @ inside
            entry = _worth_sorting(reached, most[rows])
            ends = reached.indices[entry].astype(np.int64) + low
            row = np.repeat(np.arange(rows.start, rows.stop), np.diff(reached.indptr))
            found.append(
                _likeliest(ends, row[entry], reached.data[entry], rows, starts, most)
            )
    pairs = torch.from_numpy(np.concatenate(found, axis=1).astype(np.int64))
    return pairs.to(adjacency.device)


def _thinned(walk: Any) -> Any:
    """Keep evenly spaced neighbours of a long list, and rescale their shares."""
    degree = np.diff(walk.indptr)
    if degree.max(initial=0) <= MOST_FOLLOWED:
        return walk
    place = np.arange(walk.nnz) - np.repeat(walk.indptr[:-1], degree)
    long = np.repeat(np.maximum(degree, MOST_FOLLOWED), degree)
    # Of n places, those where place * most / n reaches the next whole number.
    before, after = ((place + step) * MOST_FOLLOWED // long for step in (0, 1))
    keep = (after > before) | (long == MOST_FOLLOWED)
    kept = sp.csr_matrix(
        (walk.data[keep], walk.indices[keep], np.append(0, keep.cumsum())[walk.indptr]),
        shape=walk.shape,
    )
    return sp.diags(np.maximum(degree, MOST_FOLLOWED) / MOST_FOLLOWED) @ kept


def _blocks(walk: Any, onward: Any, low: int, high: int) -> Iterator[slice]:
    """Split rows into blocks of at most `BLOCK_WALKS` walks, or a single row."""
    entries = np.append(0, np.diff(onward.indptr)[walk.indices].cumsum())
    ahead = entries[walk.indptr[low : high + 1]]
    start = 0
    while start < high - low:
        end = int(np.searchsorted(ahead, ahead[start] + BLOCK_WALKS, side="right")) - 1
        end = min(max(end, start + 1), start + BLOCK_ROWS, high - low)
        yield slice(low + start, low + end)
        start = end


def _worth_sorting(reached: Any, most: IntArray) -> IntArray:
    """Leave out entries that cannot be among the k likeliest of their row.

    A long row's k-th largest share is found without sorting; one more is kept, as
    the node itself may be among them.
    """
    share = reached.data.astype(np.float32)
    # Entries of weight 0 are not edges.
    keep = share > 0
    for row in np.flatnonzero(np.diff(reached.indptr) > SHORT_ROW + most):
        of_row = slice(reached.indptr[row], reached.indptr[row + 1])
        some = share[of_row]
        least = np.partition(some, some.size - most[row] - 1)[some.size - most[row] - 1]
        keep[of_row] &= some >= least
    entries: IntArray = np.flatnonzero(keep)
    return entries


def _likeliest(
    ends: IntArray,
    row: IntArray,
    share: Any,
    rows: slice,
    starts: IntArray,
    most: IntArray,
) -> IntArray:
    """Keep the k likeliest ends of every row [2, E]; ties are broken by a hash."""
    away = ends != row
    ends, row, share = ends[away], row[away], share[away]
    one, other = ends - starts[ends], row - starts[row]
    pair = np.minimum(one, other) << 31 | np.maximum(one, other)
    tie_break = scatter_number(torch.from_numpy(pair), torch.tensor(0)).numpy()
    # Positive floats are ordered as the whole numbers of the same bits.
    unlikely = (1 << 32) - share.astype(np.float32).view(np.uint32).astype(np.int64)
    key = (row - rows.start).astype(np.uint64) << np.uint64(44)
    key |= unlikely.astype(np.uint64) << np.uint64(12)
    key |= (tie_break * TIE_BREAKS).astype(np.uint64)
    order = np.argsort(key)
    ends, row = ends[order], row[order]
    place = np.arange(row.size) - np.searchsorted(row, row)
    kept = place < most[row]
    return np.stack([ends[kept], row[kept]])
