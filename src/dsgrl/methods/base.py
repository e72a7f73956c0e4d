"""The interface of a method.

A method has no loop, no data and no evaluation. It declares its parameters (`Config`),
is built for the data (`build`), computes a loss (`training_loss`) and returns an
embedding (`embed`). The other hooks have defaults; override one if a method needs more:

=====================  ============================================================
`prepare`              what is computed once per graph: diffusion, centralities
`batches`              batches other than graphs: walks, sampled pairs
`optimizers`, `step`   several optimisers, adversarial training
`after_step`           a moving average of the weights
`after_epoch`          a choice of augmentations
`rate`                 a schedule of the learning rate
`finish`               what has a closed form, after training: projections
`watched`              what early stopping scores, if it is not the embedding
`predict`              class probabilities of a supervised method
=====================  ============================================================
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from dsgrl.augment import Topology
from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec
from dsgrl.graph.batches import node_batches, shuffled_batches
from dsgrl.methods.config import FitConfig, NodeBatches
from dsgrl.ranks import ALONE, Ranks
from dsgrl.typing import Level, LossTerms

Need = Literal["labels", "edge_attr"]
# Steps that an encoder of the user's own is taken to look.
UNKNOWN_HOPS = 2


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of training.

    Attributes:
        epoch: the current epoch, counted from 1.
        step: number of optimiser steps so far.
        epochs: the largest number of epochs.
    """

    epoch: int
    step: int
    epochs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """A named setting of a method with its own row in tables.

    Attributes:
        summary: one line of description.
        settings: parameters that define the form and cannot be overridden.
        recipes: folder of its recipes; the name of the method if empty.
        untrained: name of its untrained form, which is its control; "random-NAME" if
            empty.
    """

    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipes: str = ""
    untrained: str = ""


class Method(nn.Module):
    """Base class of all methods.

    Attributes:
        Config: its parameters, a subclass of `FitConfig`.
        summary: one line of description.
        levels: what it can embed.
        inductive: whether it can embed unseen data.
        is_trained: whether there is anything to train; if not, `finish` does all.
        takes_targets: whether the loss is of the targets of a batch only; if not,
            every node of a batch counts, and none may be there for others' sake.
        needs: what it uses besides features and edges; a method sees labels only if
            it needs "labels".
        forms: named settings; by default one with the name of the method.
        is_exact: whether several processes compute the loss of one process with the
            whole batch; if not, each compares the rows of its share only.
        ranks: the processes in which it is trained.
    """

    Config: ClassVar[type[FitConfig]] = FitConfig
    summary: ClassVar[str] = ""
    levels: ClassVar[frozenset[Level]]
    inductive: ClassVar[bool] = True
    is_trained: ClassVar[bool] = True
    takes_targets: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset()
    forms: ClassVar[Mapping[str, Form]] = {}
    is_exact: ClassVar[bool] = False
    ranks: Ranks = ALONE

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the method.

        Args:
            config: a `Config` in which every "auto" has been replaced.
            spec: sizes and schema of the training data.
        """
        raise NotImplementedError

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph with values that are computed once (`Graph.extras`).

        Called once per fit for the training graph, and once for every graph to embed.
        """
        return graph

    def batches(self, graph: Graph, config: Any) -> Iterator[Any]:
        """Yield the batches of one epoch: all, or shuffled batches of graphs or nodes.

        With `NodeBatches` a batch is a part of the graph; see `Graph.targets`. With
        several processes (`ranks`), yield the share of this one of each batch.
        """
        size = config.batch_size
        if not isinstance(size, NodeBatches):
            return shuffled_batches(graph, size, self.ranks)
        kind: Any = size.sampling
        return node_batches(
            graph,
            size.size,
            sampling=kind,
            num_neighbors=size.num_neighbors,
            depth=self.num_hops,
            ranks=self.ranks,
        )

    def training_loss(self, batch: Any) -> LossTerms:
        """Return the terms to minimise on this batch."""
        raise NotImplementedError

    def optimizers(self, config: Any) -> list[torch.optim.Optimizer]:
        """Return the optimisers: by default one Adam on all learned parameters."""
        learned = [p for p in self.parameters() if p.requires_grad]
        if not learned:
            return []
        return [
            torch.optim.Adam(
                learned, config.lr, weight_decay=config.weight_decay, fused=True
            )
        ]

    def step(self, batch: Any, optimizers: list[torch.optim.Optimizer]) -> LossTerms:
        """Take one step and return its loss.

        Raises:
            DivergenceError: if the loss is no longer a finite number.
        """
        (optimizer,) = optimizers
        optimizer.zero_grad()
        loss = self.training_loss(batch)
        loss.backward()
        optimizer.step()
        return loss

    def after_step(self, progress: Progress) -> None:
        """Called after every step."""

    def after_epoch(self, progress: Progress) -> None:
        """Called after every epoch.

        With several processes (`ranks`), what is chosen here must be the same in all.
        """

    def rate(self, progress: Progress) -> float:
        """Return the share of the learning rate in this epoch, after the warm-up."""
        return 1.0

    def finish(self, graph: Graph, epoch: int) -> None:
        """Compute what has a closed form, once, after training.

        Args:
            graph: the whole training graph, as `prepare` returned it.
            epoch: the epoch that was kept; 0 if nothing was trained, or if training
                was not worth it.
        """

    def watched(self, graph: Graph) -> Tensor:
        """Return what early stopping scores: the embedding."""
        return self.embed(graph)

    def describe_untrained(self, graph: Graph) -> Tensor | None:
        """Return what the data says without training [N, D], to compare with.

        None if the embedding has no such part.
        """
        return None

    @property
    def has_fallback(self) -> bool:
        """Whether the embedding leaves out training that was not worth it.

        Early stopping then does not choose between the trained and the untrained state.
        """
        return False

    def embed(self, graph: Graph) -> Tensor:
        """Return the embedding: one row per node [N, D], or per graph [B, D]."""
        raise NotImplementedError

    def predict(self, graph: Graph) -> Tensor:
        """Return class probabilities per node [N, C], or per graph [B, C]."""
        raise NotImplementedError(f"{type(self).__name__} does not predict classes")

    def training_state(self) -> dict[str, Tensor]:
        """Return the state besides the weights that resumed training needs."""
        return {}

    def load_training_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore the result of `training_state`."""

    def training_bytes(self, graph: Graph) -> float | None:
        """Estimate the memory of a full-batch training step; None if unknown."""
        return None

    def finishing_bytes(self, graph: Graph, *, learned: bool = True) -> float | None:
        """Estimate the memory of `finish` and `embed` on one graph; None if unknown.

        Args:
            graph: the graph.
            learned: False for what needs no training alone.
        """
        return None

    @property
    def cycle(self) -> int:
        """Steps after which a costly step comes again: the first of them is one."""
        searches = [m for m in self.modules() if isinstance(m, Topology) and m.compares]
        return max((search.cycle for search in searches), default=1)

    @property
    def num_hops(self) -> int:
        """Steps from a node to the nodes that its embedding sees, while training."""
        depths = [len(m.layers) for m in self.modules() if isinstance(m, Encoder)]
        return max(depths, default=UNKNOWN_HOPS)

    @property
    def needs_edges(self) -> bool:
        """Whether a training step looks at edges; if not, a batch may be bare rows."""
        return True

    @property
    def uses_edge_attr(self) -> bool:
        """Whether edge attributes have an effect."""
        return "edge_attr" in self.needs
