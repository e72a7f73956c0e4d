"""Which floor fits which data."""

from dsgrl.floor.base import Floor
from dsgrl.floor.histograms import GraphFloor
from dsgrl.floor.hops import HopsFloor
from dsgrl.floor.relations import RelationsFloor
from dsgrl.floor.walks import WalksFloor
from dsgrl.graph import Spec


def build_floor(spec: Spec, *, weighs_own: bool = False) -> Floor:
    """Build the floor for data like this.

    Args:
        spec: of the data.
        weighs_own: see `HopsFloor`.
    """
    if spec.schema is not None:
        return RelationsFloor(spec.in_channels, spec.schema)
    (width,) = spec.in_channels
    if spec.level == "graph":
        return GraphFloor(width)
    if not spec.has_features:
        return WalksFloor(width)
    return HopsFloor(width, weighs_own=weighs_own)
