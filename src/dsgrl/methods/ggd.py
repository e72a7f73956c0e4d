r"""GGD: real nodes against shuffled ones, https://arxiv.org/abs/2206.01535.

A node has a score: the sum of its projected embedding. Nodes of the graph should score
high and those of the same graph with shuffled feature rows low:

.. math:: L = \tfrac12 [\overline{softplus(-s)} + \overline{softplus(\tilde s)}],
          \quad s_i = \sum_d (Z W + b)_{id}

After training, distant nodes are added: the embedding is Z + A_hat^n Z with the
normalised adjacency A_hat. The authors' program differs in these points:

* it masks exactly the given share of the columns, ours each by chance;
* it restores the epoch with the lowest loss; here `epochs` decides;
* it scales the rows of X to sum 1 (`scaling="rows"` here, set in the recipes).

As there, edges are not dropped unless asked for, although the paper says so.
"""

from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from dsgrl.augment import Perturbation
from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec, propagate
from dsgrl.graph.graph import select_rows
from dsgrl.losses.contrastive import discriminate
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import ABOVE_ZERO, COUNT, COUNT_OR_ZERO, SHARE, parameter
from dsgrl.typing import Level, LossTerms


class GGDMethod(Method):
    """One encoder and a linear projection that is summed to a score.

    Args:
        encoder: embeds a graph, (A, X) -> Z [N, D].
        projection: applied before the sum.
        perturb: makes the view that is trained on.
        hops: n, the power of A_hat in the embedding.
    """

    class Config(FitConfig):
        """The parameters of GGD; the defaults are the authors' for Cora."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=512, search=(64, 512, "log")
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoder", default=1, search=(1, 3, "linear")
        )
        projection_layers: int = parameter(
            COUNT, "linear maps before the sum", default=1, search=(1, 4, "linear")
        )
        hops: int = parameter(
            COUNT_OR_ZERO,
            "n: embeddings of nodes so many edges away are added; 0 for none",
            default=5,
            search=(1, 10, "linear"),
        )
        edge_drop: float = parameter(
            SHARE,
            "share of the edges dropped",
            default=0.0,
            search=(0.0, 0.8, "linear"),
        )
        feature_mask: float = parameter(
            SHARE,
            "share of the columns set to zero",
            default=0.2,
            search=(0.0, 0.8, "linear"),
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )

    summary: ClassVar[str] = "real nodes against shuffled ones"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})

    def __init__(
        self,
        encoder: nn.Module,
        projection: nn.Module,
        perturb: nn.Module,
        *,
        hops: int,
    ) -> None:
        super().__init__()
        self.encoder, self.projection, self.perturb = encoder, projection, perturb
        self.hops = hops

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and the projection."""
        width = config.out_channels
        encoder = Encoder(
            spec.in_channels[0],
            width,
            width,
            num_layers=config.num_layers,
            activation="prelu",
            activate_last=True,
        )
        maps = (nn.Linear(width, width) for _ in range(config.projection_layers))
        return cls(
            encoder,
            nn.Sequential(*maps),
            Perturbation(edge_drop=config.edge_drop, feature_mask=config.feature_mask),
            hops=config.hops,
        )

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the cross-entropy of the scores of true and shuffled nodes."""
        view = self.perturb(batch)
        order = torch.randperm(batch.num_nodes).to(batch.adjacency.device)
        z = self.encoder(view.adjacency, view.x)
        shuffled = self.encoder(view.adjacency, select_rows(view.x, order))
        real, fake = (self.projection(each).sum(dim=1) for each in (z, shuffled))
        return LossTerms({"contrast": discriminate(real, fake)}, z=z.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the whole graph and add distant nodes [N, D]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        distant, edges = z, graph.adjacency.normalized("gcn")
        for _ in range(self.hops):
            distant = propagate(edges, distant)
        return z + distant
