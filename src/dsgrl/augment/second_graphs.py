"""Views with a second graph: learned, or given by the data."""

from typing import Any, ClassVar, Literal, get_args

from dsgrl.augment.controls import FixedTopology
from dsgrl.augment.perturb import Perturbation
from dsgrl.augment.search import pick_search
from dsgrl.augment.topology import REFRESH, Topology, TopologyAugmenter
from dsgrl.augment.view_base import (
    PLAIN,
    AnyFeatureAugmenter,
    LearnedFeatures,
    Views,
    build_augmenters,
)
from dsgrl.graph import Spec
from dsgrl.parameters import (
    ABOVE_ZERO,
    AUTO,
    COUNT,
    SWITCH,
    WEIGHT,
    auto_or,
    none_or,
    one_of,
    parameter,
    refuse,
)
from dsgrl.typing import CandidatesName, EdgeWeightsName, SimilarityName


class SecondGraph(Views):
    """The graph's own edges in one view, other edges in the second."""

    edges_per_node: int | None = parameter(
        none_or(COUNT),
        "the most new edges per node, before both directions are taken together; "
        "None for every pair above the row's mean (small graphs)",
        default=16,
        search=(4, 64, "log"),
    )
    edge_multiplier: float | None = parameter(
        none_or(ABOVE_ZERO),
        "instead, as many as make up this multiple of the graph's own edges",
        default=None,
    )
    symmetric: bool = parameter(SWITCH, "new edges go both ways", default=True)
    keep_edges: bool = parameter(
        SWITCH, "keep the original edges among the new ones", default=False
    )

    kind: ClassVar[str]

    def build_graph(self, spec: Spec, dropout: float) -> Topology:
        """Build what makes the second graph from the data."""
        return FixedTopology(self._kind(), **self._edge_options())  # type: ignore[arg-type]

    def _kind(self) -> str:
        return self.kind

    def _edge_options(self) -> dict[str, Any]:
        names = ("edges_per_node", "edge_multiplier", "symmetric", "keep_edges")
        return {name: getattr(self, name) for name in names}


class ComparedGraph(SecondGraph):
    """A second graph whose edges join similar nodes."""

    candidates: CandidatesName = parameter(
        one_of(*get_args(CandidatesName)),
        'how similar nodes are found: "exact" compares all pairs, "index" asks an '
        'approximate index (extra `scale`), "hops" looks two steps around each node; '
        '"auto": "exact" where that takes little time',
        default=AUTO,
    )
    weights: EdgeWeightsName = parameter(
        one_of(*get_args(EdgeWeightsName)),
        'weights of the new edges: "normalized" divides positive similarities by their '
        'row\'s sum, "raw" leaves similarities as they are, as in the paper',
        default="normalized",
    )

    def picks(self, spec: Spec) -> dict[str, Any]:
        """Record the search, which is chosen for every graph by its size."""
        return {"candidates": pick_search(self.candidates, spec.largest, self._width())}

    def _width(self) -> int:
        return 256

    def _edge_options(self) -> dict[str, Any]:
        return {
            **super()._edge_options(),
            "search": self.candidates,
            "weights": self.weights,
        }


