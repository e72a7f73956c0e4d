"""The interface of every method, and nothing of any of them.

A method has no loop, no data and no evaluation of its own. It declares its parameters
(`Config`), is built for the data (`build`), gives a loss (`training_loss`) and returns
embeddings (`embed`). The other hooks have defaults; override one where a method needs
more:

=====================  ============================================================
`prepare`              what is computed once per graph: diffusion, centralities
`batches`              other batches than graphs: walks, sampled pairs
`optimizers`, `step`   several optimisers, an adversary
`after_step`           a moving average of the weights
`after_epoch`          a schedule, a choice among augmentations
`predict`              class probabilities of a supervised method
=====================  ============================================================
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from dsgrl.graph import Graph, Spec
from dsgrl.graph.batches import shuffled_batches
from dsgrl.methods.config import FitConfig
from dsgrl.typing import Level, LossTerms

Need = Literal["labels", "edge_attr"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where training is.

    Attributes:
        epoch: the present epoch, counted from 1.
        step: optimiser steps taken so far.
        epochs: the most epochs there can be.
    """

    epoch: int
    step: int
    epochs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """A named setting of a method that stands in tables by itself.

    Attributes:
        summary: one line for people.
        settings: parameters that make the form what it is; nothing overrides them.
        recipes: folder of its recipes; the name of the method if empty.
        untrained: name of its untrained form, which is its control; "random-NAME" if
            empty.
    """

    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipes: str = ""
    untrained: str = ""


class Method(nn.Module):
    """What the one fit asks of a method.

    Attributes:
        Config: its parameters, a subclass of `FitConfig`.
        summary: one line for people.
        levels: what it can embed.
        inductive: whether it embeds data it was not trained on.
        needs: what of the data it uses besides features and edges; a method sees no
            label unless it needs "labels".
        forms: named settings of it, by name; one of the method's own name by default.
    """

    Config: ClassVar[type[FitConfig]] = FitConfig
    summary: ClassVar[str] = ""
    levels: ClassVar[frozenset[Level]]
    inductive: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset()
    forms: ClassVar[Mapping[str, Form]] = {}

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the method.

        Args:
            config: a `Config` in which every "auto" has been replaced.
            spec: sizes and schema of the training data.
        """
        raise NotImplementedError

    def prepare(self, graph: Graph) -> Graph:
        """Return the graph with what is computed once for it (`Graph.extras`).

        Called once per fit on the training graph, and once for every graph that is
        embedded.
        """
        return graph

    def batches(self, graph: Graph, config: Any) -> Iterator[Any]:
        """Yield the batches of one epoch: the graph, or shuffled batches of graphs."""
        return shuffled_batches(graph, config.batch_size)

    def training_loss(self, batch: Any) -> LossTerms:
        """Return the terms to minimise on this batch."""
        raise NotImplementedError

    def optimizers(self, config: Any) -> list[torch.optim.Optimizer]:
        """Return what takes the steps: one Adam on everything that learns."""
        learned = [p for p in self.parameters() if p.requires_grad]
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
        """Do what follows every step."""

    def after_epoch(self, progress: Progress) -> None:
        """Do what follows every epoch."""

    def embed(self, graph: Graph) -> Tensor:
        """Return what the user gets: a vector per node [N, D], or per graph [B, D]."""
        raise NotImplementedError

    def predict(self, graph: Graph) -> Tensor:
        """Return class probabilities per node [N, C], or per graph [B, C]."""
        raise NotImplementedError(f"{type(self).__name__} predicts no classes")

    def training_state(self) -> dict[str, Tensor]:
        """Return what training needs to go on besides the weights."""
        return {}

    def load_training_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `training_state` gave."""

    def training_bytes(self, graph: Graph) -> float | None:
        """Estimate the memory of a training step on all of a graph; None if unknown."""
        return None

    @property
    def uses_edge_attr(self) -> bool:
        """Whether edge attributes have an effect."""
        return "edge_attr" in self.needs
