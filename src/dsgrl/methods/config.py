"""Parameters of every method: training, input and device."""

from typing import Any, ClassVar, Literal, Self, get_args

from dsgrl.graph import Spec
from dsgrl.parameters import (
    ABOVE_ZERO,
    ANYTHING,
    AUTO,
    COUNT,
    COUNT_OR_ZERO,
    OPEN_SHARE,
    SWITCH,
    WEIGHT,
    Component,
    Rule,
    auto_or,
    flatten,
    is_auto,
    is_whole,
    none_or,
    one_of,
    parameter,
)
from dsgrl.typing import SamplingName, ScalingName

# Epochs on many graphs under "auto", where no links are held out.
GRAPH_EPOCHS = 5
GRAPHS_PER_STEP = 128


class StopByLinks(Component):
    """`epochs="auto"`: held-out links decide when to stop and which epoch to keep.

    Some edges are hidden from training. The embedding of an epoch is scored by the
    AUC of hidden edges against random pairs. The earliest epoch within `tolerance`
    standard errors of the best is kept; epoch 0 is the untrained model.
    """

    name: ClassVar[str] = AUTO
    max_epochs: int = parameter(COUNT, "largest number of epochs", default=500)
    patience: int = parameter(
        COUNT,
        "stop if the epoch to keep is this many epochs ago and the AUC does not rise",
        default=100,
    )
    tolerance: float | Literal["auto"] = parameter(
        auto_or(WEIGHT),
        'standard errors an epoch may be behind the best; "auto": 1, or what the views '
        "need",
        default=AUTO,
    )
    check_every: int = parameter(COUNT, "epochs between two scores", default=5)
    holdout: float = parameter(
        OPEN_SHARE, "share of the edges that is hidden", default=0.05
    )


class NodeBatches(Component):
    """Training on parts of one graph, for one that is too large to train on at once.

    Every node is a target once in an epoch.
    """

    name: ClassVar[str] = "nodes"
    size: int = parameter(
        COUNT, "nodes per step that the loss is taken of", default=1024
    )
    sampling: SamplingName | Literal["auto"] = parameter(
        one_of(AUTO, *get_args(SamplingName)),
        '"neighbors": the nodes with a sample of their neighbours; "random": random '
        'nodes with the edges between them; "clusters": the same with nodes of the '
        'same part of the graph (needs pymetis); "rows": nodes without edges, for '
        'encoder="decoupled"; "auto": "rows" where no edges are needed, else by the '
        "number of neighbours",
        default=AUTO,
    )
    num_neighbors: int = parameter(
        COUNT, 'neighbours drawn per node and step away, for "neighbors"', default=10
    )


EPOCHS_RULE = Rule(
    lambda value: is_auto(value) or isinstance(value, StopByLinks) or is_whole(value),
    "'auto', a whole number from 0, or StopByLinks(...)",
)
BATCH_RULE = Rule(
    lambda value: (
        value is None
        or is_auto(value)
        or isinstance(value, NodeBatches)
        or is_whole(value, 1)
    ),
    "'auto', None, a whole number from 1, or NodeBatches(...)",
)
SEED_RULE = Rule(
    lambda value: is_whole(value) and value < 2**32,
    "a whole number from 0 to 4294967295",
)


