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
# Graph-level training takes few epochs of many batches, and the paper's weights are
# of another order there.
GRAPH_SPACE: dict[str, Range] = {
    "num_layers": (1, 4, "linear"),
    "out_channels": (32, 64, "linear"),
    "epochs": (1, 20, "log"),
    "invariance_weight": (1.0, 100.0, "log"),
    "variance_weight": (1.0, 100.0, "log"),
    "covariance_weight": (1.0, 100.0, "log"),
}
FEATURE_SPACE: dict[str, Range] = {"orthogonality_weight": (0.0, 1.0, "linear")}
TOPOLOGY_SPACE: dict[str, Range] = {"edges_per_node": (4, 64, "log")}


def dsgrl_space(augment: str, level: str) -> dict[str, Range]:
    """Say what is varied for DSGRL: its own space, and what levels and views add."""
    space = dict(DSGRL_SPACE)
    if level == "graph":
        space |= GRAPH_SPACE
    if augment in ("feature", "both"):
        space |= FEATURE_SPACE
    if augment in ("topology", "both"):
        space |= TOPOLOGY_SPACE
    return space
