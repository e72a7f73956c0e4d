r"""GraphCL: graphs against random views of them, https://arxiv.org/abs/2010.13902.

Two views of every graph are encoded and contrasted (`graph_contrast`). A view is made
by one of four augmentations (`augment.graph_views`), drawn for every graph by itself.
Defaults are those of the authors' program for TU sets: one view is the graph as it is
(`both_views`), a tenth of the nodes or edges is dropped or masked, and a subgraph has a
fifth of the nodes. It differs from that program:

* The loss is taken in both directions, as in the paper; the program compares the graphs
  with the views only.
* A subgraph grows by neighbours of all its nodes. The program never adds the
  neighbours of later nodes, so that its subgraphs are parts of stars.
* The two directions of an edge are dropped together; the program drops each by itself.
  Neither adds edges, which the paper's text allows: `edge_add`.
* Masked features are zeros; the program draws them from N(0.5, 0.5).
* The program adds self-loops to the graphs, not to the views, and leaves nodes without
  edges out of the views. Here neither happens.
* Sets without features have columns made from degrees; the program has a constant.

Which augmentations to choose from depends on the kind of graph in the paper: see the
recipes `published/graphcl`.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dsgrl.augment.graph_views import (
    AUGMENTATIONS,
    SAME,
    GraphAugmentation,
    names_of,
)
from dsgrl.graph import Graph
from dsgrl.methods.graph_contrast import GraphContrast, GraphContrastConfig
from dsgrl.parameters import SHARE, SWITCH, Rule, parameter
from dsgrl.typing import LossTerms

NAMES = Rule(
    lambda value: isinstance(value, str) and bool(names_of(value)),
    f"some of {', '.join(map(repr, AUGMENTATIONS))}, each once, joined by '+'",
)


class GraphCLMethod(GraphContrast):
    """One shared encoder on two random views of every graph.

    Args:
        encoder: see `GraphContrast`.
        temperature: see `GraphContrast`.
        augment: draws a view by the number of an augmentation.
        kinds: numbers of the augmentations to choose from.
        both_views: whether the first view is changed, too.
    """

    class Config(GraphContrastConfig):
        """The parameters of GraphCL."""

        augmentations: str = parameter(
            NAMES,
            "what a view may have lost, joined by '+': one is drawn for every graph",
            default="nodes+edges+subgraph+mask",
        )
        both_views: bool = parameter(
            SWITCH,
            "change both views; if not, one of them is the graph as it is",
            default=False,
        )
        augment_share: float = parameter(
            SHARE,
            "share of the nodes or edges that are dropped or masked",
            default=0.1,
            search=(0.05, 0.4, "linear"),
        )
        subgraph_share: float = parameter(
            SHARE,
            "share of the nodes in a subgraph",
            default=0.2,
            search=(0.1, 0.9, "linear"),
        )
        edge_add: float = parameter(
            SHARE, "share of random edges that 'edges' adds", default=0.0
        )

    summary: ClassVar[str] = "random views of whole graphs, contrasted"

    def __init__(
        self,
        encoder: nn.Module,
        *,
        temperature: float,
        augment: GraphAugmentation,
        kinds: list[int],
        both_views: bool = False,
    ) -> None:
        super().__init__(encoder, temperature=temperature)
        self.augment, self.kinds, self.both_views = augment, kinds, both_views

    @classmethod
    def options(cls, config: Any) -> dict[str, Any]:
        """Return the other arguments of the constructor."""
        augment = GraphAugmentation(
            share=config.augment_share,
            edge_add=config.edge_add,
            subgraph_share=config.subgraph_share,
        )
        kinds = names_of(config.augmentations)
        return {"augment": augment, "kinds": kinds, "both_views": config.both_views}

    def draw(self, num_graphs: int) -> Tensor:
        """Draw the augmentations of the two views of every graph [2, B]."""
        kinds = torch.tensor(self.kinds)
        choice = kinds[torch.randint(len(kinds), (2, num_graphs))]
        if not self.both_views:
            choice[0] = SAME
        return choice

    def compare(self, batch: Graph, choice: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss for these augmentations [2, B], and the first view's z."""
        choice = choice.to(batch.adjacency.device)
        h1, h2 = (self.encoder(self.augment(batch, kinds)) for kinds in choice)
        return self.contrast(self.head(h1), self.head(h2)), h1

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the contrast of two fresh views."""
        loss, h = self.compare(batch, self.draw(batch.num_graphs))
        return LossTerms({"contrast": loss}, z=h.detach())
