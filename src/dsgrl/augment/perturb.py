"""Views weakened at random while training: fewer edges, fewer features."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from dsgrl.encode import drop
from dsgrl.graph import Adjacency, Features, Graph, Relations


class Perturbation(nn.Module):
    """Leaves out some edges and features while training.

    Args:
        edge_drop: share of the edges dropped, both directions together.
        feature_drop: share of the features set to zero, each by itself; the others are
            scaled up so that the mean stays the same.
        feature_mask: share of the feature columns set to zero.
    """

    def __init__(
        self,
        *,
        edge_drop: float = 0.0,
        feature_drop: float = 0.0,
        feature_mask: float = 0.0,
    ) -> None:
        super().__init__()
        self.edge_drop, self.feature_drop = edge_drop, feature_drop
        self.feature_mask = feature_mask

    @property
    def drops_edges(self) -> bool:
        """Whether two draws differ in their edges."""
        return self.training and self.edge_drop > 0

    def forward(self, batch: Graph) -> Graph:
        """Draw a weakened graph from torch's global generator."""
        if not self.training:
            return batch
        if self.drops_edges:
            weakened = drop_edges(batch.adjacency, self.edge_drop)
            batch = replace(batch, adjacency=weakened, origin=None)
        if self.feature_drop:
            batch = replace(batch, x=_each(batch.x, drop_features, self.feature_drop))
        if self.feature_mask:
            batch = replace(batch, x=mask_columns(batch.x, self.feature_mask))
        return batch

    def extra_repr(self) -> str:
        """Show the shares."""
        names = ("edge_drop", "feature_drop", "feature_mask")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


def drop_edges(adjacency: Any, share: float | Tensor) -> Any:
    """Give some edges the weight 0, which is no edge; the order of entries stays.

    All entries that join the same two nodes, in either direction and in every relation,
    share their fate. Self-loops stay.

    Args:
        adjacency: an `Adjacency` [N, N], or `Relations`.
        share: chance of a pair of nodes to lose its edges; for an `Adjacency` also one
            per entry [E], the same for all entries of a pair.
    """
    salt = torch.randint(2**62, ())
    num_nodes = adjacency.shape[0]
    parts = []
    for part, source, target in adjacency.parts():
        one, other = part.pattern.col.long() + source, part.pattern.row.long() + target
        low, high = torch.minimum(one, other), torch.maximum(one, other)
        number = scatter_number(low * num_nodes + high, salt.to(low.device))
        keep = (number >= share) | (low == high)
        parts.append(part.with_value(part.value * keep))
    changed: Adjacency | Relations = adjacency.with_parts(parts)
    return changed


def scatter_number(key: Tensor, salt: Tensor) -> Tensor:
    """Turn whole numbers into numbers from 0 to below 1 that look random.

    Equal keys give equal numbers, so that the two directions of an edge need not know
    of each other; another salt gives others. Multiplications of 64 bits wrap around.
    """
    x = (key ^ salt) * 6364136223846793005
    x = (x ^ ((x >> 31) & 0x1FFFFFFFF)) * 1442695040888963407
    x = x ^ ((x >> 29) & 0x7FFFFFFFF)
    return (x & 0xFFFFFFFF).double() / 2**32


def drop_features(x: Features, share: float) -> Features:
    """Set some features of some nodes to zero and scale up the rest."""
    if isinstance(x, Adjacency):
        return x.with_value(drop(x.value, share))
    return drop(x, share)


def mask_columns(
    x: Features | tuple[Features, ...], share: float | Tensor
) -> Features | tuple[Features, ...]:
    """Set some columns to zero, of every node type; sparse features stay sparse.

    Args:
        x: features [N, F].
        share: chance of a column to be set to zero; also one per column [F].
    """
    masked: Features | tuple[Features, ...] = _each(x, _mask_table, share)
    return masked


def _mask_table(x: Features, share: float | Tensor) -> Features:
    # Drawn on the CPU: the same columns on every device.
    keep = torch.rand(x.shape[1]).to(x.device) >= share
    if isinstance(x, Adjacency):
        return x.with_value(x.value * keep[x.pattern.col])
    return x * keep


def _each(x: Any, change: Callable[[Features, Any], Features], share: Any) -> Any:
    """Change the features, or those of every node type."""
    if isinstance(x, tuple):
        return tuple(change(table, share) for table in x)
    return change(x, share)
