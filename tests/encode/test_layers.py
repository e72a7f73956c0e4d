import copy

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.utils import to_undirected

from dsgrl.encode.layers import LAYERS, GATLayer, GCNLayer, GINLayer, SAGELayer
from dsgrl.graph import Adjacency

NUM_NODES = 14


def graph(kind: str) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    edge_index = torch.randint(NUM_NODES - 1, (2, 40), generator=generator)
    edge_index = edge_index.unique(dim=1)
    if kind == "empty":
        return edge_index[:, :0]
    return to_undirected(edge_index) if kind == "undirected" else edge_index


def compare(ours: Tensor, theirs: Tensor, mine: Tensor, reference: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    target = torch.randn(ours.shape)
    (found,) = torch.autograd.grad((ours * target).sum(), mine)
    (wanted,) = torch.autograd.grad((theirs * target).sum(), reference)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["directed", "undirected", "empty"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("widths", [(6, 3), (3, 6)])
def test_gcn__equals_pyg(kind: str, weighted: bool, widths: tuple[int, int]) -> None:
    edge_index = graph(kind)
    weight = torch.rand(edge_index.size(1)) if weighted else None
    layer, conv = GCNLayer(*widths), GCNConv(*widths)
    nn.init.normal_(layer.bias)
    conv.lin.weight.data = layer.weight.data.t().clone()
    conv.bias.data = layer.bias.data.clone()
    x = torch.randn(NUM_NODES, widths[0], requires_grad=True)
    other = x.detach().clone().requires_grad_()
    adjacency = Adjacency.from_edge_index(edge_index, weight, num_nodes=NUM_NODES)
    ours, theirs = layer(adjacency, x), conv(other, edge_index, weight)
    compare(ours, theirs, x, other)
    ours, theirs = layer(adjacency, x), conv(other, edge_index, weight)
    target = torch.randn(ours.shape)
    (found,) = torch.autograd.grad((ours * target).sum(), layer.weight)
    (wanted,) = torch.autograd.grad((theirs * target).sum(), conv.lin.weight)
    torch.testing.assert_close(found, wanted.t(), rtol=1e-5, atol=1e-5)


def repeated(edge_index: Tensor, times: Tensor) -> Tensor:
    """A weight of k is an edge listed k times: PyG's SAGE and GIN take no weights."""
    return edge_index.repeat_interleave(times, dim=1)


@pytest.mark.parametrize("kind", ["directed", "undirected", "empty"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("widths", [(6, 3), (3, 6)])
def test_sage__equals_pyg(kind: str, weighted: bool, widths: tuple[int, int]) -> None:
    edge_index = graph(kind)
    times = torch.randint(1, 4 if weighted else 2, (edge_index.size(1),))
    layer, conv = SAGELayer(*widths), SAGEConv(*widths)
    nn.init.normal_(layer.bias)
    conv.lin_l.weight.data = layer.neighbor_weight.data.t().clone()
    conv.lin_l.bias.data = layer.bias.data.clone()
    conv.lin_r.weight.data = layer.self_weight.data.t().clone()
    x = torch.randn(NUM_NODES, widths[0], requires_grad=True)
    other = x.detach().clone().requires_grad_()
    adjacency = Adjacency.from_edge_index(
        edge_index, times.float(), num_nodes=NUM_NODES
    )
    theirs = conv(other, repeated(edge_index, times))
    compare(layer(adjacency, x), theirs, x, other)


@pytest.mark.parametrize("kind", ["directed", "undirected", "empty"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("widths", [(6, 3), (3, 6)])
@pytest.mark.parametrize("eps", [0.0, 0.5])
@pytest.mark.parametrize("hidden", [None, 4])
def test_gin__equals_pyg(
    kind: str,
    weighted: bool,
    widths: tuple[int, int],
    eps: float,
    hidden: int | None,
) -> None:
    edge_index = graph(kind)
    times = torch.randint(1, 4 if weighted else 2, (edge_index.size(1),))
    layer = GINLayer(*widths, eps=eps, hidden_channels=hidden)
    nn.init.normal_(layer.bias)
    nn.init.normal_(layer.hidden_bias)
    between = hidden or widths[1]
    mlp = nn.Sequential(
        nn.Linear(widths[0], between), nn.ReLU(), nn.Linear(between, widths[1])
    )
    conv = GINConv(mlp, eps=eps)  # draws new weights: copy ours after it
    mlp[0].weight.data = layer.hidden_weight.data.t().clone()
    mlp[0].bias.data = layer.hidden_bias.data.clone()
    mlp[2].weight.data = layer.weight.data.t().clone()
    mlp[2].bias.data = layer.bias.data.clone()
    x = torch.randn(NUM_NODES, widths[0], requires_grad=True)
    other = x.detach().clone().requires_grad_()
    adjacency = Adjacency.from_edge_index(
        edge_index, times.float(), num_nodes=NUM_NODES
    )
    theirs = conv(other, repeated(edge_index, times))
    compare(layer(adjacency, x), theirs, x, other)


def as_gat_conv(layer: GATLayer) -> GATConv:
    """Make PyG's layer with the same weights; its heads are an axis."""
    width, heads = layer.in_channels, layer.heads
    # PyG names one width for both ends, and two where the targets have no features.
    ends = (width, width) if layer.bipartite else width
    conv = GATConv(
        ends,
        layer.out_channels // heads,
        heads=heads,
        add_self_loops=not layer.bipartite,
    )
    linear = conv.lin_src if layer.bipartite else conv.lin
    linear.weight.data = layer.weight.data.t().clone()
    conv.att_src.data = layer.source_weight.data.view_as(conv.att_src).clone()
    if layer.target_weight is not None:
        conv.att_dst.data = layer.target_weight.data.view_as(conv.att_dst).clone()
    conv.bias.data = layer.bias.data.clone()
    return conv


@pytest.mark.parametrize("kind", ["directed", "undirected", "empty"])
@pytest.mark.parametrize("widths", [(8, 4), (4, 8)])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_gat__equals_pyg(kind: str, widths: tuple[int, int], heads: int) -> None:
    edge_index = graph(kind)
    layer = GATLayer(*widths, heads=heads)
    nn.init.normal_(layer.bias)
    conv = as_gat_conv(layer)
    x = 3 * torch.randn(NUM_NODES, widths[0], requires_grad=True)
    other = x.detach().clone().requires_grad_()
    adjacency = Adjacency.from_edge_index(edge_index, num_nodes=NUM_NODES)
    compare(layer(adjacency, x), conv(other, edge_index), x, other)
    ours, theirs = layer(adjacency, x), conv(other, edge_index)
    target = torch.randn(ours.shape)
    mine = (layer.weight, layer.source_weight, layer.target_weight)
    found = torch.autograd.grad((ours * target).sum(), mine)
    reference = (conv.lin.weight, conv.att_src, conv.att_dst)
    wanted = torch.autograd.grad((theirs * target).sum(), reference)
    torch.testing.assert_close(found[0], wanted[0].t(), rtol=1e-4, atol=1e-5)
    for one, its in zip(found[1:], wanted[1:], strict=True):
        torch.testing.assert_close(one, its.flatten(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2])
def test_gat__between_types_equals_pyg(heads: int) -> None:
    """The targets have no features: the sources alone decide."""
    edge_index = torch.stack([torch.randint(9, (20,)), torch.randint(5, (20,))])
    edge_index = edge_index.unique(dim=1)
    layer = GATLayer(6, 4, heads=heads, bipartite=True)
    adjacency = Adjacency.from_edge_index(edge_index, num_nodes=(9, 5))
    x = torch.randn(9, 6)
    theirs = as_gat_conv(layer)((x, None), edge_index, size=(9, 5))
    torch.testing.assert_close(layer(adjacency, x), theirs, rtol=1e-5, atol=1e-5)


def test_gat__a_weight_is_a_number_of_edges_and_zero_is_none() -> None:
    edge_index = graph("undirected")
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    times = torch.randint(0, 3, (edge_index.size(1),))
    layer = GATLayer(6, 4, heads=2)
    # A score that would overflow must not leak from an edge of weight 0.
    x = 50 * torch.randn(NUM_NODES, 6)
    weighted = Adjacency.from_edge_index(edge_index, times.float(), num_nodes=NUM_NODES)
    listed = Adjacency.from_edge_index(repeated(edge_index, times), num_nodes=NUM_NODES)
    torch.testing.assert_close(layer(weighted, x), layer(listed, x))
    none = layer(weighted.with_value(torch.zeros(weighted.num_edges)), x)
    torch.testing.assert_close(none, x @ layer.weight)


@pytest.mark.parametrize("heads", [1, 3, 5, 99])
def test_gat__sparse_features_and_any_number_of_heads(heads: int) -> None:
    layer = GATLayer(6, 7, heads=heads)
    adjacency = Adjacency.from_edge_index(graph("directed"), num_nodes=NUM_NODES)
    x = torch.randn(NUM_NODES, 6) * (torch.rand(NUM_NODES, 6) < 0.4)
    dense, sparse = layer(adjacency, x), layer(adjacency, Adjacency.from_dense(x))
    assert dense.shape == (NUM_NODES, 7)
    torch.testing.assert_close(sparse, dense)


def test_gat__attention_is_dropped_while_training() -> None:
    layer = GATLayer(5, 4, dropout=0.5)
    adjacency = Adjacency.from_edge_index(graph("directed"), num_nodes=NUM_NODES)
    x = torch.randn(NUM_NODES, 5)
    assert not torch.equal(layer(adjacency, x), layer(adjacency, x))
    layer.eval()
    assert torch.equal(layer(adjacency, x), layer(adjacency, x))


@pytest.mark.parametrize("name", LAYERS)
def test_layer__views_side_by_side_equal_one_at_a_time(name: str) -> None:
    layer = LAYERS[name](5, 4)  # type: ignore[index]
    adjacency = Adjacency.from_edge_index(graph("directed"), num_nodes=NUM_NODES)
    views = torch.randn(NUM_NODES, 2, 5)
    alone = torch.stack([layer(adjacency, views[:, v]) for v in range(2)], dim=1)
    torch.testing.assert_close(layer(adjacency, views), alone)


@pytest.mark.parametrize("name", LAYERS)
def test_layer__weights_change_the_output(name: str) -> None:
    layer = LAYERS[name](5, 4)  # type: ignore[index]
    edge_index = graph("undirected")
    x = torch.randn(NUM_NODES, 5)
    one = Adjacency.from_edge_index(edge_index, num_nodes=NUM_NODES)
    other = one.with_value(torch.rand(one.num_edges) + 0.1)
    assert not torch.allclose(layer(one, x), layer(other, x))


@pytest.mark.parametrize("name", LAYERS)
def test_layer__reset_draws_new_weights(name: str) -> None:
    layer = LAYERS[name](5, 4)  # type: ignore[index]
    before = copy.deepcopy(layer.state_dict())
    layer.reset_parameters()  # type: ignore[operator]
    after = layer.state_dict()
    changed = [key for key in before if not torch.equal(before[key], after[key])]
    assert changed == [key for key in before if key.endswith("weight")]
