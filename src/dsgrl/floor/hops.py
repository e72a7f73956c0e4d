r"""Hops: the features of a node, of its neighbours, and of those further away.

.. math:: [X V \,|\, \hat A X V \,|\, \hat A^2 X V \,|\, \hat A^3 X V]

with rows of unit length in each part, the normalised adjacency of the GCN, and V the
leading directions of X. Where the features of neighbours are hardly alike, a node's own
features can count more: see `own_weight`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.floor.base import Floor
from dsgrl.floor.projection import Projection
from dsgrl.graph import Adjacency, Graph, propagate

COLUMNS = 256
NUM_HOPS = 3
# Neighbours that are less alike than this have less weight than the node itself.
ALIKE = 0.12
MOST_OWN_WEIGHT = 2.0
# Features spread over this share of their directions are structured, over that share
# hardly more than noise.
STRUCTURED, NOISE = 0.5, 0.75


class HopsFloor(Floor):
    """Features smoothed 0 to `num_hops` times, side by side.

    Args:
        in_channels: feature columns F.
        columns: columns of the features that are smoothed; more are projected to so
            many.
        num_hops: the most steps.
        weighs_own: whether a node's own features get the weight of `own_weight`; else
            they count as much as each hop.
    """

    own: Tensor

    def __init__(
        self,
        in_channels: int,
        *,
        columns: int = COLUMNS,
        num_hops: int = NUM_HOPS,
        weighs_own: bool = False,
    ) -> None:
        super().__init__()
        self.features = Projection(in_channels, columns)
        self.num_hops, self.weighs_own = num_hops, weighs_own
        self.register_buffer("own", torch.tensor(1.0))
        self.out_channels = (1 + num_hops) * self.features.out_channels

    def fit(self, graph: Graph) -> None:
        """Take the leading directions of the features."""
        self.features.fit(graph.x)
        if self.weighs_own:
            rows = unit_rows(self.features(graph.x))
            self.own.fill_(own_weight(rows, graph.adjacency))

    @torch.no_grad()
    def forward(self, graph: Graph) -> Tensor:
        """Describe every node [N, out_channels]."""
        h = self.features(graph.x)
        parts = [self.own * unit_rows(h)]
        for _ in range(self.num_hops):
            h = propagate(graph.adjacency.normalized("gcn"), h)
            parts.append(unit_rows(h))
        return torch.cat(parts, dim=1)


def unit_rows(h: Tensor) -> Tensor:
    """Scale rows to unit length; a row of zeros stays one."""
    return F.normalize(h, dim=1, eps=1e-12)


def own_weight(rows: Tensor, adjacency: Adjacency) -> float:
    """Return how much a node's own features count against those of each hop.

    It is 1 where neighbours are alike: where their cosine similarity is `ALIKE` above
    that of random pairs or more. It rises to `MOST_OWN_WEIGHT` where they are not,
    unless the features look like noise: what is shared with neighbours is then the
    better part of them.

    Args:
        rows: features with unit rows [N, F].
        adjacency: the graph [N, N].
    """
    pattern = adjacency.pattern
    joins_two = (pattern.row != pattern.col).to(rows.dtype)
    if not joins_two.any():
        return MOST_OWN_WEIGHT
    rows = unit_rows(rows - rows.mean(dim=0))
    total = (rows * propagate(adjacency.with_value(joins_two), rows)).sum()
    lift = float(total / joins_two.sum() - rows.mean(dim=0).square().sum())
    # Neighbours that are less alike than random pairs share no signal to prefer.
    noise = _noise(rows) if lift > 0 else 0.0
    most = MOST_OWN_WEIGHT + (1 - MOST_OWN_WEIGHT) * noise
    return min(max(ALIKE / max(lift, 1e-6), 1.0), most)


def _noise(rows: Tensor) -> float:
    """Return how much rows look like noise: 0 if structured, 1 if they are spread out.

    The share of directions they are spread over is the participation ratio of the
    eigenvalues of their Gram matrix, which is 1 for white noise.
    """
    gram = (rows.t() @ rows).double()
    total, squares = gram.trace(), gram.square().sum()
    share = float(total.square() / (squares.clamp_min(1e-30) * len(gram)))
    return min(max((share - STRUCTURED) / (NOISE - STRUCTURED), 0.0), 1.0)
