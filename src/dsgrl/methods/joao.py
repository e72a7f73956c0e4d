r"""JOAO: GraphCL that learns which views are hard, https://arxiv.org/abs/2106.07594.

With the probabilities p of the K pairs of augmentations and the loss L_k of each pair,
the encoder minimises L and p maximises it near the uniform distribution, in turns (the
paper's Algorithm 1):

.. math:: p \leftarrow P_\Delta \big[ p + L - \gamma (p - 1/K) \big]

P is the projection onto the simplex. p is updated after every epoch, with the losses of
one in five batches. Defaults are those of the authors' program for TU sets: one view is
the graph as it is, so there are K = 5 pairs; with `both_views` K = 25. Shares differ
from GraphCL's. It departs from that program as `graphcl` does, and:

* The projection is exact; the program stops at an error of 0.01 and divides.
* The losses L are computed with the running statistics of the batch norms. The program
  uses those of the batch, and the running statistics follow the views of each pair.
* All pairs are compared on the same batches.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dsgrl.augment.graph_views import SAME
from dsgrl.graph import Graph
from dsgrl.methods.base import Progress
from dsgrl.methods.graphcl import NAMES, GraphCLMethod
from dsgrl.parameters import SHARE, WEIGHT, parameter

# Batches that L is computed on: one of so many.
COMPARED = 5


class JOAOMethod(GraphCLMethod):
    """GraphCL with a learned choice of augmentations.

    Args:
        encoder: see `GraphContrast`.
        prior_weight: gamma.
        **options: see `GraphCLMethod`.

    Attributes:
        pairs: augmentations of the two views [K, 2].
        probability: of every pair [K]; saved with the weights.
    """

    class Config(GraphCLMethod.Config):
        """The parameters of JOAO."""

        augmentations: str = parameter(
            NAMES,
            "what a view may have lost, joined by '+'",
            default="nodes+edges+subgraph+mask+same",
        )
        augment_share: float = parameter(
            SHARE,
            "share of the nodes or edges that are dropped or masked",
            default=0.2,
            search=(0.05, 0.4, "linear"),
        )
        subgraph_share: float = parameter(
            SHARE,
            "share of the nodes in a subgraph",
            default=0.8,
            search=(0.1, 0.9, "linear"),
        )
        prior_weight: float = parameter(
            WEIGHT,
            "gamma, how strongly the choice is drawn to the uniform one",
            default=0.1,
            search=(0.01, 1.0, "log"),
        )

    summary: ClassVar[str] = "GraphCL with a learned choice of augmentations"

    def __init__(
        self, encoder: nn.Module, *, prior_weight: float, **options: Any
    ) -> None:
        super().__init__(encoder, **options)
        first = self.kinds if self.both_views else [SAME]
        self.pairs = torch.tensor(list(itertools.product(first, self.kinds)))
        self.prior_weight = prior_weight
        self.probability: Tensor
        self.register_buffer(
            "probability", torch.full((len(self.pairs),), 1 / len(self.pairs))
        )
        self._batches: Callable[[], Iterator[Graph]] | None = None

    @classmethod
    def options(cls, config: Any) -> dict[str, Any]:
        """Return the other arguments of the constructor."""
        return {**super().options(config), "prior_weight": config.prior_weight}

    def draw(self, num_graphs: int) -> Tensor:
        """Draw the augmentations of the two views of every graph [2, B]."""
        drawn = self.probability.cpu().multinomial(num_graphs, replacement=True)
        return self.pairs[drawn].t()

    def batches(self, graph: Graph, config: Any) -> Iterator[Graph]:
        """Yield the batches of one epoch; `after_epoch` draws more of them."""
        self._batches = partial(super().batches, graph, config)
        return self._batches()

    @torch.no_grad()
    def after_epoch(self, progress: Progress) -> None:
        """Update the probabilities."""
        assert self._batches is not None
        batches = list(self._batches())
        batches = batches[: len(batches) // COMPARED + 1]
        self.eval()
        losses = torch.zeros(len(self.pairs))
        for batch in batches:
            for number, pair in enumerate(self.pairs):
                choice = pair[:, None].expand(2, batch.num_graphs)
                losses[number] += self.compare(batch, choice)[0].cpu() / len(batches)
        self.train()
        losses = self.ranks.sum(losses) / self.ranks.count
        p = self.probability
        pull = self.prior_weight * (p - 1 / len(p))
        p.copy_(project_onto_simplex(p + losses.to(p.device) - pull))

    def finish(self, graph: Graph, epoch: int) -> None:
        """Release the training data."""
        self._batches = None


def project_onto_simplex(b: Tensor) -> Tensor:
    """Return the closest probabilities, by Euclidean distance [K]."""
    ordered = b.sort(descending=True).values
    count = torch.arange(1, len(b) + 1, device=b.device)
    # What to subtract if the `count` largest stay above zero.
    surplus = (ordered.cumsum(0) - 1) / count
    return (b - surplus[(ordered > surplus).sum() - 1]).clamp_min(0)
