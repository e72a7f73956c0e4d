"""DSGRL, the paper's figure in code: (A, X) -> (A, X1), (A', X2) -> Z1, Z2 -> Eq. 6.

Figure (a): learned features, A' = A; (b): learned topology, X1 = X2 = X; (c): both.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dsgrl.augment import FeatureAugmenter, TopologyAugmenter
from dsgrl.graph import Adjacency, Graph
from dsgrl.methods.base import Level, Method, Range
from dsgrl.objective import objective
from dsgrl.typing import AggregateName, LossTerms


class DSGRLMethod(Method):
    """Two learned views of one graph, one shared encoder, one objective.

    Args:
        features: learns X1, X2 [N, V, D1]; without it both are X.
        topology: learns A' [N, N]; without it both views are on A.
        encoder: embeds a view, (A, X) -> Z [N, ..., D].
        aggregate: "concat" [N, 2 D], "mean" or "sum" [N, D] of the two embeddings.
        objective_options: weights and forms, passed on to `objective`.
    """

    levels: ClassVar[frozenset[Level]] = frozenset({"node"})
    search_space: ClassVar[dict[str, Range]] = {
        "augment_channels": (64, 512, "log"),
        "num_layers": (1, 3, "linear"),
        "dropout": (0.0, 0.9, "linear"),
        "lr": (1e-4, 1e-1, "log"),
        "invariance_weight": (0.01, 1.0, "log"),
        "covariance_weight": (0.01, 1.0, "log"),
    }

    def __init__(
        self,
        features: FeatureAugmenter | None,
        topology: TopologyAugmenter | None,
        encoder: nn.Module,
        *,
        aggregate: AggregateName = "concat",
        objective_options: dict[str, Any],
    ) -> None:
        super().__init__()
        self.features, self.topology, self.encoder = features, topology, encoder
        self.aggregate, self.objective_options = aggregate, objective_options

    def views(self, batch: Graph) -> list[tuple[Adjacency, Tensor | Adjacency]]:
        """Make the two views (A, X1) and (A', X2)."""
        x1 = x2 = batch.x
        if self.features is not None:
            x1, x2 = self.features(batch.x).unbind(dim=1)
        learned = batch.adjacency if self.topology is None else self.topology(batch)
        return [(batch.adjacency, x1), (learned, x2)]

    def encode(self, batch: Graph) -> Tensor:
        """Embed both views, Z1 and Z2 side by side [N, V, D]."""
        if self.topology is None and self.features is not None:
            z: Tensor = self.encoder(batch.adjacency, self.features(batch.x))
            return z  # both views in one pass over the edges
        return torch.stack([self.encoder(*view) for view in self.views(batch)], dim=1)

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the terms of Eq. 6."""
        z1, z2 = self.encode(batch).unbind(dim=1)
        weights = [] if self.features is None else self.features.stacked_weights()
        terms = objective(z1, z2, weights, **self.objective_options)
        return LossTerms(terms, z=z1.detach())

    def embed(self, batch: Graph) -> Tensor:
        """Return Z = AGG(Z1, Z2)."""
        z = self.encode(batch)
        if self.aggregate == "concat":
            return z.flatten(1)
        return z.mean(dim=1) if self.aggregate == "mean" else z.sum(dim=1)
