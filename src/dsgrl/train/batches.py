"""Embedding of many graphs, a few at a time."""

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.graph.batches import graph_parts
from dsgrl.methods.base import Method


@torch.no_grad()
def embed_all(method: Method, graph: Graph) -> Tensor:
    """Embed a graph, or many a few at a time, in their order."""
    return torch.cat([method.embed(part) for part in graph_parts(graph)])
