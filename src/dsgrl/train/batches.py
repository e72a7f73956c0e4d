"""Embedding of many graphs, a few at a time."""

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.methods.base import Method

# Nodes and edges embedded at once: a few hundred MB at the default widths.
EMBED_ELEMENTS = 1 << 18


@torch.no_grad()
def embed_all(method: Method, graph: Graph) -> Tensor:
    """Embed a graph, or many a few at a time, in their order."""
    if graph.ptr is None:
        return method.embed(graph)
    rowptr = graph.adjacency.pattern.rowptr
    weight = (graph.ptr + rowptr[graph.ptr]).long()
    part = (weight[1:] - 1).clamp_min(0) // EMBED_ELEMENTS
    numbers = torch.arange(graph.num_graphs, device=graph.ptr.device)
    counts = torch.unique_consecutive(part, return_counts=True)[1]
    return torch.cat(
        [method.embed(graph.take(some)) for some in numbers.split(counts.tolist())]
    )
