r"""GCA: nodes find themselves in another view, https://arxiv.org/abs/2010.14945.

A node is contrasted with all nodes of both views (`info_nce`, negatives inside a view
included) after a projection head. Views lose unimportant edges and columns:

.. math:: p_{uv} = \min\Big(\frac{s_{max} - s_{uv}}{s_{max} - \bar s} \, p_e,
          \; 0.7\Big), \quad s_{uv} = \log\Big(1 + \frac{\phi_u + \phi_v}{2}\Big)

phi is a centrality. For a column, s is the logarithm of 1 plus the summed centrality of
the nodes that have it. With `centrality="uniform"`, p is the same for all: this is
GRACE, https://arxiv.org/abs/2006.04131. The authors' program differs in these points:

* it drops the two directions of an edge independently, by the centrality of the target;
* its PageRank has no random jumps and so tends to the degree;
* it scales the rows of X to sum 1 (`scaling="rows"` here, set in the recipes).

The pairs of nodes are computed in tiles: memory grows with N, time with its square.
`num_contrasted` bounds the time, too.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, get_args

import torch
from torch import Tensor, nn

from dsgrl.augment.perturb import drop_edges, mask_columns
from dsgrl.encode import Encoder
from dsgrl.graph import Adjacency, Graph, Spec
from dsgrl.graph.centrality import CentralityName, centrality
from dsgrl.losses.contrastive import LOWEST_TEMPERATURE, info_nce
from dsgrl.methods.base import Form, Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import (
    ABOVE_ZERO,
    COUNT,
    SHARE,
    Rule,
    is_number,
    none_or,
    one_of,
    parameter,
)
from dsgrl.typing import ActivationName, Level, LossTerms

# The largest chance of an edge or a column to go.
HIGHEST_CHANCE = 0.7
TEMPERATURE = Rule(
    lambda value: is_number(value) and value >= LOWEST_TEMPERATURE,
    f"a number from {LOWEST_TEMPERATURE}",
)


class GCAMethod(Method):
    """One encoder and a projection head on two weakened views of a graph.

    Args:
        encoder: embeds a view, (A, X) -> Z [N, D].
        projection: maps embeddings to where they are contrasted.
        chances: share of the edges and of the columns that a view loses, per view.
        temperature: of the contrast.
        importance: the centrality that protects edges and columns, or "uniform".
        num_contrasted: nodes contrasted per step; None for all.
    """

    class Config(FitConfig):
        """The parameters of GCA; the defaults are those of GRACE on Cora."""

        out_channels: int = parameter(
            COUNT,
            "width of the embedding; hidden layers have twice as many columns",
            default=128,
            search=(64, 512, "log"),
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoder", default=2, search=(1, 3, "linear")
        )
        activation: ActivationName = parameter(
            one_of(*get_args(ActivationName)),
            'after every layer: "relu", "leaky_relu" or "prelu"',
            default="relu",
        )
        projection_channels: int = parameter(
            COUNT, "hidden width of the projection head", default=128
        )
        centrality: CentralityName | Literal["uniform"] = parameter(
            one_of(*get_args(CentralityName), "uniform"),
            'what protects edges and columns: "degree", "pagerank", "eigenvector", or '
            '"uniform" for nothing (GRACE)',
            default="degree",
        )
        edge_drop_1: float = parameter(
            SHARE,
            "share of the edges that the first view loses",
            default=0.2,
            search=(0.0, 0.8, "linear"),
        )
        edge_drop_2: float = parameter(
            SHARE,
            "share of the edges that the second view loses",
            default=0.4,
            search=(0.0, 0.8, "linear"),
        )
        feature_mask_1: float = parameter(
            SHARE,
            "share of the columns that the first view loses",
            default=0.3,
            search=(0.0, 0.8, "linear"),
        )
        feature_mask_2: float = parameter(
            SHARE,
            "share of the columns that the second view loses",
            default=0.4,
            search=(0.0, 0.8, "linear"),
        )
        temperature: float = parameter(
            TEMPERATURE,
            "temperature of the contrast",
            default=0.4,
            search=(0.1, 0.9, "linear"),
        )
        num_contrasted: int | None = parameter(
            none_or(COUNT),
            "nodes contrasted with each other in a step, drawn anew; None for all",
            default=None,
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=5e-4,
            search=(1e-4, 1e-2, "log"),
        )

        def fill_auto(self, spec: Spec) -> dict[str, Any]:
            """Return the value of "auto"; the authors' weight decay."""
            return {**super().fill_auto(spec), "weight_decay": 1e-5}

    summary: ClassVar[str] = "a node against all others; central edges stay"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})
    forms: ClassVar[Mapping[str, Form]] = {
        "gca": Form(summary=summary),
        "grace": Form(
            summary="a node against all others, in two random views",
            settings={"centrality": "uniform"},
            recipes="grace",
        ),
    }

    def __init__(
        self,
        encoder: nn.Module,
        projection: nn.Module,
        *,
        chances: tuple[tuple[float, float], tuple[float, float]],
        temperature: float,
        importance: CentralityName | Literal["uniform"],
        num_contrasted: int | None,
    ) -> None:
        super().__init__()
        self.encoder, self.projection = encoder, projection
        self.chances = chances
        self.temperature = temperature
        self.importance = importance
        self.num_contrasted = num_contrasted

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and the projection head."""
        width, hidden = config.out_channels, config.projection_channels
        encoder = Encoder(
            spec.in_channels[0],
            2 * width,
            width,
            num_layers=config.num_layers,
            activation=config.activation,
            activate_last=True,
        )
        return cls(
            encoder,
            nn.Sequential(nn.Linear(width, hidden), nn.ELU(), nn.Linear(hidden, width)),
            chances=(
                (config.edge_drop_1, config.feature_mask_1),
                (config.edge_drop_2, config.feature_mask_2),
            ),
            temperature=config.temperature,
            importance=config.centrality,
            num_contrasted=config.num_contrasted,
        )

    def prepare(self, graph: Graph) -> Graph:
        """Compute the centrality of every node once."""
        if self.importance == "uniform":
            return graph
        found = centrality(graph.adjacency, self.importance)
        return replace(graph, extras={**graph.extras, "centrality": found})

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the contrast of two fresh views."""
        scores = self._scores(batch)
        z1, z2 = (self._embed_view(batch, scores, rates) for rates in self.chances)
        rows = slice(None)
        if self.num_contrasted is not None and self.num_contrasted < batch.num_nodes:
            drawn: Any = torch.randperm(batch.num_nodes)[: self.num_contrasted]
            rows = drawn.to(z1.device)
        h1, h2 = self.projection(z1[rows]), self.projection(z2[rows])
        loss = info_nce(h1, h2, self.temperature, within=True)
        return LossTerms({"contrast": loss}, z=z1.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the whole graph [N, D]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        return z

    def _scores(self, graph: Graph) -> tuple[Tensor, Tensor] | None:
        """Return the importance of every edge [E] and column [F]; None if all equal."""
        if self.importance == "uniform":
            return None
        found = graph.extras["centrality"]
        assert isinstance(found, Tensor)
        pattern = graph.adjacency.pattern
        return (found[pattern.row] + found[pattern.col]) / 2, column_sums(
            graph.x, found
        )

    def _embed_view(
        self,
        graph: Graph,
        scores: tuple[Tensor, Tensor] | None,
        rates: tuple[float, float],
    ) -> Tensor:
        edges, columns = (
            rate if scores is None else loss_chances(scores[number], rate)
            for number, rate in enumerate(rates)
        )
        x = mask_columns(graph.x, columns)
        z: Tensor = self.encoder(drop_edges(graph.adjacency, edges), x)
        return z


def loss_chances(score: Tensor, rate: float) -> Tensor | float:
    """Return the chance of everything to go: `rate` on average before the limit.

    Args:
        score: importance of every edge or column; the most important one stays.
        rate: the share to lose.
    """
    if not score.numel():
        return rate
    s = torch.log1p(score)
    mean = s.max() - s.mean()
    if mean <= 1e-6 * s.max():
        # Nothing is more important than anything else.
        return rate
    return ((s.max() - s) / mean * rate).clamp_max_(HIGHEST_CHANCE)


def column_sums(x: Tensor | Adjacency, weight: Tensor) -> Tensor:
    """Return the summed weights of the nodes that have a column [F].

    Where features can be negative, every node has every column: weighted by size.
    """
    values = x.value if isinstance(x, Adjacency) else x
    sizes = values.abs() if (values < 0).any() else (values != 0).to(weight.dtype)
    if isinstance(x, Adjacency):
        zeros = weight.new_zeros(x.shape[1])
        return zeros.index_add(0, x.pattern.col, sizes * weight[x.pattern.row])
    return weight @ sizes
