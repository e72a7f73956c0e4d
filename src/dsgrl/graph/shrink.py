"""A small graph of the same shape, to measure on what a large one takes."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.graph import Graph, select_rows
from dsgrl.graph.relations import Relations
from dsgrl.graph.structural import structural_features

# Entries that lie beside each other and are taken together: few pages are read.
RUN = 256


def shrink(graph: Graph, share: float) -> Graph:
    """Return a graph with a share of the nodes and as many edges per node.

    Many graphs lose whole graphs. Of one graph, evenly spaced rows of features and
    entries are taken; the ends of an entry become those of the rows that stand for
    theirs, so that near nodes stay near. Only what is taken is read.

    Args:
        graph: any graph.
        share: of the nodes and edges that are kept; of 1 the graph itself.
    """
    if share >= 1:
        return graph
    if graph.ptr is not None:
        return graph.take(_spread(graph.num_graphs, share))
    found: dict[str, Any] = {"labels": None, "extras": {}, "origin": None}
    if isinstance(graph.adjacency, Relations):
        relations = graph.adjacency
        sizes = {k: len(_spread(n, share)) for k, n in relations.sizes.items()}
        blocks = {
            (source, name, target): _contract(part, sizes[source], sizes[target], share)
            for (source, name, target), part in relations.adjacencies.items()
        }
        tables = [
            select_rows(table, _spread(table.shape[0], share)) for table in graph.x
        ]
        found |= {"adjacency": Relations(sizes, blocks), "x": tuple(tables)}
        return replace(graph, **found)
    rows = _spread(graph.num_nodes, share)
    size = len(rows)
    found["adjacency"] = _contract(graph.adjacency, size, size, share)
    found["x"] = select_rows(graph.x, rows)
    if graph.make_features is not None:
        columns = graph.x.shape[1]
        found["make_features"] = partial(structural_features, columns=columns)
    return replace(graph, **found)


def _spread(count: int, share: float) -> Tensor:
    """Return evenly spaced numbers below `count`, two at least if there are."""
    kept = min(count, max(2, round(share * count)))
    return torch.arange(kept) * count // max(kept, 1)


def _contract(part: Adjacency, sources: int, targets: int, share: float) -> Adjacency:
    """Take a share of the entries of a matrix and map their ends to fewer nodes."""
    pattern = part.pattern
    rows, cols = part.shape
    runs = _spread(-(-part.num_edges // RUN), share)
    entries = (runs[:, None] * RUN + torch.arange(RUN)).flatten()
    entries = entries[entries < part.num_edges].to(pattern.rowptr.dtype)
    row = torch.searchsorted(pattern.rowptr, entries, right=True) - 1
    entries = entries.long()
    ends = [pattern.col[entries].long() * sources // max(cols, 1)]
    ends.append(row * targets // max(rows, 1))
    return Adjacency.from_edge_index(
        torch.stack(ends),
        part.value[entries],
        num_nodes=(sources, targets) if part.bipartite else sources,
        edge_attr=None if part.attr is None else part.attr[entries],
    )
