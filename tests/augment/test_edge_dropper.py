"""The learned chance of an edge: its range, its gradient, its mean over graphs."""

from dataclasses import replace

import torch
from torch_geometric.data import Data

from dsgrl.augment.edge_dropper import EdgeDropper, mean_per_graph
from dsgrl.encode import SummedEncoder
from dsgrl.graph import Graph, as_graph
from samples import make_graphs


def build() -> tuple[EdgeDropper, Graph]:
    torch.manual_seed(0)
    return EdgeDropper(SummedEncoder(4, 6, num_layers=2), 5), as_graph(make_graphs())


def test_weights__are_one_per_edge_between_0_and_1_and_drawn_anew() -> None:
    dropper, graph = build()
    one, two = dropper(graph), dropper(graph)
    assert one.shape == (graph.adjacency.num_edges,)
    assert one.min() > 0
    assert one.max() < 1
    assert not torch.equal(one, two)


def test_weights__follow_the_logit_of_the_two_ends() -> None:
    """A draw is above 1/2 with the chance sigmoid(logit)."""
    dropper, graph = build()
    dropper.eval()
    with torch.no_grad():
        h = dropper.gnn.embed_nodes(graph)
        ends = h[graph.adjacency.edge_index]
        first = torch.cat([dropper.source.weight, dropper.target.weight], dim=1)
        hidden = torch.cat([*ends], dim=1) @ first.t() + dropper.source.bias
        chance = dropper.score(hidden.relu()).squeeze(1).sigmoid()
        above = sum((dropper(graph) > 0.5).double() for _ in range(600)) / 600
    torch.testing.assert_close(
        torch.as_tensor(above).float(), chance, atol=0.09, rtol=0
    )
    assert chance.std() > 0.02


def test_gradient__through_the_engine_is_that_of_small_changes() -> None:
    """The result of an encoder by weights of edges, in double precision."""
    _, graph = build()
    encoder = SummedEncoder(4, 6, num_layers=3).double().eval()
    weight = torch.rand(graph.adjacency.num_edges, dtype=torch.float64)
    factor = torch.randn(8, 6, dtype=torch.float64)

    def result(weight: torch.Tensor) -> torch.Tensor:
        adjacency = graph.adjacency.with_value(weight)
        z = encoder(replace(graph, x=graph.x.double(), adjacency=adjacency))
        return (z * factor).sum()

    weight.requires_grad_()
    (found,) = torch.autograd.grad(result(weight), weight)
    assert found.abs().min() > 0
    for entry in range(0, len(weight), 17):
        change = torch.zeros_like(weight)
        change[entry] = 1e-6
        with torch.no_grad():
            slope = (result(weight + change) - result(weight - change)) / 2e-6
        torch.testing.assert_close(found[entry], slope, rtol=1e-4, atol=1e-5)


def test_mean__is_over_each_graph_first_and_leaves_out_those_without_edges() -> None:
    edges = [torch.tensor([[0, 1], [1, 0]]), torch.empty(2, 0).long()]
    edges.append(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    graph = as_graph([Data(x=torch.ones(3, 1), edge_index=e) for e in edges])
    value = torch.tensor([1.0, 3, 5, 5, 5, 9])
    assert mean_per_graph(value, graph).item() == (2 + 6) / 2
    lonely = as_graph([Data(x=torch.ones(3, 1), edge_index=edges[1])])
    assert mean_per_graph(torch.empty(0), lonely).item() == 0
