r"""Skip-gram with negative sampling on walks, the common base of the walk methods.

With vectors x of centres and y of contexts, pairs (i, j) at distance d <= w in a walk,
and K noise nodes n per pair (Mikolov et al., 2013, https://arxiv.org/abs/1310.4546):

.. math:: L = -\sum_{ij} a_{ij} [\log \sigma(x_i^\top y_j)
              + \sum_{n=1}^{K} \log \sigma(-x_i^\top y_n)]

word2vec draws the window of every centre from 1 to w; here a pair has its mean weight
a = (w - d + 1) / w instead. Noise is drawn in proportion to (count in the walks)^0.75
and shared by the centres of a segment of 4 w steps, with the weight of K noise nodes
per pair: scores are products of small matrices, not one row per pair. word2vec takes a
step per pair, at a rate that falls to zero; here Adam takes one per batch of walks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor, nn

from dsgrl.graph import Graph, Spec
from dsgrl.graph.sampled_walks import MISSING, Numbers
from dsgrl.methods.base import Method
from dsgrl.methods.config import EPOCHS_RULE, FitConfig, StopByLinks
from dsgrl.parameters import ABOVE_ZERO, AUTO, COUNT, auto_or, parameter
from dsgrl.typing import LossTerms

NOISE_POWER = 0.75
# For batch_size="auto": visits of a node in a step of the optimiser, in the mean. Each
# step goes over the whole tables; with fewer visits there would be too many steps.
VISITS, FEWEST_WALKS, SHORT_WALK = 2 / 3, 4, 4
# Steps of a segment, in windows: long ones cost scores of pairs that are too far apart,
# short ones cost rows of contexts.
SEGMENT = 4
# Rows of a step that are kept to measure the spread of the embedding.
WATCHED_ROWS = 64


class WalkConfig(FitConfig):
    """The parameters of every method on walks."""

    epochs: int | Literal["auto"] | StopByLinks = parameter(
        EPOCHS_RULE,
        'passes of `walks_per_node` new walks (0: no training); "auto": 1',
        default=1,
    )
    batch_size: int | Literal["auto"] = parameter(
        auto_or(COUNT),
        'walks per step, 4 at least for "auto": as many as visit 2/3 of the nodes',
        default=AUTO,
    )
    out_channels: int = parameter(
        COUNT, "width of the embedding", default=128, search=(32, 256, "log")
    )
    walks_per_node: int = parameter(
        COUNT, "walks from every node in an epoch", default=10, search=(5, 40, "log")
    )
    negatives: int = parameter(
        COUNT, "noise nodes per pair", default=5, search=(1, 10, "log")
    )
    lr: float = parameter(
        ABOVE_ZERO, "learning rate of Adam", default=5e-3, search=(1e-3, 2e-2, "log")
    )

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Choose the size of a batch by the number of nodes."""
        # A path along a meta-path has no length of its own: three to five nodes.
        visits = self.values().get("walk_length", SHORT_WALK)
        size = max(FEWEST_WALKS, round(VISITS * spec.num_nodes / visits))
        return {**super().fill_auto(spec), "batch_size": size}

    def stop_rule(self, spec: Spec) -> int | StopByLinks:
        """Train for the default number of epochs."""
        epochs: int = self.defaults()["epochs"]
        return epochs


class Walker(NamedTuple):
    """A kind of walks.

    Attributes:
        starts: nodes that walks start from [n].
        walk: returns a walk from each of some nodes [n, L].
    """

    starts: Numbers
    walk: Callable[[Numbers, np.random.Generator], Numbers]


@dataclass(frozen=True, slots=True)
class Windows:
    """Segments of walks and the nodes around them; a missing node is -1.

    Attributes:
        center: nodes of each segment [B, S].
        context: the same nodes, and w more on either side [B, C].
        weight: weight of each pair by its position [C, S].
        kind: kind of each context, as zeros and a one [B, C, G].
        noise: nodes of each kind [B, G, M].
    """

    center: Tensor
    context: Tensor
    weight: Tensor
    kind: Tensor
    noise: Tensor


