"""The encoder of whole graphs: its equation, its widths, its rows."""

import pytest
import torch
from torch_geometric.nn import GINConv, global_add_pool

from dsgrl.encode import PooledEncoder, SummedEncoder
from dsgrl.graph import Adjacency, Graph, as_graph
from samples import make_graphs


def build(**options: int) -> PooledEncoder:
    return PooledEncoder(4, **{"out_channels": 12, "num_layers": 3, **options})


def test_result__is_that_of_pygs_layers() -> None:
    """Written with PyG's GINConv and pooling, as InfoGraph has it."""
    graph = as_graph(make_graphs())
    encoder = build()
    assert graph.ptr is not None
    h, edges, pooled = graph.x, graph.adjacency.edge_index, []
    group = torch.arange(8).repeat_interleave(graph.ptr.diff())
    for layer, norm in zip(encoder.layers, encoder.norms, strict=True):
        one, two = torch.nn.Linear(h.size(1), 4), torch.nn.Linear(4, 4)
        conv = GINConv(torch.nn.Sequential(one, torch.nn.ReLU(), two))
        with torch.no_grad():
            one.weight.copy_(layer.hidden_weight.t())
            one.bias.copy_(layer.hidden_bias)
            two.weight.copy_(layer.weight.t())
            two.bias.copy_(layer.bias)
        h = norm(conv(h, edges).relu())
        pooled.append(global_add_pool(h, group))
    torch.testing.assert_close(
        encoder(graph), torch.cat(pooled, dim=1), rtol=1e-4, atol=1e-4
    )


def test_width__is_shared_by_the_layers() -> None:
    encoder = build(out_channels=128)
    assert [norm.num_features for norm in encoder.norms] == [42, 42, 44]
    assert encoder(as_graph(make_graphs())).shape == (8, 128)
    with pytest.raises(ValueError, match="out_channels=2"):
        build(out_channels=2)


def test_rows__are_those_of_each_graph_alone() -> None:
    graph = as_graph(make_graphs())
    encoder = build().eval()
    whole = encoder(graph)
    for number in range(8):
        alone = encoder(graph.take(torch.tensor([number])))
        torch.testing.assert_close(alone[0], whole[number], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        encoder.embed_nodes(graph).sum(dim=0), whole.sum(dim=0), rtol=1e-3, atol=1e-3
    )


def test_features__sparse_ones_and_a_single_node_work() -> None:
    graph = as_graph(make_graphs())
    encoder = build()
    x = graph.x * (torch.rand_like(graph.x) < 0.3)
    dense, sparse = (
        encoder(Graph(table, graph.adjacency, ptr=graph.ptr))
        for table in (x, Adjacency.from_dense(x))
    )
    torch.testing.assert_close(dense, sparse, rtol=1e-4, atol=1e-4)
    assert encoder(as_graph(make_graphs((1,)))).isfinite().all()


def test_summed__is_the_sum_of_normalised_nodes() -> None:
    graph = as_graph(make_graphs())
    encoder = SummedEncoder(4, 6, num_layers=2)
    assert graph.ptr is not None
    nodes = encoder.embed_nodes(graph)
    torch.testing.assert_close(nodes.mean(dim=0), torch.zeros(6), atol=1e-5, rtol=0)
    z = encoder(graph)
    start, end = graph.ptr[2:4].tolist()
    torch.testing.assert_close(z[2], nodes[start:end].sum(dim=0), rtol=1e-4, atol=1e-4)
    assert encoder(as_graph(make_graphs((1,)))).isfinite().all()
