"""The parts of the method that are removed, added or exchanged one at a time."""

from typing import Any, NamedTuple

from dsgrl.bench.recipes import DEFAULT
from dsgrl.bench.suites import name_recipe

NODE_ALONE, FEATURE, TOPOLOGY = "topology-none", "dsgrl-feature", "dsgrl-topology"
# Quick ones: every part is removed on every one of them, for every seed.
SETS = ("cora", "citeseer", "debian", "photo", "enzymes", "imdb-b", "imdb-m")
SUITE_OF = {"node": "nodes", "graph": "graphs", "hetero": "hetero"}


class Base(NamedTuple):
    """What is changed: a method at a level, and its name in words."""

    method: str
    level: str
    title: str
    name: str = "the default"


NODES = Base(NODE_ALONE, "node", "Nodes")
GRAPHS = Base(FEATURE, "graph", "Whole graphs")
FEATURES = Base(FEATURE, "node", "Nodes: learned features", "learned features")
SECOND_GRAPHS = tuple(
    Base(TOPOLOGY, level, f"{title}: the second graph", "the learned graph")
    for level, title in (
        ("node", "Nodes"),
        ("graph", "Whole graphs"),
        ("hetero", "Several types of nodes"),
    )
)
ALL_NODES, ALL = (NODES, FEATURES), (NODES, GRAPHS, FEATURES)
BASES = (*ALL, *SECOND_GRAPHS)
DEFAULTS = {base.level: base.method for base in (NODES, GRAPHS)}
# What "auto" adds where the second view is the node alone, and what it is elsewhere.
HELP = {
    "dropout": 0.6,
    "views__feature_drop": 0.4,
    "epochs__tolerance": 0.5,
    "smoothing": 2,
}
WITHOUT_HELP = {
    "dropout": 0.5,
    "views__feature_drop": 0.0,
    "epochs__tolerance": 1.0,
    "smoothing": 0,
    "scaling": "columns",
}


class Part(NamedTuple):
    """A part of the method, and what the base becomes without it.

    Attributes:
        name: in words.
        changes: parameters to set.
        bases: those that it changes.
        method: another system in place of the base's, if any.
    """

    name: str
    changes: dict[str, Any]
    bases: tuple[Base, ...] = ALL
    method: str = ""

    def system(self, base: Base) -> str:
        """Return the system that is run."""
        return self.method or base.method

    @property
    def label(self) -> str:
        """The recipe of its lines."""
        return name_recipe(DEFAULT, self.changes)


