"""What a method may know of the data it is built for."""

import itertools
from dataclasses import dataclass

from dsgrl.graph.graph import Graph
from dsgrl.graph.relations import Relations, Schema
from dsgrl.typing import Level


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """Sizes and schema of the training data; no data.

    Attributes:
        level: what is embedded: nodes, graphs, or nodes of several types.
        in_channels: feature columns of every node type; one entry if there is one.
        num_nodes: nodes seen in training.
        largest: nodes of the largest graph or type, inside which edges are learned.
        has_features: False if all features were made from the edges.
        schema: types and relations, if there are several.
        edge_channels: columns of the edge attributes, 0 if there are none.
        num_classes: classes of the labels, for methods that need them.
        target: the node type that has labels, if there are several types.
    """

    level: Level
    in_channels: tuple[int, ...]
    num_nodes: int
    largest: int
    has_features: bool = True
    schema: Schema | None = None
    edge_channels: int = 0
    num_classes: int | None = None
    target: str | None = None

    @classmethod
    def of(cls, graph: Graph) -> "Spec":
        """Describe a graph."""
        tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
        relations = isinstance(graph.adjacency, Relations)
        attributes = [part.attr for part, _, _ in graph.adjacency.parts()]
        return cls(
            level=graph.level,
            in_channels=tuple(table.shape[1] for table in tables),
            num_nodes=graph.num_nodes,
            largest=max(b - a for a, b in itertools.pairwise(graph.bounds)),
            has_features=graph.make_features is None,
            schema=graph.adjacency.schema if relations else None,
            edge_channels=max(
                (a.size(1) for a in attributes if a is not None), default=0
            ),
        )

    @property
    def widths(self) -> int | tuple[int, ...]:
        """Feature columns as an encoder takes them: one number, or one per type."""
        return self.in_channels if self.level == "hetero" else self.in_channels[0]
