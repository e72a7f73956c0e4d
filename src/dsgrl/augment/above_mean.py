"""Every pair above its row's mean, as in the paper's equation, never held at once.

=====================  =========================================================
`weights="raw"`        a'_ij = g(h_i, h_j): the paper's A'
`"normalized"`         negative ones are 0, and every row is divided by its sum
=====================  =========================================================

An encoder normalises A' as it does any other graph: D^-1/2 (A' + I) D^-1/2 for "gcn",
D^-1 A' for "mean". The degrees take one more pass over the blocks, and gradients flow
through them.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from dsgrl.augment.threshold import RowMean
from dsgrl.graph import Adjacency, Pattern
from dsgrl.graph.adjacency import inverse_or_zero
from dsgrl.typing import EdgeWeightsName, NormalizationName

# Similarities held at once: 64 MB of float32.
SIMILARITY_ELEMENTS = 1 << 24


class NormalizationFactors(NamedTuple):
    """The factors of rows and columns of a normalisation, and the loops it adds.

    Attributes:
        rows: factor of every row [N].
        columns: factor of every column [N].
        loops: weight added to every node's self-loop [N].
    """

    rows: Tensor
    columns: Tensor
    loops: Tensor


class AboveMean(Adjacency):
    """A learned graph of about N^2 / 2 edges, applied in blocks of rows.

    A product computes one block of similarities, uses it and forgets it; the backward
    pass computes it again. Memory is O(block N), work O(N^2) per product.

    Args:
        h: one vector per node [N, D1]; similarities are inner products.
        bounds: where each graph begins, and N at the end; edges stay inside. One
            graph if left out.
        weights: "normalized" or "raw".
        symmetric: take a pair if it is above the mean of either row.
        kept: pairs that are edges whatever their similarity [N, N].
        scaling: a normalisation to apply to the weights.
    """

    def __init__(
        self,
        h: Tensor,
        bounds: list[int] | None = None,
        *,
        weights: EdgeWeightsName = "normalized",
        symmetric: bool = False,
        kept: Adjacency | None = None,
        scaling: NormalizationFactors | None = None,
    ) -> None:
        self.h = h
        self.bounds = bounds or [0, h.size(0)]
        self.weights: EdgeWeightsName = weights
        self.symmetric = symmetric
        self.kept = kept
        self.scaling = scaling
        self.bipartite = False
        self.attr = None
        self._normalized: dict[NormalizationName, Adjacency] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (N, N)."""
        return self.h.size(0), self.h.size(0)

    @property
    def device(self) -> torch.device:
        """Device of the graph."""
        return self.h.device

    def normalized(self, kind: NormalizationName) -> Adjacency:
        """Return the normalised graph; its degrees are computed once per kind.

        Note:
            Raw weights may be negative. A row whose sum is not positive has no
            inverse; its factor is 0. Under "mean" such a node receives nothing; under
            "gcn" it neither receives nor sends anything, not even its own features.

        Args:
            kind: "gcn" (self-loops added where missing, both sides scaled), "mean" or
                "sum".
        """
        if kind == "sum":
            return self
        if self.scaling is not None:
            return self.materialize().normalized(kind)
        if kind not in self._normalized:
            scaling = self._scaling(kind)
            self._normalized[kind] = self._with(self.h, self.bounds, self.kept, scaling)
        return self._normalized[kind]

    def diagonal_blocks(self, bounds: list[int]) -> list[Adjacency]:
        """Split into the graphs it consists of."""
        count = len(bounds) - 1
        kept = (
            [None] * count if self.kept is None else self.kept.diagonal_blocks(bounds)
        )
        blocks: list[Adjacency] = []
        for (low, high), part in zip(itertools.pairwise(bounds), kept, strict=True):
            scaling = self.scaling
            if scaling is not None:
                scaling = NormalizationFactors(
                    *(factor[low:high] for factor in scaling)
                )
            blocks.append(self._with(self.h[low:high], None, part, scaling))
        return blocks

    def multiply(self, h: Tensor) -> Tensor:
        """Return A' H for dense rows [N, ...]."""
        flat = h.flatten(1)
        if self.scaling is None:
            return self._over_blocks(self._product, flat).view(h.shape)
        rows, columns, loops = (factor[:, None] for factor in self.scaling)
        received = rows * self._over_blocks(self._product, columns * flat)
        return (received + loops * flat).view(h.shape)

    def materialize(self) -> Adjacency:
        """Return all edges (about N^2 / 2) as an ordinary graph, for inspection."""
        found = [torch.empty(2, 0, dtype=torch.long, device=self.device)]
        values = [self.h.new_zeros(0)]
        for block in self._blocks():
            weight, is_edge = self._weigh(block)
            row, column = is_edge.nonzero(as_tuple=True)
            found.append(torch.stack([column, row + block.start]) + block.low)
            values.append(weight[row, column])
        pairs, value = torch.cat(found, dim=1), torch.cat(values)
        if self.scaling is not None:
            rows, columns, loops = self.scaling
            added = loops.nonzero().flatten()
            value = rows[pairs[1]] * value * columns[pairs[0]]
            value = torch.cat([value, loops[added]])
            pairs = torch.cat([pairs, added.expand(2, -1)], dim=1)
        return Adjacency.from_edge_index(pairs, value, num_nodes=self.h.size(0))

    def _with(
        self,
        h: Tensor,
        bounds: list[int] | None,
        kept: Adjacency | None,
        scaling: NormalizationFactors | None,
    ) -> "AboveMean":
        return AboveMean(
            h,
            bounds,
            weights=self.weights,
            symmetric=self.symmetric,
            kept=kept,
            scaling=scaling,
        )

    def _scaling(self, kind: NormalizationName) -> NormalizationFactors:
        """Compute the degrees in one pass over the blocks."""
        sums, has_loop = self._over_blocks(
            self._sums, self.h.new_empty(self.h.size(0), 2)
        ).unbind(1)
        if kind == "mean":
            factor = inverse_or_zero(sums, 1.0)
            return NormalizationFactors(
                factor, torch.ones_like(sums), torch.zeros_like(sums)
            )
        missing = 1.0 - has_loop
        factor = inverse_or_zero(sums + missing, 0.5)
        return NormalizationFactors(factor, factor, factor * missing * factor)

    def _over_blocks(
        self, compute: Callable[["_Block", Tensor], Tensor], x: Tensor
    ) -> Tensor:
        """Concatenate the results of all blocks of rows [N, ...]; no block is kept.

        Args:
            compute: takes a block and its graph's rows of `x` [n, ...].
            x: one row per node, as wide as what is computed [N, ...].
        """
        found = [
            checkpoint(compute, block, x[block.low : block.high], use_reentrant=False)
            for block in self._blocks()
        ]
        return torch.cat(found) if found else x

    def _product(self, block: "_Block", x: Tensor) -> Tensor:
        """Return the block's weights times its graph's rows [block, ...]."""
        return self._weigh(block)[0] @ x

    def _sums(self, block: "_Block", _: Tensor) -> Tensor:
        """Return every row's sum, and 1 if it has a self-loop, else 0 [block, 2]."""
        weight, is_edge = self._weigh(block)
        has_loop = is_edge.diagonal(block.start).to(weight.dtype)
        return torch.stack([weight.sum(dim=1), has_loop], dim=1)

    def _weigh(self, block: "_Block") -> tuple[Tensor, Tensor]:
        """Return the weights of a block of rows, and which are edges [block, n]."""
        rows = slice(block.start, block.start + block.size)
        similarity = block.h[rows] @ block.h.t()
        is_edge = block.mean.is_above(similarity, rows, slice(None))
        if self.symmetric:
            is_edge |= block.mean.is_above(similarity.t(), slice(None), rows).t()
        if self.kept is not None:
            is_edge |= _edges_of(self.kept.pattern, block)
        if self.weights == "raw":
            return similarity.where(is_edge, 0.0), is_edge
        weight = F.relu(similarity).where(is_edge, 0.0)
        return weight * inverse_or_zero(weight.sum(1, keepdim=True), 1.0), is_edge

    def _blocks(self) -> Iterator["_Block"]:
        """Cut every graph into blocks of rows."""
        for low, high in itertools.pairwise(self.bounds):
            if high > low:
                graph = self.h[low:high]
                mean = RowMean(graph)
                most = max(1, SIMILARITY_ELEMENTS // (high - low))
                for start in range(0, high - low, most):
                    size = min(most, high - low - start)
                    yield _Block(graph, mean, low, high, start, size)


class _Block(NamedTuple):
    """Some rows of one graph.

    Attributes:
        h: all rows of the graph [n, D1].
        mean: the means of their similarities.
        low: where the graph begins among all nodes.
        high: where it ends.
        start: where the block begins in the graph.
        size: how many rows it has.
    """

    h: Tensor
    mean: RowMean
    low: int
    high: int
    start: int
    size: int


def _edges_of(pattern: Pattern, block: _Block) -> Tensor:
    """Return where a pattern of all nodes has entries in a block [block, n]."""
    first = block.low + block.start
    ends = pattern.rowptr[[first, first + block.size]].tolist()
    row, column = pattern.row[slice(*ends)].long(), pattern.col[slice(*ends)].long()
    there = torch.zeros(
        block.size, len(block.h), dtype=torch.bool, device=column.device
    )
    there[row - first, column - block.low] = True
    return there
