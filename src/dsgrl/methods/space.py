"""What `dsgrl tune` may vary: lowest and highest value and the scale, per parameter."""

from typing import Literal

Range = tuple[float, float, Literal["linear", "log"]]

DSGRL_SPACE: dict[str, Range] = {
    "out_channels": (64, 256, "log"),
    "num_layers": (1, 2, "linear"),
    "dropout": (0.0, 0.8, "linear"),
    "edge_drop": (0.0, 0.7, "linear"),
    "feature_drop": (0.0, 0.7, "linear"),
    "feature_mask": (0.0, 0.5, "linear"),
    "lr": (3e-4, 1e-2, "log"),
    "weight_decay": (1e-7, 1e-3, "log"),
    "invariance_weight": (0.1, 3.0, "log"),
    "covariance_weight": (0.1, 10.0, "log"),
}
# Graph-level training takes few epochs of many batches, and deeper encoders pay.
GRAPH_SPACE: dict[str, Range] = {
    "out_channels": (32, 256, "log"),
    "num_layers": (1, 5, "linear"),
    "epochs": (3, 20, "log"),
    "batch_size": (32, 256, "log"),
}
FEATURE_SPACE: dict[str, Range] = {
    "augment_channels": (64, 512, "log"),
    "orthogonality_weight": (0.0, 1.0, "linear"),
}
TOPOLOGY_SPACE: dict[str, Range] = {"edges_per_node": (4, 64, "log")}


def dsgrl_space(views: str, level: str) -> dict[str, Range]:
    """Say what is varied for DSGRL: its own space, and what levels and views add.

    Args:
        views: what is learned, as `DSGRL.augment`; "none" if nothing is.
        level: what is embedded.
    """
    space = dict(DSGRL_SPACE)
    if level == "graph":
        space |= GRAPH_SPACE
    if views in ("feature", "both"):
        space |= FEATURE_SPACE
    if views in ("topology", "both"):
        space |= TOPOLOGY_SPACE
    return space
