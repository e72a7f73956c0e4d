"""What `dsgrl tune` may vary: lowest and highest value and the scale, per parameter."""

from typing import Literal

Range = tuple[float, float, Literal["linear", "log"]]

DSGRL_SPACE: dict[str, Range] = {
    "augment_channels": (64, 512, "log"),
    "num_layers": (1, 3, "linear"),
    "dropout": (0.0, 0.9, "linear"),
    "lr": (1e-4, 1e-1, "log"),
    "invariance_weight": (0.01, 1.0, "log"),
    "covariance_weight": (0.01, 1.0, "log"),
}
