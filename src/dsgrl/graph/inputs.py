"""Converts every accepted input to one checked `Graph`; labels are not read."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.checks import as_tensor, check_features, edges_of
from dsgrl.graph.expected import (
    Expected,
    check_expected,
    describe_tables,
    sources_of,
)
from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.graph import Graph
from dsgrl.graph.hetero import as_hetero_graph
from dsgrl.graph.relations import Schema
from dsgrl.graph.store import StoredGraph
from dsgrl.graph.structural import degree_features, structural_features
from dsgrl.typing import InputError, Level

logger = logging.getLogger(__name__)


def level_of(data: Any) -> Level:
    """Return the level: one graph ("node"), many ("graph"), several types ("hetero").

    Raises:
        InputError: if it is none of them.
    """
    if isinstance(data, StoredGraph):
        return "node"
    if isinstance(data, FlatGraphs):
        # Its items are created on access and need no check.
        if len(data):
            return "graph"
        raise InputError("expected at least one graph, got an empty FlatGraphs")
    # Checked first: PyG's datasets also have the attributes of their graphs.
    many = isinstance(data, Sequence | torch.utils.data.Dataset)
    many = many and hasattr(data, "__len__") and not isinstance(data, str)
    if many and len(data):
        # A dataset creates a graph on every access: check the first only.
        asked = data if isinstance(data, Sequence) else [data[0]]
        wrong = next((g for g in asked if not hasattr(g, "edge_index")), None)
        if wrong is None:
            return "graph"
        raise InputError(
            f"expected a list of torch_geometric.data.Data, got one of "
            f"{type(wrong).__name__}"
        )
    if not many and hasattr(data, "edge_types") and hasattr(data, "node_types"):
        return "hetero"
    if not many and hasattr(data, "edge_index") and _has_nodes(data):
        return "node"
    given = "an empty list" if many and not len(data) else type(data).__name__
    raise InputError(
        f"expected a torch_geometric.data.Data with x and edge_index, a HeteroData or "
        f"a list of Data, got {given}"
    )


def as_graph(
    data: Any,
    *,
    structural_columns: int | None = None,
    schema: Schema | None = None,
    expected: Expected | None = None,
) -> Graph:
    """Check PyG data and convert it to a `Graph`; labels are not read.

    Args:
        data: a `torch_geometric.data.Data` with `edge_index`, optionally `x` (dense
            or torch-sparse) and `edge_weight`, as tensors or NumPy arrays; a list or
            dataset of them, or `FlatGraphs`; a `HeteroData`; or a `StoredGraph`.
        structural_columns: number of columns to compute if there is no `x`, at least 5.
        schema: the expected types and relations of a `HeteroData`.
        expected: what the model was trained on, including its schema. Other data is
            refused before features are computed for it.

    Raises:
        InputError: one line that says what is wrong with the data.
    """
    level = level_of(data)
    if expected is not None:
        check_expected(data, level, expected)
        schema = expected.schema
    if isinstance(data, FlatGraphs):
        graph = _flat(data, structural_columns)
    elif level == "graph":
        graph = _many(list(data), structural_columns)
    elif level == "hetero":
        graph = as_hetero_graph(data, schema)
        schema = graph.adjacency.schema
    else:
        graph = _one(data, structural_columns)
    sources = sources_of(data, level, schema)
    return replace(graph, tables=describe_tables(sources, graph))


def _one(data: Any, structural_columns: int | None) -> Graph:
    """Convert one graph; that of a store is taken as it is."""
    if isinstance(data, StoredGraph):
        num_nodes, adjacency, x = data.num_nodes, data.adjacency, data.features
    else:
        num_nodes = _count_nodes(data)
        edge_index, weight, attr = edges_of(data, num_nodes)
        adjacency = Adjacency.from_edge_index(
            edge_index, weight, num_nodes=num_nodes, edge_attr=attr
        )
        x = getattr(data, "x", None)
    make_features = None
    if x is None:
        x = structural_features(adjacency, structural_columns)
        # Computed again from other edges, the columns keep their meaning.
        make_features = partial(
            structural_features, columns=structural_columns, reference=x
        )
        logger.warning(
            "the graph has no node features: using %d structural columns (degree "
            "profile and random walks)",
            x.size(1),
        )
    elif not isinstance(data, StoredGraph):
        # Features of a store were checked when they were written.
        x = check_features(x, num_nodes)
    if adjacency.num_edges == 0 and num_nodes > 1:
        logger.warning(
            "the graph has no edges: only the features will tell nodes apart"
        )
    return Graph(x, adjacency, make_features)


def _many(graphs: list[Any], structural_columns: int | None) -> Graph:
    """Convert a list of graphs to one block-diagonal matrix."""
    with_x = sum(getattr(g, "x", None) is not None for g in graphs)
    if 0 < with_x < len(graphs):
        raise InputError(
            f"{with_x} of {len(graphs)} graphs have node features, expected all or none"
        )
    sizes = [len(g.x) if with_x else int(g.num_nodes or 0) for g in graphs]
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    if not int(ptr[-1]):
        raise InputError("the graphs are all empty: expected at least one node")
    edges, weights, attributes = [], [], []
    for number, (graph, size) in enumerate(zip(graphs, sizes, strict=True)):
        try:
            edge_index, weight, attr = edges_of(graph, size)
        except InputError as error:
            raise InputError(f"graph {number}: {error}") from error
        edges.append(edge_index + ptr[number])
        if edge_index.size(1):
            # A graph without edges may lack weights and attributes.
            weights.append(weight)
            attributes.append(attr)
    adjacency = Adjacency.from_edge_index(
        torch.cat(edges, dim=1),
        _all_or_none("edge_weight", weights),
        num_nodes=int(ptr[-1]),
        edge_attr=_all_or_none("edge_attr", attributes),
    )
    if not with_x:
        return _with_degrees(adjacency, ptr, structural_columns)
    tables = [as_tensor("x", g.x) for g in graphs]
    widths = {x.size(1) if x.dim() == 2 else None for x in tables}
    if len(widths) > 1:
        raise InputError(
            f"the graphs have {sorted(map(str, widths))[:3]} feature columns, expected "
            f"the same columns in all of them"
        )
    names = [getattr(g, "feature_names", None) for g in graphs]
    if any(these != names[0] for these in names):
        raise InputError(
            "the graphs differ in feature_names, expected the same columns in one order"
        )
    joined = check_features(torch.cat(tables), int(ptr[-1]))
    return Graph(joined, adjacency, None, ptr)


def _flat(graphs: FlatGraphs, structural_columns: int | None) -> Graph:
    """Convert `FlatGraphs` to one block-diagonal matrix, as `_many` does a list."""
    if not graphs.num_nodes:
        raise InputError("the graphs are all empty: expected at least one node")
    sizes, counts = graphs.node_ptr.diff(), graphs.edge_ptr.diff()
    _, weight, attr = edges_of(graphs, int(sizes.max()))
    beyond = (graphs.edge_index >= sizes.repeat_interleave(counts)).any(dim=0)
    if bool(beyond.any()):
        edge = beyond.long().argmax()
        number = int(torch.bucketize(edge, graphs.edge_ptr, right=True)) - 1
        try:
            edges_of(graphs[number], int(sizes[number]))
        except InputError as error:
            raise InputError(f"graph {number}: {error}") from error
    adjacency = Adjacency.from_edge_index(
        graphs.global_edge_index(),
        weight,
        num_nodes=graphs.num_nodes,
        edge_attr=attr if graphs.num_edges else None,
    )
    if graphs.x is None:
        return _with_degrees(adjacency, graphs.node_ptr, structural_columns)
    x = check_features(graphs.x, graphs.num_nodes)
    return Graph(x, adjacency, None, graphs.node_ptr)


def _with_degrees(
    adjacency: Adjacency, ptr: Tensor, structural_columns: int | None
) -> Graph:
    """Convert many graphs without features: the features are degrees."""
    make_features = partial(degree_features, columns=structural_columns)
    x = make_features(adjacency)
    logger.warning(
        "the graphs have no node features: using %d columns of the degree profile",
        x.size(1),
    )
    return Graph(x, adjacency, make_features, ptr)


def _all_or_none(name: str, values: list[Tensor | None]) -> Tensor | None:
    """Concatenate an attribute that all graphs have, or none."""
    given = [value for value in values if value is not None]
    if 0 < len(given) < len(values):
        raise InputError(
            f"{len(given)} of {len(values)} graphs have {name}, expected all or none"
        )
    if len(widths := {value.shape[1:] for value in given}) > 1:
        raise InputError(
            f"the graphs have {sorted(width[0] for width in widths)[:3]} columns of "
            f"{name}, expected the same columns in all of them"
        )
    return torch.cat(given) if given else None


def _has_nodes(data: Any) -> bool:
    # Not `num_nodes` if there is an x: PyG warns if x is an array.
    return getattr(data, "x", None) is not None or hasattr(data, "num_nodes")


def _count_nodes(data: Any) -> int:
    x = getattr(data, "x", None)
    num_nodes = len(x) if x is not None else data.num_nodes
    if not num_nodes:
        raise InputError("the graph is empty: expected at least one node")
    return int(num_nodes)
