"""Training-free methods: an embedding in seconds, and the control of every table.

=============  =====================================================================
`hops`         features smoothed over the graph, or carried along relations
`walks`        random walks, for edges without features
`histograms`   neighbourhoods counted and features pooled, for whole graphs
=============  =====================================================================
"""

from dataclasses import replace
from typing import Any, ClassVar, Self

from dsgrl.floor import Floor, Joined, WalksFloor, build_floor
from dsgrl.graph import Graph, Spec
from dsgrl.graph.structural import (
    DEGREE_COLUMNS,
    STRUCTURAL_COLUMNS,
    structural_features,
)
from dsgrl.methods.config import FitConfig
from dsgrl.methods.floored import FlooredMethod
from dsgrl.parameters import COUNT, parameter
from dsgrl.typing import Level


class TrainingFreeConfig(FitConfig):
    """Parameters of a method without training; those of training have no effect."""

    out_channels: int = parameter(COUNT, "width of the embedding", default=256)

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Leave columns of one unit in proportion."""
        return {**super().fill_auto(spec), "scaling": "comparable"}

    def _epochs(self, spec: Spec, tolerance: float) -> int:
        return 0


class TrainingFree(FlooredMethod):
    """The leading directions of a floor; nothing is learned.

    Args:
        floor: describes the data.
        out_channels: columns of the embedding.
        num_types: number of node types.
    """

    Config = TrainingFreeConfig
    is_trained: ClassVar[bool] = False

    def __init__(self, floor: Floor, out_channels: int, num_types: int = 1) -> None:
        super().__init__()
        self.joined = Joined(floor, 0, out_channels, num_types)

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the floor that fits the data."""
        return cls(build_floor(spec), config.out_channels, spec.num_types)


class HopsMethod(TrainingFree):
    """Features smoothed over the graph, or carried along relations and back."""

    summary: ClassVar[str] = "training-free: features smoothed 0 to 3 times"
    levels: ClassVar[frozenset[Level]] = frozenset({"node", "hetero"})


class HistogramsMethod(TrainingFree):
    """Weisfeiler-Lehman histograms and pooled features of whole graphs."""

    summary: ClassVar[str] = "training-free: neighbourhoods counted, features pooled"
    levels: ClassVar[frozenset[Level]] = frozenset({"graph"})


class WalksMethod(TrainingFree):
    """Smoothed factors of random walks; features are not used."""

    summary: ClassVar[str] = "training-free: random walks, edges only"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})
    inductive: ClassVar[bool] = False

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the floor for edges without features."""
        rank = max(0, min(STRUCTURAL_COLUMNS, spec.num_nodes - 2))
        return cls(WalksFloor(DEGREE_COLUMNS + rank), config.out_channels)

    def prepare(self, graph: Graph) -> Graph:
        """Put columns made from the edges in the place of the features."""
        assert self.joined is not None
        columns = DEGREE_COLUMNS + self.joined.floor.out_channels
        x = structural_features(graph.adjacency, columns)
        return replace(graph, x=x.to(graph.adjacency.device), make_features=None)
