"""Graphs as files hold them: NumPy arrays and plain lists, checked, without torch.

`GraphArrays` is one graph, `HeteroArrays` one graph with types, `FlatArrays` many
graphs in one set of arrays. `dsgrl.datasets` turns them into PyG objects.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from dsgrl.typing import FloatArray, IntArray, Relation


class FeatureTable(NamedTuple):
    """A table of features.

    Attributes:
        x: the values, an array or a SciPy matrix in compressed rows [N, F].
        names: name of every column, if known.
        plan: the `ColumnPlan` they were made by, if they come from a table.
    """

    x: Any
    names: list[str] | None = None
    plan: Any = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GraphArrays:
    """One graph.

    Attributes:
        edges: source and target of every edge, as row numbers [2, E].
        ids: id of every node [N].
        weight: weight of every edge [E].
        features: features of the nodes [N, F].
        y: label of every node, -1 if unknown [N].
        label_names: name of every label.
    """

    edges: IntArray
    ids: list[Any]
    weight: FloatArray | None = None
    features: FeatureTable | None = None
    y: IntArray | None = None
    label_names: list[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NodeArrays:
    """The nodes of one type; the attributes are those of `GraphArrays`."""

    ids: list[Any]
    features: FeatureTable | None = None
    y: IntArray | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeteroArrays:
    """One graph with several types of nodes or edges.

    Attributes:
        nodes: the nodes of every type.
        edges: by relation, source and target as row numbers of their types [2, E].
        weights: by relation, weight of every edge [E]; empty if there are none.
        label_names: name of every label.
    """

    nodes: dict[str, NodeArrays]
    edges: dict[Relation, IntArray]
    weights: dict[Relation, FloatArray]
    label_names: list[str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FlatArrays:
    """Many graphs; nodes and edges are sorted by graph.

    Attributes:
        node_ptr: first node of every graph, then N [B + 1].
        edge_ptr: first edge of every graph, then E [B + 1].
        edges: source and target; nodes are numbered from 0 in every graph [2, E].
        y: label of every graph, -1 if unknown [B].
        features: features of the nodes [N, F].
        weight: weight of every edge [E].
        edge_attr: attributes of every edge [E, K].
        node_ids: id of every node [N].
        graph_ids: id of every graph [B].
        label_names: name of every label.
    """

    node_ptr: IntArray
    edge_ptr: IntArray
    edges: npt.NDArray[Any]
    y: IntArray | None = None
    features: FeatureTable | None = None
    weight: FloatArray | None = None
    edge_attr: FloatArray | None = None
    node_ids: list[Any] | None = None
    graph_ids: list[Any] | None = None
    label_names: list[str] | None = None
