"""A learned chance per edge to be dropped, relaxed so that gradients reach it."""

import torch
from torch import Tensor, nn

from dsgrl.encode import SummedEncoder
from dsgrl.graph import Graph

# How far the uniform draws keep from 0 and 1.
MARGIN = 1e-4


class EdgeDropper(nn.Module):
    """The augmenter: a logit per edge from the rows of its ends.

    Args:
        gnn: embeds nodes, (graph) -> H [N, D].
        hidden_channels: width of the MLP.
    """

    def __init__(self, gnn: SummedEncoder, hidden_channels: int) -> None:
        super().__init__()
        self.gnn = gnn
        # The first layer of the MLP on [h_i | h_j], one half for each end.
        self.source = nn.Linear(gnn.out_channels, hidden_channels)
        self.target = nn.Linear(gnn.out_channels, hidden_channels, bias=False)
        self.score = nn.Linear(hidden_channels, 1)

    def forward(self, graph: Graph) -> Tensor:
        """Draw the weights of the edges in the view [E], from 0 to 1."""
        h, pattern = self.gnn.embed_nodes(graph), graph.adjacency.pattern
        ends = self.source(h)[pattern.col.long()] + self.target(h)[pattern.row.long()]
        logit = self.score(ends.relu()).squeeze(1)
        u = MARGIN + (1 - 2 * MARGIN) * torch.rand(len(logit)).to(logit.device)
        weight: Tensor = torch.sigmoid(u.logit() + logit)
        return weight


def mean_per_graph(value: Tensor, batch: Graph) -> Tensor:
    """Average a value per edge [E] over each graph, then over graphs with edges."""
    assert batch.ptr is not None
    pointer = batch.adjacency.pattern.rowptr[batch.ptr].long()
    sums = torch.segment_reduce(value, "sum", offsets=pointer)
    counts: Tensor = pointer.diff()
    mean: Tensor = sums / counts.clamp_min(1)
    return mean.sum() / (counts > 0).sum().clamp_min(1)
