r"""Sparse matrices in compressed rows, and `propagate` on them.

An `Adjacency` is a matrix A [R, C]; row i lists the incoming edges of i. The edges of
a graph are one such matrix (R = C = N). A bag-of-words feature matrix is another
(R = N rows, C = F words): X W is `propagate(x, weight)`, and sparse features stay
sparse through the first linear map.

=====================  =========================================================
`propagate`            A H, forward by rows, backward by the cached transpose; for
                       learned weights also their gradient
`normalized("gcn")`    D^-1/2 (A + I) D^-1/2, as PyG's `gcn_norm`
`normalized("mean")`   D^-1 A, a weighted mean of the incoming rows
`normalized("sum")`    A itself
`normalized("loops")`  A with a self-loop of weight 1 where a node has none
=====================  =========================================================
"""

import itertools
from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from dsgrl.graph.kernels import (
    Pattern,
    count_to_pointer,
    index_type,
    multiply,
    row_order,
)
from dsgrl.typing import NormalizationName


class Adjacency:
    """A sparse matrix: a pattern and one weight per entry.

    Args:
        pattern: positions of the entries.
        value: their weights [E], in row order; may require a gradient.
        bipartite: rows and columns are different nodes: no entry is a self-loop.
        attr: attributes of the entries [E, K], for encoders that take them.
    """

    def __init__(
        self,
        pattern: Pattern,
        value: Tensor,
        *,
        bipartite: bool = False,
        attr: Tensor | None = None,
    ) -> None:
        self.pattern = pattern
        self.value = value
        self.bipartite = bipartite
        self.attr = attr
        self._normalized: dict[NormalizationName, Adjacency] = {}

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        *,
        num_nodes: int | tuple[int, int],
        edge_attr: Tensor | None = None,
    ) -> "Adjacency":
        """Build from PyG's (source, target) pairs; parallel edges are kept.

        Args:
            edge_index: source and target of every edge [2, E].
            edge_weight: weight of every edge [E]; ones if left out.
            num_nodes: N, or (sources, targets) for a bipartite graph.
            edge_attr: attributes of every edge [E, K], if any.
        """
        sources, targets = (
            (num_nodes, num_nodes) if isinstance(num_nodes, int) else num_nodes
        )
        source, target = edge_index.long()
        order = row_order(source, target, sources, targets)
        held_as = index_type(max(order.numel(), sources, targets))
        pattern = Pattern(
            count_to_pointer(target, targets).to(held_as),
            source[order].to(held_as),
            sources,
        )
        if edge_weight is None:
            value = torch.ones(order.numel(), device=edge_index.device)
        else:
            value = edge_weight[order]
        return cls(
            pattern,
            value,
            bipartite=not isinstance(num_nodes, int),
            attr=None if edge_attr is None else edge_attr[order],
        )

    @classmethod
    def from_dense(cls, matrix: Tensor) -> "Adjacency":
        """Build from the non-zeros of a matrix [R, C]."""
        row, col = matrix.nonzero(as_tuple=True)
        return cls.from_edge_index(
            torch.stack([col, row]),
            matrix[row, col],
            num_nodes=(matrix.size(1), matrix.size(0)),
        )

    @classmethod
    def block_diagonal(cls, blocks: "list[Adjacency]") -> "Adjacency":
        """Put square matrices without attributes along the diagonal of one [N, N]."""
        rows = [0, *itertools.accumulate(block.shape[0] for block in blocks)]
        entries = [0, *itertools.accumulate(block.num_edges for block in blocks)]
        held_as = index_type(max(rows[-1], entries[-1]))
        rowptr, col = [blocks[0].pattern.rowptr[:1].to(held_as)], []
        for block, row, entry in zip(blocks, rows, entries, strict=False):
            rowptr.append(block.pattern.rowptr[1:].to(held_as) + entry)
            col.append(block.pattern.col.to(held_as) + row)
        value = torch.cat([block.value for block in blocks])
        return cls(Pattern(torch.cat(rowptr), torch.cat(col), rows[-1]), value)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns (R, C)."""
        return self.pattern.num_rows, self.pattern.num_cols

    @property
    def num_edges(self) -> int:
        """Number of stored entries E."""
        return self.pattern.col.numel()

    @property
    def device(self) -> torch.device:
        """Device of the matrix."""
        return self.pattern.col.device

    @property
    def edge_index(self) -> Tensor:
        """Source and target of every entry [2, E], in PyG's form."""
        return torch.stack([self.pattern.col.long(), self.pattern.row.long()])

    @cached_property
    def value_by_column(self) -> Tensor:
        """The weights in the transpose's order [E]; only for fixed weights."""
        return self.value[self.pattern.order]

    def materialize(self) -> "Adjacency":
        """Return the graph with all entries in memory: this one."""
        return self

    def with_value(self, value: Tensor) -> "Adjacency":
        """Return the same pattern with other weights [E]."""
        return Adjacency(self.pattern, value, bipartite=self.bipartite, attr=self.attr)

    def select(self, keep: Tensor) -> "Adjacency":
        """Return the matrix with the entries selected by a mask [E]."""
        rows, cols = self.shape
        return Adjacency.from_edge_index(
            self.edge_index[:, keep],
            self.value[keep],
            num_nodes=(cols, rows) if self.bipartite else rows,
            edge_attr=None if self.attr is None else self.attr[keep],
        )

    def parts(self) -> list[tuple["Adjacency", int, int]]:
        """Return the matrix with its column and row offset, as `Relations` does."""
        return [(self, 0, 0)]

    def with_parts(self, parts: "list[Adjacency]") -> "Adjacency":
        """Return the one matrix of `parts`, after a change."""
        return parts[0]

    def diagonal_blocks(self, bounds: list[int]) -> "list[Adjacency]":
        """Cut a block-diagonal matrix into its blocks.

        Args:
            bounds: first row of every block, then N [B + 1].
        """
        blocks = []
        starts = self.pattern.rowptr[bounds].tolist()
        for (low, high), (start, end) in zip(
            itertools.pairwise(bounds), itertools.pairwise(starts), strict=True
        ):
            pattern = Pattern(
                self.pattern.rowptr[low : high + 1] - start,
                self.pattern.col[start:end] - low,
                high - low,
            )
            blocks.append(Adjacency(pattern, self.value[start:end]))
        return blocks

    def to(self, device: torch.device) -> "Adjacency":
        """Return the matrix on another device."""
        if device == self.device:
            return self
        pattern = Pattern(
            self.pattern.rowptr.to(device),
            self.pattern.col.to(device),
            self.pattern.num_cols,
        )
        return Adjacency(
            pattern,
            self.value.to(device),
            bipartite=self.bipartite,
            attr=None if self.attr is None else self.attr.to(device),
        )

    def to_dense(self) -> Tensor:
        """Return the dense matrix [R, C]; parallel entries are summed."""
        rows, cols = self.shape
        index = self.pattern.row.long() * cols + self.pattern.col.long()
        flat = torch.zeros(rows * cols, dtype=self.value.dtype, device=self.device)
        return flat.index_add(0, index, self.value).view(rows, cols)

    def multiply(self, h: Tensor) -> Tensor:
        """Return A H for dense rows [C, ...]; see `propagate`."""
        needs_transpose = h.requires_grad and not self.value.requires_grad
        by_column = self.value_by_column if needs_transpose else None
        return multiply(self.pattern, self.value, h, by_column)

    def normalized(self, kind: NormalizationName) -> "Adjacency":
        """Return the normalised matrix; computed once per kind and cached.

        Args:
            kind: "gcn" (self-loops added where missing, both sides scaled; without
                self-loops on a bipartite graph), "mean", "sum" or "loops" (none are
                added to a bipartite graph).
        """
        if kind not in self._normalized:
            self._normalized[kind] = _NORMALIZATIONS[kind](self)
        return self._normalized[kind]

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"Adjacency({rows} x {cols}, num_edges={self.num_edges})"


