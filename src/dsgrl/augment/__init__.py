"""The learned augmentations: how one graph becomes two views.

An augmenter returns its views side by side [N, V, D1] so that the shared encoder
takes them in one pass.
"""

from dsgrl.augment.feature import FeatureAugmenter

__all__ = ["FeatureAugmenter"]
