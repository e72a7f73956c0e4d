"""How the authors' program differs from ours, part by part.

Each function takes a method as the paper's recipe builds it and changes one thing in it
to what the authors' published program does. Only `variants` uses them; the page
DIFFERENCES.md has their effect on a score.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.augment import FeatureAugmenter, PerTypeAugmenter, TopologyAugmenter
from dsgrl.augment.topology import Topology
from dsgrl.encode import Encoder, linear
from dsgrl.encode.relational import RelationalLayer
from dsgrl.graph import Adjacency, Graph, propagate
from dsgrl.methods.dsgrl import DSGRLMethod

# Takes a method and its resolved parameters.
Change = Callable[[Any, Any], None]

# The program's graph models never get the rate of the recipe.
DROPOUT = 0.5
# Entries of the matrix of all similarities that are searched together.
PAIR_BLOCK_ENTRIES = 1 << 24


def start_alike(method: DSGRLMethod, _: Any) -> None:
    """Give both feature augmenters the same weights to start from."""
    for augmenter in _augmenters(method):
        for weights in (*augmenter.weights, *augmenter.biases):
            views = weights.data.unbind(-2)
            for view in views[1:]:
                view.copy_(views[0])


def augment_linearly(method: DSGRLMethod, config: Any) -> None:
    """Leave out the ReLU of feature augmenters of one layer."""
    if isinstance(method.features, PerTypeAugmenter):
        method.features.augmenters = nn.ModuleList(
            _LinearAugmenter.like(augmenter, config)
            for augmenter in _augmenters(method)
        )
    else:
        (augmenter,) = _augmenters(method)
        method.features = _LinearAugmenter.like(augmenter, config)


def start_small(method: DSGRLMethod, _: Any) -> None:
    """Draw the augmenters' weights and biases as `torch.nn.Linear` does."""
    for augmenter in _augmenters(method):
        for weight, bias in zip(augmenter.weights, augmenter.biases, strict=True):
            bound = weight.size(0) ** -0.5
            nn.init.uniform_(weight, -bound, bound)
            nn.init.uniform_(bias, -bound, bound)


def drop_last_layer(method: DSGRLMethod, _: Any) -> None:
    """Return the last hidden layer's result in the place of the last layer's."""
    assert isinstance(method.encoder, Encoder)
    method.encoder = _AllButLast(method.encoder)


def normalize_inside(method: DSGRLMethod, config: Any) -> None:
    """Put batch norm and ReLU behind both maps of every GIN layer and augmenter."""
    assert isinstance(method.encoder, Encoder)
    width = config.out_channels
    method.encoder = _NormedGIN(
        _in_channels(method.encoder), width, config.num_layers, project=True
    )
    if isinstance(method.features, FeatureAugmenter):
        method.features = _NormedAugmenter(
            method.features.weights[0].size(0),
            config.views.augment_channels,
            config.dropout,
        )
    if isinstance(method.topology, TopologyAugmenter):
        assert isinstance(method.topology.encoder, Encoder)
        method.topology.encoder = _NormedGIN(  # type: ignore[assignment]
            _in_channels(method.topology.encoder),
            config.views.augment_channels,
            config.views.topology_layers,
            project=False,
        )


def ignore_weights(method: DSGRLMethod, _: Any) -> None:
    """Let the encoder see learned edges of weight 1: no gradient reaches them, then."""
    assert method.topology is not None
    method.topology = _Unweighted(method.topology)  # type: ignore[assignment]


def take_largest(method: DSGRLMethod, _: Any) -> None:
    """Connect the most similar pairs of all, also across the graphs of a batch."""
    assert isinstance(method.topology, TopologyAugmenter)
    method.topology.__class__ = _LargestPairs


def graph_program(method: DSGRLMethod, config: Any) -> None:
    """Make all of these changes that concern graphs."""
    config = config.replace(dropout=DROPOUT)
    if method.features is not None:
        normalize_inside(method, config)
        assert isinstance(method.features, _NormedAugmenter)
        one, two = method.features.networks
        two.load_state_dict(one.state_dict())
    else:
        normalize_inside(method, config)
        take_largest(method, config)
        ignore_weights(method, config)
    assert method.readout is not None
    method.readout = _DroppedReadout(method.readout)  # type: ignore[assignment]


def node_program(method: DSGRLMethod, config: Any) -> None:
    """Make all of these changes that concern the nodes of a graph of one type."""
    if method.features is not None:
        augment_linearly(method, config)
        start_small(method, config)
    else:
        assert isinstance(method.topology, TopologyAugmenter)
        method.topology.encoder.jump = "sum"
        take_largest(method, config)
        ignore_weights(method, config)


def hetero_program(method: DSGRLMethod, config: Any) -> None:
    """Make all of these changes that concern a graph of several types of nodes."""
    augment_linearly(method, config)
    start_small(method, config)
    drop_last_layer(method, config)


def _augmenters(method: DSGRLMethod) -> list[FeatureAugmenter]:
    features = method.features
    assert features is not None
    parts: list[Any] = (
        [features] if isinstance(features, FeatureAugmenter) else [*features.augmenters]
    )
    return parts


def _in_channels(encoder: Encoder) -> int:
    return int(encoder.layers[0].in_channels)  # type: ignore[arg-type]


