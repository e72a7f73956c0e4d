"""Hops along relations, for graphs with several node types.

Every type is described by its own features, by the mean of the features at the other
end of each relation, and by the mean of its own type's features two steps away, there
and back along each relation. No path is chosen by hand.
"""

import torch
from torch import Tensor, nn

from dsgrl.floor.base import Floor
from dsgrl.floor.hops import COLUMNS, unit_rows
from dsgrl.floor.projection import Projection
from dsgrl.graph import Adjacency, Graph, Schema, propagate


class RelationsFloor(Floor):
    """Features carried along every relation and back; one table for all types.

    Types differ in how many relations they have: each type's parts are projected to a
    common number of columns.

    Args:
        in_channels: feature columns of every type.
        schema: types and relations; every relation has its reverse.
        columns: columns of a type's features and of its description.
    """

    def __init__(
        self,
        in_channels: tuple[int, ...],
        schema: Schema,
        *,
        columns: int = COLUMNS,
    ) -> None:
        super().__init__()
        self.schema = schema
        self.features = nn.ModuleList(
            Projection(width, columns) for width in in_channels
        )
        own = [min(width, columns) for width in in_channels]
        widths = own.copy()
        for source, target in schema.ends():
            widths[target] += own[source] + own[target]
        self.parts = nn.ModuleList(Projection(width, columns) for width in widths)
        self.out_channels = max(min(width, columns) for width in widths)

    def fit(self, graph: Graph) -> None:
        """Take the leading directions of each type's features, then of its parts."""
        for projection, table in zip(self.features, graph.x, strict=True):
            assert isinstance(projection, Projection)
            projection.fit(table)
        for projection, rows in zip(self.parts, self._carry(graph), strict=True):
            assert isinstance(projection, Projection)
            projection.fit(rows)

    @torch.no_grad()
    def forward(self, graph: Graph) -> Tensor:
        """Describe the nodes of all types [N, out_channels]."""
        carried = zip(self.parts, self._carry(graph), strict=True)
        tables = [projection(rows) for projection, rows in carried]
        missing = [self.out_channels - table.size(1) for table in tables]
        return torch.cat(
            [
                nn.functional.pad(table, (0, columns))
                for table, columns in zip(tables, missing, strict=True)
            ]
        )

    @torch.no_grad()
    def _carry(self, graph: Graph) -> list[Tensor]:
        """Return the parts of every type side by side, each with unit rows."""
        own = [
            projection(table)
            for projection, table in zip(self.features, graph.x, strict=True)
        ]
        parts = [[unit_rows(table)] for table in own]
        matrices = list(graph.adjacency.adjacencies.values())
        for adjacency, (source, target) in zip(
            matrices, self.schema.ends(), strict=True
        ):
            there = adjacency.normalized("mean")
            back = _transposed(adjacency).normalized("mean")
            parts[target].append(unit_rows(propagate(there, own[source])))
            returned = propagate(there, propagate(back, own[target]))
            parts[target].append(unit_rows(returned))
        return [torch.cat(part, dim=1) for part in parts]


def _transposed(adjacency: Adjacency) -> Adjacency:
    targets, sources = adjacency.shape
    return Adjacency.from_edge_index(
        adjacency.edge_index.flip(0), adjacency.value, num_nodes=(targets, sources)
    )
