"""The hot kernels: products of a sparse and a dense matrix, and their gradients.

A `Pattern` holds the positions of the non-zeros of a matrix in compressed rows; its
transpose is built once and cached. Every product runs on `embedding_bag`, which is a
CSR product with prefetching: on two cores it takes a third of the time of the CSR
kernel of `torch.sparse`.
"""

from functools import cached_property

import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

# Edges per block in the gradient to learned weights: two gathered blocks of this many
# rows fit in the cache.
EDGE_BLOCK = 8192


class Pattern:
    """Positions of the non-zeros in compressed rows; the transpose is made on demand.

    Args:
        rowptr: start of each row in `col` [R + 1].
        col: column of each entry, row by row [E].
        num_cols: number of columns C.
    """

    def __init__(self, rowptr: Tensor, col: Tensor, num_cols: int) -> None:
        self.rowptr = rowptr
        self.col = col
        self.num_rows = rowptr.numel() - 1
        self.num_cols = num_cols

    @cached_property
    def row(self) -> Tensor:
        """Row of each entry [E]."""
        counts = self.rowptr.diff().long()
        rows = torch.arange(self.num_rows, dtype=self.col.dtype, device=counts.device)
        return rows.repeat_interleave(counts)

    @cached_property
    def order(self) -> Tensor:
        """Entries in the order of the transpose's rows [E]."""
        return torch.argsort(self.col, stable=True)

    @cached_property
    def transpose(self) -> "Pattern":
        """The pattern of the transposed matrix [C, R]."""
        rowptr = count_to_pointer(self.col, self.num_cols)
        return Pattern(rowptr, self.row[self.order], self.num_rows)

    @cached_property
    def with_loops(self) -> tuple["Pattern", Tensor]:
        """The pattern with an entry (i, i) for every node, and our positions in it.

        Existing self-loops are kept; if none is missing, this pattern is returned.
        """
        entries = torch.arange(self.col.numel(), device=self.col.device)
        missing = torch.ones(self.num_rows, dtype=torch.bool, device=self.col.device)
        missing[self.row[self.row == self.col].long()] = False
        nodes = missing.nonzero().flatten().to(self.col.dtype)
        if not nodes.numel():
            return self, entries
        rowptr = self.rowptr + F.pad(missing.cumsum(0), (1, 0)).to(self.rowptr.dtype)
        if self.is_sorted:
            # Entries move back by the loops before them: no sort is needed.
            before = rowptr[:-1] - self.rowptr[:-1]
            row = self.row.long()
            is_after = missing[row] & (self.col > self.row)
            position = entries + before[row] + is_after
            col = self.col.new_empty(entries.numel() + nodes.numel())
            is_loop = torch.ones_like(col, dtype=torch.bool)
            is_loop[position] = False
            col[is_loop] = nodes
            col[position] = self.col
            return Pattern(rowptr, col, self.num_cols), position
        row, col = torch.cat([self.row, nodes]), torch.cat([self.col, nodes])
        order = torch.argsort(row.long() * self.num_cols + col.long(), stable=True)
        position = torch.empty_like(order)
        position[order] = torch.arange(order.numel(), device=order.device)
        looped = Pattern(rowptr, col[order], self.num_cols)
        return looped, position[: entries.numel()]

    @property
    def is_sorted(self) -> bool:
        """Whether the columns of every row are in ascending order."""
        falls = self.col[1:] < self.col[:-1]
        starts = self.rowptr[1:-1].long()
        starts = starts[(starts > 0) & (starts < self.col.numel())]
        falls[starts - 1] = False
        return not bool(falls.any())


def multiply(
    pattern: Pattern, value: Tensor, h: Tensor, value_by_column: Tensor | None
) -> Tensor:
    """Multiply a sparse matrix by dense rows, A H [R, ...].

    Args:
        pattern: positions of the entries of A [R, C].
        value: their weights [E]; may require a gradient.
        h: dense rows [C, ...].
        value_by_column: the weights in the transpose's order, needed for a gradient
            to `h` if the weights are not learned.
    """
    result: Tensor = _Multiply.apply(  # type: ignore[no-untyped-call]
        h, value, pattern, value_by_column
    )
    return result


