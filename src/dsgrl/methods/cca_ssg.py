r"""CCA-SSG: two random views, decorrelated, https://arxiv.org/abs/2106.12484.

.. math:: L = \|Z_1 - Z_2\|_F^2
            + \lambda (\|Z_1^\top Z_1 - I\|_F^2 + \|Z_2^\top Z_2 - I\|_F^2)

The columns of Z1 and Z2 [N, D] have mean 0 and standard deviation 1/sqrt(N), so the
products are correlations. The authors' program differs in two points. It drops the two
directions of an edge independently. Its first term is -tr(Z1^T Z2), which is half of
ours minus a constant: their lambda corresponds to twice the value here. On some data
they replace the GCN by an MLP, which sees no edges (`encoder="mlp"`). Their program
judges embeddings by a linear layer at its best epoch, which gives higher scores on
public splits than our probe (docs/FIDELITY.md).
"""

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, get_args

import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.augment import Perturbation
from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec
from dsgrl.losses.objective import distance_from_orthonormal
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import (
    ABOVE_ZERO,
    COUNT,
    SHARE,
    WEIGHT,
    none_or,
    one_of,
    parameter,
)
from dsgrl.typing import Level, LossTerms, NormName


class CCASSGMethod(Method):
    """One shared encoder on two random views of a graph.

    Args:
        encoder: embeds a view, (A, X) -> Z [N, D].
        edge_drop: share of dropped edges; both directions are dropped together.
        feature_mask: share of the feature columns set to zero.
        decorrelation_weight: lambda.
        sees_edges: whether the encoder gets the edges.
    """

    class Config(FitConfig):
        """The parameters of CCA-SSG."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=512, search=(64, 512, "log")
        )
        hidden_channels: int | None = parameter(
            none_or(COUNT),
            "width between the layers; None: `out_channels`",
            default=None,
        )
        encoder: Literal["gcn", "mlp"] = parameter(
            one_of("gcn", "mlp"),
            '"gcn", or "mlp": the same layers without edges',
            default="gcn",
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoder", default=2, search=(1, 2, "linear")
        )
        dropout: float = parameter(
            SHARE, "share dropped after each hidden layer while training", default=0.0
        )
        norm: NormName | None = parameter(
            one_of(None, *get_args(NormName)),
            'normalisation between the layers: None, "batch" or "layer"',
            default=None,
        )
        edge_drop: float = parameter(
            SHARE,
            "share of the edges dropped",
            default=0.3,
            search=(0.0, 0.8, "linear"),
        )
        feature_mask: float = parameter(
            SHARE,
            "share of the columns set to zero",
            default=0.2,
            search=(0.0, 0.8, "linear"),
        )
        decorrelation_weight: float = parameter(
            WEIGHT, "lambda", default=1e-3, search=(1e-4, 1e-2, "log")
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )

    summary: ClassVar[str] = "random views, decorrelated"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})

    def __init__(
        self,
        encoder: nn.Module,
        *,
        edge_drop: float,
        feature_mask: float,
        decorrelation_weight: float,
        sees_edges: bool = True,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.perturb = Perturbation(edge_drop=edge_drop, feature_mask=feature_mask)
        self.decorrelation_weight = decorrelation_weight
        self.sees_edges = sees_edges

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and the method on it."""
        width = config.out_channels
        encoder = Encoder(
            spec.in_channels[0],
            config.hidden_channels or width,
            width,
            num_layers=config.num_layers,
            dropout=config.dropout,
            norm=config.norm,
            # The columns are centred, so a bias has no gradient.
            last_bias=False,
        )
        return cls(
            encoder,
            edge_drop=config.edge_drop,
            feature_mask=config.feature_mask,
            decorrelation_weight=config.decorrelation_weight,
            sees_edges=config.encoder == "gcn",
        )

    def prepare(self, graph: Graph) -> Graph:
        """Take all edges away from an MLP: a GCN layer is a linear map then."""
        if self.sees_edges:
            return graph
        nothing = graph.adjacency.value.new_zeros(graph.adjacency.num_edges).bool()
        return replace(graph, adjacency=graph.adjacency.select(nothing), origin=None)

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the two terms for two fresh views."""
        views = [self.perturb(batch) for _ in range(2)]
        h1, h2 = (self.encoder(view.adjacency, view.x) for view in views)
        z1, z2 = unit_columns(h1), unit_columns(h2)
        one, two = (distance_from_orthonormal(z.t()).square() for z in (z1, z2))
        terms = {
            "invariance": (z1 - z2).square().sum(),
            "decorrelation": self.decorrelation_weight * (one + two),
        }
        return LossTerms(terms, z=h1.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the unperturbed graph [N, D]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        return z


def unit_columns(z: Tensor) -> Tensor:
    """Centre every column and scale it to length 1; a constant one becomes zero."""
    return F.normalize(z - z.mean(dim=0), dim=0, eps=1e-4)
