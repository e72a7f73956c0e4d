r"""Learned topology: A' = g(H, H) from the K-hop representation H = h(A, X).

A pair (i, j) is an edge of the learned graph if its similarity is above the mean of
row i and among the k largest of that row. Its weight is the similarity divided by the
row's sum, so that gradients reach every parameter of h through the weights:

.. math:: a'_{ij} = g(h_i, h_j) \quad \text{if} \quad
          g(h_i, h_j) > \frac{1}{N} \sum_k g(h_i, h_k) = g(h_i, \bar h)

Which pairs are edges is found in blocks of rows: memory O(N k + block N), never
N x N. While training the pairs are looked up anew every few steps; their weights are
computed, and learn, in every step.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.augment.above_mean import AboveMean
from dsgrl.encode import Encoder
from dsgrl.graph import Adjacency, Graph, Pattern, dot_ends
from dsgrl.typing import SimilarityName

# Similarities held at once while looking for edges: 64 MB of float32.
BLOCK_ELEMENTS = 1 << 24


class TopologyAugmenter(nn.Module):
    """A graph of similar nodes, learned.

    Args:
        in_channels: width F of the input features.
        augment_channels: width D1 of the representation H.
        num_layers: layers K of the GNN that makes H.
        edges_per_node: the most edges kept per row; None keeps every pair above the
            row's mean, as the paper's equation (for graphs where N^2 work is fine).
        similarity: "cosine", or "inner" for the paper's plain inner product.
        keep_edges: keep the original edges among the learned ones.
        refresh: training steps between two look-ups of the pairs.
        dropout: share dropped between the GNN's layers while training.
    """

    def __init__(
        self,
        in_channels: int,
        augment_channels: int,
        *,
        num_layers: int = 2,
        edges_per_node: int | None = 16,
        similarity: SimilarityName = "cosine",
        keep_edges: bool = False,
        refresh: int = 5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(
            in_channels,
            augment_channels,
            augment_channels,
            num_layers=num_layers,
            dropout=dropout,
        )
        self.edges_per_node = edges_per_node
        self.similarity = similarity
        self.keep_edges = keep_edges
        self.refresh = refresh
        self._steps = 0
        self._known: tuple[Adjacency, Pattern] | None = None

    def forward(self, graph: Graph) -> Adjacency:
        """Return the learned graph A' [N, N], its rows summing to 1."""
        h = self.represent(graph)
        if self.edges_per_node is None:
            return AboveMean(h)
        pattern = self._pattern(graph, h.detach())
        return Adjacency(pattern, F.relu(dot_ends(pattern, h))).normalized("mean")

    def represent(self, graph: Graph) -> Tensor:
        """Return H [N, D1], rows of unit length for cosine similarity."""
        h: Tensor = self.encoder(graph.adjacency, graph.x)
        return F.normalize(h, dim=1) if self.similarity == "cosine" else h

    def _pattern(self, graph: Graph, h: Tensor) -> Pattern:
        """Look up the edges; while training only every few steps."""
        if not self.training:
            return self._look_up(graph, h)
        stale = self._known is None or self._known[0] is not graph.adjacency
        if stale or self._steps % self.refresh == 0:
            self._known = (graph.adjacency, self._look_up(graph, h))
        self._steps += 1
        assert self._known is not None
        return self._known[1]

    def _look_up(self, graph: Graph, h: Tensor) -> Pattern:
        assert self.edges_per_node is not None
        pairs = most_similar(h, self.edges_per_node)
        if self.keep_edges:
            pairs = torch.cat([pairs, graph.adjacency.edge_index], dim=1)
        # Both directions, each pair once: one number per pair sorts faster than two.
        num_nodes = h.size(0)
        both = torch.cat([pairs, pairs.flip(0)], dim=1)
        number = torch.unique(both[1] * num_nodes + both[0])
        pairs = torch.stack([number % num_nodes, number // num_nodes])
        return Adjacency.from_edge_index(pairs, num_nodes=num_nodes).pattern


@torch.no_grad()
def most_similar(h: Tensor, edges_per_node: int) -> Tensor:
    """Find, per row, the pairs above the row's mean and among its k largest.

    Args:
        h: one vector per node [N, D].
        edges_per_node: k.

    Returns:
        Pairs as (similar node, row) [2, E].
    """
    num_nodes = h.size(0)
    mean = h @ h.mean(dim=0)  # [N]: the mean over k of h_i . h_k, in linear time
    count = min(edges_per_node, num_nodes)
    found = []
    for rows in torch.arange(num_nodes, device=h.device).split(
        max(1, BLOCK_ELEMENTS // num_nodes)
    ):
        top = (h[rows] @ h.t()).topk(count, dim=1)  # [block, k]
        above = top.values > mean[rows, None]
        row = rows[:, None].expand_as(top.indices)
        found.append(torch.stack([top.indices[above], row[above]]))
    return torch.cat(found, dim=1)
