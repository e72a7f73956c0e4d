"""The parameters of DSGRL, and the named settings that stand in tables."""

from typing import Any, Literal, get_args

from torch import nn

from dsgrl.augment import FIGURES, VIEWS, Views, find_views
from dsgrl.encode.readout import kinds_of
from dsgrl.graph import Spec
from dsgrl.methods.base import Form
from dsgrl.methods.config import FitConfig, StopByLinks
from dsgrl.methods.decoupled import settled_views
from dsgrl.parameters import (
    ABOVE_ZERO,
    AUTO,
    COUNT,
    COUNT_OR_ZERO,
    SHARE,
    SWITCH,
    WEIGHT,
    Rule,
    auto_or,
    either,
    is_auto,
    none_or,
    one_of,
    parameter,
    refuse,
)
from dsgrl.typing import (
    AggregateName,
    AugmentName,
    EncoderName,
    InvarianceName,
    JumpName,
    Level,
    NormName,
    ReadoutName,
    RegularizerName,
)

# What "auto" stands for, by what is embedded.
BY_LEVEL: dict[Level, dict[str, Any]] = {
    "node": {
        "encoder": "gcn",
        "num_layers": 2,
        "norm": None,
        "jump": "last",
        "standardize": False,
        "gain": 0.7,
    },
    "graph": {
        "encoder": "gin",
        "num_layers": 3,
        "norm": "batch",
        "jump": "cat",
        "standardize": True,
        "gain": 1.0,
    },
}
BY_LEVEL["hetero"] = {**BY_LEVEL["node"], "gain": 1.0}
# What else "auto" stands for with a floor beside what is learned.
WITH_FLOOR: dict[Level, dict[str, Any]] = {
    "node": {"lr": 2e-3, "scaling": "comparable"},
    "graph": {"readout": "log_sum+max"},
    "hetero": {},
}
# What describes an encoder that is given by name only.
OF_NAMED_ENCODERS = ("num_layers", "norm", "jump")

FORMS = {
    "dsgrl": Form(summary="the default: learned beside the training-free floor"),
    "dsgrl-feature": Form(
        summary="learned features",
        settings={"augment": "feature", "floor": False},
        recipes="feature",
        untrained="random-f",
    ),
    "dsgrl-topology": Form(
        summary="learned edges",
        settings={"augment": "topology", "floor": False},
        recipes="topology",
        untrained="random-t",
    ),
    "dsgrl-both": Form(
        summary="learned features and edges",
        settings={"augment": "both", "floor": False},
        recipes="both",
        untrained="random-both",
    ),
    "topology-random": Form(
        summary="random edges in place of learned ones",
        settings={"views": "random", "floor": False},
        recipes="topology",
        untrained="random-t",
    ),
    "topology-knn-x": Form(
        summary="nearest neighbours by X in place of learned edges",
        settings={"views": "nearest", "views__by": "features", "floor": False},
        recipes="topology",
        untrained="random-t",
    ),
    "topology-knn-ax": Form(
        summary="nearest neighbours by AX in place of learned edges",
        settings={"views": "nearest", "views__by": "neighbors", "floor": False},
        recipes="topology",
        untrained="random-t",
    ),
    "topology-two-hop": Form(
        summary="two steps on the graph in place of learned edges",
        settings={"views": "two_steps", "floor": False},
        recipes="topology",
        untrained="random-two-hop",
    ),
    "topology-none": Form(
        summary="every node without edges in place of learned edges",
        settings={"views": "node_alone", "floor": False},
        recipes="none",
        untrained="random-none",
    ),
}


