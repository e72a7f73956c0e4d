"""What a study varies: the method's own space, and what levels and views add."""

from typing import Literal

from optuna.trial import Trial

from dsgrl.bench.systems import SYSTEMS
from dsgrl.methods import METHODS

Range = tuple[float, float, Literal["linear", "log"]]

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


def search_space(method: str, level: str) -> dict[str, Range]:
    """Say what is varied for a method at a level."""
    space: dict[str, Range] = dict(METHODS["dsgrl"].search_space)
    if level == "graph":
        space |= GRAPH_SPACE
    if SYSTEMS[method].augment in ("feature", "both"):
        space |= FEATURE_SPACE
    if SYSTEMS[method].augment in ("topology", "both"):
        space |= TOPOLOGY_SPACE
    return space


def suggest(trial: Trial, name: str, span: Range) -> float:
    """Let a trial draw from a range; whole numbers where both ends are."""
    low, high, scale = span
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(name, low, high, log=scale == "log")
    return trial.suggest_float(name, low, high, log=scale == "log")
