"""How one graph becomes two views: components that own their parameters and defaults.

==================  ==============================================================
`LearnedFeatures`   X1 = f1(X), X2 = f2(X) on the same edges: figure (a)
`LearnedGraph`      X and X on A and on a learned graph A': figure (b)
`LearnedBoth`       learned features and a learned graph: figure (c)
`NodeAlone`         the graph, and every node without its neighbours
`TwoSteps`          the graph, and the nodes that most two-step walks lead to
`Nearest`           the graph, and the nodes with the most similar features
`RandomGraph`       the graph, and random edges
==================  ==============================================================

Every kind defines the values of its "auto" (`fill_auto`) and what training on it
needs (`asks`), both by the level of the data.
"""

from collections.abc import Mapping

from dsgrl.augment.second_graphs import (
    LearnedBoth,
    LearnedGraph,
    Nearest,
    NodeAlone,
    RandomGraph,
    TwoSteps,
)
from dsgrl.augment.view_base import LearnedFeatures, Views
from dsgrl.graph import Spec
from dsgrl.parameters import AUTO, is_auto, one_of, refuse

VIEWS: dict[str, type[Views]] = {
    kind.name: kind
    for kind in (
        LearnedFeatures,
        LearnedGraph,
        LearnedBoth,
        NodeAlone,
        TwoSteps,
        Nearest,
        RandomGraph,
    )
}
# The short names of the paper's figures (a), (b) and (c).
FIGURES: dict[str, type[Views]] = {
    "feature": LearnedFeatures,
    "topology": LearnedGraph,
    "both": LearnedBoth,
}


def default_views(spec: Spec) -> Views:
    """Return the views that are the default for data like this."""
    if spec.level == "hetero":
        return TwoSteps()
    # A node without features of its own has nothing to show on its own.
    return (
        NodeAlone()
        if spec.level == "node" and spec.has_features
        else (LearnedFeatures())
    )


def find_views(views: "Views | str", augment: str, spec: Spec) -> Views:
    """Return the views that are meant by an object, a name or a figure.

    Args:
        views: an object, one of `VIEWS`, or "auto".
        augment: one of `FIGURES`, or "auto".
        spec: of the data, for what is left open.

    Raises:
        InputError: if both are given.
    """
    if not is_auto(augment) and not is_auto(views):
        refuse("augment", augment, "'auto' beside views: give one of the two")
    if isinstance(views, Views):
        return views
    if not is_auto(views):
        return _named("views", views, VIEWS)
    return (
        default_views(spec) if is_auto(augment) else _named("augment", augment, FIGURES)
    )


def _named(parameter_name: str, name: str, kinds: Mapping[str, type[Views]]) -> Views:
    if name not in kinds:
        refuse(parameter_name, name, one_of(AUTO, *kinds).expected)
    return kinds[name]()
