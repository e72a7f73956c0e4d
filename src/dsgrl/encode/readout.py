"""Pooling of node vectors per graph, and aggregation of views to one vector."""

from typing import Any, get_args

import torch
from torch import Tensor, nn

from dsgrl.graph import Adjacency, Pattern, propagate
from dsgrl.typing import AggregateName, ReadoutName


class Readout(nn.Module):
    """Sum, mean or maximum over the nodes of each graph; zeros if it has none.

    Args:
        kinds: "sum", "log_sum" (its logarithm, the sign kept: sums of graphs that
            differ in size have long tails), "mean" or "max", or several joined by a
            plus sign, which are laid side by side.
    """

    def __init__(self, kinds: str = "sum") -> None:
        super().__init__()
        self.kinds = kinds_of(kinds)

    def forward(self, z: Tensor, ptr: Tensor) -> Tensor:
        """Pool the nodes [N, ..., D] of each graph -> [B, ..., kinds D].

        Args:
            z: one vector per node and view.
            ptr: where each graph begins, and N at the end [B + 1].
        """
        pooled = [_pool(z, ptr, kind) for kind in self.kinds]
        return pooled[0] if len(pooled) == 1 else torch.cat(pooled, dim=-1)

    def extra_repr(self) -> str:
        """Show the kinds."""
        return "+".join(self.kinds)


def kinds_of(text: str) -> list[str]:
    """Return the names joined by plus signs, or an empty result if one is unknown."""
    kinds = text.split("+")
    return kinds if {*kinds} <= {*get_args(ReadoutName)} else []


def merge_views(z: Tensor, kind: AggregateName) -> Tensor:
    """Aggregate the views [N, V, D] to one vector: AGG of the paper.

    Args:
        z: one vector per node or graph and view.
        kind: "concat" [N, V D], "mean" or "sum" [N, D].
    """
    if kind == "concat":
        return z.flatten(1)
    return z.mean(dim=1) if kind == "mean" else z.sum(dim=1)


@torch.no_grad()
def smooth(z: Tensor, adjacency: Any, steps: int) -> Tensor:
    """Add the neighbours' vectors to every vector, Z + A^n Z.

    Args:
        z: one vector per node [N, D], or per graph if there are no steps.
        adjacency: the graph [N, N].
        steps: n; 0 leaves the vectors as they are.
    """
    around = z
    for _ in range(steps):
        around = propagate(adjacency.normalized("gcn"), around)
    return z + around if steps else z


def _pool(z: Tensor, ptr: Tensor, kind: str) -> Tensor:
    if kind == "max":
        return _largest(z, ptr)
    # The membership of nodes in graphs is a sparse matrix [B, N] of ones.
    nodes = torch.arange(z.size(0), device=z.device)
    pattern = Pattern(ptr, nodes, z.size(0))
    members = Adjacency(pattern, z.new_ones(z.size(0)), bipartite=True)
    if kind == "mean":
        return propagate(members.normalized("mean"), z)
    total = propagate(members.normalized("sum"), z)
    return total.abs().log1p() * total.sign() if kind == "log_sum" else total


def _largest(z: Tensor, ptr: Tensor) -> Tensor:
    sizes = ptr.diff()
    graph = torch.arange(sizes.numel(), device=z.device).repeat_interleave(sizes)
    index = graph.view(-1, *[1] * (z.dim() - 1)).expand_as(z)
    zeros = z.new_zeros(sizes.numel(), *z.shape[1:])
    return zeros.scatter_reduce(0, index, z, "amax", include_self=False)
