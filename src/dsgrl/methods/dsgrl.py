"""DSGRL: the paper's figure in code.

    X -> augmenter -> X1, X2 -> shared encoder -> Z1, Z2 -> objective (Eq. 6)

Figure (a): the two views share the graph and differ in their learned features. They
lie side by side in the middle axis and go through the encoder together.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from dsgrl.augment import FeatureAugmenter
from dsgrl.graph import Graph
from dsgrl.methods.base import Level, Method
from dsgrl.objective import objective
from dsgrl.typing import AggregateName, LossTerms


class DSGRLMethod(Method):
    """Two learned views of one graph, one shared encoder, one objective.

    Args:
        augmenter: makes the views, X [N, F] -> X1, X2 [N, V, D1].
        encoder: embeds them, (A, [N, V, D1]) -> Z1, Z2 [N, V, D].
        aggregate: how the two embeddings become one: "concat" [N, 2 D], "mean" or
            "sum" [N, D].
        objective_options: weights and forms, passed on to `objective`.
    """

    levels: ClassVar[frozenset[Level]] = frozenset({"node"})
    search_space: ClassVar[dict[str, Any]] = {
        "augment_channels": {"low": 64, "high": 512, "log": True},
        "num_layers": {"low": 1, "high": 3},
        "dropout": {"low": 0.0, "high": 0.9},
        "lr": {"low": 1e-4, "high": 1e-1, "log": True},
        "invariance_weight": {"low": 0.01, "high": 1.0, "log": True},
        "covariance_weight": {"low": 0.01, "high": 1.0, "log": True},
        "orthogonality_weight": {"low": 0.0, "high": 1.0},
    }

    def __init__(
        self,
        augmenter: FeatureAugmenter,
        encoder: nn.Module,
        *,
        aggregate: AggregateName = "concat",
        objective_options: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.augmenter = augmenter
        self.encoder = encoder
        self.aggregate = aggregate
        self.objective_options = dict(objective_options)

    def encode(self, batch: Graph) -> Tensor:
        """Embed both views, Z1 and Z2 side by side [N, V, D]."""
        views = self.augmenter(batch.x)
        z: Tensor = self.encoder(batch.adjacency, views)
        return z

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the terms of Eq. 6."""
        z1, z2 = self.encode(batch).unbind(dim=1)
        weights = self.augmenter.stacked_weights()
        terms = objective(z1, z2, weights, **self.objective_options)
        return LossTerms(terms, z=z1.detach())

    def embed(self, batch: Graph) -> Tensor:
        """Return Z = AGG(Z1, Z2)."""
        z = self.encode(batch)
        if self.aggregate == "concat":
            return z.flatten(1)
        return z.mean(dim=1) if self.aggregate == "mean" else z.sum(dim=1)
