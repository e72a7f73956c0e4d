"""The learned augmentations: how one graph becomes two views.

`feature` learns two sets of features, side by side [N, V, D1] so that the shared
encoder takes them in one pass; `topology` learns a second graph.
"""

from dsgrl.augment.feature import FeatureAugmenter
from dsgrl.augment.topology import TopologyAugmenter

__all__ = ["FeatureAugmenter", "TopologyAugmenter"]
