"""Methods whose embedding keeps what the data says and adds what was learned."""

import copy

import torch
from torch import Tensor

from dsgrl.floor import Joined
from dsgrl.graph import Graph
from dsgrl.graph.batches import graph_parts
from dsgrl.methods.base import Method


class FlooredMethod(Method):
    """A method that can stand on the training-free floor.

    A subclass defines `learned`. With `joined` the embedding has the floor beside it,
    and is the floor's where training was not worth it.
    """

    joined: Joined | None

    def learned(self, graph: Graph) -> Tensor:
        """Return what was learned: one row per node [N, D], or per graph [B, D]."""
        raise NotImplementedError

    def watched(self, graph: Graph) -> Tensor:
        """Let early stopping score what was learned: the floor does not change."""
        return self.learned(graph)

    def embed(self, graph: Graph) -> Tensor:
        """Return what was learned, joined with the floor if there is one."""
        z = self._beside_floor(graph)
        return z if self.joined is None else self.joined(graph, z)

    def finish(self, graph: Graph, epoch: int) -> None:
        """Fit the floor and how it is joined."""
        if self.joined is not None:
            parts = ((part, self._beside_floor(part)) for part in graph_parts(graph))
            self.joined.fit(graph, parts, uses_learned=epoch > 0)

    def _beside_floor(self, graph: Graph) -> Tensor:
        """Return what was learned; no columns if nothing is to be learned."""
        if self.joined is None or self.joined.channels:
            return self.learned(graph)
        return torch.empty(graph.num_rows, 0, device=graph.adjacency.device)

    @torch.no_grad()
    def describe_untrained(self, graph: Graph) -> Tensor | None:
        """Return the rows of a floor that is fitted to this graph only."""
        if self.joined is None:
            return None
        floor = copy.deepcopy(self.joined.floor)
        floor.fit(graph)
        rows: Tensor = floor(graph)
        return rows

    def finishing_bytes(self, graph: Graph, *, learned: bool = True) -> float | None:
        """Estimate the memory of the floor and of joining; None without a floor."""
        if self.joined is None or graph.ptr is not None:
            return None
        return self.joined.needed_bytes(graph.num_nodes, learned=learned)

    @property
    def has_fallback(self) -> bool:
        """Whether there is a floor to fall back on."""
        return self.joined is not None