class DSGRLConfig(FitConfig):
    """The parameters of DSGRL."""

    augment: AugmentName | Literal["auto"] = parameter(
        one_of(AUTO, *FIGURES),
        'what is learned to make the views, as in the paper\'s figures: "feature", '
        '"topology" or "both"; short for `views`',
        default=AUTO,
    )
    views: Views | str = parameter(
        either(
            one_of(AUTO, *VIEWS),
            Rule(lambda value: isinstance(value, Views), "an object of dsgrl.augment"),
        ),
        "how the two views are made: an object such as `LearnedGraph(refresh=1)` "
        'or its name; "auto": "node_alone" for nodes that have features, "two_steps" '
        'for several types of nodes, else "learned_features"',
        default=AUTO,
    )
    encoder: EncoderName | Literal["auto"] | nn.Module = parameter(
        either(
            one_of(AUTO, *get_args(EncoderName)),
            Rule(lambda value: isinstance(value, nn.Module), "a module"),
        ),
        '"gcn", "sage", "gin", "gat", "decoupled" (a network on `num_layers` hops), or '
        "any module called as `(x, edge_index[, edge_weight])` that takes the columns "
        'of a view (it is copied); "auto": "gcn" for nodes, "gin" for graphs',
        default=AUTO,
    )
    out_channels: int = parameter(
        COUNT,
        "width D of a view's embedding; the two views are concatenated",
        default=128,
        search={
            "node": (64, 256, "log"),
            "graph": (32, 256, "log"),
            "hetero": (64, 256, "log"),
        },
    )
    hidden_channels: int | None = parameter(
        none_or(COUNT),
        "width between the encoder's layers; None: `out_channels`, or half of it for "
        "graphs with `floor` whose layers are all returned",
        default=None,
    )
    num_layers: int | Literal["auto"] = parameter(
        auto_or(COUNT),
        'layers of the encoder; "auto": 2 for nodes, 3 for graphs',
        default=AUTO,
        search={
            "node": (1, 2, "linear"),
            "graph": (1, 5, "linear"),
            "hetero": (1, 2, "linear"),
        },
    )
    norm: NormName | Literal["auto"] | None = parameter(
        one_of(AUTO, None, *get_args(NormName)),
        'normalisation between the layers: None, "batch" or "layer"; "auto": None for '
        'nodes, "batch" for graphs',
        default=AUTO,
    )
    jump: JumpName | Literal["auto"] = parameter(
        one_of(AUTO, *get_args(JumpName)),
        'what the encoder returns: its "last" layer, the "sum" of all layers, or all '
        'side by side ("cat"); "auto": "last" for nodes, "cat" for graphs',
        default=AUTO,
    )
    readout: str = parameter(
        auto_or(
            Rule(
                lambda value: isinstance(value, str) and bool(kinds_of(value)),
                f"one of {', '.join(map(repr, get_args(ReadoutName)))}, or several "
                f"joined by '+'",
            )
        ),
        'how the nodes of a graph become one vector: "sum", "log_sum" (its logarithm), '
        '"mean", "max", or several side by side, as "mean+max"; "auto": "log_sum+max" '
        'with `floor`, else "sum"',
        default=AUTO,
    )
    dropout: float | Literal["auto"] = parameter(
        auto_or(SHARE),
        'share dropped after each hidden layer while training; "auto": what the views '
        "need",
        default=AUTO,
        search=(0.0, 0.8, "linear"),
    )
    gain: float | Literal["auto"] = parameter(
        auto_or(ABOVE_ZERO),
        "factor on the first weights from features to embedding: a smaller start "
        'leaves more to learn; "auto": 0.7 for nodes of one type, else 1',
        default=AUTO,
    )
    aggregate: AggregateName = parameter(
        one_of(*get_args(AggregateName)),
        'how the embeddings of the views become one: "concat", "mean" or "sum"',
        default="concat",
    )
    smoothing: int | Literal["auto"] = parameter(
        auto_or(COUNT_OR_ZERO),
        'n: Z + A^n Z is returned, Z for 0; "auto": what the views need',
        default=AUTO,
    )
    floor: bool = parameter(
        SWITCH,
        "join what is learned with what the data says without training: smoothed "
        "features (`hops`), random walks (`walks`) or histograms of whole graphs "
        "(`histograms`), in 2 `out_channels` columns",
        default=True,
    )
    invariance: InvarianceName = parameter(
        one_of(*get_args(InvarianceName)),
        'form of Eq. 1: "mse" or "frobenius"',
        default="mse",
    )
    regularizer: RegularizerName = parameter(
        one_of(*get_args(RegularizerName)),
        '"covariance" (Eq. 4) or "orthogonality" (Eq. 7)',
        default="covariance",
    )
    invariance_weight: float = parameter(
        WEIGHT, "alpha, weight of Eq. 1", default=1.0, search=(0.1, 3.0, "log")
    )
    variance_weight: float = parameter(WEIGHT, "beta, weight of Eq. 2", default=1.0)
    covariance_weight: float | Literal["auto"] = parameter(
        auto_or(WEIGHT),
        'gamma, weight of Eq. 3 or Eq. 7; "auto": what the views need',
        default=AUTO,
        search=(0.1, 10.0, "log"),
    )
    standardize: bool | Literal["auto"] = parameter(
        one_of(AUTO, False, True),
        "standardise the columns of the embeddings inside the objective; "
        '"auto": for graphs only',
        default=AUTO,
    )
    lr: float | Literal["auto"] = parameter(
        auto_or(ABOVE_ZERO),
        'learning rate of Adam; "auto": 0.002 for nodes with `floor`, else 0.001',
        default=AUTO,
        search=(3e-4, 1e-2, "log"),
    )
    weight_decay: float | Literal["auto"] = parameter(
        auto_or(WEIGHT),
        'L2 penalty of Adam; "auto": what the views need',
        default=AUTO,
        search=(1e-7, 1e-3, "log"),
    )

    def completed(self, spec: Spec) -> "DSGRLConfig":
        """Return a copy whose views are an object."""
        return self.replace(
            augment=AUTO, views=find_views(self.views, self.augment, spec)
        )

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Take what the level and the views say."""
        views = self.views
        assert isinstance(views, Views)
        standard = {
            **super().fill_auto(spec),
            "lr": 1e-3,
            "readout": "sum",
            **BY_LEVEL[spec.level],
            **views.asks(spec),
            **(WITH_FLOOR[spec.level] if self.floor else {}),
        }
        if self.floor and spec.level == "node" and not spec.has_features:
            # Columns of random walks are in proportion already.
            standard["scaling"] = "none"
        if isinstance(self.encoder, nn.Module):
            standard = {k: v for k, v in standard.items() if k not in OF_NAMED_ENCODERS}
        return standard

    def resolved(self, spec: Spec) -> "DSGRLConfig":
        """Return a copy with every "auto" replaced, those of the views as well."""
        config = super().resolved(spec)
        hidden = config.hidden_channels
        is_narrow = config.floor and spec.level == "graph" and config.jump == "cat"
        if hidden is None and is_narrow:
            # All layers are pooled: beside the floor, narrower ones say as much.
            hidden = max(1, config.out_channels // 2)
        return config.replace(
            epochs=0 if self._is_floor_enough(spec) else config.epochs,
            hidden_channels=hidden,
            views=settled_views(config).resolved(spec),
        )

    def stop_rule(self, spec: Spec) -> StopByLinks:
        """Stop earlier with a floor: it makes up for what a short training lacks."""
        if not self.floor or spec.level == "graph":
            return StopByLinks()
        stop = StopByLinks(max_epochs=150, patience=40, check_every=10)
        return stop.replace(tolerance=0.25) if spec.level == "node" else stop

    def _is_floor_enough(self, spec: Spec) -> bool:
        """Whether nothing is trained unless asked for: nodes without features."""
        left_open = (self.augment, self.views, self.epochs)
        bare = spec.level == "node" and not spec.has_features
        return self.floor and bare and all(is_auto(value) for value in left_open)

    def picks(self, spec: Spec) -> dict[str, Any]:
        """Record what the views pick for every graph anew."""
        assert isinstance(self.views, Views)
        found = self.views.picks(spec).items()
        return {f"views__{name}": value for name, value in found}

    def flat(self) -> dict[str, Any]:
        """Return plain values; a short name of the views is written out."""
        config = self
        if not is_auto(self.augment) and is_auto(self.views):
            config = self.replace(augment=AUTO, views=FIGURES[self.augment]())
        elif isinstance(self.views, str) and not is_auto(self.views):
            config = self.replace(views=VIEWS[self.views]())
        flat = super(DSGRLConfig, config).flat()
        if is_auto(config.augment):
            del flat["augment"]
        return flat

    def check(self, prefix: str = "") -> None:
        """Refuse values, and pairs of values, that cannot work."""
        super().check(prefix)
        if not is_auto(self.augment) and not is_auto(self.views):
            refuse("augment", self.augment, "'auto' beside views: give one of the two")
        hidden, out = self.hidden_channels, self.out_channels
        if self.jump == "sum" and self.num_layers != 1 and hidden not in (None, out):
            refuse("hidden_channels", hidden, f"{out}, since jump='sum' adds layers")