def propagate(adjacency: Adjacency, h: Tensor) -> Tensor:
    """Aggregate messages: A H.

    Several views share one pass: they are the middle axis of `h`.

    Args:
        adjacency: the matrix [R, C].
        h: message of every column [C, ...].

    Returns:
        Weighted sum of the incoming messages of every row [R, ...].
    """
    cols = adjacency.shape[1]
    if h.size(0) != cols:
        raise ValueError(f"propagate: got {h.size(0)} rows, the matrix has {cols}")
    return adjacency.multiply(h)


def inverse_or_zero(degree: Tensor, power: float) -> Tensor:
    """Return degree ** -power, and 0 where the degree is 0."""
    has_weight = degree > 0
    # Masked before the power, too: the gradient of 0 ** -power is NaN.
    return degree.where(has_weight, 1.0).pow(-power) * has_weight


def _row_sums(adjacency: Adjacency) -> Tensor:
    """Return the summed weights of every row [R]; differentiable."""
    zeros = adjacency.value.new_zeros(adjacency.shape[0])
    return zeros.index_add(0, adjacency.pattern.row, adjacency.value)


def add_missing_self_loops(adjacency: Adjacency) -> Adjacency:
    """Add a self-loop of weight 1 to every node without one; keep existing ones.

    Several loops of one node are summed; PyG's `gcn_norm` keeps the last of them. A
    bipartite matrix stays as it is.
    """
    if adjacency.bipartite:
        return adjacency
    pattern, position = adjacency.pattern.with_loops
    if pattern is adjacency.pattern:
        return adjacency
    ones = adjacency.value.new_ones(pattern.col.numel())
    return Adjacency(pattern, ones.index_copy(0, position, adjacency.value))


def _normalize_gcn(adjacency: Adjacency) -> Adjacency:
    cols = adjacency.shape[1]
    if not adjacency.bipartite:
        adjacency = add_missing_self_loops(adjacency)
        into = outof = inverse_or_zero(_row_sums(adjacency), 0.5)
    else:
        into = inverse_or_zero(_row_sums(adjacency), 0.5)
        sums = adjacency.value.new_zeros(cols)
        sums = sums.index_add(0, adjacency.pattern.col, adjacency.value)
        outof = inverse_or_zero(sums, 0.5)
    scale = into[adjacency.pattern.row] * outof[adjacency.pattern.col]
    return adjacency.with_value(adjacency.value * scale)


def _normalize_mean(adjacency: Adjacency) -> Adjacency:
    scale = inverse_or_zero(_row_sums(adjacency), 1.0)[adjacency.pattern.row]
    return adjacency.with_value(adjacency.value * scale)


_NORMALIZATIONS: dict[NormalizationName, Callable[[Adjacency], Adjacency]] = {
    "gcn": _normalize_gcn,
    "mean": _normalize_mean,
    "sum": lambda adjacency: adjacency,
    "loops": add_missing_self_loops,
}
