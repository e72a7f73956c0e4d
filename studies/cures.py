"""Changes of the method that were tried and left out: run them, and tell the result.

`python scripts/cures.py DATASET ... [--seeds 0,1] [--cures NAME,...]` adds lines to
results/cures.jsonl; without datasets it writes docs/CURES.md from them (`make readme`).
The changes live here and not in the package: each is put over the default from outside.
"""

import argparse
import contextlib
import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl import DSGRL, evaluate
from dsgrl.augment import FeatureAugmenter
from dsgrl.datasets.table import load_dataset
from dsgrl.encode import activate, linear
from dsgrl.evaluation import protocol_splits
from dsgrl.graph import FlatGraphs, propagate
from dsgrl.losses.objective import distance_from_orthonormal, mean_terms, standardized
from dsgrl.losses.objective import objective as original_objective
from dsgrl.methods import build as building
from dsgrl.methods import dsgrl as paper
from dsgrl.methods.build import build_dsgrl
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.typing import LossTerms

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "cures.jsonl"
HEAD = """# Tried and left out

Changes inside the paper's frame that did not pay on most datasets, so that the package
does not have them: `scripts/cures.py` puts each over learned features
(`augment="feature"`, nothing tuned; for nodes the default when these were tried) from
outside, judges it as the suites do and computes this page from `results/cures.jsonl`.
Scores are means over splits and seeds, in percent; a change is that against learned
features of the same seeds. What the default has, and the options beside it:
[ABLATIONS.md](ABLATIONS.md). One of them has come in since, where the second view has
nodes alone, and pays there: Z + A^2 Z (`smoothing`).

Each was tried with one setting (`CURES` in the script), not tuned. A change of about
-14 on Cora is that of the untrained model: nothing trained told hidden links better,
and it was kept; so it goes with augmenters that do not learn, or slowly. Augmenters
that work against Eq. 1 are up on both sets of graphs, by about as much as seeds differ,
and down on all three graphs of nodes (CiteSeer and debian: one seed): not in. A
covariance term that grows from 0 is up on all three it was tried on, by half a point at
most, which two seeds do not tell from nothing: not in either. Eq. 5 divided by the
augmenters' width is harmless on Cora and CiteSeer, where undivided, with a weight of 1,
it keeps the model untrained (docs/ABLATIONS.md), but helps nowhere beyond what seeds
differ by. Gates in front of the augmenters do nothing: the augmenters' own weights can
close a column. SIGReg and VISReg match the whole distribution of the embedding to a
normal one, by random projections.

"""
Terms = dict[str, Tensor]
Patch = contextlib.AbstractContextManager[Any]

original_adam = torch.optim.Adam


# Other objectives, in the place of Eq. 6.


def matched(statistic: Callable[[Tensor], Tensor], weight: float) -> Patch:
    """Match the embeddings' distribution to a Gaussian, not their covariance to I."""

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        terms = original_objective(z1, z2, weights, **options)
        if options["standardize"]:
            z1, z2 = standardized(z1), standardized(z2)
        directions = F.normalize(torch.randn(z1.shape[1], 128), dim=0)
        terms["covariance"] = weight * sum(
            (statistic((z - z.mean(dim=0)) @ directions) for z in (z1, z2)),
            start=z1.new_zeros(()),
        )
        return terms

    return mock.patch.object(paper, "objective", objective)


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


def unit_length() -> Patch:
    """Compare rows of one length."""

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        root = z1.shape[1] ** 0.5
        z1, z2 = (F.normalize(z, dim=1) * root for z in (z1, z2))
        return original_objective(z1, z2, weights, **options)

    return mock.patch.object(paper, "objective", objective)


def annealed(steps: int, *, rising: bool) -> Patch:
    """Let the covariance term come, or go, over the first steps of training."""
    taken = 0

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        nonlocal taken
        done = min(1.0, taken / steps)
        taken += 1
        terms = original_objective(z1, z2, weights, **options)
        terms["covariance"] = terms["covariance"] * (done if rising else 2 - done)
        return terms

    return mock.patch.object(paper, "objective", objective)


def orthogonal_by_width() -> Patch:
    """Keep the augmenters orthogonal (Eq. 5), whatever their width."""

    def objective(z1: Tensor, z2: Tensor, weights: Any, **options: Any) -> Terms:
        terms = original_objective(z1, z2, weights, **options)
        gaps = [distance_from_orthonormal(w) / w.shape[0] for w in weights]
        terms["orthogonality"] = torch.stack(gaps).sum()
        return terms

    return mock.patch.object(paper, "objective", objective)


# Other augmenters, and other ways for them to learn.


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


def gated() -> Patch:
    """Let every view open and close columns of the input."""
    return mock.patch.object(building, "FeatureAugmenter", Gated)


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


