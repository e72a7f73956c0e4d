"""Candidates for learned edges without comparing all pairs.

=======  ====================================================================
index    faiss: rows in fewer dimensions, cut into small cells around pivots; a
         row looks into the cells nearest to it. Work grows as N log N.
hops     the nodes up to two steps away, at most so many. Needs no library.
=======  ====================================================================

The candidates found are compared exactly, and the best of them kept.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dsgrl.graph import Adjacency
from dsgrl.typing import FloatArray, InputError, IntArray

# Columns in which cells are searched; the candidates are compared in all of them.
SEARCH_COLUMNS = 64
# Rows per cell, cells searched, and candidates compared per requested edge.
CELL_ROWS, CELLS_LOOKED_INTO, CANDIDATES_PER_EDGE = 64, 16, 2.5
# Rows used to compute the axes, and rows per pivot used to place it.
AXES_ROWS, ROWS_PER_PIVOT = 20_000, 16
# Most neighbours followed per step by "hops".
HOP_FANOUT = 12
# Numbers gathered at once while candidates are compared: 16 MB of float32.
GATHERED_ELEMENTS = 1 << 22


def nearest_by_index(h: Tensor, count: int) -> Tensor:
    """Find rows with large inner products by an approximate index.

    Args:
        h: one vector per node [N, D].
        count: k, how many per row.

    Returns:
        Rows by descending inner product [N, k]; the same for the same input.

    Raises:
        InputError: if faiss is not installed.
    """
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise InputError(
            "candidates='index' needs faiss: pip install 'dsgrl[scale]', or choose "
            "'exact' or 'hops'"
        ) from error
    rows, queries = _reduce(h.cpu())
    index = _build_cells(faiss, rows)
    wanted = min(round(CANDIDATES_PER_EDGE * count), len(rows))
    found = torch.from_numpy(index.search(queries, wanted)[1]).to(h.device)
    own = torch.arange(h.size(0), device=h.device)[:, None]
    return best_of(h, torch.where(found < 0, own, found), count)


def nearest_by_hops(h: Tensor, adjacency: Adjacency, count: int) -> Tensor:
    """Find rows with large inner products among those up to two steps away.

    Args:
        h: one vector per node [N, D].
        adjacency: the edges among these nodes [N, N].
        count: k, how many per row.

    Returns:
        Rows by descending inner product [N, k]; missing ones are the
        node itself.
    """
    first = _neighbors(adjacency, h.size(0))
    second = first[first].flatten(1)
    own = torch.arange(h.size(0), device=h.device)[:, None]
    return best_of(h, torch.cat([own, first, second], dim=1), count)


def best_of(h: Tensor, candidates: Tensor, count: int) -> Tensor:
    """Keep the k candidates of every row with the largest inner products [N, k].

    Args:
        h: one vector per node [N, D].
        candidates: row numbers [N, C]; repeated ones count once.
        count: k.
    """
    count = min(count, candidates.size(1))
    size = max(1, GATHERED_ELEMENTS // max(candidates.size(1) * h.size(1), 1))
    kept = []
    for rows, unsorted in zip(h.split(size), candidates.split(size), strict=True):
        some = unsorted.sort(dim=1).values
        near = h.index_select(0, some.flatten()).view(*some.shape, -1)
        similarity = torch.bmm(near, rows[:, :, None])[:, :, 0]
        repeated = some[:, 1:] == some[:, :-1]
        similarity[:, 1:].masked_fill_(repeated, -torch.inf)
        kept.append(some.gather(1, similarity.topk(count, dim=1).indices))
    return torch.cat(kept)


def _reduce(h: Tensor) -> tuple[FloatArray, FloatArray]:
    """Map rows and queries so that the nearest row has the largest inner product.

    Along the axes of largest spread, and one more column that lifts every row to the
    same length: the distance then falls as the inner product grows.
    """
    sample = h[:: max(1, h.size(0) // AXES_ROWS)].double()
    axes = torch.linalg.eigh(sample.t() @ sample)[1]
    columns = min(SEARCH_COLUMNS, h.size(1))
    reduced = h @ axes[:, -columns:].float()
    lengths = h.square().sum(dim=1)
    lift = (lengths.max() - lengths).clamp_min(0).sqrt()
    zeros = torch.zeros_like(lift)
    rows = torch.cat([reduced, lift[:, None]], dim=1)
    return rows.numpy(), torch.cat([reduced, zeros[:, None]], dim=1).numpy()


def _build_cells(faiss: Any, rows: FloatArray) -> Any:
    """Cut the rows into cells of about `CELL_ROWS` around pivots."""
    count = max(1, len(rows) // CELL_ROWS)
    rng = np.random.default_rng(0)
    pivots = rows[rng.permutation(len(rows))[:count]]
    sample = rows[rng.permutation(len(rows))[: ROWS_PER_PIVOT * count]]
    nearest = _hold_pivots(faiss, pivots).search(sample, 1)[1][:, 0]
    cells = _hold_pivots(faiss, _centers(sample, nearest, pivots))
    index = faiss.IndexIVFScalarQuantizer(
        cells,
        rows.shape[1],
        count,
        faiss.ScalarQuantizer.QT_8bit,
        faiss.METRIC_L2,
    )
    index.train(rows[:: max(1, len(rows) // AXES_ROWS)])
    index.add(rows)
    index.nprobe = CELLS_LOOKED_INTO
    return index


def _hold_pivots(faiss: Any, pivots: FloatArray) -> Any:
    """Make pivots searchable in logarithmic time."""
    held = faiss.IndexHNSWFlat(pivots.shape[1], 16)
    held.hnsw.efSearch = 2 * CELLS_LOOKED_INTO
    threads = faiss.omp_get_max_threads()
    # One thread: with several, the index would differ from run to run.
    faiss.omp_set_num_threads(1)
    try:
        held.add(np.ascontiguousarray(pivots))
    finally:
        faiss.omp_set_num_threads(threads)
    return held


def _centers(sample: FloatArray, nearest: IntArray, pivots: FloatArray) -> FloatArray:
    """Move every pivot to the mean of the rows nearest to it."""
    near = torch.from_numpy(nearest)
    sums = torch.zeros(pivots.shape).index_add_(0, near, torch.from_numpy(sample))
    counts = torch.bincount(near, minlength=len(pivots))[:, None]
    moved = torch.where(
        counts > 0, sums / counts.clamp_min(1), torch.from_numpy(pivots)
    )
    centers: FloatArray = moved.numpy()
    return centers


def _neighbors(adjacency: Adjacency, num_nodes: int) -> Tensor:
    """Up to `HOP_FANOUT` neighbours of every node, spread evenly over its list.

    Missing ones are the node itself [N, fan-out].
    """
    pattern = adjacency.pattern
    first, degree = pattern.rowptr[:-1].long(), pattern.rowptr.diff().long()
    step = torch.arange(HOP_FANOUT, device=first.device)
    # All of a short list, evenly spaced ones of a long list.
    place = torch.where(
        degree[:, None] <= HOP_FANOUT, step, step * degree[:, None] // HOP_FANOUT
    )
    own = torch.arange(num_nodes, device=first.device)[:, None]
    if not pattern.col.numel():
        return own.expand(-1, HOP_FANOUT)
    there = step < degree[:, None]
    entry = (first[:, None] + place).clamp_max(pattern.col.numel() - 1)
    return torch.where(there, pattern.col[entry].long(), own)
