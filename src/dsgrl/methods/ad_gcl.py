r"""AD-GCL: views that an adversary makes hard, https://arxiv.org/abs/2106.05819.

An augmenter drops edges to make the contrast of a graph and its view as hard as it can
with few of them; the encoder makes it easy (Eq. 8):

.. math:: \min_T \max_f \; I(f(G); f(T(G))) + \lambda \, \overline{\omega}, \quad
          w_e = \sigma(\mathrm{logit}(u) + \mathrm{MLP}([h_i | h_j])), \;
          u \sim U(0, 1)

I is minus the NT-Xent loss of `graph_contrast`, which has the form of the authors'
program. h are the rows of the augmenter's own GNN, w_e is the weight of edge (i, j) in
the view (a relaxed Bernoulli variable), and omega = 1 - w is averaged over the edges of
a graph, then over the graphs. Each batch is one step of the augmenter, with the encoder
in evaluation mode, and one of the encoder, with the augmenter in evaluation mode. It
differs from the authors' program:

* It uses the features of the nodes; the program has a constant in their place on every
  TU set.
* It keeps the last of 20 epochs; the program trains for 150 and keeps one of every
  fifth by its score on validation labels.

The paper's figures are of a linear machine on standardised columns.
"""

from dataclasses import replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dsgrl.augment.edge_dropper import EdgeDropper, mean_per_graph
from dsgrl.encode import SummedEncoder
from dsgrl.graph import Graph, Spec
from dsgrl.methods.config import EPOCHS_RULE, FitConfig
from dsgrl.methods.graph_contrast import GraphContrast, GraphContrastConfig
from dsgrl.parameters import ABOVE_ZERO, COUNT, WEIGHT, none_or, parameter
from dsgrl.typing import LossTerms


class ADGCLMethod(GraphContrast):
    """An encoder and an augmenter that is its adversary.

    Args:
        encoder: see `GraphContrast`.
        augmenter: draws the weights of the edges, (graph) -> [E].
        temperature: see `GraphContrast`.
        drop_weight: lambda.
    """

    class Config(GraphContrastConfig):
        """The parameters of AD-GCL."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=32, search=(32, 256, "log")
        )
        num_layers: int = parameter(
            COUNT, "GIN layers of both networks", default=5, search=(2, 5, "linear")
        )
        edge_channels: int = parameter(
            COUNT, "width of the MLP that scores edges", default=64
        )
        drop_weight: float = parameter(
            WEIGHT,
            "lambda, what dropped edges cost the augmenter",
            default=5.0,
            search=(0.1, 10.0, "log"),
        )
        epochs: Any = parameter(
            EPOCHS_RULE,
            'number of epochs, 0 for no training; "auto": 5',
            default=20,
            search={"graph": (5, 150, "log")},
        )
        batch_size: int | None = parameter(
            none_or(COUNT),
            "graphs per step; None for all at once",
            default=32,
            search={"graph": (32, 256, "log")},
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )
        augmenter_lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of the augmenter's Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )

        def check(self, prefix: str = "") -> None:
            """Refuse values that cannot work; layers do not share the columns."""
            FitConfig.check(self, prefix)

    summary: ClassVar[str] = "edges dropped by an adversary, contrasted"

    def __init__(
        self,
        encoder: nn.Module,
        augmenter: nn.Module,
        *,
        temperature: float,
        drop_weight: float,
    ) -> None:
        super().__init__(encoder, temperature=temperature)
        self.augmenter = augmenter
        self.drop_weight = drop_weight

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build two networks of the same shape and the method on them."""
        encoder, gnn = (
            SummedEncoder(
                spec.in_channels[0], config.out_channels, num_layers=config.num_layers
            )
            for _ in range(2)
        )
        return cls(
            encoder,
            EdgeDropper(gnn, config.edge_channels),
            temperature=config.temperature,
            drop_weight=config.drop_weight,
        )

    def optimizers(self, config: Any) -> list[torch.optim.Optimizer]:
        """Return one Adam for encoder and head, and one for the augmenter."""
        groups = (
            ([*self.encoder.parameters(), *self.head.parameters()], config.lr),
            (self.augmenter.parameters(), config.augmenter_lr),
        )
        return [
            torch.optim.Adam(p, lr, weight_decay=config.weight_decay, fused=True)
            for p, lr in groups
        ]

    def step(self, batch: Graph, optimizers: list[torch.optim.Optimizer]) -> LossTerms:
        """Take a step of the augmenter, then one of the encoder; return its loss."""
        main, adversary = optimizers
        adversary.zero_grad()
        learned = list(self.augmenter.parameters())
        self.adversarial_loss(batch).backward(inputs=learned)
        adversary.step()
        return super().step(batch, [main])

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return what the encoder minimises; the augmenter gets no gradient."""
        self.augmenter.eval()
        with torch.no_grad():
            weight = self.augmenter(batch)
        self.augmenter.train(self.training)
        h = self.encoder(batch)
        loss = self._compare(h, batch, weight)
        return LossTerms({"contrast": loss}, z=h.detach())

    def adversarial_loss(self, batch: Graph) -> LossTerms:
        """Return what the augmenter minimises."""
        self.encoder.eval()
        with torch.no_grad():
            h = self.encoder(batch)
        weight = self.augmenter(batch)
        loss = self._compare(h, batch, weight)
        self.encoder.train(self.training)
        cost = self.drop_weight * mean_per_graph(1 - weight, batch)
        return LossTerms({"contrast": -loss, "dropped": cost}, z=h)

    def _compare(self, h: Tensor, batch: Graph, weight: Tensor) -> Tensor:
        """Contrast graphs with the same ones under other edge weights [E]."""
        adjacency = batch.adjacency
        weighted = adjacency.with_value(adjacency.value * weight)
        view = replace(batch, adjacency=weighted, origin=None)
        return self.contrast(self.head(h), self.head(self.encoder(view)))
