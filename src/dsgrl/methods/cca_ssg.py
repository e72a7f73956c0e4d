r"""CCA-SSG: two random views, decorrelated, https://arxiv.org/abs/2106.12484.

.. math:: L = \|Z_1 - Z_2\|_F^2
            + \lambda (\|Z_1^\top Z_1 - I\|_F^2 + \|Z_2^\top Z_2 - I\|_F^2)

Columns of Z1 and Z2 [N, D] have mean 0 and deviation 1/sqrt(N), so that the products
are correlations. The authors' program differs: it drops each direction of an edge by
itself, and its first term is -tr(Z1^T Z2), half of this one less a constant, so that
a lambda of theirs acts as twice that of ours.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_args

import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.augment import Perturbation
from dsgrl.encode import Encoder
from dsgrl.graph import Graph
from dsgrl.losses.objective import distance_from_orthonormal
from dsgrl.methods.baseline import Baseline
from dsgrl.methods.rules import COUNT, SHARE, WEIGHT, Rule
from dsgrl.methods.space import Range
from dsgrl.typing import Level, LossTerms, NormName

_NORMS = (None, *get_args(NormName))


class CCASSGMethod(Baseline):
    """One shared encoder on two random views of a graph.

    Args:
        encoder: embeds a view, (A, X) -> Z [N, D].
        edge_drop: share of the edges dropped, both directions together.
        feature_mask: share of the feature columns set to zero.
        decorrelation_weight: lambda.
    """

    levels: ClassVar[frozenset[Level]] = frozenset({"node"})
    defaults: ClassVar[Mapping[str, Any]] = {
        "out_channels": 512,
        "hidden_channels": None,
        "num_layers": 2,
        "dropout": 0.0,
        "norm": None,
        "edge_drop": 0.3,
        "feature_mask": 0.2,
        "decorrelation_weight": 1e-3,
        "lr": 1e-3,
    }
    rules: ClassVar[Mapping[str, Rule]] = {
        "num_layers": COUNT,
        "norm": (lambda value: value in _NORMS, "one of None, 'batch', 'layer'"),
        "edge_drop": SHARE,
        "feature_mask": SHARE,
        "decorrelation_weight": WEIGHT,
    }
    search_space: ClassVar[dict[str, Range]] = {
        "out_channels": (64, 512, "log"),
        "num_layers": (1, 2, "linear"),
        "edge_drop": (0.0, 0.8, "linear"),
        "feature_mask": (0.0, 0.8, "linear"),
        "decorrelation_weight": (1e-4, 1e-2, "log"),
        "lr": (1e-4, 1e-2, "log"),
    }

    def __init__(
        self,
        encoder: nn.Module,
        *,
        edge_drop: float,
        feature_mask: float,
        decorrelation_weight: float,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.perturb = Perturbation(edge_drop=edge_drop, feature_mask=feature_mask)
        self.decorrelation_weight = decorrelation_weight

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], in_channels: int) -> Self:
        """Build the encoder and the method on it."""
        width = parameters["out_channels"]
        encoder = Encoder(
            in_channels,
            parameters["hidden_channels"] or width,
            width,
            **{name: parameters[name] for name in ("num_layers", "dropout", "norm")},
        )
        own = ("edge_drop", "feature_mask", "decorrelation_weight")
        return cls(encoder, **{name: parameters[name] for name in own})

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

    def embed(self, batch: Graph) -> Tensor:
        """Embed the graph as it is [N, D]."""
        z: Tensor = self.encoder(batch.adjacency, batch.x)
        return z


def unit_columns(z: Tensor) -> Tensor:
    """Give every column mean 0 and deviation 1/sqrt(N); a constant one becomes zero."""
    return F.normalize(z - z.mean(dim=0), dim=0, eps=1e-4)
