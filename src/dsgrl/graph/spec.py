"""The description of the training data that a method is built for."""

import itertools
from dataclasses import dataclass

from dsgrl.graph.graph import Graph
from dsgrl.graph.relations import Relations, Schema
from dsgrl.typing import Level


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """Sizes and schema of the training data; holds no data.

    Attributes:
        level: what is embedded: nodes, graphs, or nodes of several types.
        in_channels: number of feature columns, one entry per node type.
        num_nodes: number of nodes in training.
        largest: number of nodes of the largest graph or node type; edges are learned
            inside a graph or type.
        has_features: False if the features were computed from the edges.
        schema: types and relations, if there are several.
        edge_channels: number of columns of the edge attributes, 0 if there are none.
        num_classes: number of classes, for methods that need labels.
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
    def num_types(self) -> int:
        """Number of node types."""
        return len(self.in_channels)

    @property
    def widths(self) -> int | tuple[int, ...]:
        """Input width of an encoder: one number, or one per node type."""
        return self.in_channels if self.level == "hetero" else self.in_channels[0]
