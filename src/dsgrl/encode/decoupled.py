r"""Hops of the features computed once, then a network on every row by itself.

.. math:: Z = \mathrm{relu}\Big(\sum_{k=0}^{K} f(\hat A^k X)\, W_k + b\Big)\, W

as in SIGN, https://arxiv.org/abs/2004.11198; f is the augmenter of the view, if
features are learned. A step needs no edges: its time depends on the number of rows, not
on their neighbourhoods, and every node sees all of them.
"""

from typing import Any

import torch
from torch import Tensor, nn

from dsgrl.encode.dense import activate
from dsgrl.graph import Adjacency, Features, propagate

# The name of the hops among what is computed once for a graph (`Graph.extras`).
HOPS = "hops"


class DecoupledEncoder(nn.Module):
    """A network on hops of the features.

    Args:
        in_channels: columns of a hop, augmented or not.
        hidden_channels: width of the hidden layer.
        out_channels: width D of the result.
        num_hops: K, the most steps.
        dropout: share of the hidden layer dropped while training.
        last_bias: whether the last layer adds a bias; see `Encoder`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_hops: int = 2,
        dropout: float = 0.0,
        last_bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_hops, self.dropout = num_hops, dropout
        self.in_channels, self.out_channels = in_channels, out_channels
        self.widths = [hidden_channels, out_channels]
        hops = (1 + num_hops) * in_channels
        self.hop_weight = nn.Parameter(torch.empty(hops, hidden_channels))
        self.hop_bias = nn.Parameter(torch.zeros(hidden_channels))
        self.weight = nn.Parameter(torch.empty(hidden_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if last_bias else None
        nn.init.xavier_uniform_(self.hop_weight)
        nn.init.xavier_uniform_(self.weight)

    def forward(self, hops: Tensor) -> Tensor:
        """Embed every node.

        Args:
            hops: hop 0 of all nodes, then hop 1, ..., in one or more views
                [(K + 1) N, ..., in].

        Returns:
            Embeddings [N, ..., D].
        """
        parts = hops.chunk(1 + self.num_hops)
        h = torch.cat(parts, dim=-1) @ self.hop_weight
        dropout = self.dropout if self.training else 0.0
        h = activate(h, self.hop_bias, dropout=dropout) @ self.weight
        return h if self.bias is None else h + self.bias


@torch.no_grad()
def smooth_features(adjacency: Adjacency, x: Features, num_hops: int) -> Tensor:
    """Return A_hat X, A_hat^2 X, ... of every node, dense [N, K, F]."""
    h = x.to_dense() if isinstance(x, Adjacency) else x
    hops = h.new_empty(h.size(0), num_hops, h.size(1))
    for number in range(num_hops):
        h = propagate(adjacency.normalized("gcn"), h)
        hops[:, number] = h
    return hops


def stack_hops(x: Features, hops: Any) -> Tensor:
    """Put features [N, F] and their hops [N, K, F] below each other [(K + 1) N, F]."""
    own = x.to_dense() if isinstance(x, Adjacency) else x
    return torch.cat([own, *hops.unbind(1)])
