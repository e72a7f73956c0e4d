from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv

from dsgrl.encode import Encoder, PyGEncoder
from dsgrl.encode.layers import LAYERS, GATLayer
from dsgrl.graph import Adjacency, as_graph

encoders = pytest.mark.parametrize("layer", LAYERS)


def adjacency_of(data: Data) -> Adjacency:
    return as_graph(data).adjacency


@encoders
@pytest.mark.parametrize("norm", [None, "batch", "layer"])
@pytest.mark.parametrize("jump", ["last", "sum", "cat"])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_encoder__every_parameter_is_used(
    layer: str, norm: str, jump: str, num_layers: int, community_graph: Data
) -> None:
    encoder = Encoder(
        5, 4, 4, num_layers=num_layers, layer=layer, norm=norm, jump=jump, dropout=0.1
    )  # type: ignore[arg-type]
    z = encoder(adjacency_of(community_graph), torch.randn(60, 2, 5))
    assert z.shape == (60, 2, encoder.out_channels)
    (z * torch.randn(z.shape)).sum().backward()
    unused = [
        name
        for name, parameter in encoder.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    assert unused == []


@encoders
@pytest.mark.parametrize("norm", [None, "batch", "layer"])
def test_encoder__permuting_nodes_permutes_rows(
    layer: str, norm: str, community_graph: Data
) -> None:
    encoder = Encoder(5, 4, 3, layer=layer, norm=norm).eval()  # type: ignore[arg-type]
    x = torch.randn(60, 5)
    order = torch.randperm(60)
    position = order.argsort()
    moved = Adjacency.from_edge_index(
        position[community_graph.edge_index], num_nodes=60
    )
    z = encoder(adjacency_of(community_graph), x)
    torch.testing.assert_close(encoder(moved, x[order]), z[order])


def test_encoder__normalises_each_view_by_itself(community_graph: Data) -> None:
    encoder = Encoder(5, 4, 3, norm="batch").train()
    adjacency = adjacency_of(community_graph)
    views = torch.randn(60, 2, 5)
    views[:, 1] *= 9
    together = encoder(adjacency, views)
    alone = torch.stack([encoder(adjacency, views[:, v]) for v in range(2)], dim=1)
    torch.testing.assert_close(together, alone)


def test_encoder__dropout_only_while_training(community_graph: Data) -> None:
    encoder = Encoder(5, 16, 3, dropout=0.5)
    adjacency, x = adjacency_of(community_graph), torch.randn(60, 5)
    assert not torch.equal(encoder(adjacency, x), encoder(adjacency, x))
    encoder.eval()
    assert torch.equal(encoder(adjacency, x), encoder(adjacency, x))


def test_encoder__input_is_left_untouched(community_graph: Data) -> None:
    for layer in LAYERS:
        x = torch.randn(60, 2, 5)
        before = x.clone()
        Encoder(5, 4, 3, layer=layer)(adjacency_of(community_graph), x)
        assert torch.equal(x, before)


@pytest.mark.parametrize("norm", [None, "batch", "layer"])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "prelu"])
@pytest.mark.parametrize("activate_last", [False, True])
def test_encoder__is_its_parts_one_after_the_other(
    norm: Any, activation: Any, activate_last: bool, community_graph: Data
) -> None:
    """Normalisation and activation after every layer, or all but the last."""
    options = {"norm": norm, "activation": activation, "activate_last": activate_last}
    encoder = Encoder(5, 4, 3, num_layers=3, dropout=0.0, **options)
    adjacency, x = adjacency_of(community_graph), torch.randn(60, 5)
    learned = [nn.PReLU().weight.data.clone() for _ in range(3)]
    with torch.no_grad():
        for number, each in enumerate(encoder.activations):
            if isinstance(each, nn.PReLU):
                learned[number] = each.weight.fill_(0.1 * (number + 1))
    h, activated = x, 3 if activate_last else 2
    for number, layer in enumerate(encoder.layers):
        h = layer(adjacency, h)
        if number < activated:
            h = encoder.norms[number](h) if norm else h
            slope = {"relu": 0.0, "leaky_relu": 11 / 48, "prelu": learned[number]}
            h = h.clamp_min(0) + slope[activation] * h.clamp_max(0)
    z = encoder(adjacency, x)
    torch.testing.assert_close(z, h)
    # The result is still there after the backward pass, and all parts have gradients.
    (z * torch.randn(z.shape)).sum().backward()
    torch.testing.assert_close(z, h)
    assert all(p.grad is not None and p.grad.any() for p in encoder.parameters())
    biases = [layer.bias is not None for layer in encoder.layers]
    assert biases == [number >= activated or norm != "batch" for number in range(3)]


def test_encoder__takes_a_class_of_layers(community_graph: Data) -> None:
    encoder = Encoder(5, 6, 6, layer=partial(GATLayer, heads=3))
    assert [layer.heads for layer in encoder.layers] == [3, 3]
    plain = Encoder(5, 6, 6, layer="gat")
    adjacency, x = adjacency_of(community_graph), torch.randn(60, 5)
    plain.load_state_dict(encoder.state_dict())
    assert not torch.allclose(encoder(adjacency, x), plain(adjacency, x))


def test_encoder__drops_nothing_of_its_result(community_graph: Data) -> None:
    for activation in ("relu", "prelu"):
        encoder = Encoder(
            5, 64, 64, dropout=0.9, activation=activation, activate_last=True
        )  # type: ignore[arg-type]
        h = encoder(adjacency_of(community_graph), torch.randn(60, 5))
        assert h.ne(0).float().mean() > 0.4


def test_encoder__sum_needs_equal_widths() -> None:
    with pytest.raises(ValueError, match="hidden_channels=8 must equal out_channels=4"):
        Encoder(5, 8, 4, jump="sum")


class TwoGCN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GCNConv(5, 6), GCNConv(6, 3)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        h = self.first(x, edge_index, edge_weight).relu()
        z: Tensor = self.second(h, edge_index, edge_weight)
        return z


def test_pyg_encoder__equals_ours_with_the_same_weights(community_graph: Data) -> None:
    module = TwoGCN()
    ours = Encoder(5, 6, 3)
    for mine, theirs in zip(ours.layers, (module.first, module.second), strict=True):
        mine.weight.data = theirs.lin.weight.data.t().clone()
        mine.bias.data = theirs.bias.data.clone()
    weighted = adjacency_of(community_graph)
    weighted = weighted.with_value(torch.rand(weighted.num_edges))
    views = torch.randn(60, 2, 5)
    torch.testing.assert_close(
        PyGEncoder(module)(weighted, views), ours(weighted, views), rtol=1e-4, atol=1e-5
    )


def test_pyg_encoder__takes_modules_without_weights(community_graph: Data) -> None:
    encoder = PyGEncoder(GATConv(5, 3))
    z = encoder(adjacency_of(community_graph), torch.randn(60, 2, 5))
    assert z.shape == (60, 2, 3)
