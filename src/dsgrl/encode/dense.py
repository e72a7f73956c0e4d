"""The dense half of a layer: `linear`, and bias + ReLU + dropout in one pass.

On a CPU these steps are memory traffic, not arithmetic. `activate` therefore works
in place on blocks of rows that stay in the cache, takes its dropout mask from the
bytes of 64-bit draws (an eighth of the draws of `F.dropout`), and keeps no mask for
the backward pass: where the result is zero, so is the gradient. The gradient takes
the memory of the result, so a graph of operations can be run backward once only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from dsgrl.graph import Adjacency, propagate

# Elements processed at once by `activate`: 2 MB of float32.
CACHED_ELEMENTS = 1 << 19


def linear(x: Tensor | Adjacency, weight: Tensor) -> Tensor:
    """Map features by a weight matrix, X W; sparse features stay sparse.

    Args:
        x: features, dense [N, ..., F] or sparse [N, F].
        weight: [F, D].

    Returns:
        Mapped features [N, ..., D].
    """
    if isinstance(x, Adjacency):
        return propagate(x, weight)
    return x @ weight


def activate(h: Tensor, bias: Tensor | None = None, *, dropout: float = 0.0) -> Tensor:
    """Return dropout(relu(h + bias)), overwriting `h`.

    Args:
        h: the fresh result of a product [N, ..., D], not a view; its memory is
            reused.
        bias: added along the last axes [..., D], if given.
        dropout: share of the elements set to zero, rounded to 1/256 on a CPU; the
            others are scaled up so that the mean stays the same.

    Note:
        The mask comes from torch's global generator: same seed, same mask.
    """
    if h.device.type != "cpu":
        return F.dropout(F.relu(h if bias is None else h + bias), dropout)
    dropped = min(round(256 * dropout), 255)
    result: Tensor = _Activate.apply(h, bias, dropped)  # type: ignore[no-untyped-call]
    return result


def drop(x: Tensor, share: float) -> Tensor:
    """Return dropout(x), drawn as in `activate`; `x` stays as it is."""
    if x.device.type != "cpu":
        return F.dropout(x, share)
    dropped = min(round(256 * share), 255)
    mask = _draw_bytes(x).ge_(dropped).to(x.dtype)
    return mask.mul_(256 / (256 - dropped)).mul_(x)


class _Activate(torch.autograd.Function):
    """relu(h + bias) with `dropped` of 256 elements set to zero, in place."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, h: Tensor, bias: Tensor | None, dropped: int
    ) -> Tensor:
        scale = 256 / (256 - dropped)
        for block in h.split(_block_rows(h)):
            if bias is not None:
                block.add_(bias)
            block.relu_()
            if dropped:
                mask = _draw_bytes(block).ge_(dropped)
                block.mul_(mask.to(h.dtype).mul_(scale))
        ctx.scale = scale  # type: ignore[attr-defined]
        ctx.bias_shape = None if bias is None else bias.shape  # type: ignore[attr-defined]
        ctx.mark_dirty(h)
        ctx.save_for_backward(h)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (result,) = ctx.saved_tensors  # type: ignore[attr-defined]
        needs_bias = ctx.needs_input_grad[1]  # type: ignore[attr-defined]
        # All that read the result has run by now: its memory becomes the gradient's.
        # Autograd notices a second backward pass and refuses it.
        grad_h = result.detach()
        grad_bias = result.new_zeros(result.shape[1:]) if needs_bias else None
        rows = _block_rows(result)
        for start in range(0, result.size(0), rows):
            block = slice(start, start + rows)
            # The gradient passes where the result is positive: kept and active.
            torch.ops.aten.threshold_backward.grad_input(
                grad[block], result[block], 0, grad_input=grad_h[block]
            )
            if ctx.scale != 1.0:  # type: ignore[attr-defined]
                grad_h[block].mul_(ctx.scale)  # type: ignore[attr-defined]
            if grad_bias is not None:
                grad_bias += grad_h[block].sum(0)
        if grad_bias is not None:
            grad_bias = grad_bias.sum_to_size(ctx.bias_shape)  # type: ignore[attr-defined]
        return grad_h, grad_bias, None


def _block_rows(h: Tensor) -> int:
    return max(1, CACHED_ELEMENTS * h.size(0) // max(h.numel(), 1))


def _draw_bytes(like: Tensor) -> Tensor:
    """Draw one uniform byte per element, eight from every 64-bit number."""
    words = torch.empty(-(-like.numel() // 8), dtype=torch.int64)
    words.random_(-(2**63), None)
    return words.view(torch.uint8)[: like.numel()].view(like.shape)
