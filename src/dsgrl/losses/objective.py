r"""The paper's objective: its equations in its order, as pure functions.

========  ==========================  ==============================================
equation  function                    convention
========  ==========================  ==============================================
1         `invariance`                "mse" (mean over all entries) or "frobenius"
                                      (the paper's norm, which grows with N)
2         `variance`                  hinge on the standard deviation of each column
3         `covariance`                squared off-diagonal entries, divided by D
4         `regularize_covariance`     v(Z1) + v(Z2) and c(Z1) + c(Z2), not halved
5         `augmenter_orthogonality`   summed over the layers of the augmenters
6         `objective`                 all terms, weighted and named
7         `regularize_orthogonality`  the alternative to Eq. 4
========  ==========================  ==============================================

Everything is finite, with finite gradients, for one row, constant columns, zeros and
values up to about 1e8. Nothing here needs more memory than the embeddings: the
B x B matrices of Eqs. 5 and 7 are never built.

With several processes (`ranks`) the rows of Z1 and Z2 are the share of one of them. Row
counts, means and Gram matrices are summed over all: the terms, and the gradients after
averaging, are those of one process with all rows.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from dsgrl.ranks import ALONE, Ranks
from dsgrl.typing import InvarianceName, RegularizerName

Scalar = Float[Tensor, ""]

# Inside the square root of Eq. 2, as in VICReg.
EPSILON = 1e-4


def invariance(
    z1: Float[Tensor, "N D"],
    z2: Float[Tensor, "N D"],
    form: InvarianceName = "mse",
    ranks: Ranks = ALONE,
) -> Scalar:
    r"""Distance of the two views' embeddings, Eq. 1.

    .. math:: \mathrm{inv} = \| Z_1 - Z_2 \|_F

    Note:
        "mse", the default, is the squared norm divided by N D, as the authors'
        program has it; it does not grow with the graph.
    """
    if form == "mse":
        return ranks.average(F.mse_loss(z1, z2), z1.size(0))
    return ranks.norm(torch.linalg.vector_norm(z1 - z2))


def variance(z: Float[Tensor, "N D"]) -> Scalar:
    r"""How far the columns' deviations fall short of 1, v(Z), Eq. 2.

    .. math:: v(Z) = \frac{1}{D} \sum_j \max(0, 1 - \sqrt{Var(z_{:j}) + \epsilon})
    """
    return _variance_of(second_moments(z))


def covariance(z: Float[Tensor, "N D"]) -> Scalar:
    r"""Mean squared off-diagonal covariance, c(Z), Eq. 3.

    .. math:: c(Z) = \frac{1}{D} \sum_{i \ne j} [\bar Z^\top \bar Z / (N - 1)]_{ij}^2
    """
    return _covariance_of(second_moments(z))


def regularize_covariance(
    z1: Float[Tensor, "N D"], z2: Float[Tensor, "N D"], ranks: Ranks = ALONE
) -> tuple[Scalar, Scalar]:
    r"""The two sums of Eq. 4, before their weights: variance and covariance.

    .. math:: R = \beta (v(Z_1) + v(Z_2)) + \gamma (c(Z_1) + c(Z_2))
    """
    moments1, moments2 = second_moments(z1, ranks), second_moments(z2, ranks)
    return (
        _variance_of(moments1) + _variance_of(moments2),
        _covariance_of(moments1) + _covariance_of(moments2),
    )


def augmenter_orthogonality(
    weights: Sequence[Float[Tensor, "_ _"]], *, unit_rows: bool = False
) -> Scalar:
    r"""How far the stacked weights of the two augmenters are from orthogonal, Eq. 5.

    .. math:: R = \sum_l \| W_l W_l^\top - I \|_F

    Args:
        weights: per layer, W_1 above W_2 [2 out, in].
        unit_rows: scale every row to length 1 first, as the authors' program does.
    """
    total = weights[0].new_zeros(())
    for weight in weights:
        rows = F.normalize(weight, dim=1) if unit_rows else weight
        total = total + distance_from_orthonormal(rows)
    return total


def objective(
    z1: Float[Tensor, "N D"],
    z2: Float[Tensor, "N D"],
    weights: Sequence[Float[Tensor, "_ _"]],
    *,
    invariance_weight: float = 1.0,
    variance_weight: float = 1.0,
    covariance_weight: float = 1.0,
    orthogonality_weight: float = 1.0,
    invariance_form: InvarianceName = "mse",
    regularizer: RegularizerName = "covariance",
    unit_rows: bool = False,
    standardize: bool = False,
    ranks: Ranks = ALONE,
) -> dict[str, Tensor]:
    r"""All terms of the training cost, weighted, by name, Eq. 6.

    .. math:: L = \alpha \, \mathrm{inv} + R_{Z_1, Z_2} + \lambda R_{\Theta_1, \Theta_2}

    Args:
        z1: embeddings of the first view [N, D].
        z2: embeddings of the second view [N, D].
        weights: the augmenters' stacked weights per layer, for Eq. 5; none if the
            augmenter has no such pair.
        invariance_weight: alpha.
        variance_weight: beta; has no part in the "orthogonality" form.
        covariance_weight: gamma, of Eq. 4 or of Eq. 7.
        orthogonality_weight: lambda.
        invariance_form: see `invariance`.
        regularizer: "covariance" (Eq. 4) or "orthogonality" (Eq. 7).
        unit_rows: see `augmenter_orthogonality`.
        standardize: give every column of Z1 and of Z2 mean 0 and deviation 1 first:
            vectors of whole graphs are sums that grow with the graphs.
        ranks: the processes that the rows of Z1 and Z2 are divided among. The weights
            are the same on all of them.
    """
    if standardize:
        z1, z2 = standardize_columns(z1, ranks), standardize_columns(z2, ranks)
    distance = invariance(z1, z2, invariance_form, ranks)
    terms = {"invariance": invariance_weight * distance}
    if regularizer == "covariance":
        v, c = regularize_covariance(z1, z2, ranks)
        terms["variance"] = variance_weight * v
        terms["covariance"] = covariance_weight * c
    else:
        orthogonality = regularize_orthogonality(z1, z2, ranks)
        terms["covariance"] = covariance_weight * orthogonality
    if weights and orthogonality_weight:
        terms["orthogonality"] = orthogonality_weight * augmenter_orthogonality(
            weights, unit_rows=unit_rows
        )
    return terms


def mean_terms(losses: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Average the terms of several costs: those of different types of nodes."""
    if len(losses) == 1:
        return losses[0]
    return {k: torch.stack([loss[k] for loss in losses]).mean() for k in losses[0]}