class _Multiply(torch.autograd.Function):
    """A H with gradients to H and, if the weights of A are learned, to them."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        h: Tensor,
        value: Tensor,
        pattern: Pattern,
        value_by_column: Tensor | None,
    ) -> Tensor:
        ctx.pattern = pattern  # type: ignore[attr-defined]
        ctx.value_by_column = value_by_column  # type: ignore[attr-defined]
        if value.requires_grad:
            ctx.save_for_backward(h, value)
        return _product(pattern, value.detach(), h.detach())

    @staticmethod
    @once_differentiable
    def backward(
        ctx: FunctionCtx, grad: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        pattern: Pattern = ctx.pattern  # type: ignore[attr-defined]
        by_column: Tensor | None = ctx.value_by_column  # type: ignore[attr-defined]
        needs_h, needs_value, *_ = ctx.needs_input_grad  # type: ignore[attr-defined]
        grad_h = grad_value = None
        if needs_value:
            h, value = ctx.saved_tensors  # type: ignore[attr-defined]
            by_column = value.detach()[pattern.order]
            grad_value = _dot_ends(pattern, grad, h.detach()).to(value.dtype)
        if needs_h:
            assert by_column is not None
            grad_h = _product(pattern.transpose, by_column, grad)
        return grad_h, grad_value, None, None


def dot_ends(pattern: Pattern, h: Tensor) -> Tensor:
    """Inner product of the two ends of every entry, h_row . h_col [E].

    Args:
        pattern: pairs of nodes [N, N].
        h: one vector per node [N, D].
    """
    result: Tensor = _DotEnds.apply(h, pattern)  # type: ignore[no-untyped-call]
    return result


class _DotEnds(torch.autograd.Function):
    """h_row . h_col; the gradient is two sparse products, not scattered sums."""

    @staticmethod
    def forward(ctx: FunctionCtx, h: Tensor, pattern: Pattern) -> Tensor:
        ctx.pattern = pattern  # type: ignore[attr-defined]
        ctx.save_for_backward(h)
        return _dot_ends(pattern, h.detach(), h.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        pattern: Pattern = ctx.pattern  # type: ignore[attr-defined]
        (h,) = ctx.saved_tensors  # type: ignore[attr-defined]
        h = h.detach()
        by_column = grad[pattern.order]
        grad_h = _product(pattern, grad, h)
        return grad_h.add_(_product(pattern.transpose, by_column, h)), None


def _product(pattern: Pattern, value: Tensor, h: Tensor) -> Tensor:
    """Multiply one CSR matrix by dense rows [C, ...] -> [R, ...]."""
    shape = (pattern.num_rows, *h.shape[1:])
    if pattern.col.numel() == 0 or h.numel() == 0:
        return h.new_zeros(shape)
    flat = F.embedding_bag(
        pattern.col,
        h.reshape(h.size(0), -1).contiguous(),
        pattern.rowptr,
        mode="sum",
        per_sample_weights=value.to(h.dtype),
        include_last_offset=True,
    )
    # Not a view, so that `activate` may overwrite it without autograd's copies.
    result: Tensor = torch.ops.aten._unsafe_view(flat, shape)
    return result


def _dot_ends(pattern: Pattern, grad: Tensor, h: Tensor) -> Tensor:
    """Return grad[row] . h[col] for every entry [E], computed in blocks of entries."""
    grad, h = grad.flatten(1), h.flatten(1)
    result = h.new_empty(pattern.col.numel())
    for start in range(0, result.numel(), EDGE_BLOCK):
        block = slice(start, start + EDGE_BLOCK)
        received = grad.index_select(0, pattern.row[block])
        sent = h.index_select(0, pattern.col[block])
        torch.sum(received.mul_(sent), dim=1, out=result[block])
    return result


def count_to_pointer(index: Tensor, size: int) -> Tensor:
    """Convert unsorted row numbers to CSR row pointers [size + 1]."""
    counts = torch.bincount(index.long(), minlength=size)
    return F.pad(counts.cumsum(0), (1, 0)).to(index.dtype)


def index_type(largest: int) -> torch.dtype:
    """Return int32 if it can hold numbers up to `largest`, else int64."""
    return torch.int32 if largest < 2**31 else torch.int64


def row_order(source: Tensor, target: Tensor, sources: int, targets: int) -> Tensor:
    """Sort entries by row and, inside a row, by column; the sort is stable.

    Entries already sorted by column, as in PyG, need no comparison sort: transposing
    the compressed columns gives the order.
    """
    if source.is_cpu and source.numel() and not (source[1:] < source[:-1]).any():
        low, high = (int(end) for end in target.aminmax())
        # SciPy does not check the range and would write out of bounds.
        assert low >= 0
        assert high < targets
        held_as = index_type(max(source.numel(), sources, targets))
        numbers, col, pointer = (
            values.to(held_as).numpy()
            for values in (
                torch.arange(source.numel()),
                target,
                count_to_pointer(source, sources),
            )
        )
        by_column = sp.csr_matrix((numbers, col, pointer), shape=(sources, targets))
        return torch.from_numpy(by_column.tocsc().data).long()
    # One key per entry sorts by row and, inside a row, by column.
    return torch.argsort(target * max(sources, 1) + source, stable=True)
