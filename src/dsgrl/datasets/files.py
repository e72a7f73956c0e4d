"""Files of the user as PyG data; ids come back unchanged."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dsgrl.datasets.table import DATASETS, load_dataset, suggest
from dsgrl.graph.flat import FlatGraphs
from dsgrl.io.arrays import FlatArrays, GraphArrays, HeteroArrays, NodeArrays
from dsgrl.io.graph_tables import read_graph_tables
from dsgrl.io.npz import read_npz
from dsgrl.typing import FloatArray, InputError


def read_graph(
    source: str | Path,
    nodes: str | Path | None = None,
    *,
    directed: bool = False,
    data_folder: Path | None = None,
) -> Any:
    """Read a graph as PyG `Data`, a `HeteroData` or a sequence of `Data`.

    Args:
        source: a dataset's name; a table of edges (csv, tsv, parquet) with columns
            `source, target[, weight][, type]`; or an npz file.
        nodes: a table of nodes with column `id`, optionally `label`, `type` or
            `graph`, and numeric features (or one list column `features`).
        directed: keep the direction of the edges; by default they go both ways.
            Relations of a graph with types keep theirs, and are seen from both ends.
        data_folder: the data folder.

    Returns:
        `Data` with `edge_index`, `ids` and, where given, `x`, `edge_weight`, `y`,
        `feature_names` and `label_names`. A `HeteroData` of the same if a table has a
        column `type`; `FlatGraphs`, a sequence of `Data` with an `id` each, if the
        table of nodes has a column `graph`.

    Raises:
        InputError: one line on what is wrong with the files.
    """
    path, name = Path(source), str(source)
    is_name = not path.is_file() and (name.lower() in DATASETS or not path.suffix)
    if nodes is not None and (is_name or path.suffix == ".npz"):
        raise InputError(
            f"'{name}' has its own nodes: a table of nodes ({nodes}) goes with a table "
            f"of edges only"
        )
    if is_name and directed:
        raise InputError(
            f"'{name}': a dataset's edges are taken as they are: leave out directed"
        )
    if is_name:
        if name.lower() not in DATASETS:
            raise InputError(f"'{name}' is neither a file nor a dataset{suggest(name)}")
        return load_dataset(name, data_folder)
    if path.suffix == ".npz":
        return _as_data(read_npz(path), directed=directed)
    found = read_graph_tables(path, Path(nodes) if nodes else None)
    if isinstance(found, HeteroArrays):
        return _as_hetero_data(found)
    if isinstance(found, FlatArrays):
        return _as_flat_graphs(found, directed=directed)
    return _as_data(found, directed=directed)


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
        store.x = torch.from_numpy(nodes.features.x)
        if nodes.features.names is not None:
            store.feature_names = nodes.features.names
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
