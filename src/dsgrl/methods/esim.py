r"""ESim: paths of a graph along meta-paths, https://arxiv.org/abs/1610.09769.

For two nodes u, v at positions i < j of a path along the meta-path M, with vectors x:

.. math:: f(u, v) = x_u^\top x_v + p_{ij}^\top x_u + q_{ij}^\top x_v + \mu_{ij}

.. math:: L = -\sum_{i<j} [\log \sigma(f(u, v)) + \sum_{n=1}^K \log \sigma(-f(u, v_n))]

p, q and mu belong to M. All pairs of a path count (the paper's pairwise form), or only
neighbours (its sequential form). Each path of the graph along M is as likely as
another, and the meta-paths weigh the same. Noise v_n is drawn in proportion to (count
at position j)^0.75.

The authors' program leaves p, q and mu at zero and has one of each for equal parts of
different meta-paths; here they are learned, as in the paper, for each pair of
positions. The noise of a position is shared by the pairs of a path that end there.
Adam takes a step per batch of paths, the program one per pair, at a falling rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.graph import Graph, Spec
from dsgrl.graph.metapaths import MetaPath, TypedEdges
from dsgrl.graph.sampled_walks import guided_walks
from dsgrl.methods.base import Method
from dsgrl.methods.metapath_walks import MetaPathConfig, read_metapaths
from dsgrl.methods.skip_gram import WATCHED_ROWS, Noise, rounds
from dsgrl.parameters import COUNT, one_of, parameter
from dsgrl.typing import InputError, Level, LossTerms


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths of the graph along one meta-path.

    Attributes:
        number: of the meta-path.
        nodes: nodes of each path [B, L].
        noise: noise of each node [B, L, K].
    """

    number: int
    nodes: Tensor
    noise: Tensor


class ESimMethod(Method):
    """One table of vectors, and the offsets of every meta-path.

    Args:
        num_nodes: rows of the table.
        channels: its columns D.
        paths: the meta-paths.
        pairs: "all" pairs of a path, or those of "neighbors".
    """

    class Config(MetaPathConfig):
        """The parameters of ESim; the defaults are those of its program."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=100, search=(32, 256, "log")
        )
        walks_per_node: int = parameter(
            COUNT,
            "paths of each meta-path in an epoch, per node of its first type",
            default=200,
            search=(50, 400, "log"),
        )
        pairs: Literal["all", "neighbors"] = parameter(
            one_of("all", "neighbors"), "which pairs of a path count", default="all"
        )

    summary: ClassVar[str] = "pairs of nodes on paths along meta-paths"
    levels: ClassVar[frozenset[Level]] = frozenset({"hetero"})
    inductive: ClassVar[bool] = False

    def __init__(
        self, num_nodes: int, channels: int, paths: list[MetaPath], pairs: str
    ) -> None:
        super().__init__()
        self.paths, self.pairs = paths, pairs
        size = (len(paths), *[max(map(len, paths))] * 2)
        self.table = nn.Parameter((torch.rand(num_nodes, channels) - 0.5) / channels)
        self.source = nn.Parameter(torch.zeros(*size, channels))
        self.target = nn.Parameter(torch.zeros(*size, channels))
        self.level = nn.Parameter(torch.zeros(size))

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the table and the offsets."""
        paths = read_metapaths(config, spec)
        return cls(spec.num_nodes, config.out_channels, paths, config.pairs)

    def batches(self, graph: Graph, config: Any) -> Iterator[Paths]:
        """Yield drawn paths, those of all meta-paths in turn."""
        generator = np.random.default_rng(int(torch.randint(2**62, ())))
        edges, device = TypedEdges(graph.adjacency), graph.adjacency.device
        drawers = [edges.instances(path) for path in self.paths]
        if not any(count.any() for count, _ in drawers):
            raise InputError("metapaths: the graph has no path along any of them")
        nodes = [len(edges.nodes(path[0])) for path in self.paths]
        for times in rounds(config, nodes):
            parts = []
            for number, (count, samplers) in enumerate(drawers):
                if not count.any():
                    continue
                total = times * nodes[number]
                starts = generator.choice(len(count), total, p=count / count.sum())
                walks = guided_walks(samplers, starts, len(samplers), generator)
                noise = [
                    Noise([column], [0, graph.num_nodes]).draw(
                        0, (total, config.negatives), generator
                    )
                    for column in walks.T
                ]
                drawn = np.stack(noise, axis=1)
                for i in range(0, total, config.batch_size):
                    rows = slice(i, i + config.batch_size)
                    parts.append((number, walks[rows], drawn[rows]))
            for place in generator.permutation(len(parts)):
                number, *arrays = parts[place]
                yield Paths(number, *(torch.from_numpy(a).to(device) for a in arrays))

    def training_loss(self, batch: Paths) -> LossTerms:
        """Return the mean loss of a pair with its noise."""
        size, length, negatives = batch.noise.shape
        ends = slice(length)
        source, target = (
            table[batch.number, ends, ends] for table in (self.source, self.target)
        )
        x = F.embedding(batch.nodes, self.table)
        noise = F.embedding(batch.noise, self.table)
        own = (
            torch.einsum("bid,ijd->bij", x, source)
            + self.level[batch.number, ends, ends]
        )
        real = x @ x.mT + own + torch.einsum("bjd,ijd->bij", x, target)
        wrong = (x @ noise.view(size, length * negatives, -1).mT).view(
            size, length, length, negatives
        )
        wrong = wrong + own[..., None]
        wrong = wrong + torch.einsum("bjkd,ijd->bijk", noise, target)
        kept = torch.ones(length, length, device=x.device).triu(1)
        if self.pairs == "neighbors":
            kept = kept.tril(1)
        loss = ((F.softplus(-real) + F.softplus(wrong).sum(dim=3)) * kept).sum()
        loss = loss / (size * kept.sum())
        return LossTerms({"paths": loss}, z=x.detach()[:WATCHED_ROWS, 0])

    def embed(self, graph: Graph) -> Tensor:
        """Return the table [N, D]."""
        return self.table
