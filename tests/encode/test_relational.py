from typing import Any

import pytest
import torch

from dsgrl.encode import Encoder
from dsgrl.encode.layers import LAYERS
from dsgrl.encode.relational import RelationalLayer
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.typing import LayerName
from samples import (
    as_one_type,
    make_data,
    make_hetero,
    permute,
    weights_as_one_type,
)

kinds = pytest.mark.parametrize("kind", LAYERS)


def widths(graph: Graph) -> list[int]:
    return [table.shape[1] for table in graph.x]


@kinds
@pytest.mark.parametrize("jump", ["last", "cat"])
@pytest.mark.parametrize("norm", [None, "layer"])
def test_encoder__one_type_and_relation_is_the_plain_encoder(
    kind: LayerName, jump: Any, norm: Any
) -> None:
    data = make_data("node")
    relations = as_graph(as_one_type(data)).adjacency
    assert len(relations.adjacencies) == 1
    options: dict[str, Any] = {"layer": kind, "jump": jump, "norm": norm}
    plain = Encoder(4, 6, 5, **options)
    for parameter in plain.parameters():
        torch.nn.init.normal_(parameter)
    typed = Encoder([4], 6, 5, schema=relations.schema, **options)
    typed.load_state_dict(weights_as_one_type(plain.state_dict()))
    x = data.x.clone().requires_grad_()
    other = data.x.clone().requires_grad_()
    ours, theirs = typed(relations, (other,)), plain(as_graph(data).adjacency, x)
    torch.testing.assert_close(ours, theirs)
    target = torch.randn(ours.shape)
    (found,) = torch.autograd.grad((ours * target).sum(), other)
    (wanted,) = torch.autograd.grad((theirs * target).sum(), x)
    torch.testing.assert_close(found, wanted)


@kinds
def test_layer__what_reaches_a_node_is_the_sum_over_relations(
    kind: LayerName,
) -> None:
    """Each relation's layer by itself, own features only inside a type."""
    graph = as_graph(make_hetero())
    layer = RelationalLayer(graph.adjacency.schema, kind, widths(graph), 4)
    torch.nn.init.normal_(layer.bias)
    found = layer(graph.adjacency, graph.x)
    rows = [torch.zeros(size, 4) for size in graph.adjacency.sizes.values()]
    for single, part, (source, target) in zip(
        layer.relations,
        graph.adjacency.adjacencies.values(),
        graph.adjacency.schema.ends(),
        strict=True,
    ):
        rows[target] = rows[target] + single.message(part, graph.x[source])  # type: ignore[operator]
    expected = torch.cat(
        [row + bias for row, bias in zip(rows, layer.bias, strict=True)]
    )
    torch.testing.assert_close(found, expected)


@kinds
def test_layer__between_types_a_node_does_not_see_itself(kind: LayerName) -> None:
    """Node 0 of the target type has no neighbour: nothing but a constant comes in."""
    part = Adjacency.from_edge_index(torch.tensor([[0], [1]]), num_nodes=(3, 2))
    layer = LAYERS[kind](4, 5, bias=False)
    one, other = (layer.message(part, torch.randn(3, 4)) for _ in range(2))
    assert torch.equal(one[0], other[0])
    assert not torch.allclose(one[1], other[1])


@kinds
def test_layer__dense_and_sparse_features_agree(kind: LayerName) -> None:
    graph = as_graph(make_hetero())
    layer = RelationalLayer(graph.adjacency.schema, kind, widths(graph), 4)
    sparse = tuple(Adjacency.from_dense(table) for table in graph.x)
    torch.testing.assert_close(
        layer(graph.adjacency, sparse), layer(graph.adjacency, graph.x)
    )


@kinds
def test_layer__activated_is_relu_of_the_result(kind: LayerName) -> None:
    graph = as_graph(make_hetero())
    layer = RelationalLayer(graph.adjacency.schema, kind, widths(graph), 4)
    torch.nn.init.normal_(layer.bias)
    torch.testing.assert_close(
        layer.activated(graph.adjacency, graph.x, 0.0),
        layer(graph.adjacency, graph.x).relu(),
    )


@kinds
@pytest.mark.parametrize("norm", [None, "batch", "layer"])
@pytest.mark.parametrize("jump", ["last", "sum", "cat"])
def test_encoder__every_parameter_is_used(
    kind: LayerName, norm: Any, jump: Any
) -> None:
    graph = as_graph(make_hetero())
    encoder = Encoder(
        widths(graph),
        4,
        4,
        layer=kind,
        norm=norm,
        jump=jump,
        schema=graph.adjacency.schema,
    )
    z = encoder(graph.adjacency, graph.x)
    assert z.shape == (graph.num_nodes, encoder.out_channels)
    (z * torch.randn(z.shape)).sum().backward()
    unused = [
        name
        for name, parameter in encoder.named_parameters()
        if parameter.grad is None or not parameter.grad.any()
    ]
    # No edge leads from a type to itself: there are no neighbours to weigh.
    allowed = ("film", "tag")
    empty = [
        number
        for number, (source, name, _) in enumerate(graph.adjacency.schema.relations)
        if name == "self" and source in allowed
    ]
    assert set(unused) <= {
        f"layers.{depth}.relations.{number}.{weight}_weight"
        for depth in range(2)
        for number in empty
        for weight in ("neighbor", "source", "target")
    }


@kinds
def test_encoder__permuting_nodes_permutes_rows(kind: LayerName) -> None:
    data = make_hetero()
    moved, orders = permute(data)
    graph, other = as_graph(data), as_graph(moved)
    encoder = Encoder(
        widths(graph), 6, 5, layer=kind, schema=graph.adjacency.schema
    ).eval()
    z = graph.split(encoder(graph.adjacency, graph.x))
    found = other.split(encoder(other.adjacency, other.x))
    for one, row, order in zip(z, found, orders.values(), strict=True):
        torch.testing.assert_close(row, one[order], rtol=1e-4, atol=1e-5)


@kinds
def test_encoder__views_side_by_side_equal_one_at_a_time(kind: LayerName) -> None:
    graph = as_graph(make_hetero())
    encoder = Encoder(4, 6, 5, layer=kind, schema=graph.adjacency.schema).eval()
    views = torch.randn(graph.num_nodes, 2, 4)
    alone = [encoder(graph.adjacency, views[:, v]) for v in range(2)]
    torch.testing.assert_close(
        encoder(graph.adjacency, views), torch.stack(alone, dim=1)
    )


@pytest.mark.parametrize("views", [(), (2,)])
def test_encoder__a_single_row_does_not_break_batch_norm(
    views: tuple[int, ...],
) -> None:
    """The statistics of one row mean nothing: the running ones are taken."""
    adjacency = Adjacency.from_edge_index(
        torch.empty(2, 0, dtype=torch.long), num_nodes=1
    )
    encoder = Encoder(3, 4, 2, norm="batch").train()
    x = torch.randn(1, *views, 3)
    z = encoder(adjacency, x)
    torch.testing.assert_close(z, encoder.eval()(adjacency, x))


@pytest.mark.parametrize("num_layers", [1, 3])
def test_encoder__width_of_the_result(num_layers: int) -> None:
    graph = as_graph(make_hetero())
    for jump, expected in {
        "last": 5,
        "cat": 6 * (num_layers - 1) + 5,
    }.items():
        encoder = Encoder(
            widths(graph),
            6,
            5,
            num_layers=num_layers,
            jump=jump,  # type: ignore[arg-type]
            schema=graph.adjacency.schema,
        )
        assert encoder.out_channels == expected
        assert encoder(graph.adjacency, graph.x).shape == (38, expected)
