"""The projection of InfoGraph and MVGRL: an MLP beside a linear map."""

import itertools
from typing import Literal

from torch import Tensor, nn


class ShortcutMLP(nn.Module):
    """Three layers, each activated, plus a linear map of the input.

    Args:
        in_channels: width of the input.
        out_channels: width of the layers and of the result.
        activation: "relu" or "prelu".
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        activation: Literal["relu", "prelu"] = "relu",
    ) -> None:
        super().__init__()
        widths = [in_channels, *[out_channels] * 3]
        layers: list[nn.Module] = []
        for a, b in itertools.pairwise(widths):
            layers += [
                nn.Linear(a, b),
                nn.ReLU() if activation == "relu" else nn.PReLU(),
            ]
        self.layers = nn.Sequential(*layers)
        self.shortcut = nn.Linear(in_channels, out_channels)

    def forward(self, h: Tensor) -> Tensor:
        """Map rows [N, in] to [N, out]."""
        result: Tensor = self.layers(h) + self.shortcut(h)
        return result
