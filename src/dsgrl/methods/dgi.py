r"""DGI: nodes against a summary of their graph, https://arxiv.org/abs/1809.10341.

.. math:: L = -\tfrac{1}{2N} \sum_i [\log D(z_i, s) + \log (1 - D(\tilde z_i, s))]

s is the sigmoid of the mean of Z. Z~ is the embedding of the same graph with shuffled
feature rows, and D(z, s) = sigmoid(z^T W s). The authors' program scales the rows of X
to sum 1 and stops when the loss no longer falls; here `scaling` and `epochs` decide, as
for every method.
"""

from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec
from dsgrl.graph.graph import select_rows
from dsgrl.losses.contrastive import discriminate
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import ABOVE_ZERO, COUNT, SHARE, parameter
from dsgrl.typing import Level, LossTerms


class DGIMethod(Method):
    """One encoder and a bilinear discriminator.

    Args:
        encoder: embeds a graph, (A, X) -> H [N, D].
        channels: D.
    """

    class Config(FitConfig):
        """The parameters of DGI."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=512, search=(64, 512, "log")
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoder", default=1, search=(1, 2, "linear")
        )
        dropout: float = parameter(
            SHARE,
            "share dropped between the layers while training",
            default=0.0,
            search=(0.0, 0.8, "linear"),
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )

    summary: ClassVar[str] = "nodes against a summary of the graph"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})

    def __init__(self, encoder: nn.Module, channels: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.activation = nn.PReLU()
        self.weight = nn.Parameter(torch.empty(channels, channels))
        nn.init.xavier_uniform_(self.weight)

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and the discriminator."""
        width = config.out_channels
        encoder = Encoder(
            spec.in_channels[0],
            width,
            width,
            num_layers=config.num_layers,
            dropout=config.dropout,
        )
        return cls(encoder, width)

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the cross-entropy of true and shuffled nodes."""
        order = torch.randperm(batch.num_nodes).to(batch.adjacency.device)
        z = self.embed(batch)
        shuffled = self._encode(batch, select_rows(batch.x, order))
        target = self.weight @ z.mean(dim=0).sigmoid()
        loss = discriminate(z @ target, shuffled @ target)
        return LossTerms({"contrast": loss}, z=z.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the graph [N, D]."""
        return self._encode(graph, graph.x)

    def _encode(self, graph: Graph, x: Any) -> Tensor:
        z: Tensor = self.activation(self.encoder(graph.adjacency, x))
        return z