class FitConfig(Component):
    """Parameters of every fit; the `Config` of a method adds its own."""

    epochs: int | Literal["auto"] | StopByLinks = parameter(
        EPOCHS_RULE,
        'a number (0: no training); or "auto": 5 for many graphs, else '
        "`StopByLinks()`, the epoch that held-out links choose",
        default=AUTO,
        search={"graph": (3, 20, "log")},
    )
    batch_size: int | Literal["auto"] | NodeBatches | None = parameter(
        BATCH_RULE,
        "graphs per step, for many graphs, or nodes per step of one graph, short for "
        '`NodeBatches(size)`; None for all at once; "auto": 128 graphs; all nodes, or '
        "`NodeBatches()` where memory is short",
        default=AUTO,
        search={"graph": (32, 256, "log")},
    )
    lr: float | Literal["auto"] = parameter(
        ABOVE_ZERO, "learning rate of Adam", default=1e-3
    )
    weight_decay: float | Literal["auto"] = parameter(
        auto_or(WEIGHT),
        'L2 penalty of Adam; "auto": 0, or what the views need',
        default=AUTO,
    )
    warmup_epochs: int = parameter(
        COUNT_OR_ZERO, "epochs in which the learning rate rises to `lr`", default=0
    )
    scaling: ScalingName | Literal["auto"] = parameter(
        one_of(AUTO, *get_args(ScalingName)),
        '"standard" scales every column to mean 0 and standard deviation 1, "none" '
        'does nothing, "columns" is "standard" unless features are 0/1 or sparse, '
        '"unit" also divides sparse ones by one number, "comparable" leaves dense '
        'ones of one unit in proportion and gives all rows a length, "length" also '
        'lengthens short rows, "rows" divides every row by the sum of its absolute '
        'values; "auto": "columns", or what the views need',
        default=AUTO,
    )
    structural_columns: int | None = parameter(
        Rule(
            lambda value: value is None or is_whole(value, 5),
            "a whole number from 5, or None",
        ),
        "number of columns to compute if there are no features: 5 of the degree "
        "profile, then those of random walks (one graph, 261 by default) or one per "
        "degree (many graphs, 5 by default)",
        default=None,
    )
    device: str = parameter(
        ANYTHING, '"auto" (a GPU if there is one), "cpu", "cuda", ...', default=AUTO
    )
    random_state: int | None = parameter(
        none_or(SEED_RULE),
        "seed: the same seed on the same machine gives the same embeddings; None draws "
        "a seed",
        default=0,
    )
    verbose: bool = parameter(
        SWITCH, "show a progress bar on a terminal", default=False
    )

    @classmethod
    def takes_node_batches(cls) -> bool:
        """Whether `batch_size` may be nodes of one graph."""
        return cls.declared()["batch_size"].rule.accepts(NodeBatches())

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Return the value of "auto" for data like this, by parameter."""
        return {
            "batch_size": GRAPHS_PER_STEP if spec.level == "graph" else None,
            "weight_decay": 0.0,
            "scaling": "columns",
            "tolerance": 1.0,
        }

    def completed(self, spec: Spec) -> Self:
        """Return a copy in which names of components are replaced by the components."""
        return self.replace()

    def resolved(self, spec: Spec) -> Self:
        """Return a copy with every "auto" replaced, except that of `device`."""
        config = self.completed(spec)
        standard = config.fill_auto(spec)
        config = config.replace(
            **{
                name: standard[name]
                for name, value in config.values().items()
                if is_auto(value) and name in standard
            }
        )
        size: Any = config.batch_size
        if spec.level != "graph" and self.takes_node_batches() and is_whole(size, 1):
            size = NodeBatches(size=size)
        return config.replace(
            epochs=config._epochs(spec, standard["tolerance"]), batch_size=size
        )

    def _epochs(self, spec: Spec, tolerance: float) -> int | StopByLinks:
        given = self.epochs
        epochs = self.stop_rule(spec) if isinstance(given, str) else given
        if not isinstance(epochs, StopByLinks):
            return epochs
        if spec.level == "graph":
            return min(GRAPH_EPOCHS, epochs.max_epochs)
        return (
            epochs.replace(tolerance=tolerance) if is_auto(epochs.tolerance) else epochs
        )

    def stop_rule(self, spec: Spec) -> int | StopByLinks:
        """Return what `epochs="auto"` stands for on one graph."""
        return StopByLinks()

    def picks(self, spec: Spec) -> dict[str, Any]:
        """Return values that depend on the graph, as they are for this data."""
        return {}

    def pinned(self, spec: Spec) -> Self:
        """Return a copy in which what is picked for every graph is as for this one."""
        found: dict[str, dict[str, Any]] = {}
        for name, value in self.picks(spec).items():
            part, _, key = name.partition("__")
            found.setdefault(part, {})[key] = value
        parts = {part: getattr(self, part).replace(**v) for part, v in found.items()}
        return self.replace(**parts)

    def flat(self) -> dict[str, Any]:
        """Return plain values by name, nested ones as `views__edge_drop`."""
        return flatten(self)


def chosen_values(given: FitConfig, resolved: FitConfig, spec: Spec) -> dict[str, Any]:
    """Return the value that "auto" was replaced by, by parameter."""
    before = given.flat()
    found = {**resolved.flat(), **resolved.picks(spec)}
    return {
        name: value
        for name, value in found.items()
        if name not in before or before[name] != value
    }
