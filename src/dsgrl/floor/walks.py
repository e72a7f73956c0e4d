"""The floor of a graph without features: smoothed walk factors."""

from typing import Any

import torch
from torch import Tensor

from dsgrl.floor.base import Floor
from dsgrl.graph import Graph, propagate
from dsgrl.graph.structural import DEGREE_COLUMNS

SMOOTHING = 8


class WalksFloor(Floor):
    """Walk factors smoothed over the graph.

    Args:
        in_channels: columns that were made from the edges: degrees, then factors.
        smoothing: how often the factors are averaged over neighbours.
    """

    def __init__(self, in_channels: int, *, smoothing: int = SMOOTHING) -> None:
        super().__init__()
        self.smoothing = smoothing
        self.out_channels = in_channels - DEGREE_COLUMNS

    def fit(self, graph: Graph) -> None:
        """Do nothing: the columns are made from the edges of every graph."""

    @torch.no_grad()
    def forward(self, graph: Graph) -> Tensor:
        """Describe every node [N, out_channels]."""
        x: Any = graph.x
        h: Tensor = x[:, DEGREE_COLUMNS:]
        for _ in range(self.smoothing):
            h = propagate(graph.adjacency.normalized("gcn"), h)
        return h
