"""The floor of whole graphs: histograms of neighbourhoods, and pooled features.

Weisfeiler and Lehman's colours name the neighbourhood of a node up to some steps: two
nodes have the same colour if they look alike that far. A graph is described by how
often it has each colour, by sums, means and maxima of features smoothed over its edges,
and by those of the layers of a GIN with random weights, which count what smoothing
averages out.
"""

import numpy as np
import torch
from torch import Tensor, nn

from dsgrl.encode import Readout
from dsgrl.floor.base import Floor, spread_of
from dsgrl.floor.hops import COLUMNS, unit_rows
from dsgrl.floor.projection import Projection
from dsgrl.graph import Adjacency, Graph, propagate
from dsgrl.graph.batches import graph_parts
from dsgrl.graph.structural import DEGREE_COLUMNS, degree_profile

ROUNDS = 3
# The colours that are counted: those that the most graphs have.
VOCABULARY = 4096
# Columns of the features that are smoothed and pooled, and of the random layers.
POOLED_COLUMNS = 64
NUM_HOPS = 3
# Weight of the histograms against each kind of pooled features.
HISTOGRAM_WEIGHT = 2.0
SMOOTHED, COUNTED = "log_sum+mean+max", "log_sum+max"


class GraphFloor(Floor):
    """Histograms of Weisfeiler-Lehman colours, pooled features, random layers.

    Args:
        in_channels: feature columns of a node.
    """

    colors: Tensor
    labels: Tensor
    threshold: Tensor
    mean: Tensor
    deviation: Tensor
    weights: Tensor

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        # Colours are sorted; unused places have the largest number.
        empty = torch.full((VOCABULARY,), torch.iinfo(torch.int64).max)
        self.register_buffer("colors", empty)
        # Columns of two values, and what lies between these.
        self.register_buffer("labels", torch.zeros(in_channels, dtype=torch.bool))
        self.register_buffer("threshold", torch.zeros(in_channels))
        self.histograms = Projection(VOCABULARY, COLUMNS)
        self.features = Projection(in_channels, POOLED_COLUMNS)
        width = self.features.out_channels + DEGREE_COLUMNS
        self.pools = nn.ModuleList([Readout(SMOOTHED), Readout(COUNTED)])
        self.register_buffer("weights", _random_weights(width))
        pooled = width * (1 + NUM_HOPS) * len(SMOOTHED.split("+"))
        counted = POOLED_COLUMNS * NUM_HOPS * len(COUNTED.split("+"))
        self.widths = [pooled, counted]
        self.register_buffer("mean", torch.zeros(pooled + counted))
        self.register_buffer("deviation", torch.ones(pooled + counted))
        self.out_channels = COLUMNS + pooled + counted

    @torch.no_grad()
    def fit(self, graph: Graph) -> None:
        """Choose the colours to count, and take directions and scales."""
        x = _dense(graph.x)
        low, high = x.min(dim=0).values, x.max(dim=0).values
        self.threshold.copy_((low + high) / 2)
        self.labels.copy_(((x == low) | (x == high)).all(dim=0) & (low < high))
        self.features.fit(graph.x)
        parts = list(graph_parts(graph))
        self._choose_colors(parts)
        counts = [self._count(part) for part in parts]
        self.histograms.fit(_stacked(counts))
        pooled = torch.cat([self._pool(part) for part in parts])
        mean, deviation = spread_of(pooled)
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    @torch.no_grad()
    def forward(self, graph: Graph) -> Tensor:
        """Describe every graph [B, out_channels]."""
        histogram = HISTOGRAM_WEIGHT * self.histograms(self._count(graph))
        pooled = (self._pool(graph) - self.mean) / self.deviation
        parts = [unit_rows(part) for part in pooled.split(self.widths, dim=1)]
        return torch.cat([histogram, *parts], dim=1)

    def _choose_colors(self, parts: list[Graph]) -> None:
        """Keep the colours that the most graphs have, two at least."""
        found = torch.cat([self._pairs(part)[1] for part in parts])
        colors, graphs = found.unique(return_counts=True)
        order = graphs.argsort(descending=True, stable=True)[:VOCABULARY]
        kept = colors[order[graphs[order] > 1]].sort().values
        self.colors.fill_(torch.iinfo(torch.int64).max)
        self.colors[: len(kept)] = kept

    def _pairs(self, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
        """Return every graph and colour that it has, and how often [P] each."""
        assert graph.ptr is not None
        number = torch.arange(graph.num_graphs, device=graph.ptr.device)
        member = number.repeat_interleave(graph.ptr.diff()).repeat(1 + ROUNDS)
        pairs = torch.stack([member, torch.cat(self._paint(graph))])
        unique, counts = pairs.unique(dim=1, return_counts=True)
        return unique[0], unique[1].contiguous(), counts

    def _paint(self, graph: Graph) -> list[Tensor]:
        """Return the colour of every node after each round [N]."""
        pattern = graph.adjacency.pattern
        row, col = pattern.row.long(), pattern.col.long()
        color = _mix(self._first_colors(graph))
        colors = [color]
        for number in range(1, 1 + ROUNDS):
            # A sum of whole numbers does not depend on the order of the neighbours.
            around = torch.zeros_like(color).index_add(0, row, _mix(color + 1)[col])
            color = _mix(3 * color + around + number)
            # The number of the round is part of the colour.
            colors.append(color)
        return colors

    def _first_colors(self, graph: Graph) -> Tensor:
        """Number nodes by their labels, or by their degree if they have none."""
        if not self.labels.any():
            degree: Tensor = graph.adjacency.pattern.rowptr.diff().long()
            return degree + 1
        is_set = _dense(graph.x) > self.threshold
        place = _mix(torch.arange(1, is_set.size(1) + 1, device=is_set.device))
        return (is_set[:, self.labels] * place[self.labels]).sum(dim=1) + 1

    def _count(self, graph: Graph) -> Adjacency:
        """Count the known colours of every graph, on a log scale.

        Rows would have unit length with all colours: the fewer are known, the less a
        histogram says, and the shorter it is.
        """
        member, color, counts = self._pairs(graph)
        value = counts.float().log1p()
        squares = value.new_zeros(graph.num_graphs)
        squares.index_add_(0, member, value.square())
        value /= squares.sqrt().clamp_min(1e-12)[member]
        place = torch.searchsorted(self.colors, color).clamp_max(VOCABULARY - 1)
        known = self.colors[place] == color
        return Adjacency.from_edge_index(
            torch.stack([place[known], member[known]]),
            value[known],
            num_nodes=(VOCABULARY, graph.num_graphs),
        )

    def _pool(self, graph: Graph) -> Tensor:
        """Pool smoothed features and random layers [B, sum of widths]."""
        smooth, count = self.pools
        degrees = degree_profile(graph.adjacency).to(graph.adjacency.device)
        x = torch.cat([self.features(graph.x), degrees], dim=1)
        h, parts = x, [smooth(x, graph.ptr)]
        for _ in range(NUM_HOPS):
            h = propagate(graph.adjacency.normalized("mean"), h)
            parts.append(smooth(h, graph.ptr))
        h = x
        for number in range(NUM_HOPS):
            weight = self.weights[number, : h.size(1)]
            h = ((h + propagate(graph.adjacency, h)) @ weight).relu()
            parts.append(count(h, graph.ptr))
        return torch.cat(parts, dim=1)


def _random_weights(width: int) -> Tensor:
    """Draw the weights of the random layers, always the same [NUM_HOPS, rows, 64].

    A layer takes as many rows as it has inputs.
    """
    rows = max(width, POOLED_COLUMNS)
    shape = (NUM_HOPS, rows, POOLED_COLUMNS)
    weights = torch.from_numpy(np.random.default_rng(0).standard_normal(shape)).float()
    weights[0] /= width**0.5
    weights[1:] /= POOLED_COLUMNS**0.5
    return weights


def _dense(x: Tensor | Adjacency) -> Tensor:
    return x.to_dense() if isinstance(x, Adjacency) else x


def _stacked(counts: list[Adjacency]) -> Adjacency:
    """Put the rows of sparse tables below each other."""
    rows = torch.tensor([0, *(table.shape[0] for table in counts)]).cumsum(0)
    edges = [
        table.edge_index + torch.tensor([[0], [int(first)]], device=table.device)
        for table, first in zip(counts, rows, strict=False)
    ]
    return Adjacency.from_edge_index(
        torch.cat(edges, dim=1),
        torch.cat([table.value for table in counts]),
        num_nodes=(VOCABULARY, int(rows[-1])),
    )


def _mix(number: Tensor) -> Tensor:
    """Scatter whole numbers other than 0 over all 64 bits; equal ones stay equal."""
    for factor in (-49064778989728563, -4265267296055464877):
        number = (number ^ ((number >> 33) & 0x7FFFFFFF)) * factor
    return number ^ ((number >> 33) & 0x7FFFFFFF)
