import copy

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, SAGEConv
from torch_geometric.utils import to_undirected

from dsgrl.encode.layers import LAYERS, GCNLayer, GINLayer, SAGELayer
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
def test_gin__equals_pyg(
    kind: str, weighted: bool, widths: tuple[int, int], eps: float
) -> None:
    edge_index = graph(kind)
    times = torch.randint(1, 4 if weighted else 2, (edge_index.size(1),))
    layer = GINLayer(*widths, eps=eps)
    nn.init.normal_(layer.bias)
    nn.init.normal_(layer.hidden_bias)
    mlp = nn.Sequential(nn.Linear(*widths), nn.ReLU(), nn.Linear(widths[1], widths[1]))
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
