r"""MVGRL: a graph and its diffusion, https://arxiv.org/abs/2006.05582.

Two encoders embed the two views: one on the edges A, one on the diffusion S of the
graph (`graph.diffusion`). The nodes of each view are contrasted with the summary of the
other view (Eq. 6). The embedding is the sum of both views.

* Nodes: the summary s of a view is the sigmoid of its mean, as in DGI; false pairs are
  nodes of the same graph with shuffled features, and the score is z^T W s + b.
* Graphs: false pairs are other graphs of the batch, the score is the inner product of
  shared projections, and the estimate is Jensen-Shannon's.

The authors' program (https://github.com/kavehhassani/mvgrl) differs in these points:

* S is dense there; here every row has its `edges_per_node` largest entries. On CiteSeer
  they cut S to about as many entries as edges and scale its columns to [0, 1];
* it trains on four random ranges of 2,000 nodes, we on the whole graph;
* it stops when the loss has not fallen for 20 epochs, here `epochs` decides;
* on graphs its two encoders are not in the optimiser and stay as they were drawn; here
  they learn. It pads all graphs to one size, and sums over the padding, too;
* its heat kernel takes the exponential of each entry, ours that of the matrix (Eq. 2);
* its self-loops of the nodes' graph have weight 2.

As in the program, and other than in the paper's text, nodes have no projection.
"""

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, get_args

import torch
from torch import Tensor, nn

from dsgrl.encode import Encoder, GCNLayer, Readout
from dsgrl.encode.heads import ShortcutMLP
from dsgrl.graph import Graph, Spec
from dsgrl.graph.diffusion import diffuse
from dsgrl.graph.graph import select_rows
from dsgrl.losses.contrastive import contrast_with_graphs, discriminate
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import (
    ABOVE_ZERO,
    AUTO,
    COUNT,
    OPEN_SHARE,
    auto_or,
    one_of,
    parameter,
)
from dsgrl.typing import DiffusionName, Level, LossTerms


class MVGRLMethod(Method):
    """Two encoders and the scores of nodes and summaries.

    Args:
        encoders: of A and of S, (matrix, X) -> [N, D], or all layers' results [N, L D].
        channels: D.
        num_layers: L, for many graphs; None for nodes.
        spread: arguments of `diffuse`.
    """

    class Config(FitConfig):
        """The parameters of MVGRL."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=512, search=(64, 512, "log")
        )
        num_layers: int | Literal["auto"] = parameter(
            auto_or(COUNT),
            'layers of the encoders; "auto": 1 for nodes, 4 for graphs',
            default=AUTO,
            search={"node": (1, 2, "linear"), "graph": (2, 8, "linear")},
        )
        diffusion: DiffusionName = parameter(
            one_of(*get_args(DiffusionName)),
            '"ppr" (personalised PageRank) or "heat"',
            default="ppr",
        )
        return_chance: float = parameter(
            OPEN_SHARE,
            'chance of a walk to return to its start, for "ppr"',
            default=0.2,
            search=(0.05, 0.5, "linear"),
        )
        heat_time: float = parameter(
            ABOVE_ZERO, 'time of diffusion, for "heat"', default=5.0
        )
        edges_per_node: int = parameter(
            COUNT, "entries of the diffusion kept per node", default=64
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )

        def fill_auto(self, spec: Spec) -> dict[str, Any]:
            """Return the value of "auto"."""
            layers = 4 if spec.level == "graph" else 1
            return {**super().fill_auto(spec), "num_layers": layers}

    summary: ClassVar[str] = "a graph and its diffusion, contrasted"
    levels: ClassVar[frozenset[Level]] = frozenset({"node", "graph"})

    def __init__(
        self,
        encoders: tuple[nn.Module, nn.Module],
        channels: int,
        num_layers: int | None,
        spread: dict[str, Any],
    ) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)
        self.channels, self.spread = channels, spread
        if num_layers is None:
            self.weight = nn.Parameter(torch.empty(channels, channels))
            self.bias = nn.Parameter(torch.zeros(()))
            nn.init.xavier_uniform_(self.weight)
        else:
            self.readout = Readout("sum")
            self.of_nodes = ShortcutMLP(channels, channels, "prelu")
            self.of_graphs = ShortcutMLP(num_layers * channels, channels, "prelu")

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build an encoder for each view."""
        many = spec.level == "graph"
        edges, diffused = (
            Encoder(
                spec.in_channels[0],
                config.out_channels,
                config.out_channels,
                num_layers=config.num_layers,
                layer=layer,
                jump="cat" if many else "last",
                activation="prelu",
                activate_last=True,
            )
            for layer in (GCNLayer, _DiffusionLayer)
        )
        strengths = {"ppr": config.return_chance, "heat": config.heat_time}
        spread = {
            "kind": config.diffusion,
            "strength": strengths[config.diffusion],
            "edges_per_node": config.edges_per_node,
        }
        layers = config.num_layers if many else None
        return cls((edges, diffused), config.out_channels, layers, spread)

    def prepare(self, graph: Graph) -> Graph:
        """Add the diffusion of the graph, or of each of many."""
        diffused = diffuse(graph.adjacency, graph.bounds, **self.spread)
        return replace(graph, extras={**graph.extras, "diffused": diffused})

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the contrast of each view with the summaries of the other."""
        views = self._views(batch, batch.x)
        if batch.ptr is None:
            loss, z = self._contrast_nodes(batch, views), views[0] + views[1]
        else:
            nodes = [self.of_nodes(h[:, -self.channels :]) for h in views]
            graphs = self._summarize(views, batch.ptr)
            one = contrast_with_graphs(nodes[0], graphs[1], batch.ptr)
            other = contrast_with_graphs(nodes[1], graphs[0], batch.ptr)
            loss, z = one + other, graphs[0] + graphs[1]
        return LossTerms({"contrast": loss}, z=z.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the nodes [N, D], or the graphs [B, D]."""
        views = self._views(graph, graph.x)
        one, other = views if graph.ptr is None else self._summarize(views, graph.ptr)
        return one + other

    def _views(self, graph: Graph, x: Any) -> list[Tensor]:
        matrices = (graph.adjacency, graph.extras["diffused"])
        pairs = zip(self.encoders, matrices, strict=True)
        return [encoder(matrix, x) for encoder, matrix in pairs]

    def _summarize(self, views: list[Tensor], ptr: Tensor) -> list[Tensor]:
        """Pool the nodes of each graph, all layers side by side, and project."""
        return [self.of_graphs(self.readout(h, ptr)) for h in views]

    def _contrast_nodes(self, batch: Graph, views: list[Tensor]) -> Tensor:
        order = torch.randperm(batch.num_nodes).to(batch.adjacency.device)
        shuffled = self._views(batch, select_rows(batch.x, order))
        others = [self.weight @ h.mean(dim=0).sigmoid() for h in views[::-1]]
        real, fake = (
            torch.cat([h @ s for h, s in zip(nodes, others, strict=True)]) + self.bias
            for nodes in (views, shuffled)
        )
        return discriminate(real, fake)


class _DiffusionLayer(GCNLayer):
    """S X W + b: the diffusion is not normalised again."""

    normalization = "sum"
