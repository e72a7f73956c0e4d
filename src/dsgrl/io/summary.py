"""What was understood of a graph that was read: shown before training, and kept."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dsgrl.io.choices import count_of, shorten
from dsgrl.typing import IntArray, Level

# Beyond so many edges components are not counted: it takes seconds and memory.
COUNT_UP_TO = 30_000_000
EDGES_AT_ONCE = 1 << 22

PLURAL = {"number": "numbers", "boolean": "true or false", "date": "dates"}
PLURAL |= {"category": "categories", "text": "text", "list": "lists"}


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Understood:
    """Counts, columns and notes of a graph.

    Attributes:
        sources: files, or what else was read.
        level: one graph, many, or one of several types.
        num_nodes: of all graphs and types.
        num_edges: of all relations; an edge that goes both ways counts once.
        num_graphs: number of graphs.
        directed: whether edges keep their direction.
        weighted: whether edges have weights.
        types: number of nodes by type.
        relations: number of edges by relation.
        loops: edges from a node to itself; not counted for several types.
        merged: edges that were given again, or the other way round, and count once.
        isolated: nodes without an edge.
        components: connected parts; None if they were not counted.
        features: by type of nodes and kind, the columns and how many features each is.
        unnamed: features that are no columns of a table.
        labelled: number of nodes or graphs with a label.
        roles: columns of ids, labels and so on, by role.
        assumed: choices that were made for the user.
        changed: what was left out, filled or added.
    """

    sources: list[str]
    level: Level
    num_nodes: int
    num_edges: int
    num_graphs: int = 1
    directed: bool = False
    weighted: bool = False
    types: dict[str, int] = field(default_factory=dict)
    relations: dict[str, int] = field(default_factory=dict)
    loops: int = 0
    merged: int = 0
    isolated: int = 0
    components: int | None = None
    features: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    unnamed: int = 0
    labelled: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Understood({self.num_nodes} nodes, {self.num_edges} edges)"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Describe the graph in a few lines, without the notes."""
        lines = [f"read {shorten(self.sources, 4)}: {self._counts()}"]
        if self.types:
            lines.append(f"types of nodes: {_count(self.types)}")
        if self.relations:
            lines.append(f"relations: {_count(self.relations)}")
        for kind, columns in self.features.items():
            where = f" of type '{kind}'" if kind else ""
            lines.append(f"features{where}: {_describe_columns(columns)}")
        if self.unnamed:
            lines.append(f"features: {count_of(self.unnamed, 'column')}")
        if self.labelled:
            what = "graphs" if self.level == "graph" else "nodes"
            lines.append(
                f"labels: {self.labelled:,} {what}; they are not used to learn"
            )
        return lines

    def _counts(self) -> str:
        counts = [count_of(self.num_nodes, "node")]
        if self.level == "graph":
            counts.insert(0, count_of(self.num_graphs, "graph"))
        edges = count_of(self.num_edges, "directed edge" if self.directed else "edge")
        counts.append(f"{edges} with weights" if self.weighted else edges)
        parts = [", ".join(counts)]
        if self.loops:
            parts.append(f"{count_of(self.loops, 'edge')} from a node to itself")
        if self.merged:
            again = count_of(self.merged, "edge")
            parts.append(f"{again} given again or the other way round: merged")
        if self.isolated:
            parts.append(f"{count_of(self.isolated, 'node')} without an edge")
        if self.components is not None and self.components > 1:
            parts.append(f"{self.components:,} connected parts")
        return "; ".join(parts)


def _count(numbers: dict[str, int]) -> str:
    return shorten([f"{name} ({count:,})" for name, count in numbers.items()])


def _describe_columns(by_kind: dict[str, dict[str, int]]) -> str:
    parts = []
    for kind, columns in by_kind.items():
        named = [
            name if count == 1 else f"{name} ({count:,})"
            for name, count in columns.items()
        ]
        parts.append(f"{PLURAL.get(kind, kind)}: {shorten(named)}")
    total = sum(count for columns in by_kind.values() for count in columns.values())
    return f"{count_of(total, 'column')} made of {'; '.join(parts)}"


def count_parts(num_nodes: int, edges: IntArray) -> tuple[int, int | None]:
    """Return the nodes without an edge to another node, and the connected parts.

    Args:
        num_nodes: number of nodes N.
        edges: source and target of every edge [2, E].
    """
    has_edge = np.zeros(num_nodes, dtype=bool)
    for start in range(0, edges.shape[1], EDGES_AT_ONCE):
        some = edges[:, start : start + EDGES_AT_ONCE]
        has_edge[some[:, some[0] != some[1]]] = True
    isolated = int(num_nodes - has_edge.sum())
    if edges.shape[1] > COUNT_UP_TO or not num_nodes:
        return isolated, None
    ones = np.ones(edges.shape[1], dtype=bool)
    matrix = sp.coo_matrix((ones, tuple(edges)), shape=(num_nodes, num_nodes))
    count, _ = connected_components(matrix.tocsr(), directed=False)
    return isolated, int(count)
