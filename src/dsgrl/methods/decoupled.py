"""The views of DSGRL from hops of the features that are computed once."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from dsgrl.augment import Perturbation, Topology, Views
from dsgrl.encode import DecoupledEncoder, merge_views
from dsgrl.encode.decoupled import HOPS, smooth_features, stack_hops
from dsgrl.graph import Graph, propagate
from dsgrl.graph.sampling import bare_rows
from dsgrl.methods.floored import FlooredMethod
from dsgrl.parameters import is_auto
from dsgrl.typing import AggregateName

# Rows that are embedded at once.
ROWS_AT_ONCE = 1 << 14


def settled_views(config: Any) -> Views:
    """Return the views; their edges stay where hops are computed once."""
    views: Views = config.views
    if config.encoder == "decoupled" and is_auto(views.edge_drop):
        return views.replace(edge_drop=0.0)
    return views


class DecoupledMethod(FlooredMethod):
    """A method with two views whose encoder may be a `DecoupledEncoder`."""

    features: Any
    topology: Topology | None
    encoder: Any
    perturb: Perturbation
    aggregate: AggregateName

    def encode(self, batch: Graph) -> Tensor:
        """Embed both views side by side [N, V, D], or one row per graph."""
        raise NotImplementedError

    def prepare(self, graph: Graph) -> Graph:
        """Compute the hops of the features, for a decoupled encoder."""
        if not self.is_decoupled:
            return graph
        hops = smooth_features(graph.adjacency, graph.x, self.encoder.num_hops)
        return replace(graph, extras={**graph.extras, HOPS: hops})

    @property
    def is_decoupled(self) -> bool:
        """Whether the encoder takes hops instead of edges."""
        return isinstance(self.encoder, DecoupledEncoder)

    @property
    def needs_edges(self) -> bool:
        """Whether the encoder, or a second graph, looks at edges in a step."""
        second_needs = self.topology is not None and not self.topology.ignores_edges
        return second_needs or not self.is_decoupled

    def encode_hops(self, batch: Graph) -> Tensor:
        """Embed both views from the hops that `prepare` computed [N, V, D].

        Features are learned from every hop; those of a second graph are smoothed on it.
        """
        stacked = replace(batch, x=stack_hops(batch.x, batch.extras[HOPS]))
        x1, x2 = (self.perturb(stacked).x for _ in range(2))
        if self.features is not None:
            both = self.features(x1)
            if self.topology is None:
                rows: Tensor = self.encoder(both)
                return rows
            x1, x2 = both.unbind(dim=1)
        if self.topology is not None:
            second = self.topology(batch).normalized("gcn")
            parts = [x2[: batch.num_nodes]]
            for _ in range(self.encoder.num_hops):
                parts.append(propagate(second, parts[-1]))
            x2 = torch.cat(parts)
        return torch.stack([self.encoder(x1), self.encoder(x2)], dim=1)

    def embed_views(self, graph: Graph) -> Tensor:
        """Return AGG(Z1, Z2); where rows do not see each other, some after others."""
        parts = [graph]
        if self.is_decoupled and (self.topology is None or self.topology.is_bare):
            rows = torch.arange(graph.num_nodes, device=graph.adjacency.device)
            parts = [bare_rows(graph, some) for some in rows.split(ROWS_AT_ONCE)]
        return torch.cat(
            [merge_views(self.encode(part), self.aggregate) for part in parts]
        )
