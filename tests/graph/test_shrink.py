"""Small graphs of the same shape."""

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.graph import as_graph
from dsgrl.graph.shrink import shrink
from samples import make_data, make_graph


def make_large(num_nodes: int = 4000) -> Data:
    return make_graph(num_nodes, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_shrink__has_a_share_of_nodes_and_edges(share: float) -> None:
    graph = as_graph(make_large())
    part = shrink(graph, share)
    assert part.num_nodes == part.x.shape[0] == round(share * graph.num_nodes)
    wanted = share * graph.adjacency.num_edges
    assert wanted - 300 <= part.adjacency.num_edges <= wanted + 300
    assert int(part.adjacency.pattern.col.max()) < part.num_nodes


def test_shrink__near_nodes_stay_near() -> None:
    node = torch.arange(9999)
    path = Data(x=torch.ones(10_000, 1), edge_index=torch.stack([node, node + 1]))
    source, target = shrink(as_graph(path), 0.2).adjacency.edge_index
    assert int((target - source).abs().max()) <= 1


def test_shrink__rows_are_rows_of_the_features() -> None:
    graph = as_graph(make_large(100))
    part = shrink(graph, 0.1)
    assert torch.equal(part.x, graph.x[torch.arange(10) * 10])


def test_shrink__keeps_types_and_relations() -> None:
    graph = as_graph(make_data("hetero"))
    part = shrink(graph, 0.5)
    assert part.adjacency.schema == graph.adjacency.schema
    for kind, size in graph.adjacency.sizes.items():
        assert part.adjacency.sizes[kind] == round(0.5 * size)
    assert [t.shape[0] for t in part.x] == list(part.adjacency.sizes.values())


def test_shrink__of_many_graphs_keeps_whole_graphs() -> None:
    graph = as_graph(make_data("graph"))
    part = shrink(graph, 0.5)
    assert part.num_graphs == round(0.5 * graph.num_graphs)
    assert set(part.ptr.diff().tolist()) <= set(graph.ptr.diff().tolist())


def test_shrink__all_of_it_is_the_graph() -> None:
    graph = as_graph(make_large(50))
    assert shrink(graph, 1.0) is graph


def test_shrink__makes_features_of_the_small_graph() -> None:
    data = make_large(300)
    data = Data(edge_index=data.edge_index, num_nodes=300)
    part = shrink(as_graph(data), 0.5)
    assert part.make_features is not None
    other = part.with_adjacency(part.adjacency)
    assert other.x.shape == part.x.shape