def regularize_orthogonality(
    z1: Float[Tensor, "N D"], z2: Float[Tensor, "N D"], ranks: Ranks = ALONE
) -> Scalar:
    r"""The alternative to Eq. 4, before its weight, Eq. 7; rows of unit length.

    .. math:: R = \|\tilde Z_1 \tilde Z_1^\top - I\|_F
                + \|\tilde Z_2 \tilde Z_2^\top - I\|_F

    Note:
        The N x N quantity, by the identity of `distance_from_orthonormal`: as cheap
        as Eq. 3, also for a full batch.
    """
    unit1, unit2 = F.normalize(z1, dim=1), F.normalize(z2, dim=1)
    distance = distance_from_orthonormal(unit1, ranks)
    return distance + distance_from_orthonormal(unit2, ranks)


def distance_from_orthonormal(
    w: Float[Tensor, "rows cols"], ranks: Ranks = ALONE
) -> Scalar:
    r"""Return ||W W^T - I||_F from the smaller of the two Gram matrices.

    For more rows than columns, W W^T has rows - cols eigenvalues 0 and otherwise
    those of W^T W, hence

    .. math:: \|W W^\top - I_r\|_F^2 = \|W^\top W - I_c\|_F^2 + r - c
    """
    rows, cols = ranks.count_rows(w), w.size(1)
    gram = _gram(ranks.gather(w)) if rows <= cols else ranks.sum(_gram(w.t()))
    gram = gram - torch.eye(gram.size(0), dtype=w.dtype, device=w.device)
    missing = gram.new_full((1,), max(rows - cols, 0)).sqrt()
    distance: Tensor = torch.linalg.vector_norm(torch.cat([gram.flatten(), missing]))
    return distance


def standardize_columns(
    z: Float[Tensor, "N D"], ranks: Ranks = ALONE
) -> Float[Tensor, "N D"]:
    """Give every column mean 0 and deviation 1; a constant column becomes zero."""
    mean, rows = ranks.mean(z)
    centered = z - mean
    spread = ranks.sum(centered.square().sum(dim=0)) / max(rows - 1, 1)
    return centered / (spread + EPSILON).sqrt()


def second_moments(
    z: Float[Tensor, "N D"], ranks: Ranks = ALONE
) -> Float[Tensor, "D D"]:
    """Covariance matrix of the columns; zero for a single row."""
    mean, rows = ranks.mean(z)
    return ranks.sum(_gram((z - mean).t())) / max(rows - 1, 1)


def _variance_of(moments: Float[Tensor, "D D"]) -> Scalar:
    return F.relu(1 - (moments.diagonal() + EPSILON).sqrt()).mean()


def _covariance_of(moments: Float[Tensor, "D D"]) -> Scalar:
    off_diagonal = moments - moments.diagonal().diag()
    return (off_diagonal.square() / moments.size(0)).sum()


class _Gram(torch.autograd.Function):
    """W W^T; its gradient takes one product, not autograd's two."""

    @staticmethod
    def forward(ctx: FunctionCtx, w: Tensor) -> Tensor:
        ctx.save_for_backward(w)
        return w @ w.t()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        (w,) = ctx.saved_tensors  # type: ignore[attr-defined]
        product: Tensor = (grad + grad.t()) @ w
        return product


def _gram(w: Tensor) -> Tensor:
    result: Tensor = _Gram.apply(w)  # type: ignore[no-untyped-call]
    return result
