"""DSGRL, the paper's figure in code: (A, X) -> (A, X1), (A', X2) -> Z1, Z2 -> Eq. 6.

Figure (a): learned features, A' = A; (b): learned topology, X1 = X2 = X; (c): both.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dsgrl.augment import FeatureAugmenter, Perturbation, PerTypeAugmenter, Topology
from dsgrl.encode import Readout, merge_views
from dsgrl.graph import Graph
from dsgrl.losses.objective import mean_terms, objective
from dsgrl.methods.base import Method
from dsgrl.methods.space import DSGRL_SPACE, Range
from dsgrl.typing import AggregateName, Level, LossTerms


class DSGRLMethod(Method):
    """Two views of one graph, learned or not, one shared encoder, one objective.

    Args:
        features: learns X1, X2 [N, V, D1]; without it both are X.
        topology: learns or makes A' [N, N]; without it both views are on A.
        encoder: embeds a view, (A, X) -> Z [N, ..., D].
        readout: pools the nodes of each graph, if graphs are to be embedded.
        perturb: weakens the graph at random while training, if at all.
        aggregate: "concat" [N, 2 D], "mean" or "sum" [N, D] of the two embeddings.
        objective_options: weights and forms, passed on to `objective`.
    """

    levels: ClassVar[frozenset[Level]] = frozenset({"node", "graph", "hetero"})
    search_space: ClassVar[dict[str, Range]] = DSGRL_SPACE

    def __init__(
        self,
        features: FeatureAugmenter | PerTypeAugmenter | None,
        topology: Topology | None,
        encoder: nn.Module,
        readout: Readout | None = None,
        perturb: Perturbation | None = None,
        *,
        aggregate: AggregateName = "concat",
        objective_options: dict[str, Any],
    ) -> None:
        super().__init__()
        self.features, self.topology, self.encoder = features, topology, encoder
        self.readout, self.perturb = readout, perturb or Perturbation()
        self.aggregate, self.options = aggregate, objective_options

    def views(self, batch: Graph) -> list[tuple[Any, Any]]:
        """Make the two views (A, X1) and (A', X2)."""
        one, two = self.perturb(batch), self.perturb(batch)
        x1, x2 = one.x, two.x
        if self.features is not None:
            x1, x2 = self.features(x1).unbind(dim=1)
        learned = two.adjacency if self.topology is None else self.topology(batch)
        return [(one.adjacency, x1), (learned, x2)]

    def encode(self, batch: Graph) -> Tensor:
        """Embed both views, Z1 and Z2 side by side [N, V, D], or one row per graph."""
        same_edges = self.topology is None and not self.perturb.drops_edges
        if same_edges and self.features is not None:  # both in one pass over them
            x = self.features(self.perturb(batch).x)
            z: Tensor = self.encoder(batch.adjacency, x)
        else:
            z = torch.stack([self.encoder(*view) for view in self.views(batch)], dim=1)
        return z if self.readout is None else self.readout(z, batch.ptr)

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the terms of Eq. 6, the mean over the types of nodes."""
        kinds = [z for z in batch.split(self.encode(batch)) if len(z)]
        weights = [] if self.features is None else self.features.stacked_weights()
        losses = [objective(z[:, 0], z[:, 1], weights, **self.options) for z in kinds]
        return LossTerms(mean_terms(losses), z=kinds[0][:, 0].detach())

    def embed(self, batch: Graph) -> Tensor:
        """Return Z = AGG(Z1, Z2)."""
        return merge_views(self.encode(batch), self.aggregate)
