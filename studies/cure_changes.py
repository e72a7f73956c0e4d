"""The changes that `studies.cures` measures, each made on a method before training."""

from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.augment import FeatureAugmenter
from dsgrl.encode import activate, linear
from dsgrl.losses.objective import (
    distance_from_orthonormal,
    mean_terms,
    standardize_columns,
)
from dsgrl.losses.objective import objective as original_objective
from dsgrl.methods import dsgrl as module
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.train import seeded
from dsgrl.typing import LossTerms

Terms = dict[str, Tensor]
Objective = Callable[..., Terms]
# Changes a method before it is trained.
Change = Callable[[Any, Any], None]


def leave(method: Any, config: Any) -> None:
    """Change nothing."""


def replace_objective(make: Callable[[], Objective]) -> Change:
    """Train with another objective in the place of Eq. 6, one made for every fit."""

    def change(method: DSGRLMethod, _: Any) -> None:
        objective = make()

        class Changed(DSGRLMethod):
            def training_loss(self, batch: Any) -> LossTerms:
                with mock.patch.object(module, "objective", objective):
                    return super().training_loss(batch)

        method.__class__ = Changed

    return change


def match_gaussian(statistic: Callable[[Tensor], Tensor], weight: float) -> Objective:
    """Match the embeddings' distribution to a Gaussian, not their covariance to I."""

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        terms = original_objective(z1, z2, weights, **options)
        if options["standardize"]:
            z1, z2 = standardize_columns(z1), standardize_columns(z2)
        directions = F.normalize(torch.randn(z1.shape[1], 128), dim=0)
        terms["covariance"] = weight * sum(
            (statistic((z - z.mean(dim=0)) @ directions) for z in (z1, z2)),
            start=z1.new_zeros(()),
        )
        return terms

    return objective


def characteristic_gap(projected: Tensor) -> Tensor:
    """SIGReg: squared gap of the characteristic functions, seen from directions."""
    points = torch.linspace(0.2, 4, 17)
    gauss = torch.exp(-points.square() / 2)
    angle = projected.unsqueeze(-1) * points
    real, imaginary = angle.cos().mean(dim=0), angle.sin().mean(dim=0)
    gap = (real - gauss).square() + imaginary.square()
    total: Tensor = torch.trapezoid(gap * gauss, points).mean() * len(projected)
    return total


def quantile_gap(projected: Tensor) -> Tensor:
    """Squared gap of quantiles (sliced Wasserstein), as in VISReg."""
    number = torch.arange(1, len(projected) + 1)
    wanted = torch.special.ndtri((number - 0.5) / len(projected))
    total: Tensor = (projected.sort(dim=0).values - wanted[:, None]).square().mean()
    return total


def unit_length() -> Objective:
    """Compare rows of one length."""

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        root = z1.shape[1] ** 0.5
        z1, z2 = (F.normalize(z, dim=1) * root for z in (z1, z2))
        return original_objective(z1, z2, weights, **options)

    return objective


def anneal(steps: int, *, rising: bool) -> Objective:
    """Scale the covariance term up from 0, or down from 2, over the first steps."""
    taken = 0

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        nonlocal taken
        done = min(1.0, taken / steps)
        taken += 1
        terms = original_objective(z1, z2, weights, **options)
        terms["covariance"] = terms["covariance"] * (done if rising else 2 - done)
        return terms

    return objective


def orthogonal_by_width() -> Objective:
    """Add Eq. 5 on the augmenters, divided by their width."""

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        terms = original_objective(z1, z2, weights, **options)
        gaps = [distance_from_orthonormal(w) / w.shape[0] for w in weights]
        terms["orthogonality"] = torch.stack(gaps).sum()
        return terms

    return objective


class Gated(FeatureAugmenter):
    """Learned features behind gates: how open a column is, each view learns."""

    def __init__(self, in_channels: int, *args: Any, **options: Any) -> None:
        super().__init__(in_channels, *args, **options)
        self.gates = nn.Parameter(torch.zeros(in_channels, self.num_views))

    def forward(self, x: Any) -> Tensor:
        """Augment what the gates let through; all are open at first."""
        (weight,), (bias,) = self.weights, self.biases
        opened = weight * (2 * torch.sigmoid(self.gates))[..., None]
        dropout = self.dropout if self.training else 0.0
        h = activate(linear(x, opened.flatten(1)), bias.flatten(), dropout=dropout)
        return h.view(-1, *weight.shape[1:])


