"""The augmentations: how one graph becomes two views.

`views` has the kinds a user chooses from, with their parameters and defaults. The
modules behind them: `feature` learns two sets of features, side by side [N, V, D1] so
that the shared encoder takes them in one pass (`per_type` for several types of nodes);
`topology` learns a second graph, `controls` has the ones a learned graph must beat;
`perturb` weakens views at random, `graph_views` draws views of whole graphs.
"""

from dsgrl.augment.controls import FixedTopology
from dsgrl.augment.feature import FeatureAugmenter
from dsgrl.augment.per_type import PerTypeAugmenter
from dsgrl.augment.perturb import Perturbation
from dsgrl.augment.second_graphs import (
    LearnedBoth,
    LearnedGraph,
    Nearest,
    NodeAlone,
    RandomGraph,
    TwoSteps,
)
from dsgrl.augment.topology import Topology, TopologyAugmenter
from dsgrl.augment.view_base import LearnedFeatures, Views
from dsgrl.augment.views import FIGURES, VIEWS, find_views

__all__ = [
    "FIGURES",
    "VIEWS",
    "FeatureAugmenter",
    "FixedTopology",
    "LearnedBoth",
    "LearnedFeatures",
    "LearnedGraph",
    "Nearest",
    "NodeAlone",
    "PerTypeAugmenter",
    "Perturbation",
    "RandomGraph",
    "Topology",
    "TopologyAugmenter",
    "TwoSteps",
    "Views",
    "find_views",
]
