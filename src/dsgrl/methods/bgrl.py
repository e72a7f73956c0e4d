r"""BGRL: predict what a slower encoder sees, https://arxiv.org/abs/2102.06514.

An online encoder and a predictor learn to predict the embedding of the other view by
a target encoder. There are no negatives:

.. math:: L = 2 - \overline{\cos(q(h_1), t_2)} - \overline{\cos(q(h_2), t_1)}

h = f(view) is learned; t = g(view) gets no gradient. After every step the target
follows the online encoder, faster at first and not at all at the end:

.. math:: g \leftarrow \tau g + (1 - \tau) f, \quad
          \tau = 1 - (1 - \tau_0) \frac{1 + \cos(\pi k / K)}{2}

for step k of K. The learning rate falls by the same cosine after the warm-up. The
authors' program (https://github.com/nerdslab/bgrl) differs in these points:

* it drops the two directions of an edge independently;
* its batch norms keep the statistics of the last step only, ours an average of several;
* it has a bias before every batch norm, where it has no effect;
* it scales the rows of X to sum 1 (`scaling="rows"` here, set in the recipes) and
  trains for 10,000 epochs.
"""

import math
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dsgrl.augment import Perturbation
from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec
from dsgrl.losses.contrastive import bootstrap_cosine
from dsgrl.methods.base import Method, Progress
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import ABOVE_ZERO, COUNT, SHARE, parameter
from dsgrl.typing import Level, LossTerms


class BGRLMethod(Method):
    """An online encoder with a predictor, and a target encoder that follows it.

    Args:
        encoder: the online encoder, (A, X) -> Z [N, D].
        target: an encoder of the same shape, with weights of its own.
        predictor: from online embeddings to those of the target.
        views: makes the two views, each from a graph.
        momentum: tau_0.
        warmup_epochs: epochs before the learning rate falls.
    """

    class Config(FitConfig):
        """The parameters of BGRL; the defaults are the authors' for Photo."""

        out_channels: int = parameter(
            COUNT,
            "width of the embedding; hidden layers have twice as many columns",
            default=128,
            search=(64, 512, "log"),
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoders", default=2, search=(1, 3, "linear")
        )
        predictor_channels: int = parameter(
            COUNT, "hidden width of the predictor", default=512
        )
        edge_drop_1: float = parameter(
            SHARE,
            "share of the edges that the first view loses",
            default=0.4,
            search=(0.0, 0.8, "linear"),
        )
        edge_drop_2: float = parameter(
            SHARE,
            "share of the edges that the second view loses",
            default=0.1,
            search=(0.0, 0.8, "linear"),
        )
        feature_mask_1: float = parameter(
            SHARE,
            "share of the columns that the first view loses",
            default=0.1,
            search=(0.0, 0.8, "linear"),
        )
        feature_mask_2: float = parameter(
            SHARE,
            "share of the columns that the second view loses",
            default=0.2,
            search=(0.0, 0.8, "linear"),
        )
        momentum: float = parameter(
            SHARE,
            "share of the target encoder that stays in the first step",
            default=0.99,
            search=(0.9, 0.999, "linear"),
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "highest learning rate of AdamW",
            default=1e-4,
            search=(1e-5, 1e-2, "log"),
        )

        def fill_auto(self, spec: Spec) -> dict[str, Any]:
            """Return the value of "auto"; the authors' weight decay."""
            return {**super().fill_auto(spec), "weight_decay": 1e-5}

    summary: ClassVar[str] = "predicts a slower encoder; no negatives"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})

    def __init__(
        self,
        encoder: nn.Module,
        target: nn.Module,
        predictor: nn.Module,
        views: tuple[nn.Module, nn.Module],
        *,
        momentum: float,
        warmup_epochs: int = 0,
    ) -> None:
        super().__init__()
        self.encoder, self.predictor = encoder, predictor
        self.target = target.requires_grad_(False)
        self.views = nn.ModuleList(views)
        self.momentum, self.warmup_epochs = momentum, warmup_epochs

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build two encoders with different weights, the predictor and the views."""
        width, hidden = config.out_channels, config.predictor_channels
        encoder, target = (
            Encoder(
                spec.in_channels[0],
                2 * width,
                width,
                num_layers=config.num_layers,
                norm="batch",
                activation="prelu",
                activate_last=True,
            )
            for _ in range(2)
        )
        return cls(
            encoder,
            target,
            nn.Sequential(
                nn.Linear(width, hidden), nn.PReLU(), nn.Linear(hidden, width)
            ),
            (
                Perturbation(
                    edge_drop=config.edge_drop_1, feature_mask=config.feature_mask_1
                ),
                Perturbation(
                    edge_drop=config.edge_drop_2, feature_mask=config.feature_mask_2
                ),
            ),
            momentum=config.momentum,
            warmup_epochs=config.warmup_epochs,
        )

    def optimizers(self, config: Any) -> list[torch.optim.Optimizer]:
        """Return AdamW on all but the target."""
        learned = [p for p in self.parameters() if p.requires_grad]
        return [
            torch.optim.AdamW(
                learned, config.lr, weight_decay=config.weight_decay, fused=True
            )
        ]

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return how far each view is from predicting the other."""
        views = [perturb(batch) for perturb in self.views]
        z1, z2 = (self.encoder(view.adjacency, view.x) for view in views)
        with torch.no_grad():
            t1, t2 = (self.target(view.adjacency, view.x) for view in views)
        one = bootstrap_cosine(self.predictor(z1), t2)
        other = bootstrap_cosine(self.predictor(z2), t1)
        return LossTerms({"prediction": (one + other) / 2}, z=z1.detach())

    @torch.no_grad()
    def after_step(self, progress: Progress) -> None:
        """Let the target encoder follow."""
        done = (progress.epoch - 1) / progress.epochs
        follow = (1 - self.momentum) * half_cosine(done)
        pairs = zip(self.target.parameters(), self.encoder.parameters(), strict=True)
        for slow, fast in pairs:
            slow.lerp_(fast, follow)

    def rate(self, progress: Progress) -> float:
        """Return the share of the learning rate: half a cosine after the warm-up."""
        rest = max(progress.epochs - self.warmup_epochs, 1)
        return half_cosine((progress.epoch - 1 - self.warmup_epochs) / rest)

    def embed(self, graph: Graph) -> Tensor:
        """Embed the whole graph by the online encoder [N, D]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        return z


def half_cosine(done: float) -> float:
    """Fall from 1 to 0 as `done` goes from 0 to 1."""
    return (1 + math.cos(math.pi * done)) / 2
