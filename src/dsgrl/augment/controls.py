"""Second graphs that are not learned: the controls for a learned graph.

=========  ==================================================================
random     k nodes drawn once, whatever they are
knn_x      the k nodes with the most similar features
knn_ax     the k nodes whose neighbours have the most similar features
two_hop    the k nodes that most two-step walks lead to
none       none: every node is alone with its own features
=========  ==================================================================

They differ from the learned graph in what they call similar, in nothing else.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.augment.topology import Topology
from dsgrl.augment.walks import two_hop_pairs
from dsgrl.graph import Adjacency, Features, Graph, Pattern, Relations, propagate
from dsgrl.graph.graph import take_blocks
from dsgrl.typing import InputError, TopologyName

# Nodes and edges whose second graph is made at once.
MADE_AT_ONCE = 1 << 18


class FixedTopology(Topology):
    """A graph that is computed from the data or drawn at random.

    Args:
        kind: "random", "knn_x", "knn_ax", "two_hop" or "none".
        **options: see `Topology`. Without similarities a raw weight is 1.

    Raises:
        InputError: if nothing limits the edges of a kind without similarities.
    """

    def __init__(self, kind: TopologyName, **options: Any) -> None:
        super().__init__(**options)
        self._limited = (
            self.edges_per_node is not None or self.edge_multiplier is not None
        )
        if not self._limited and kind in ("random", "two_hop"):
            raise InputError(
                f"topology={kind!r} with edges_per_node=None: expected a whole number, "
                f"this topology has no similarities to compare (or use "
                f"topology='learned')"
            )
        self.kind = kind
        self.compares = kind in ("knn_x", "knn_ax")
        self._made: tuple[Any, Adjacency | Relations] | None = None

    @property
    def ignores_edges(self) -> bool:
        """Whether it is "none"; "random" draws by numbers that a part has not."""
        return self.is_bare

    @property
    def is_bare(self) -> bool:
        """Whether it is "none", and no edges are kept beside."""
        return self.kind == "none" and not self.keep_edges

    @torch.no_grad()
    def forward(self, graph: Graph) -> Adjacency | Relations:
        """Return the graph A' [N, N]; computed once, as it does not change.

        While training it is made for all graphs that a batch is taken from, and the
        batch's blocks are taken from it.
        """
        all_pairs = self.compares and not self._limited
        if graph.origin is None or all_pairs:
            if self._made is None or self._made[0] is not graph.adjacency:
                self._made = (graph.adjacency, super().forward(graph))
            return self._made[1]
        whole, numbers = graph.origin
        if self._made is None or self._made[0] is not whole.adjacency:
            if not self.training:
                # Embedded once: the second graph of all is not kept.
                return super().forward(graph)
            self._made = (whole.adjacency, self._make_all(whole))
        made = self._made[1]
        assert isinstance(made, Adjacency)
        assert whole.ptr is not None
        return take_blocks(made, whole.ptr, numbers)

    def _make_all(self, whole: Graph) -> Adjacency:
        """Make the second graphs of many, a few at a time."""
        assert whole.ptr is not None
        entries = (whole.ptr + whole.adjacency.pattern.rowptr[whole.ptr]).long()
        part = (entries[1:] - 1).clamp_min(0) // MADE_AT_ONCE
        counts = torch.unique_consecutive(part, return_counts=True)[1]
        numbers = torch.arange(whole.num_graphs, device=whole.ptr.device)
        blocks = []
        for some in numbers.split(counts.tolist()):
            batch = whole.take(some)
            blocks.append(self._connect(batch, self.represent(batch)))
        return Adjacency.block_diagonal(blocks)

    def _pattern(self, graph: Graph, h: Tensor) -> Pattern:
        return self._look_up(graph, h)

    def _connect(self, graph: Graph, h: Tensor) -> Adjacency:
        if self.compares:
            return super()._connect(graph, h)
        pattern = self._look_up(graph, h)
        weight = torch.ones(pattern.col.numel(), device=h.device)
        made = Adjacency(pattern, weight)
        return made if self.weights == "raw" else made.normalized("mean")

    def represent(self, graph: Graph) -> Tensor:
        """Return the features, or the mean of the neighbours', rows of unit length."""
        if not self.compares:
            return torch.zeros(graph.num_nodes, 1, device=graph.adjacency.device)
        tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
        if self.kind == "knn_x":
            return _line_up([_dense(table) for table in tables])
        ends = [(0, 0)]
        if isinstance(graph.adjacency, Relations):
            ends = graph.adjacency.schema.ends()
        received: list[list[Tensor]] = [[] for _ in tables]
        for (part, _, _), (source, target) in zip(
            graph.adjacency.parts(), ends, strict=True
        ):
            sent = propagate(part.normalized("mean"), _dense(tables[source]))
            received[target].append(F.normalize(sent, dim=1))
        return _line_up([torch.cat(parts, dim=1) for parts in received])

    def find_pairs(self, graph: Graph, h: Tensor) -> Tensor:
        """Return the pairs to connect, as (node, row) [2, E]."""
        if self.compares:
            return super().find_pairs(graph, h)
        if self.kind == "none":
            return torch.empty(2, 0, dtype=torch.long, device=h.device)
        bounds = np.array(graph.bounds)
        counts = self.counts(graph)
        if self.kind == "random":
            return _random_pairs(bounds, counts).to(h.device)
        return two_hop_pairs(graph, counts)


def _dense(table: Features) -> Tensor:
    return table.to_dense() if isinstance(table, Adjacency) else table


def _line_up(tables: list[Tensor]) -> Tensor:
    """Stack tables of different widths, with rows of unit length."""
    width = max(table.size(1) for table in tables)
    rows = [
        F.pad(F.normalize(table, dim=1), (0, width - table.size(1))) for table in tables
    ]
    return torch.cat(rows)


def _random_pairs(bounds: np.ndarray[Any, Any], counts: list[int]) -> Tensor:
    """Draw k nodes of the same graph or type per node; the same ones every time.

    The draw depends only on a node's position in its graph, not on other graphs: an
    embedding must not depend on the batch.
    """
    sizes = np.diff(bounds)
    counts_per_node = np.repeat(np.minimum(counts, sizes), sizes)
    row = np.repeat(np.arange(bounds[-1]), counts_per_node)
    low, size = (np.repeat(v, sizes)[row] for v in (bounds[:-1], sizes))
    first = np.cumsum(counts_per_node) - counts_per_node
    slot = np.arange(row.size) - first[row]
    # A generator per slot: a longer draw begins like a shorter one.
    shares = np.zeros((counts_per_node.max(initial=0), sizes.max(initial=0)))
    for number, share in enumerate(shares):
        share[:] = np.random.default_rng(number).random(share.size)
    drawn = low + (shares[slot, row - low] * size).astype(np.int64)
    return torch.from_numpy(np.stack([drawn, row]))
