"""The learned augmentations: how one graph becomes two views.

`feature` learns two sets of features, side by side [N, V, D1] so that the shared
encoder takes them in one pass (`per_type` for several types of nodes); `topology`
learns a second graph, `controls` has the ones a learned graph must beat; `perturb`
weakens views at random.
"""

from dsgrl.augment.controls import FixedTopology
from dsgrl.augment.feature import FeatureAugmenter
from dsgrl.augment.per_type import PerTypeAugmenter
from dsgrl.augment.perturb import Perturbation
from dsgrl.augment.topology import Topology, TopologyAugmenter

__all__ = [
    "FeatureAugmenter",
    "FixedTopology",
    "PerTypeAugmenter",
    "Perturbation",
    "Topology",
    "TopologyAugmenter",
]
