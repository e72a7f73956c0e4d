"""DSGRL, the paper's figure in code: (A, X) -> (A, X1), (A', X2) -> Z1, Z2 -> Eq. 6.

Figure (a): learned features, A' = A; (b): learned topology, X1 = X2 = X; (c): both.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dsgrl.augment import FeatureAugmenter, Perturbation, PerTypeAugmenter, Topology
from dsgrl.encode import Readout, smooth
from dsgrl.floor import Joined
from dsgrl.graph import Graph, Spec
from dsgrl.losses.objective import mean_terms, objective
from dsgrl.methods.base import Form
from dsgrl.methods.decoupled import DecoupledMethod
from dsgrl.methods.dsgrl_build import build_parts, estimate_bytes
from dsgrl.methods.dsgrl_config import FORMS, DSGRLConfig
from dsgrl.typing import AggregateName, Level, LossTerms


class DSGRLMethod(DecoupledMethod):
    """Two views of one graph, learned or not, one shared encoder, one objective.

    Args:
        features: learns X1, X2 [N, V, D1]; without it both are X.
        topology: learns or makes A' [N, N]; without it both views are on A.
        encoder: embeds a view, (A, X) -> Z [N, ..., D].
        readout: pools the nodes of each graph, if graphs are to be embedded.
        perturb: weakens the graph at random while training, if at all.
        aggregate: "concat" [N, 2 D], "mean" or "sum" [N, D] of the two embeddings.
        smoothing: n; Z + A^n Z is returned, Z for 0.
        objective_options: weights and forms, passed on to `objective`.
    """

    Config = DSGRLConfig
    summary: ClassVar[str] = "two views, learned or not, and one encoder"
    levels: ClassVar[frozenset[Level]] = frozenset({"node", "graph", "hetero"})
    takes_targets: ClassVar[bool] = True
    forms: ClassVar[Mapping[str, Form]] = FORMS
    is_exact: ClassVar[bool] = True

    def __init__(
        self,
        features: FeatureAugmenter | PerTypeAugmenter | None,
        topology: Topology | None,
        encoder: nn.Module,
        readout: Readout | None = None,
        perturb: Perturbation | None = None,
        *,
        aggregate: AggregateName = "concat",
        smoothing: int = 0,
        joined: Joined | None = None,
        objective_options: dict[str, Any],
    ) -> None:
        super().__init__()
        self.features, self.topology, self.encoder = features, topology, encoder
        self.readout, self.perturb = readout, perturb or Perturbation()
        self.aggregate, self.smoothing = aggregate, smoothing
        self.joined, self.options = joined, objective_options

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build views, encoder and objective from parameters."""
        return cls(**build_parts(config, spec))

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
        if self.is_decoupled:
            return self.encode_hops(batch)
        same_edges = self.topology is None and not self.perturb.drops_edges
        if same_edges and self.features is not None:  # both in one pass over them
            x = self.features(self.perturb(batch).x)
            z: Tensor = self.encoder(batch.adjacency, x)
        else:
            z = torch.stack([self.encoder(*view) for view in self.views(batch)], dim=1)
        return z if self.readout is None else self.readout(z, batch.ptr)

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the terms of Eq. 6, the mean over the types of nodes."""
        ranks, options = self.ranks, self.options
        found = batch.target_rows(self.encode(batch))
        kinds = [z for z in found if ranks.count_rows(z)]
        weights = [] if self.features is None else self.features.stacked_weights()
        losses = [
            objective(z[:, 0], z[:, 1], weights, ranks=ranks, **options) for z in kinds
        ]
        return LossTerms(mean_terms(losses), z=kinds[0][:, 0].detach())

    def learned(self, graph: Graph) -> Tensor:
        """Return Z = AGG(Z1, Z2), smoothed over the graph if asked for."""
        z = self.embed_views(graph)
        return smooth(z, graph.adjacency, self.smoothing)

    def training_state(self) -> dict[str, Tensor]:
        """Return the learned edges that are still in use."""
        return {} if self.topology is None else self.topology.training_state()

    def load_training_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over the learned edges that are still in use."""
        if self.topology is not None:
            self.topology.load_training_state(state)

    def training_bytes(self, graph: Graph) -> float | None:
        """Estimate the memory of one step from the widths of all parts."""
        return estimate_bytes(self.features, self.encoder, self.perturb, graph)

    @property
    def uses_edge_attr(self) -> bool:
        """Whether the encoder takes edge attributes."""
        return bool(getattr(self.encoder, "accepts_attr", False))
