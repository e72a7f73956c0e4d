"""Embedding of many graphs, a few at a time."""

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.graph.batches import graph_parts
from dsgrl.methods.base import Method
from dsgrl.ranks import ALONE, Ranks


@torch.no_grad()
def embed_all(method: Method, graph: Graph, ranks: Ranks = ALONE) -> Tensor:
    """Embed a graph, or many a few at a time, in their order.

    Args:
        method: the trained method.
        graph: a graph, or many.
        ranks: processes that each embed a share of many graphs; all get all rows.
    """
    if ranks.count > 1 and graph.ptr is not None:
        numbers = torch.arange(graph.num_graphs, device=graph.ptr.device)
        return ranks.gather(embed_all(method, graph.take(ranks.share(numbers))))
    return torch.cat([method.embed(part) for part in graph_parts(graph)])
