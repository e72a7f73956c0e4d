r"""Graph layers on `propagate`: GCN, SAGE, GIN, GAT.

Each layer's `message` is its result without the last bias, so that an encoder can
add bias, ReLU and dropout in one pass; calling the layer adds the bias. Inputs may
hold several views side by side [N, V, C]. Weights are [in, out]: a product with the
weight on the right needs no transpose, dense or sparse.

=======  ==============  =====================================================
layer    normalisation   result
=======  ==============  =====================================================
GCN      gcn             A_hat X W + b
SAGE     mean            mean(X) W_neighbour + X W_self + b
GIN      sum             relu(((1 + eps) X + A X) W1 + b1) W2 + b
GAT      loops           S X W + b, attention S between the ends of an edge
=======  ==============  =====================================================
"""

import math
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.encode.dense import activate, linear
from dsgrl.graph import Adjacency, propagate
from dsgrl.typing import LayerName, NormalizationName


class GraphLayer(nn.Module):
    """One layer of message passing.

    Args:
        in_channels: width of the input.
        out_channels: width of the result.
        bias: whether the layer adds one; without, use `message` alone.
        bipartite: made for edges between different types of nodes: it has no weights
            for a node's own features.
    """

    normalization: ClassVar[NormalizationName]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = True,
        bipartite: bool = False,
    ) -> None:
        super().__init__()
        self.bipartite = bipartite
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def message(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Return the layer's result without its bias [N, ..., out].

        Between different types of nodes (a bipartite adjacency) a node's own features
        have no part in it.
        """
        raise NotImplementedError

    def forward(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Pass messages once.

        Args:
            adjacency: the graph, not normalised [N, N].
            x: node features [N, ..., in], or sparse ones [N, in].
        """
        message = self.message(adjacency, x)
        return message if self.bias is None else message + self.bias

    def activated(
        self, adjacency: Adjacency, x: Tensor | Adjacency, dropout: float
    ) -> Tensor:
        """Return dropout(relu(result)), in one pass over the memory."""
        return activate(self.message(adjacency, x), self.bias, dropout=dropout)

    def reset_bias(self) -> None:
        """Set the bias to zero, if there is one."""
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def propagate_narrow(
        self, adjacency: Adjacency, x: Tensor | Adjacency, weight: Tensor
    ) -> Tensor:
        """Return A X W, multiplying first where that makes the rows narrower."""
        adjacency = adjacency.normalized(self.normalization)
        if isinstance(x, Adjacency) or weight.size(1) <= weight.size(0):
            return propagate(adjacency, linear(x, weight))
        return propagate(adjacency, x) @ weight

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


class GCNLayer(GraphLayer):
    """Graph convolution, https://arxiv.org/abs/1609.02907."""

    normalization: ClassVar[NormalizationName] = "gcn"

    def __init__(self, in_channels: int, out_channels: int, **options: bool) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        nn.init.xavier_uniform_(self.weight)
        self.reset_bias()

    def message(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Return A_hat X W."""
        return self.propagate_narrow(adjacency, x, self.weight)


class SAGELayer(GraphLayer):
    """GraphSAGE with mean aggregation, https://arxiv.org/abs/1706.02216."""

    normalization = "mean"

    def __init__(self, in_channels: int, out_channels: int, **options: bool) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.neighbor_weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.self_weight = (
            None
            if self.bipartite
            else nn.Parameter(torch.empty(in_channels, out_channels))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        nn.init.xavier_uniform_(self.neighbor_weight)
        if self.self_weight is not None:
            nn.init.xavier_uniform_(self.self_weight)
        self.reset_bias()

    def message(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Return mean(X) W_neighbour + X W_self."""
        received = self.propagate_narrow(adjacency, x, self.neighbor_weight)
        if adjacency.bipartite or self.self_weight is None:
            return received
        return received + linear(x, self.self_weight)


class GINLayer(GraphLayer):
    """Graph isomorphism layer with a two-layer MLP, https://arxiv.org/abs/1810.00826.

    Args:
        in_channels: width of the input.
        out_channels: width of the result.
        eps: weight of a node's own features beyond 1.
        hidden_channels: width between the two layers of the MLP; `out_channels` if
            None.
    """

    normalization = "sum"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        eps: float = 0.0,
        hidden_channels: int | None = None,
        **options: bool,
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.eps = eps
        hidden = hidden_channels or out_channels
        self.hidden_weight = nn.Parameter(torch.empty(in_channels, hidden))
        self.hidden_bias = nn.Parameter(torch.empty(hidden))
        self.weight = nn.Parameter(torch.empty(hidden, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        for weight in (self.hidden_weight, self.weight):
            nn.init.kaiming_uniform_(weight, nonlinearity="relu")
        nn.init.zeros_(self.hidden_bias)
        self.reset_bias()

    def message(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Return relu(((1 + eps) X + A X) W1 + b1) W2."""
        if adjacency.bipartite:
            hidden = self.propagate_narrow(adjacency, x, self.hidden_weight)
            return activate(hidden, self.hidden_bias) @ self.weight
        adjacency = adjacency.normalized(self.normalization)
        is_narrow = self.hidden_bias.numel() <= self.in_channels
        if isinstance(x, Adjacency) or is_narrow:
            mapped = linear(x, self.hidden_weight)
            hidden = propagate(adjacency, mapped).add_(mapped, alpha=1 + self.eps)
        else:
            summed = propagate(adjacency, x).add_(x, alpha=1 + self.eps)
            hidden = summed @ self.hidden_weight
        return activate(hidden, self.hidden_bias) @ self.weight


class GATLayer(GraphLayer):
    r"""Graph attention, https://arxiv.org/abs/1710.10903.

    .. math:: S_{ij} = \frac{a_{ij} e^{l_{ij}}}{\sum_k a_{ik} e^{l_{ik}}}, \quad
        l_{ij} = LeakyReLU(s \cdot x_j W + t \cdot x_i W)

    a is the weight of an edge: as PyG's `GATConv` where all weights are 1, and an edge
    of weight 0 is none. Every head has its own S, W, s and t.

    Args:
        in_channels: width of the input.
        out_channels: width of the result: the heads side by side, all of nearly the
            same width.
        heads: number of heads, at most `out_channels`.
        dropout: share of S dropped while training.
        slope: of LeakyReLU below zero.
    """

    normalization = "loops"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        dropout: float = 0.0,
        slope: float = 0.2,
        **options: bool,
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.heads = min(heads, out_channels)
        self.dropout, self.slope = dropout, slope
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.source_weight = nn.Parameter(torch.empty(out_channels))
        self.target_weight = (
            None if self.bipartite else nn.Parameter(torch.empty(out_channels))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        gain = math.sqrt(2)
        nn.init.xavier_normal_(self.weight, gain)
        fans = self.out_channels * (1 + 1 / self.heads)
        for weight in (self.source_weight, self.target_weight):
            if weight is not None:
                nn.init.normal_(weight, std=gain * math.sqrt(2 / fans))
        self.reset_bias()

    def message(self, adjacency: Adjacency, x: Any) -> Tensor:
        """Return S X W."""
        adjacency = adjacency.normalized(self.normalization)
        shares = self._attend(adjacency, x)
        is_narrow = self.in_channels < self.out_channels and isinstance(x, Tensor)
        if self.heads == 1 and is_narrow:
            return _spread(adjacency, shares[..., 0], x) @ self.weight
        mapped = linear(x, self.weight).tensor_split(self.heads, dim=-1)
        heads = zip(shares.unbind(-1), mapped, strict=True)
        return torch.cat([_spread(adjacency, s, part) for s, part in heads], dim=-1)

    def _attend(self, adjacency: Adjacency, x: Any) -> Tensor:
        """Return the attention S of every entry, view and head [E, ..., heads]."""
        row, col = adjacency.pattern.row, adjacency.pattern.col
        score = linear(x, self._per_head(self.source_weight))[col]
        if self.target_weight is not None and not adjacency.bipartite:
            score = score + linear(x, self._per_head(self.target_weight))[row]
        # [E] -> [E, 1, 1]: the same for all views and heads.
        weight = adjacency.value.view(-1, *[1] * (score.dim() - 1))
        score = F.leaky_relu(score, self.slope).masked_fill(weight == 0, -math.inf)
        rows = score.new_zeros(adjacency.shape[0], *score.shape[1:])
        index = row.long().view(-1, *[1] * (score.dim() - 1)).expand_as(score)
        # Subtracting the largest score of a row changes no share and prevents overflow.
        top = rows.scatter_reduce(0, index, score.detach(), "amax", include_self=False)
        top = top.where(top.isfinite(), 0.0)
        power = (score - top[row]).exp() * weight
        total = rows.index_add(0, row, power).clamp_min(torch.finfo(rows.dtype).tiny)
        return F.dropout(power / total[row], self.dropout, self.training)

    def _per_head(self, vector: Tensor) -> Tensor:
        """Return W v with the columns of each head added up [in, heads]."""
        parts = (self.weight * vector).tensor_split(self.heads, dim=-1)
        return torch.stack([part.sum(-1) for part in parts], dim=-1)


def _spread(adjacency: Adjacency, share: Tensor, h: Tensor) -> Tensor:
    """Return S H; every view has its own S [E, ...], H [N, ..., C]."""
    if share.dim() == 1:
        return propagate(adjacency.with_value(share.contiguous()), h)
    views = zip(share.unbind(1), h.unbind(1), strict=True)
    return torch.stack([_spread(adjacency, s, view) for s, view in views], dim=1)


LAYERS: dict[LayerName, type[GraphLayer]] = {
    "gcn": GCNLayer,
    "sage": SAGELayer,
    "gin": GINLayer,
    "gat": GATLayer,
}
