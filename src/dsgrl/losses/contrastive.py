r"""Losses that the baselines share, as pure functions.

====================  ============================================  ==================
function              loss                                          used by
====================  ============================================  ==================
`info_nce`            a node or graph finds itself in the other     GRACE, GCA,
                      view among all others                         GraphCL, SimGRACE
`jensen_shannon`      scores of true pairs against false ones       InfoGraph, MVGRL
                      (`contrast_with_graphs`: nodes and graphs)
`discriminate`        the same, as a binary cross-entropy           DGI, GGD
`bootstrap_cosine`    a prediction of a fixed target, no negatives  BGRL
====================  ============================================  ==================

With cosines u_i . v_j of the rows of Z1 and Z2 and a temperature t, `info_nce` is

.. math:: L = \frac{1}{2N} \sum_i \ell(u_i) + \ell(v_i), \quad
   \ell(u_i) = -\frac{u_i \cdot v_i}{t}
             + \log \Big[ \sum_j e^{u_i \cdot v_j / t}
             + \sum_{j \ne i} e^{u_i \cdot u_j / t} \Big]

The second sum is left out where negatives are taken from the other view only. With
scores p of true and n of false pairs and softplus(x) = log(1 + e^x), the others are

.. math:: L_{JS} &= \overline{softplus(-p)} + \overline{softplus(n)} - 2 \log 2 \\
   L_{BCE} &= \tfrac12 [\overline{softplus(-p)} + \overline{softplus(n)}] \\
   L_{cos} &= 2 - 2 \, \overline{\cos(q_i, z_i)}

`info_nce` never has all pairs in memory. Its exponentials are computed tile by tile,
once for their sums and once more for the gradient. It is exact.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

Scalar = Float[Tensor, ""]

# Rows and columns of a tile of pairs: 4 MB of float32.
TILE = 1024
# Shorter rows count as this long in a cosine, so that zeros have finite gradients.
SHORTEST = 1e-4
# Below, exp(-2 / temperature) is no longer a normal number of float32.
LOWEST_TEMPERATURE = 0.03


def info_nce(
    z1: Float[Tensor, "N D"],
    z2: Float[Tensor, "N D"],
    temperature: float,
    *,
    within: bool,
    keep_positive: bool = True,
    tile: int = TILE,
) -> Scalar:
    """Return the symmetric InfoNCE loss of two views, in O(N D + tile^2) memory.

    Args:
        z1: embeddings of the first view [N, D].
        z2: embeddings of the second view, row by row the same nodes or graphs [N, D].
        temperature: t, from 0.03.
        within: whether the other rows of the same view are negatives, too (GRACE).
        keep_positive: whether the true pair is in the denominator; GraphCL leaves it
            out. Without it, at least two rows are needed for a contrast.
        tile: rows and columns of a block of pairs; it changes the speed only.
    """
    if temperature < LOWEST_TEMPERATURE:
        raise ValueError(
            f"temperature={temperature}: expected a number from {LOWEST_TEMPERATURE}"
        )
    u, v = (F.normalize(z, dim=1, eps=SHORTEST) for z in (z1, z2))
    result: Tensor = _InfoNCE.apply(  # type: ignore[no-untyped-call]
        u, v, temperature, within, keep_positive, tile
    )
    return result


def jensen_shannon(
    positive: Float[Tensor, "..."], negative: Float[Tensor, "..."]
) -> Scalar:
    """Return minus the Jensen-Shannon estimate of the mutual information.

    Args:
        positive: scores of true pairs, any number.
        negative: scores of false pairs, any number.
    """
    return 2 * (discriminate(positive, negative) - math.log(2))


def discriminate(
    positive: Float[Tensor, "..."], negative: Float[Tensor, "..."]
) -> Scalar:
    """Return the binary cross-entropy; true and false pairs weigh the same.

    Args:
        positive: scores of true pairs, before the sigmoid.
        negative: scores of false pairs, before the sigmoid.
    """
    return (F.softplus(-positive).mean() + F.softplus(negative).mean()) / 2


def contrast_with_graphs(
    nodes: Float[Tensor, "N D"], graphs: Float[Tensor, "B D"], ptr: Int[Tensor, "..."]
) -> Scalar:
    """Return `jensen_shannon` of nodes with their own and with every other graph.

    Args:
        nodes: one vector per node of the graphs [N, D].
        graphs: one vector per graph [B, D].
        ptr: first node of each graph, then N [B + 1].
    """
    scores = nodes @ graphs.t()
    number = torch.arange(len(graphs), device=ptr.device)
    own = scores.gather(1, number.repeat_interleave(ptr.diff())[:, None])
    # All but the own ones, without a copy of the scores; none if there is one graph.
    false = F.softplus(scores).sum() - F.softplus(own).sum()
    false = false / max(scores.numel() - own.numel(), 1)
    return F.softplus(-own).mean() + false - 2 * math.log(2)


def bootstrap_cosine(
    prediction: Float[Tensor, "N D"], target: Float[Tensor, "N D"]
) -> Scalar:
    """Return 2 - 2 cos of the rows, on average; the target gets no gradient."""
    q = F.normalize(prediction, dim=1, eps=SHORTEST)
    z = F.normalize(target.detach(), dim=1, eps=SHORTEST)
    return 2 - 2 * (q * z).sum(dim=1).mean()


class _InfoNCE(torch.autograd.Function):
    """`info_nce` of rows of length 1.

    All exponentials are e_ij = exp((cos - 1) / t): bounded by 1, and the same for
    (i, j) and (j, i) inside a view, so that half of those tiles are enough.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        u: Tensor,
        v: Tensor,
        temperature: float,
        within: bool,
        keep_positive: bool,
        tile: int,
    ) -> Tensor:
        options = (temperature, within, keep_positive, tile)
        # The denominators of the rows of both views.
        sums = [u.new_zeros(u.size(0)) for _ in range(2)]
        for one, other, rows, cols, e in _tiles(u, v, *options):
            sums[one][rows] += e.sum(dim=1)
            if one != other or rows != cols:
                sums[other][cols] += e.sum(dim=0)
        # A single row without its positive has no pair at all.
        first, second = (s.clamp_min_(torch.finfo(u.dtype).tiny) for s in sums)
        ctx.options = options  # type: ignore[attr-defined]
        ctx.save_for_backward(u, v, first, second)
        distance = (1 - (u * v).sum(dim=1)) / temperature
        return (distance + (first.log() + second.log()) / 2).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        u, v, *sums = ctx.saved_tensors  # type: ignore[attr-defined]
        options = ctx.options  # type: ignore[attr-defined]
        views, grads = (u, v), (torch.zeros_like(u), torch.zeros_like(v))
        # A pair is in the denominators of both of its rows.
        shares = [s.reciprocal() for s in sums]
        for one, other, rows, cols, e in _tiles(u, v, *options):
            weight = e.mul_(shares[one][rows, None] + shares[other][cols])
            grads[one][rows].addmm_(weight, views[other][cols])
            if one != other or rows != cols:
                grads[other][cols].addmm_(weight.t(), views[one][rows])
        scale = grad / (options[0] * u.size(0))
        grad_u, grad_v = (
            (found / 2).sub_(pulled).mul_(scale)
            for found, pulled in zip(grads, (v, u), strict=True)
        )
        return grad_u, grad_v, None, None, None, None


def _tiles(
    u: Tensor,
    v: Tensor,
    temperature: float,
    within: bool,
    keep_positive: bool,
    tile: int,
) -> Iterator[tuple[int, int, slice, slice, Tensor]]:
    """Yield the exponentials of all pairs in the denominators, tile by tile.

    Yields:
        Number of the view of the rows and of the columns, which rows and columns, and
        their exponentials [tile, tile]. Of two tiles that mirror each other inside a
        view, only one.
    """
    views = (u, v)
    for one, other in ((0, 1), (0, 0), (1, 1)) if within else ((0, 1),):
        has_diagonal = one != other and keep_positive
        for start in range(0, u.size(0), tile):
            rows = slice(start, start + tile)
            first = start if one == other else 0
            for begin in range(first, u.size(0), tile):
                cols = slice(begin, begin + tile)
                e = views[one][rows] @ views[other][cols].t()
                e.sub_(1).div_(temperature).exp_()
                if rows == cols and not has_diagonal:
                    e.fill_diagonal_(0)
                yield one, other, rows, cols, e
