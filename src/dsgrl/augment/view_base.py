"""The base of all kinds of views, and learned features."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dsgrl.augment.feature import FeatureAugmenter
from dsgrl.augment.per_type import PerTypeAugmenter
from dsgrl.augment.perturb import Perturbation
from dsgrl.augment.topology import Topology
from dsgrl.graph import Spec
from dsgrl.parameters import (
    AUTO,
    COUNT,
    SHARE,
    SWITCH,
    WEIGHT,
    Component,
    auto_or,
    is_auto,
    parameter,
)

AnyFeatureAugmenter = FeatureAugmenter | PerTypeAugmenter
# What training needs where nothing else is said.
PLAIN: Mapping[str, Any] = {
    "dropout": 0.5,
    "covariance_weight": 1.0,
    "weight_decay": 0.0,
    "scaling": "columns",
    "tolerance": 1.0,
    "smoothing": 0,
}


class Views(Component):
    """Two views of a graph; the base of every kind."""

    edge_drop: float | Literal["auto"] = parameter(
        auto_or(SHARE),
        "share of the graph's own edges dropped at every step, drawn anew",
        default=AUTO,
        search=(0.0, 0.7, "linear"),
    )
    feature_drop: float | Literal["auto"] = parameter(
        auto_or(SHARE),
        "share of the input's entries dropped at every step",
        default=AUTO,
        search=(0.0, 0.7, "linear"),
    )
    feature_mask: float = parameter(
        SHARE,
        "share of the input columns hidden at every step, drawn anew",
        default=0.0,
        search=(0.0, 0.5, "linear"),
    )

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Return the values of "auto" for data of this kind."""
        return {"edge_drop": 0.0, "feature_drop": 0.0}

    def asks(self, spec: Spec) -> dict[str, Any]:
        """Return what training on these views needs: dropout, weights, scaling."""
        return dict(PLAIN)

    def picks(self, spec: Spec) -> dict[str, Any]:
        """Return the choices made for each graph, here for this one."""
        return {}

    def resolved(self, spec: Spec) -> "Views":
        """Return a copy without "auto"."""
        standard = self.fill_auto(spec)
        values = self.values().items()
        left_open = [k for k, value in values if is_auto(value) and k in standard]
        return self.replace(**{name: standard[name] for name in left_open})

    def build_features(self, spec: Spec, dropout: float) -> AnyFeatureAugmenter | None:
        """Build what learns X1 and X2; None if both are X."""
        return None

    def build_graph(self, spec: Spec, dropout: float) -> Topology | None:
        """Build what makes A'; None if both views are on A."""
        return None

    def build_perturbation(self) -> Perturbation:
        """Build what weakens both views at random while training."""
        shares: Any = self
        return Perturbation(
            edge_drop=shares.edge_drop,
            feature_drop=shares.feature_drop,
            feature_mask=shares.feature_mask,
        )


class LearnedFeatures(Views):
    """Two learned sets of features on the same edges: the paper's figure (a)."""

    name: ClassVar[str] = "learned_features"
    augment_channels: int = parameter(
        COUNT, "width D1 of an augmented view", default=256, search=(64, 512, "log")
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

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Drop edges of one graph: views on the same edges differ least."""
        drops = 0.3 if spec.level == "node" else 0.0
        return {"edge_drop": drops, "feature_drop": 0.0}

    def asks(self, spec: Spec) -> dict[str, Any]:
        """Ask for a stronger covariance term, longer rows and decay on one graph."""
        if spec.level != "node":
            return dict(PLAIN)
        # The more nodes there are, the less decay is needed.
        decay = min(1e-4, 0.3 / spec.num_nodes)
        own = {"covariance_weight": 2.0, "scaling": "length", "weight_decay": decay}
        return {**PLAIN, **own}

    def build_features(self, spec: Spec, dropout: float) -> AnyFeatureAugmenter:
        """Build two networks, or two per node type."""
        return build_augmenters(self, spec, dropout)

    def build_perturbation(self) -> Perturbation:
        """Leave hiding columns to the augmenters: each view hides others."""
        shares: Any = self
        return Perturbation(
            edge_drop=shares.edge_drop, feature_drop=shares.feature_drop
        )


def build_augmenters(views: Any, spec: Spec, dropout: float) -> AnyFeatureAugmenter:
    """Build the two networks of learned features, per node type if there are several.

    Args:
        views: `LearnedFeatures` or `LearnedBoth`.
        spec: of the data.
        dropout: share dropped after each layer.
    """
    options = {
        "num_layers": views.augment_layers,
        "dropout": dropout,
        "mask": views.feature_mask,
    }
    if spec.level == "hetero":
        return PerTypeAugmenter(spec.in_channels, views.augment_channels, **options)
    return FeatureAugmenter(spec.in_channels[0], views.augment_channels, **options)
