"""The interface every method keeps: a loss to train on and an embedding to return."""

from typing import ClassVar

from torch import Tensor, nn

from dsgrl.graph import Graph
from dsgrl.methods.space import Range
from dsgrl.typing import Level, LossTerms


class Method(nn.Module):
    """What the one training loop asks of a method.

    A method has no loop, no optimiser, no data and no evaluation of its own.

    Attributes:
        levels: what it can embed.
        uses_labels: whether it may see training labels; ours never do.
        search_space: per hyper-parameter, lowest and highest value and the scale.
    """

    levels: ClassVar[frozenset[Level]]
    uses_labels: ClassVar[bool] = False
    search_space: ClassVar[dict[str, Range]]

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the terms to minimise on this batch."""
        raise NotImplementedError

    def embed(self, batch: Graph) -> Tensor:
        """Return one vector per node [N, D], or per graph [B, D]."""
        raise NotImplementedError
