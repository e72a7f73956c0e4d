"""Search for similar rows: exact in blocks of rows, or among candidates."""

import itertools
from typing import Any

import torch
from torch import Tensor

from dsgrl.augment.nearest import nearest_by_hops, nearest_by_index
from dsgrl.augment.threshold import RowMean
from dsgrl.graph import Adjacency, Relations
from dsgrl.typing import CandidatesName

# Up to this many nodes, all pairs are compared, whatever the search.
SMALL = 32
# Similarities held at once while looking for edges: 64 MB of float32.
COMPARED_ELEMENTS = 1 << 24


@torch.no_grad()
def most_similar(
    h: Tensor,
    edges_per_node: int | list[int],
    bounds: list[int] | None = None,
    search: CandidatesName = "exact",
    adjacency: Any = None,
) -> Tensor:
    """Find, per row, the pairs above the row's mean and among its k largest.

    Args:
        h: one vector per node [N, D].
        edges_per_node: k, one for all or one per range of `bounds`.
        bounds: where each graph or node type begins, and N at the end; pairs stay
            inside. One graph if left out.
        search: "exact", or among candidates by "index" or "hops".
        adjacency: the edges, for "hops".

    Returns:
        Pairs as (similar node, row) [2, E].
    """
    bounds = bounds or [0, h.size(0)]
    ranges = list(itertools.pairwise(bounds))
    counts = (
        [edges_per_node] * len(ranges)
        if isinstance(edges_per_node, int)
        else edges_per_node
    )
    found = [torch.empty(2, 0, dtype=torch.long, device=h.device)]
    for (low, high), count in zip(ranges, counts, strict=True):
        if high > low:
            part, most = h[low:high], min(count, high - low)
            if search == "exact" or high - low <= SMALL:
                pairs = _exact(part, most)
            elif search == "index":
                pairs = _keep_above(part, nearest_by_index(part, most))
            else:
                inside = _inside(adjacency, bounds, low)
                pairs = _keep_above(part, nearest_by_hops(part, inside, most))
            found.append(pairs + low)
    return torch.cat(found, dim=1)


def _inside(adjacency: Any, bounds: list[int], low: int) -> Adjacency:
    """Return the edges inside a graph or node type."""
    if isinstance(adjacency, Relations):
        inner = [part for part, a, b in adjacency.parts() if a == b == low]
        edges = torch.cat([part.edge_index for part in inner], dim=1)
        return Adjacency.from_edge_index(edges, num_nodes=inner[0].shape[0])
    if len(bounds) == 2:
        whole: Adjacency = adjacency
        return whole
    block: Adjacency = adjacency.diagonal_blocks(bounds)[bounds.index(low)]
    return block


def _exact(h: Tensor, count: int) -> Tensor:
    """Compare every pair, a block of rows at a time.

    Of equal similarities around the k-th largest, `topk` keeps any: the same ones for
    the same numbers, but no order of the nodes decides. A stable order would need a
    full sort of every row, and would not help similarities that differ by rounding.
    """
    num_nodes = h.size(0)
    mean = RowMean(h)
    found = []
    for rows in torch.arange(num_nodes, device=h.device).split(
        max(1, COMPARED_ELEMENTS // num_nodes)
    ):
        top = (h[rows] @ h.t()).topk(count, dim=1)  # [block, k]
        found.append(_above(rows, top.indices, top.values, mean))
    return torch.cat(found, dim=1)


def _keep_above(h: Tensor, near: Tensor) -> Tensor:
    """Keep the pairs found among candidates that are above their row's mean [2, E]."""
    mean = RowMean(h)
    found = []
    size = max(1, COMPARED_ELEMENTS // (4 * near.size(1) * h.size(1)))
    for rows in torch.arange(h.size(0), device=h.device).split(size):
        some = near[rows]
        ends = h.index_select(0, some.flatten()).view(*some.shape, -1)
        values = torch.bmm(ends, h[rows, :, None])[:, :, 0]
        found.append(_above(rows, some, values, mean))
    return torch.cat(found, dim=1)


def _above(rows: Tensor, indices: Tensor, values: Tensor, mean: RowMean) -> Tensor:
    """Keep the pairs of a block above their row's mean [2, E]."""
    above = mean.is_above(values, rows, indices)
    row = rows[:, None].expand_as(indices)
    return torch.stack([indices[above], row[above]])
