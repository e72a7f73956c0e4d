"""A learned embedding beside the floor, in as many columns as the learned one has."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from dsgrl.floor.base import Floor, spread_of
from dsgrl.floor.hops import unit_rows
from dsgrl.floor.projection import Projection
from dsgrl.graph import Graph

# Some of the training data, and what was learned of it [N, D].
Part = tuple[Graph, Tensor]


class Joined(nn.Module):
    """The leading directions of [floor | weight x learned].

    The learned part is standardised by column and scaled to unit rows, as the parts of
    the floor are: the weight says how much of the result it gets. Directions that both
    have in common come first. Node types are joined separately. Without the learned
    part, a floor that fits into the columns stays as it is: its directions would only
    give noise a column of its own.

    Args:
        floor: describes the data without training.
        channels: columns of the learned embedding; 0 for the floor only.
        out_channels: columns of the result, or fewer if both have no more.
        num_types: number of node types.
        weight: of the learned part.
    """

    mean: Tensor
    deviation: Tensor
    uses_learned: Tensor

    def __init__(
        self,
        floor: Floor,
        channels: int,
        out_channels: int,
        num_types: int = 1,
        *,
        weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.floor, self.channels, self.weight = floor, channels, weight
        self.out_channels = out_channels
        self.missing = min(out_channels, floor.out_channels + channels)
        self.missing -= floor.out_channels
        self.projections = nn.ModuleList(
            Projection(floor.out_channels + channels, out_channels)
            for _ in range(num_types)
        )
        self.register_buffer("mean", torch.zeros(num_types, channels))
        self.register_buffer("deviation", torch.ones(num_types, channels))
        # False if training was not worth it: the result is then the floor's.
        self.register_buffer("uses_learned", torch.tensor(True))

    @torch.no_grad()
    def fit(self, graph: Graph, parts: Iterable[Part], *, uses_learned: bool) -> None:
        """Fit the floor, then the directions of both.

        Args:
            graph: the training data.
            parts: the same, a few graphs at a time, with their learned embeddings.
            uses_learned: whether the learned part is used.
        """
        self.floor.fit(graph)
        self.uses_learned.fill_(uses_learned)
        held = list(parts)
        tables = zip(*(part.split(z) for part, z in held), strict=True)
        for number, table in enumerate(torch.cat(rows) for rows in tables):
            if table.numel():
                self.mean[number], self.deviation[number] = spread_of(table)
        rows = (self._side_by_side(part, z) for part, z in held)
        blocks = zip(*rows, strict=True)
        for projection, block in zip(self.projections, blocks, strict=True):
            assert isinstance(projection, Projection)
            projection.fit_blocks(block)

    @torch.no_grad()
    def forward(self, graph: Graph, z: Tensor) -> Tensor:
        """Join the floor of a graph and its learned embedding z [N, D]."""
        if self.missing >= 0 and not self.uses_learned:
            return nn.functional.pad(self.floor(graph), (0, self.missing))
        rows = zip(self.projections, self._side_by_side(graph, z), strict=True)
        return torch.cat([projection(block) for projection, block in rows])

    def needed_bytes(self, num_rows: int, *, learned: bool = True) -> float:
        """Estimate the memory of fitting and joining tables of so many rows.

        The floor while it is put together, both side by side, and the result.

        Args:
            num_rows: of the graph.
            learned: whether there is a learned part.
        """
        columns = 3 * self.floor.out_channels + 2 * self.out_channels
        return 4.0 * num_rows * (columns + 4 * self.channels * learned)

    def _side_by_side(self, graph: Graph, z: Tensor) -> list[Tensor]:
        """Return the rows of every type before they are projected."""
        tables = zip(graph.split(self.floor(graph)), graph.split(z), strict=True)
        return [
            torch.cat([kept, self._scaled(rows, number)], dim=1)
            for number, (kept, rows) in enumerate(tables)
        ]

    def _scaled(self, rows: Tensor, number: int) -> Tensor:
        """Return the learned part of one type: unit rows of the weight's length."""
        if not self.uses_learned:
            # Not multiplied by 0: a model that failed may have no finite numbers.
            return torch.zeros_like(rows)
        standard = (rows - self.mean[number]) / self.deviation[number]
        return self.weight * unit_rows(standard)
