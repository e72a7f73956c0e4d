"""Candidates for learned edges without comparing all pairs.

=======  ====================================================================
index    faiss: the rows, in fewer dimensions, are cut into cells of about 64. A
         row is compared with the centres of the cells and with the rows of the
         nearest 16.
hops     the nodes up to two steps away, at most so many. Needs no library.
=======  ====================================================================

The candidates found are compared exactly, and the best of them kept.
"""

from typing import Any

import torch
from torch import Tensor

from dsgrl.graph import Adjacency
from dsgrl.typing import FloatArray, InputError

# Columns in which cells are searched; the candidates are compared in all of them.
SEARCH_COLUMNS = 64
# Rows per cell, cells searched, and candidates compared per requested edge.
CELL_ROWS, CELLS_LOOKED_INTO, CANDIDATES_PER_EDGE = 64, 16, 2.5
# Above this number of cells (4 million rows) the cells get larger instead.
MOST_CELLS = 1 << 16
# Rows used to compute the axes, and rows per cell used to compute its centre.
AXES_ROWS, ROWS_PER_CENTER = 20_000, 16
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
    index = _build_index(faiss, rows)
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


def _build_index(faiss: Any, rows: FloatArray) -> Any:
    """Build an index of cells with about `CELL_ROWS` rows each, 8 bits per column."""
    cells = min(max(1, len(rows) // CELL_ROWS), MOST_CELLS)
    index = faiss.index_factory(rows.shape[1], f"IVF{cells},SQ8", faiss.METRIC_L2)
    # The centres need not be exact: one round of k-means on a few rows per cell.
    clustering = index.cp
    clustering.niter = 1
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = (
        1,
        ROWS_PER_CENTER,
    )
    # Training reports divergence itself.
    clustering.check_input_data_for_NaNs = False
    index.train(rows)
    index.add(rows)
    index.nprobe = CELLS_LOOKED_INTO
    return index


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