class LearnedGraph(ComparedGraph):
    """A learned second graph of similar nodes: the paper's figure (b)."""

    name: ClassVar[str] = "learned_graph"
    augment_channels: int = parameter(
        COUNT, "width D1 of the vectors that are compared", default=256
    )
    topology_layers: int = parameter(
        COUNT, "layers of the GNN whose similarities are the learned edges", default=2
    )
    similarity: SimilarityName = parameter(
        one_of(*get_args(SimilarityName)),
        '"cosine", or "inner" for plain inner products, as in the paper',
        default="cosine",
    )
    refresh: int | Literal["auto"] = parameter(
        auto_or(COUNT),
        "visits of a graph between two look-ups of its learned edges; "
        '"auto": 5 for one graph, 1 for many',
        default=AUTO,
    )

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Search the edges again at every step where there are many graphs."""
        refresh = 1 if spec.level == "graph" else REFRESH
        return {**super().fill_auto(spec), "refresh": refresh}

    def _width(self) -> int:
        return self.augment_channels

    def build_graph(self, spec: Spec, dropout: float) -> Topology:
        """Build the GNN whose similarities are the edges."""
        return TopologyAugmenter(
            spec.widths,
            self.augment_channels,
            num_layers=self.topology_layers,
            similarity=self.similarity,
            dropout=dropout,
            schema=spec.schema,
            refresh=self.refresh,
            **self._edge_options(),
        )


class LearnedBoth(LearnedGraph):
    """Learned features on both sides of a learned graph: the paper's figure (c)."""

    name: ClassVar[str] = "learned_both"
    augment_channels: int = parameter(
        COUNT,
        "width D1 of an augmented view and of the vectors that are compared",
        default=256,
        search=(64, 512, "log"),
    )
    augment_layers: int = parameter(
        COUNT, "layers of each feature augmenter", default=1
    )
    orthogonality_weight: float = parameter(
        WEIGHT,
        "lambda, weight of Eq. 5 on the augmenters' weights",
        default=0.0,
        search=(0.0, 1.0, "linear"),
    )
    unit_rows: bool = parameter(
        SWITCH, "scale the augmenters' weights to unit rows inside Eq. 5", default=False
    )
    graph: Literal["learned", "node_alone", "two_steps"] = parameter(
        one_of("learned", "node_alone", "two_steps"),
        "the second graph: learned, or one that is not, as the views of that name",
        default="learned",
    )

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Use the values of the second graph."""
        own = super().fill_auto(spec)
        return {**own, **NodeAlone().fill_auto(spec)} if self._is_alone else own

    def asks(self, spec: Spec) -> dict[str, Any]:
        """Return what the second graph needs."""
        return NodeAlone().asks(spec) if self._is_alone else dict(PLAIN)

    def check(self, prefix: str = "") -> None:
        """Refuse `keep_edges` for a graph without edges."""
        super().check(prefix)
        if self.keep_edges and self._is_alone:
            refuse(f"{prefix}keep_edges", True, "False beside graph='node_alone'")

    @property
    def _is_alone(self) -> bool:
        return self.graph == "node_alone"

    def build_features(self, spec: Spec, dropout: float) -> AnyFeatureAugmenter:
        """Build two networks, or two per node type."""
        return build_augmenters(self, spec, dropout)

    def build_graph(self, spec: Spec, dropout: float) -> Topology:
        """Build the second graph, learned or not."""
        if self.graph == "learned":
            return super().build_graph(spec, dropout)
        options = SecondGraph._edge_options(self)
        kind = NodeAlone.kind if self._is_alone else TwoSteps.kind
        return FixedTopology(kind, **options)  # type: ignore[arg-type]

    def build_perturbation(self) -> Perturbation:
        """Leave column masking to the augmenters: each view masks other columns."""
        return LearnedFeatures.build_perturbation(self)  # type: ignore[arg-type]


class NodeAlone(Views):
    """The graph in one view, every node without its neighbours in the other."""

    name: ClassVar[str] = "node_alone"
    kind: ClassVar[str] = "none"

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Drop features: a node must not be known by a few of them."""
        drops = 0.4 if spec.level == "node" else 0.0
        return {"edge_drop": 0.0, "feature_drop": drops}

    def asks(self, spec: Spec) -> dict[str, Any]:
        """Ask for more dropout, later epochs and smoothed vectors on one graph."""
        if spec.level != "node":
            return dict(PLAIN)
        own = {"dropout": 0.6, "scaling": "unit", "tolerance": 0.5, "smoothing": 2}
        return {**PLAIN, **own}

    def build_graph(self, spec: Spec, dropout: float) -> Topology:
        """Build a graph without edges."""
        return FixedTopology("none")


class TwoSteps(SecondGraph):
    """The graph, and the nodes two steps away."""

    name: ClassVar[str] = "two_steps"
    kind: ClassVar[str] = "two_hop"


class Nearest(ComparedGraph):
    """The graph, and the nodes with the most similar features."""

    name: ClassVar[str] = "nearest"
    by: Literal["features", "neighbors"] = parameter(
        one_of("features", "neighbors"),
        'what is compared: a node\'s own "features", or the mean of its "neighbors"',
        default="features",
    )

    def _kind(self) -> str:
        return "knn_x" if self.by == "features" else "knn_ax"


class RandomGraph(SecondGraph):
    """The graph, and edges drawn at random once."""

    name: ClassVar[str] = "random"
    kind: ClassVar[str] = "random"