class Noise:
    """Draws nodes in proportion to how often walks visit them, to the power 0.75.

    Args:
        walks: nodes of walks, some may be missing.
        bounds: first node of each kind of nodes, then N.
    """

    def __init__(self, walks: list[Numbers], bounds: list[int]) -> None:
        visits = np.zeros(1 + bounds[-1])
        for part in walks:
            # A missing node is counted in front of all others.
            visits += np.bincount(1 + part.ravel(), minlength=len(visits))
        visits[0] = 0
        self.cumulated = np.cumsum(visits**NOISE_POWER)
        self.bounds = np.array(bounds)

    def kinds_of(self, nodes: Numbers) -> Numbers:
        """Return the kind of each node; -1 for a missing one."""
        return np.searchsorted(self.bounds, nodes, "right") - 1

    def draw(
        self, kind: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> Numbers:
        """Draw nodes of a kind; walks visit one of them at least."""
        low, high = self.cumulated[self.bounds[kind : kind + 2]]
        mass = low + generator.random(shape) * (high - low)
        place = np.searchsorted(self.cumulated, mass, "right") - 1
        found: Numbers = np.minimum(place, self.bounds[kind + 1] - 1)
        return found


class SkipGram(Method):
    """A table of centres and a table of contexts; a subclass says how to walk.

    Args:
        num_nodes: rows of the tables.
        channels: their columns.
        negatives: noise nodes per pair.
    """

    Config = WalkConfig
    inductive: ClassVar[bool] = False

    def __init__(self, num_nodes: int, channels: int, negatives: int) -> None:
        super().__init__()
        self.negatives = negatives
        tables = torch.rand(2, num_nodes, channels).sub(0.5).div(channels)
        self.center, self.context = map(nn.Parameter, tables.unbind())

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the tables."""
        return cls(spec.num_nodes, config.out_channels, config.negatives)

    def walkers(self, graph: Graph, config: Any) -> list[Walker]:
        """Return the kinds of walks on a graph."""
        raise NotImplementedError

    def noise_bounds(self, graph: Graph, config: Any) -> list[int]:
        """Return the first node of each kind that has noise of its own, then N."""
        return [0, graph.num_nodes]

    def batches(self, graph: Graph, config: Any) -> Iterator[Windows]:
        """Yield segments of new walks, those of all walkers in turn."""
        # Resumed training draws the same walks: the state of torch is stored.
        generator = np.random.default_rng(int(torch.randint(2**62, ())))
        walkers = self.walkers(graph, config)
        bounds = self.noise_bounds(graph, config)
        size = config.batch_size
        for times in rounds(config, [len(walker.starts) for walker in walkers]):
            walks = [
                walker.walk(
                    generator.permutation(walker.starts.repeat(times)), generator
                )
                for walker in walkers
            ]
            noise = Noise(walks, bounds)
            parts = [w[i : i + size] for w in walks for i in range(0, len(w), size)]
            for number in generator.permutation(len(parts)):
                arrays = make_windows(parts[number], noise, config, generator)
                tensors = (torch.from_numpy(array) for array in arrays)
                yield Windows(*(t.to(graph.adjacency.device) for t in tensors))

    def training_loss(self, batch: Windows) -> LossTerms:
        """Return the mean loss of a pair with its noise."""
        segments, num_kinds, num_noise = batch.noise.shape
        real = batch.weight * (batch.context >= 0)[:, :, None]
        real = real * (batch.center >= 0)[:, None, :]
        x = F.embedding(batch.center.clamp_min(0), self.center)
        y = F.embedding(batch.context.clamp_min(0), self.context)
        noise = F.embedding(batch.noise.view(segments, -1), self.context)
        # The wider factor first: its gradient is then not transposed.
        found = (F.softplus(-(y @ x.mT)) * real).sum()
        # Each kind has the weight of K noise nodes for each of its pairs.
        per_kind = batch.kind.mT @ real * (self.negatives / num_noise)
        wrong = F.softplus(noise @ x.mT).view(segments, num_kinds, num_noise, -1)
        wrong = (wrong.sum(dim=2) * per_kind).sum()
        loss = (found + wrong) / real.sum().clamp_min(1)
        return LossTerms({"skip_gram": loss}, z=x.detach()[:WATCHED_ROWS, 0])

    def embed(self, graph: Graph) -> Tensor:
        """Return the table of centres [N, D]."""
        return self.center


def rounds(config: Any, starts: list[int]) -> Iterator[int]:
    """Yield how many walks from every node to take at once, all of them in the end.

    One at a time, but on a small graph as many as fill a batch.
    """
    left = config.walks_per_node
    at_once = max(1, -(-config.batch_size // max(1, min(starts))))
    while left > 0:
        yield min(at_once, left)
        left -= at_once


def make_windows(
    walks: Numbers, noise: Noise, config: Any, generator: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Cut walks into segments and draw noise: the attributes of `Windows`."""
    window, length = config.window, walks.shape[1]
    # Equal segments: the last one is not nearly empty.
    size = -(-length // -(-length // (SEGMENT * window)))
    after = -length % size
    walks = np.pad(walks, ((0, 0), (0, after)), constant_values=MISSING)
    center = walks.reshape(-1, size)
    around = np.pad(walks, ((0, 0), (window, window)), constant_values=MISSING)
    context = sliding_window_view(around, size + 2 * window, axis=1)[:, ::size]
    context = context.reshape(len(center), -1)
    has_center = (center != MISSING).any(axis=1)
    center, context = center[has_center], context[has_center]
    place = np.arange(size + 2 * window) - window
    distance = np.abs(place[:, None] - np.arange(size))
    weight = np.clip((window - distance + 1) / window, 0, None) * (distance > 0)
    kinds = noise.kinds_of(context)
    present = [int(kind) for kind in np.unique(kinds) if kind >= 0]
    drawn = [
        noise.draw(kind, (len(center), config.negatives * window), generator)
        for kind in present
    ]
    is_kind = kinds[:, :, None] == np.array(present)
    return (
        center,
        context,
        weight.astype(np.float32),
        is_kind.astype(np.float32),
        np.stack(drawn, axis=1),
    )