def add_gates(method: DSGRLMethod, _: Any) -> None:
    """Let every view open and close columns of the input."""
    features: Any = method.features
    width, _, channels = features.weights[0].shape
    # In a block of its own: training draws what it draws without gates.
    with seeded(0):
        gated = Gated(width, channels, dropout=features.dropout, mask=features.mask)
    gated.load_state_dict(features.state_dict(), strict=False)
    method.features = gated


class Bend(torch.autograd.Function):
    """The identity, whose gradient is multiplied on its way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        """Return what came."""
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Bend the gradient."""
        return ctx.factor * gradients[0], None


def bend(factor: float) -> Change:
    """Multiply the gradient of Eq. 1 on its way to the augmenters.

    Args:
        factor: 0 stops it, -1 makes the augmenters work against agreement.
    """

    class Bent(DSGRLMethod):
        def training_loss(self, batch: Any) -> LossTerms:
            assert self.features is not None
            adjacencies, (x1, x2) = zip(*self.views(batch), strict=True)
            x = torch.stack([x1, x2], dim=1)
            z, apart = (
                torch.stack(list(map(self.encoder, adjacencies, part.unbind(1))), 1)
                for part in (x, Bend.apply(x, factor))  # type: ignore[no-untyped-call]
            )
            if self.readout is not None:
                z, apart = (self.readout(part, batch.ptr) for part in (z, apart))
            weights = self.features.stacked_weights()
            terms, other = (
                original_objective(part[:, 0], part[:, 1], weights, **self.options)
                for part in (z, apart)
            )
            terms["invariance"] = other["invariance"]
            return LossTerms(mean_terms([terms]), z=z[:, 0].detach())

    return _become(Bent)


def fix_augmenters(method: DSGRLMethod, _: Any) -> None:
    """Leave the augmenters as they were drawn."""
    assert method.features is not None
    method.features.requires_grad_(False)


def slow_augmenters(factor: float) -> Change:
    """Train the augmenters at a fraction of the learning rate."""

    class Slow(DSGRLMethod):
        def optimizers(self, config: Any) -> list[torch.optim.Optimizer]:
            (optimizer,) = super().optimizers(config)
            (group,) = optimizer.param_groups
            assert self.features is not None
            slowed = list(self.features.parameters())
            ids = {id(parameter) for parameter in slowed}
            group["params"] = [each for each in group["params"] if id(each) not in ids]
            optimizer.add_param_group({"params": slowed, "lr": factor * config.lr})
            return [optimizer]

    return _become(Slow)


def smooth_result(steps: int) -> Change:
    """Return Z + A^n Z, where vectors are of nodes."""

    def change(method: DSGRLMethod, _: Any) -> None:
        method.smoothing = steps if method.readout is None else 0

    return change


def _become(kind: type[DSGRLMethod]) -> Change:
    def change(method: DSGRLMethod, _: Any) -> None:
        method.__class__ = kind

    return change


class Cure(NamedTuple):
    """A change, in words and as a function of the method."""

    words: str
    change: Change


CURES = {
    "default": Cure("*learned features*", leave),
    "sigreg": Cure(
        "SIGReg in place of covariance",
        replace_objective(lambda: match_gaussian(characteristic_gap, 0.1)),
    ),
    "visreg": Cure(
        "VISReg in place of covariance",
        replace_objective(lambda: match_gaussian(quantile_gap, 1.0)),
    ),
    "unit-length": Cure(
        "rows of unit length in the loss", replace_objective(unit_length)
    ),
    "rising": Cure(
        "covariance term from 0 up, 50 steps",
        replace_objective(lambda: anneal(50, rising=True)),
    ),
    "falling": Cure(
        "covariance term from twice down, 50 steps",
        replace_objective(lambda: anneal(50, rising=False)),
    ),
    "orthogonal-by-width": Cure(
        "augmenter orthogonality (Eq. 5) over its width",
        replace_objective(orthogonal_by_width),
    ),
    "gated": Cure("learned gates on the input's columns", add_gates),
    "slow": Cure("augmenters at a tenth of the rate", slow_augmenters(0.1)),
    "fixed": Cure("augmenters that do not learn", fix_augmenters),
    "stopped": Cure("augmenters without the gradient of Eq. 1", bend(0.0)),
    "adversarial": Cure("augmenters against Eq. 1", bend(-1.0)),
    "smoothed": Cure("Z + A^2 Z at read-out", smooth_result(2)),
}