# What a base has, removed.
PARTS = (
    Part("training", {"epochs": 0}),
    Part("invariance term (Eq. 1)", {"invariance_weight": 0.0}),
    # Standardised embeddings, as those of graphs, have no variance to lose.
    Part("variance term (Eq. 2)", {"variance_weight": 0.0}, ALL_NODES),
    Part("covariance term (Eq. 3)", {"covariance_weight": 0.0}),
    Part("dropout", {"dropout": 0.0}),
    Part("high dropout", {"dropout": 0.5}, (NODES,)),
    Part("dropped features", {"views__feature_drop": 0.0}, (NODES,)),
    Part("later epochs", {"epochs__tolerance": 1.0}, (NODES,)),
    Part("smoothing at read-out", {"smoothing": 0}, (NODES,)),
    Part("smaller first weights", {"gain": 1.0}, ALL_NODES),
    Part("dropped edges", {"views__edge_drop": 0.0}, (FEATURES,)),
    Part("weight decay", {"weight_decay": 0.0}, (FEATURES,)),
    Part("longer rows", {"scaling": "columns"}, (FEATURES,)),
    # Removed together: each can replace another.
    Part(
        "all three, and the weight of 2 of the covariance term",
        {
            "views__edge_drop": 0.0,
            "weight_decay": 0.0,
            "scaling": "columns",
            "covariance_weight": 1.0,
        },
        (FEATURES,),
    ),
    Part(
        "wide augmenters: 64 columns each",
        {"views__augment_channels": 64},
        (FEATURES, GRAPHS),
    ),
    Part("two views in the result: their mean", {"aggregate": "mean"}),
    Part("stopping by links: 300 epochs", {"epochs": 300}, ALL_NODES),
    Part("standardised embeddings", {"standardize": False}, (GRAPHS,)),
    Part("batch norm", {"norm": None}, (GRAPHS,)),
    Part("all layers in the result: the last", {"jump": "last"}, (GRAPHS,)),
    Part("depth: one layer", {"num_layers": 1}),
)
# What it lacks, added.
OPTIONS = (
    Part(
        "augmenter orthogonality (Eq. 5)",
        {"views__orthogonality_weight": 1.0},
        (FEATURES, GRAPHS),
    ),
    Part("orthogonality form (Eq. 7)", {"regularizer": "orthogonality"}),
    Part("masked columns", {"views__feature_mask": 0.2}),
    Part("dropped edges", {"views__edge_drop": 0.3}, (NODES, GRAPHS)),
    Part("weight decay", {"weight_decay": 1e-4}, (NODES, GRAPHS)),
    Part("longer rows", {"scaling": "length"}, (NODES,)),
    Part("standardised embeddings", {"standardize": True}, ALL_NODES),
    Part("batch norm", {"norm": "batch"}, ALL_NODES),
    Part("all layers in the result", {"jump": "cat"}, ALL_NODES),
    Part("logarithms of sums", {"readout": "log_sum"}, (GRAPHS,)),
    Part("maxima beside sums", {"readout": "sum+max"}, (GRAPHS,)),
    Part("maxima beside logarithms", {"readout": "log_sum+max"}, (GRAPHS,)),
    Part("wider augmenters", {"views__augment_channels": 512}, (FEATURES, GRAPHS)),
    Part("weaker covariance term", {"covariance_weight": 1.0}, (FEATURES,)),
    Part("stronger covariance term", {"covariance_weight": 4.0}),
    Part("width 64 per view", {"out_channels": 64}),
    Part("width 256 per view", {"out_channels": 256}),
)
# What learned topology could have in the place of the learned graph, all else equal.
OTHERS = (
    Part("random edges", {}, SECOND_GRAPHS, "topology-random"),
    Part("nearest by features", {}, SECOND_GRAPHS, "topology-knn-x"),
    Part("nearest by neighbours' features", {}, SECOND_GRAPHS, "topology-knn-ax"),
    Part("two steps away", {}, SECOND_GRAPHS, "topology-two-hop"),
    Part("no edges: node alone", WITHOUT_HELP, SECOND_GRAPHS, NODE_ALONE),
    Part("the graph's own edges as well", {"views__keep_edges": True}, SECOND_GRAPHS),
    Part("training", {"epochs": 0}, SECOND_GRAPHS),
    # The same with what the node alone has by default: is it that which helps?
    Part("the learned graph, with help", HELP, SECOND_GRAPHS[:1]),
    Part("random edges, with help", HELP, SECOND_GRAPHS[:1], "topology-random"),
    Part("two steps away, with help", HELP, SECOND_GRAPHS[:1], "topology-two-hop"),
    Part("node alone, with help", HELP, SECOND_GRAPHS[:1], NODE_ALONE),
)
# The systems of `OTHERS` in recorded lines: settings of "dsgrl-topology".
RECORDED_AS = {
    "topology-random": "topology=random",
    "topology-knn-x": "topology=knn_x",
    "topology-knn-ax": "topology=knn_ax",
    "topology-two-hop": "topology=two_hop",
    NODE_ALONE: "topology=none",
}


def parts_of(base: Base) -> list[Part]:
    """List what is changed of a base."""
    return [part for part in (*PARTS, *OPTIONS, *OTHERS) if base in part.bases]
