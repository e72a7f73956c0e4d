r"""Learned topology: A' = g(H, H) from the K-hop representation H = h(A, X).

A pair (i, j) is an edge of the learned graph if its similarity is above the mean of
row i and among the k largest of that row:

.. math:: a'_{ij} = g(h_i, h_j) \quad \text{if} \quad
          g(h_i, h_j) > \frac{1}{N} \sum_k g(h_i, h_k) = g(h_i, \bar h)

By default negative weights are 0 and every row is divided by its sum. Gradients reach
every parameter of h through the weights. The paper's A' itself is `weights="raw"`,
`edges_per_node=None`, `symmetric=False`, `similarity="inner"`; as any graph, it is
normalised by the encoder.

Which pairs are edges is found in blocks of rows: memory O(N k + block N), never
N x N; or, for large graphs, among candidates (`nearest.py`). While training the
pairs of a graph are looked up anew every few visits (`known.py`); their weights are
computed, and learn, in every step. Edges never leave their graph (many graphs) or node
type (several types).
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.augment.above_mean import AboveMean
from dsgrl.augment.known import KnownPairs
from dsgrl.augment.search import pick_search
from dsgrl.augment.similar import most_similar
from dsgrl.encode import DecoupledEncoder, Encoder
from dsgrl.encode.decoupled import HOPS, stack_hops
from dsgrl.graph import Adjacency, Graph, Pattern, Relations, Schema, dot_ends
from dsgrl.typing import (
    CandidatesName,
    EdgeWeightsName,
    InputError,
    SimilarityName,
)

# Steps between two look-ups of the pairs of a single graph.
REFRESH = 5


class Topology(nn.Module):
    """A second graph for the second view; `represent` says what is similar.

    Args:
        edges_per_node: the most edges kept per row; None keeps every pair above the
            row's mean, as in the paper's equation (for graphs where N^2 work is fine).
        edge_multiplier: if given, as many edges per row as make up this multiple of
            the graph's own edges, instead of `edges_per_node`.
        symmetric: take every pair both ways: with `edges_per_node=None`, a pair above
            the mean of either row.
        keep_edges: keep the original edges among the new ones, weighted like them.
        weights: "normalized" (similarities without the negative ones, divided by the
            row's sum) or "raw" (the similarities). Raw sums of a row may be negative:
            the "gcn" normalisation leaves such a node out, its own features included.
        refresh: training steps that visit a graph between two look-ups of its pairs;
            "auto": 5 for one graph, 1 for many.
        search: how pairs are found: "exact", or among candidates by "index" or "hops";
            "auto": by the size of the graph.

    Attributes:
        compares: whether pairs are compared at all.
    """

    compares = True

    def __init__(
        self,
        *,
        edges_per_node: int | None = 16,
        edge_multiplier: float | None = None,
        symmetric: bool = True,
        keep_edges: bool = False,
        weights: EdgeWeightsName = "normalized",
        refresh: int | Literal["auto"] = "auto",
        search: CandidatesName = "auto",
    ) -> None:
        super().__init__()
        if weights not in get_args(EdgeWeightsName):
            raise InputError(
                f"weights={weights!r}: expected 'normalized' or 'raw' edge weights"
            )
        self.edges_per_node = edges_per_node
        self.edge_multiplier = edge_multiplier
        self.symmetric = symmetric
        self.keep_edges = keep_edges
        self.weights: EdgeWeightsName = weights
        self.refresh: int | Literal["auto"] = refresh
        self.search = search
        self._known = KnownPairs()

    @property
    def ignores_edges(self) -> bool:
        """Whether the second graph is the same for any edges."""
        return False

    @property
    def is_bare(self) -> bool:
        """Whether the second graph has no edges."""
        return False

    def forward(self, graph: Graph) -> Adjacency | Relations:
        """Return the new graph A' [N, N]; normalised weights sum to 1 in every row.

        For several types of nodes its blocks take the place of each type's relations
        to itself; relations between types stay.
        """
        h = self.represent(graph)
        learned = self._connect(graph, h)
        if isinstance(graph.adjacency, Relations):
            return graph.adjacency.with_inner(learned.diagonal_blocks(graph.bounds))
        return learned

    def represent(self, graph: Graph) -> Tensor:
        """Return H [N, D1]; similarities are inner products of its rows."""
        raise NotImplementedError

    def training_state(self) -> dict[str, Tensor]:
        """Return what a resumed training needs besides the weights.

        Returns:
            Visits of every graph [G], its number of known pairs [G], and the pairs of
            all graphs [2, E].
        """
        return self._known.state()

    def load_training_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue a training with the same data; see `training_state`."""
        self._known.load(state)

    def _connect(self, graph: Graph, h: Tensor) -> Adjacency:
        if self.edges_per_node is None and self.edge_multiplier is None:
            return self._connect_all(graph, h)
        pattern = self._pattern(graph, h.detach())
        similarity = dot_ends(pattern, h)
        if self.weights == "raw":
            return Adjacency(pattern, similarity)
        return Adjacency(pattern, F.relu(similarity)).normalized("mean")

    def _connect_all(self, graph: Graph, h: Tensor) -> Adjacency:
        """Connect every pair above its row's mean."""
        kept = None
        if self.keep_edges:
            pairs = _inner_edges(graph)
            if self.symmetric:
                pairs = torch.cat([pairs, pairs.flip(0)], dim=1)
            kept = Adjacency.from_edge_index(pairs, num_nodes=graph.num_nodes)
        return AboveMean(
            h,
            graph.bounds,
            weights=self.weights,
            symmetric=self.symmetric,
            kept=kept,
        )

    def _pattern(self, graph: Graph, h: Tensor) -> Pattern:
        """Look up the edges; while training only every few visits."""
        refresh = self.refresh
        if refresh == "auto":
            refresh = REFRESH if graph.ptr is None else 1
        # A part of a graph is another one in every step.
        if not self.training or refresh == 1 or graph.targets is not None:
            return self._look_up(graph, h)
        return self._known.visit(graph, h, refresh, self._all_pairs)

    @property
    def cycle(self) -> int:
        """Training steps on one graph between two look-ups of its pairs."""
        return REFRESH if self.refresh == "auto" else self.refresh

    def find_pairs(self, graph: Graph, h: Tensor) -> Tensor:
        """Return the pairs to connect, as (similar node, row) [2, E]."""
        bounds = graph.bounds
        largest = max(b - a for a, b in itertools.pairwise(bounds))
        search = pick_search(self.search, largest, h.size(1))
        return most_similar(h, self.counts(graph), bounds, search, graph.adjacency)

    def counts(self, graph: Graph) -> list[int]:
        """Return the most edges per row, for every graph or node type."""
        blocks = len(graph.bounds) - 1
        if self.edge_multiplier is None:
            assert self.edges_per_node is not None
            return [self.edges_per_node] * blocks
        bounds = torch.tensor(graph.bounds, device=graph.adjacency.device)
        edges = _edges_into(graph)[bounds].diff()
        wanted = self.edge_multiplier * edges / bounds.diff().clamp_min(1)
        return [max(1, round(count)) for count in wanted.tolist()]

    def _look_up(self, graph: Graph, h: Tensor) -> Pattern:
        pairs = self._all_pairs(graph, h)
        return Adjacency.from_edge_index(pairs, num_nodes=graph.num_nodes).pattern

    def _all_pairs(self, graph: Graph, h: Tensor) -> Tensor:
        """Return the pairs with those that options add, by rising row [2, E]."""
        pairs = self.find_pairs(graph, h)
        if self.keep_edges:
            pairs = torch.cat([pairs, _inner_edges(graph)], dim=1)
        if self.symmetric:
            pairs = torch.cat([pairs, pairs.flip(0)], dim=1)
        # Each pair once: one number per pair sorts faster than two.
        num_nodes = graph.num_nodes
        number = torch.unique(pairs[1] * num_nodes + pairs[0])
        return torch.stack([number % num_nodes, number // num_nodes])


class TopologyAugmenter(Topology):
    """A graph of similar nodes, learned.

    Args:
        in_channels: width F of the input features; one per type if there are several.
        augment_channels: width D1 of the representation H.
        num_layers: layers K of the GNN that makes H.
        similarity: "cosine", or "inner" for the paper's plain inner product.
        dropout: share dropped between the GNN's layers while training.
        schema: types and relations of a heterogeneous graph.
        **options: see `Topology`.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        augment_channels: int,
        *,
        num_layers: int = 2,
        similarity: SimilarityName = "cosine",
        dropout: float = 0.0,
        schema: Schema | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.similarity = similarity
        self.encoder: Encoder | DecoupledEncoder = Encoder(
            in_channels,
            augment_channels,
            augment_channels,
            num_layers=num_layers,
            dropout=dropout,
            schema=schema,
        )

    def represent(self, graph: Graph) -> Tensor:
        """Return H [N, D1], rows of unit length for cosine similarity."""
        if isinstance(self.encoder, DecoupledEncoder):
            h: Tensor = self.encoder(stack_hops(graph.x, graph.extras[HOPS]))
        else:
            h = self.encoder(graph.adjacency, graph.x)
        return F.normalize(h, dim=1) if self.similarity == "cosine" else h

    def decouple(self, num_hops: int) -> None:
        """Learn what is similar from hops of the features (`Graph.extras`)."""
        plain = self.encoder
        assert isinstance(plain, Encoder)
        assert isinstance(plain.in_channels, int)
        width = plain.out_channels
        self.encoder = DecoupledEncoder(
            plain.in_channels,
            width,
            width,
            num_hops=num_hops,
            dropout=plain.dropout,
        )

    @property
    def ignores_edges(self) -> bool:
        """Whether similarities come from hops, and nothing else looks at edges."""
        takes_edges = self.keep_edges or self.edge_multiplier is not None
        is_decoupled = isinstance(self.encoder, DecoupledEncoder)
        return is_decoupled and not takes_edges and self.search != "hops"


def _inner_edges(graph: Graph) -> Tensor:
    """Return the edges inside a graph or node type [2, E]."""
    edges = [
        part.edge_index + start
        for part, start, end in graph.adjacency.parts()
        if start == end and not part.bipartite
    ]
    return torch.cat(edges, dim=1)


def _edges_into(graph: Graph) -> Tensor:
    """Return how many edges flow into the nodes before each node [N + 1]."""
    counts = torch.zeros(graph.num_nodes + 1, dtype=torch.long)
    counts = counts.to(graph.adjacency.device)
    for part, _, start in graph.adjacency.parts():
        degree = part.pattern.rowptr.diff().long()
        counts[start + 1 : start + 1 + degree.numel()] += degree
    return counts.cumsum(0)
