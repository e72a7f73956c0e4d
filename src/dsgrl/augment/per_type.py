"""Learned features for several types of nodes: one augmenter per type."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dsgrl.augment.feature import FeatureAugmenter
from dsgrl.graph import Features


class PerTypeAugmenter(nn.Module):
    """A `FeatureAugmenter` for every node type; their rows become one table.

    Args:
        in_channels: width of the input features of every type.
        augment_channels: width D1 of an augmented view.
        num_layers: layers of each network.
        dropout: share dropped after each layer while training.
        mask: share of the input columns hidden from each view while training.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        augment_channels: int,
        *,
        num_layers: int = 1,
        dropout: float = 0.0,
        mask: float = 0.0,
    ) -> None:
        super().__init__()
        self.augmenters = nn.ModuleList(
            FeatureAugmenter(
                width,
                augment_channels,
                num_layers=num_layers,
                dropout=dropout,
                mask=mask,
            )
            for width in in_channels
        )

    def forward(self, x: tuple[Features, ...]) -> Tensor:
        """Augment the features of every type -> both views, all nodes [N, V, D1]."""
        return torch.cat(
            [augment(table) for augment, table in zip(self.augmenters, x, strict=True)]
        )

    def stacked_weights(self) -> list[Tensor]:
        """Return W_1 above W_2 for every layer of every type, for Eq. 5."""
        weights: list[Tensor] = []
        for augmenter in self.augmenters:
            assert isinstance(augmenter, FeatureAugmenter)
            weights += augmenter.stacked_weights()
        return weights
