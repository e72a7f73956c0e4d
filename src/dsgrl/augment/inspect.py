"""Learned views as plain tensors in PyG's vocabulary."""

import itertools
from typing import Any

from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.graph import Features, Graph
from dsgrl.graph.relations import Relations
from dsgrl.typing import HeteroView, View


def as_views(graph: Graph, adjacency: Any, x: Any) -> Any:
    """Turn one view of a graph into what a user can look at.

    Args:
        graph: what was viewed.
        adjacency: edges of the view, or its relations.
        x: features of the view [N, D1]; one table per node type if not learned.

    Returns:
        A `View`; a list of them, one per graph, for many graphs; a `HeteroView` for
        several types of nodes.
    """
    if isinstance(adjacency, Relations):
        tables = adjacency.split_rows(x) if isinstance(x, Tensor) else x
        held = {r: a.materialize() for r, a in adjacency.adjacencies.items()}
        return HeteroView(
            {t: _dense(v) for t, v in zip(adjacency.sizes, tables, strict=True)},
            {relation: a.edge_index.cpu() for relation, a in held.items()},
            {relation: a.value.cpu() for relation, a in held.items()},
        )
    if graph.ptr is None:
        return _as_view(adjacency, _dense(x))
    rows = _dense(x)
    blocks = adjacency.diagonal_blocks(graph.bounds)
    return [
        _as_view(block, rows[low:high])
        for block, (low, high) in zip(
            blocks, itertools.pairwise(graph.bounds), strict=True
        )
    ]


def _as_view(adjacency: Adjacency, x: Tensor) -> View:
    held = adjacency.materialize()
    return View(x, held.edge_index.cpu(), held.value.cpu())


def _dense(x: Features) -> Tensor:
    return (x.to_dense() if isinstance(x, Adjacency) else x).cpu()
