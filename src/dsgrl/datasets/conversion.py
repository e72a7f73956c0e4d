"""Arrays that were read as PyG data."""

from typing import Any

import torch
from torch import Tensor

from dsgrl.graph.checks import features_as_tensor
from dsgrl.graph.flat import FlatGraphs
from dsgrl.io.arrays import FlatArrays, GraphArrays, HeteroArrays, NodeArrays
from dsgrl.typing import FloatArray


def as_pyg(arrays: GraphArrays | HeteroArrays | FlatArrays, *, directed: bool) -> Any:
    """Hold arrays as a `Data`, a `HeteroData` or `FlatGraphs`.

    Args:
        arrays: the graph or graphs.
        directed: whether edges keep their direction; those of several types always do.
    """
    if isinstance(arrays, HeteroArrays):
        return _as_hetero_data(arrays)
    if isinstance(arrays, FlatArrays):
        return _as_flat_graphs(arrays, directed=directed)
    return _as_data(arrays, directed=directed)


def _as_data(arrays: GraphArrays, *, directed: bool) -> Any:
    """Hold one graph as PyG `Data`."""
    from torch_geometric.data import Data

    edge_index, weight = torch.from_numpy(arrays.edges), _tensor(arrays.weight)
    if not directed:
        edge_index, weight = _both_ways(edge_index, weight, len(arrays.ids))
    data = Data(edge_index=edge_index, num_nodes=len(arrays.ids))
    if weight is not None:
        data.edge_weight = weight
    _add_nodes(data, arrays, arrays.label_names)
    return data


def _as_hetero_data(arrays: HeteroArrays) -> Any:
    """Hold a graph with types as PyG `HeteroData`."""
    from torch_geometric.data import HeteroData

    data = HeteroData()
    for kind, nodes in arrays.nodes.items():
        data[kind].num_nodes = len(nodes.ids)
        _add_nodes(data[kind], nodes, arrays.label_names)
    for relation, edges in arrays.edges.items():
        data[relation].edge_index = torch.from_numpy(edges)
        if relation in arrays.weights:
            data[relation].edge_weight = torch.from_numpy(arrays.weights[relation])
    return data


def _add_nodes(
    store: Any, nodes: GraphArrays | NodeArrays, label_names: list[str] | None
) -> None:
    store.ids = nodes.ids
    if nodes.features is not None:
        store.x = features_as_tensor(nodes.features.x)
        if nodes.features.names is not None:
            store.feature_names = nodes.features.names
        if nodes.features.plan is not None:
            store.column_plan = nodes.features.plan
    if nodes.y is not None:
        store.y = torch.from_numpy(nodes.y)
        if label_names is not None:
            store.label_names = label_names


def _as_flat_graphs(arrays: FlatArrays, *, directed: bool) -> FlatGraphs:
    """Hold many graphs as a sequence of PyG `Data`."""
    graphs = FlatGraphs.from_arrays(arrays)
    if directed:
        return graphs
    # Nodes are numbered through all graphs, so that edges stay sorted by graph.
    edge_index, weight = _both_ways(
        graphs.global_edge_index(), graphs.edge_weight, graphs.num_nodes
    )
    return graphs.with_edges(edge_index, weight)


def _tensor(array: FloatArray | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(array)


def _both_ways(
    edge_index: Tensor, weight: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None]:
    """Let every edge go both ways; parallel edges become one, weights are kept."""
    from torch_geometric.utils import to_undirected

    if weight is None:
        return to_undirected(edge_index, num_nodes=num_nodes), None
    both: tuple[Tensor, Tensor] = to_undirected(
        edge_index, weight, num_nodes=num_nodes, reduce="max"
    )
    return both