def bent(factor: float) -> Patch:
    """Let the augmenters see the invariance term's gradient bent.

    Args:
        factor: 0 stops it, -1 makes them work against agreement.
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

    return _as(Bent)


def fixed() -> Patch:
    """Leave the augmenters as they were drawn."""

    class Fixed(DSGRLMethod):
        def encode(self, batch: Any) -> Tensor:
            assert self.features is not None
            self.features.requires_grad_(False)
            return super().encode(batch)

    return _as(Fixed)


def slow(factor: float) -> Patch:
    """Let the augmenters learn at a fraction of the rate."""
    built: list[DSGRLMethod] = []

    def build(*args: Any, **options: Any) -> DSGRLMethod:
        built.append(build_dsgrl(*args, **options))
        return built[-1]

    def adam(parameters: Any, lr: float, **options: Any) -> Any:
        assert built[-1].features is not None
        slowed = list(built[-1].features.parameters())
        ids = {id(parameter) for parameter in slowed}
        others = [part for part in parameters if id(part) not in ids]
        groups: list[dict[str, Any]] = [
            {"params": others},
            {"params": slowed, "lr": factor * lr},
        ]
        return original_adam(groups, lr, **options)

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(building, "build_dsgrl", build))
    stack.enter_context(mock.patch.object(torch.optim, "Adam", adam))
    return stack


def smoothed(steps: int) -> Patch:
    """Read out Z + A^n Z."""

    class Smoothed(DSGRLMethod):
        def embed(self, batch: Any) -> Tensor:
            z = super().embed(batch)
            if self.readout is not None:
                return z
            around, adjacency = z, batch.adjacency.normalized("gcn")
            for _ in range(steps):
                around = propagate(adjacency, around)
            return z + around

    return _as(Smoothed)


def _as(kind: type[DSGRLMethod]) -> Patch:
    def build(*args: Any, **options: Any) -> DSGRLMethod:
        method = build_dsgrl(*args, **options)
        method.__class__ = kind
        return method

    return mock.patch.object(building, "build_dsgrl", build)


class Cure(NamedTuple):
    """A change, in words and as what is put over the package."""

    words: str
    patch: Callable[[], Patch]


CURES = {
    "default": Cure("*learned features*", contextlib.nullcontext),
    "sigreg": Cure(
        "SIGReg in place of covariance", lambda: matched(characteristic_gap, 0.1)
    ),
    "visreg": Cure("VISReg in place of covariance", lambda: matched(quantile_gap, 1.0)),
    "unit-length": Cure("rows of unit length in the loss", unit_length),
    "rising": Cure(
        "covariance term from 0 up, 50 steps", lambda: annealed(50, rising=True)
    ),
    "falling": Cure(
        "covariance term from twice down, 50 steps", lambda: annealed(50, rising=False)
    ),
    "orthogonal-by-width": Cure(
        "augmenter orthogonality (Eq. 5) over its width", orthogonal_by_width
    ),
    "gated": Cure("learned gates on the input's columns", gated),
    "slow": Cure("augmenters at a tenth of the rate", lambda: slow(0.1)),
    "fixed": Cure("augmenters that do not learn", fixed),
    "stopped": Cure("augmenters without the gradient of Eq. 1", lambda: bent(0.0)),
    "adversarial": Cure("augmenters against Eq. 1", lambda: bent(-1.0)),
    "smoothed": Cure("Z + A^2 Z at read-out", lambda: smoothed(2)),
}


def run(
    name: str, cures: Sequence[str], seeds: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Judge the changes on one dataset as the suites do."""
    data = load_dataset(name)
    graphs = isinstance(data, FlatGraphs)
    y = data.y.numpy()
    protocol = "folds" if graphs else "5/15/80"
    splits = protocol_splits(protocol, y, dataset=name)
    for seed in seeds:
        for cure in cures:
            with CURES[cure].patch():
                model = DSGRL(augment="feature", random_state=seed)
                z: Any = model.fit_transform(data)
            score = evaluate(z, y, splits=splits)
            yield {
                "suite": "cures",
                "dataset": name,
                "cure": cure,
                "seed": seed,
                "protocol": protocol,
                "mean": round(score.mean, 4),
                "std": round(score.std, 4),
                "val_mean": round(statistics.mean(score.validation), 4),
                "epoch": model.epoch_,
            }


def render() -> str:
    """Return the page, changes against the default of the same seed."""
    lines = [json.loads(text) for text in RESULTS.read_text().splitlines()]
    scores = {(ln["dataset"], ln["cure"], ln["seed"]): ln["mean"] for ln in lines}
    names = list(dict.fromkeys(line["dataset"] for line in lines))
    table = ["| | " + " | ".join([*names, "mean change"]) + " |"]
    table.append("| --- " * (len(names) + 2) + "|")
    for cure, (words, _) in CURES.items():
        cells, means = [], []
        for name in names:
            seeds = [s for d, c, s in scores if (d, c) == (name, cure)]
            if cure == "default":
                mean = statistics.mean(scores[name, cure, seed] for seed in seeds)
                cells.append(f"{mean:.1f}")
            elif seeds:
                changes = [
                    scores[name, cure, seed] - scores[name, "default", seed]
                    for seed in seeds
                ]
                means.append(statistics.mean(changes))
                cells.append(f"{means[-1]:+.1f}")
            else:
                cells.append("")
        cells.append(f"{statistics.mean(means):+.1f}" if means else "")
        table.append(f"| {words} | " + " | ".join(cells) + " |")
    return HEAD + "\n".join(table) + "\n"


def main() -> None:
    """Run what is asked for; else write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--cures", default=",".join(CURES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not options.datasets:
        (ROOT / "docs" / "CURES.md").write_text(render())
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for name in options.datasets:
        for line in run(name, options.cures.split(","), seeds):
            with options.results.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
