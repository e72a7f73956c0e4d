"""Learned features: two feed-forward networks, X1 = f1(X) and X2 = f2(X)."""

import itertools

import torch
from torch import Tensor, nn

from dsgrl.encode import activate, linear
from dsgrl.graph import Adjacency


class FeatureAugmenter(nn.Module):
    """Two feed-forward networks side by side, different from the start.

    Each layer is linear, ReLU, dropout. Layer l of both networks is one parameter
    [in, V, out]: the first layer maps X for both views in one product, and Eq. 5's
    vertical stacking of the two weight matrices is a view of it.

    Args:
        in_channels: width F of the input features.
        augment_channels: width D1 of an augmented view.
        hidden_channels: width between the layers; `augment_channels` if None.
        num_layers: layers of each network.
        dropout: share dropped after each layer while training.
        mask: share of the input columns hidden from each view while training.
    """

    num_views = 2

    def __init__(
        self,
        in_channels: int,
        augment_channels: int,
        *,
        hidden_channels: int | None = None,
        num_layers: int = 1,
        dropout: float = 0.0,
        mask: float = 0.0,
    ) -> None:
        super().__init__()
        hidden = [hidden_channels or augment_channels] * (num_layers - 1)
        widths = [in_channels, *hidden, augment_channels]
        self.weights = nn.ParameterList(
            torch.empty(a, self.num_views, b) for a, b in itertools.pairwise(widths)
        )
        self.biases = nn.ParameterList(
            torch.empty(self.num_views, b) for b in widths[1:]
        )
        self.dropout, self.mask = dropout, mask
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, each view's by itself."""
        for weight, bias in zip(self.weights, self.biases, strict=True):
            for view in range(self.num_views):
                nn.init.xavier_uniform_(weight.data[:, view])
            nn.init.zeros_(bias)

    def forward(self, x: Tensor | Adjacency) -> Tensor:
        """Augment the features.

        Args:
            x: input features, dense or sparse [N, F].

        Returns:
            Both views side by side [N, V, D1]. A backward pass reuses their memory:
            clone them first to keep them beyond it.
        """
        dropout = self.dropout if self.training else 0.0
        first, *others = self.weights
        if self.training and self.mask:
            # A column that meets no weight is as good as hidden, for one view only.
            first = (
                first * (torch.rand(first.shape[:2]) >= self.mask).to(first)[..., None]
            )
        h = linear(x, first.flatten(1))  # [N, V * D1]: both views in one product
        h = activate(h, self.biases[0].flatten(), dropout=dropout)
        h = h.view(-1, *first.shape[1:])
        for weight, bias in zip(others, list(self.biases)[1:], strict=True):
            h = torch.stack(
                [h[:, v] @ weight[:, v] for v in range(self.num_views)], dim=1
            )
            h = activate(h, bias, dropout=dropout)
        return h

    def stacked_weights(self) -> list[Tensor]:
        """Return W_1 above W_2 for every layer [2 out, in], for Eq. 5."""
        return [weight.flatten(1).t() for weight in self.weights]