class _LinearAugmenter(FeatureAugmenter):
    """One linear map per view, then dropout."""

    @classmethod
    def like(cls, augmenter: FeatureAugmenter, config: Any) -> "_LinearAugmenter":
        """Take over the weights of a feature augmenter of one layer."""
        width, _, channels = augmenter.weights[0].shape
        made = cls(width, channels, dropout=config.dropout)
        made.load_state_dict(augmenter.state_dict())
        return made

    def forward(self, x: Tensor | Adjacency) -> Tensor:
        """Augment the features [N, F] -> [N, V, D1]."""
        (weight,) = self.weights
        h = linear(x, weight.flatten(1)) + self.biases[0].flatten()
        return F.dropout(h, self.dropout, self.training).view(-1, *weight.shape[1:])


class _AllButLast(nn.Module):
    """An encoder without its last layer; the one before ends in ReLU and dropout."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.layers, self.dropout = encoder.layers[:-1], encoder.dropout

    def forward(self, adjacency: Any, x: Any) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        for layer in self.layers:
            assert isinstance(layer, RelationalLayer)
            x = layer.activated(adjacency, x, dropout)
        result: Tensor = x
        return result


def _normed(in_channels: int, width: int) -> nn.Sequential:
    """Linear, batch norm, ReLU, twice."""
    return nn.Sequential(
        nn.Linear(in_channels, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
    )


class _NormedGIN(nn.Module):
    """GIN layers with batch norm and ReLU behind both of their maps.

    With `project`, one more map. In the program it follows the sum over the nodes;
    without a bias it is the same before it.
    """

    def __init__(
        self, in_channels: int, width: int, num_layers: int, *, project: bool
    ) -> None:
        super().__init__()
        widths = [in_channels, *[width] * (num_layers - 1)]
        self.layers = nn.ModuleList(_normed(w, width) for w in widths)
        self.last = nn.Linear(width, width, bias=False) if project else nn.Identity()

    def forward(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Embed every node, view by view [N, ..., in] -> [N, ..., D]."""
        h = x.to_dense() if isinstance(x, Adjacency) else x
        if h.dim() == 3:
            return torch.stack([self(adjacency, view) for view in h.unbind(1)], dim=1)
        summing = adjacency.normalized("sum")
        for layer in self.layers:
            h = layer(h + propagate(summing, h.contiguous()))
        result: Tensor = self.last(h)
        return result


class _NormedAugmenter(nn.Module):
    """Two networks with batch norm and ReLU behind both of their maps."""

    def __init__(self, in_channels: int, width: int, dropout: float) -> None:
        super().__init__()
        self.networks = nn.ModuleList(_normed(in_channels, width) for _ in range(2))
        self.dropout = dropout

    def forward(self, x: Tensor | Adjacency) -> Tensor:
        """Augment the features [N, F] -> [N, V, D1]."""
        x = x.to_dense() if isinstance(x, Adjacency) else x
        views = torch.stack([network(x) for network in self.networks], dim=1)
        return F.dropout(views, self.dropout, self.training)

    def stacked_weights(self) -> list[Tensor]:
        """Return W_1 above W_2 for both maps, for Eq. 5."""
        one, two = (
            [part for part in network.children() if isinstance(part, nn.Linear)]
            for network in self.networks
        )
        return [torch.cat([a.weight, b.weight]) for a, b in zip(one, two, strict=True)]


class _DroppedReadout(nn.Module):
    """A readout with dropout behind it."""

    def __init__(self, readout: nn.Module) -> None:
        super().__init__()
        self.readout = readout

    def forward(self, z: Tensor, ptr: Tensor) -> Tensor:
        return F.dropout(self.readout(z, ptr), DROPOUT, self.training)


class _Unweighted(nn.Module):
    """Learned edges, each of weight 1."""

    def __init__(self, topology: Topology) -> None:
        super().__init__()
        self.topology = topology

    @torch.no_grad()
    def forward(self, graph: Graph) -> Adjacency:
        learned: Adjacency = self.topology(graph)
        return Adjacency(learned.pattern, torch.ones_like(learned.value))


class _LargestPairs(TopologyAugmenter):
    """Connects as many pairs as make up a multiple of the graph's own edges."""

    def find_pairs(self, graph: Graph, h: Tensor) -> Tensor:
        """Return the pairs of the largest similarities as (node, row) [2, E]."""
        assert self.edge_multiplier is not None
        own = graph.adjacency.num_edges
        count = round(self.edge_multiplier * own) - (own if self.keep_edges else 0)
        pairs = largest_entries(h, max(count, 1))
        # A node's own features count anyway.
        return pairs[:, pairs[0] != pairs[1]]


def largest_entries(h: Tensor, count: int) -> Tensor:
    """Return where H H^T is largest, as (column, row) [2, count], block by block."""
    num_nodes = h.size(0)
    count = min(count, num_nodes**2)
    value, place = h.new_empty(0), torch.empty(0, dtype=torch.long)
    rows = max(1, PAIR_BLOCK_ENTRIES // num_nodes)
    for start in range(0, num_nodes, rows):
        block = (h[start : start + rows] @ h.t()).flatten()
        there = torch.arange(block.numel())
        if value.numel() == count:
            there = (block > value.min()).nonzero().flatten()
            block = block[there]
        value = torch.cat([value, block])
        place = torch.cat([place, there + start * num_nodes])
        if value.numel() > count:
            value, kept = value.topk(count, sorted=False)
            place = place[kept]
    return torch.stack([place % num_nodes, place // num_nodes])
