"""MVGRL: its two views, its losses, and what training is worth."""

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, Spec, as_graph
from dsgrl.losses.contrastive import jensen_shannon
from dsgrl.methods import METHODS, configure
from dsgrl.train import fit_graph
from samples import build_method, make_config, make_graphs


def of_graphs(**changes: Any) -> tuple[Any, Graph]:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = make_config("mvgrl", spec, **{"out_channels": 6, **changes})
    method = METHODS["mvgrl"].build(config, spec)
    return method, method.prepare(graph)


def act(h: Tensor) -> Tensor:
    return F.leaky_relu(h, 0.25)


@pytest.mark.parametrize("diffusion", ["ppr", "heat"])
def test_views__are_the_edges_and_the_diffusion(
    diffusion: str, community_graph: Data
) -> None:
    method = build_method("mvgrl", out_channels=6, diffusion=diffusion)
    graph = method.prepare(as_graph(community_graph))
    a = graph.adjacency.to_dense() + torch.eye(60)
    degree = a.sum(1)
    t = a * degree.rsqrt() * degree.rsqrt()[:, None]
    if diffusion == "ppr":
        s = 0.2 * torch.inverse(torch.eye(60) - 0.8 * t)
    else:
        s = torch.matrix_exp(5.0 * (a / degree - torch.eye(60)))
    expected = sum(
        act(matrix @ graph.x @ encoder.layers[0].weight)
        for matrix, encoder in zip((t, s), method.encoders, strict=True)
    )
    torch.testing.assert_close(method.embed(graph), expected, rtol=1e-3, atol=1e-3)


def test_nodes__the_loss_is_a_cross_entropy_across_views(community_graph: Data) -> None:
    method = build_method("mvgrl", out_channels=6)
    with torch.no_grad():
        method.bias.fill_(0.3)
    graph = method.prepare(as_graph(community_graph))
    torch.manual_seed(3)
    found = method.training_loss(graph).total
    torch.manual_seed(3)
    order = torch.randperm(60)
    matrices = (graph.adjacency, graph.extras["diffused"])
    pairs = list(zip(method.encoders, matrices, strict=True))
    h1, h2 = (encoder(matrix, graph.x) for encoder, matrix in pairs)
    f1, f2 = (encoder(matrix, graph.x[order]) for encoder, matrix in pairs)
    s1, s2 = (h.mean(0).sigmoid() for h in (h1, h2))
    scores = [
        F.bilinear(h, s.expand_as(h), method.weight[None], method.bias[None])
        for h, s in ((h2, s1), (h1, s2), (f2, s1), (f1, s2))
    ]
    target = torch.cat([torch.ones(120, 1), torch.zeros(120, 1)])
    expected = F.binary_cross_entropy_with_logits(torch.cat(scores), target)
    torch.testing.assert_close(found, expected)


def test_graphs__the_loss_is_jensen_shannon_across_views() -> None:
    method, graph = of_graphs(num_layers=3)
    ptr = graph.bounds
    matrices = (graph.adjacency, graph.extras["diffused"])
    nodes, graphs = [], []
    for encoder, matrix in zip(method.encoders, matrices, strict=True):
        h = encoder(matrix, graph.x)
        assert h.shape == (graph.num_nodes, 18)
        nodes.append(method.of_nodes(h[:, 12:]))
        sums = [h[a:b].sum(0) for a, b in itertools.pairwise(ptr)]
        graphs.append(method.of_graphs(torch.stack(sums)))
    total = 0.0
    for u, v in ((nodes[0], graphs[1]), (nodes[1], graphs[0])):
        own, other = [], []
        for number, (a, b) in enumerate(itertools.pairwise(ptr)):
            scores = u[a:b] @ v.t()
            own.append(scores[:, number])
            rest = [k for k in range(len(v)) if k != number]
            other.append(scores[:, rest].flatten())
        total = total + jensen_shannon(torch.cat(own), torch.cat(other))
    torch.testing.assert_close(method.training_loss(graph).total, total)
    torch.testing.assert_close(method.embed(graph), graphs[0] + graphs[1])


def test_graphs__one_does_not_depend_on_the_others() -> None:
    method, graph = of_graphs(edges_per_node=4)
    whole = method.embed(graph)
    some = torch.tensor([6, 1, 3])
    torch.testing.assert_close(method.embed(graph.take(some)), whole[some])
    alone = method.prepare(as_graph(make_graphs()[1:2]))
    torch.testing.assert_close(method.embed(alone), whole[1:2])


def test_prepare__keeps_few_entries_per_node(community_graph: Data) -> None:
    method = build_method("mvgrl", out_channels=6, edges_per_node=5)
    graph = method.prepare(as_graph(community_graph))
    assert graph.extras["diffused"].num_edges == 5 * 60


def test_sparse_features__give_the_same(community_graph: Data) -> None:
    x = (torch.rand(60, 12) < 0.2).float()
    dense = Graph(x, as_graph(community_graph).adjacency)
    sparse = Graph(Adjacency.from_dense(x), dense.adjacency)
    method = build_method("mvgrl", out_channels=6)
    losses = []
    for graph in (dense, sparse):
        torch.manual_seed(5)
        losses.append(method.training_loss(method.prepare(graph)).total)
    torch.testing.assert_close(*losses)


@pytest.mark.data
@pytest.mark.slow
def test_cora__training_is_worth_something() -> None:
    data = load_dataset("cora")
    scores = {}
    for epochs in (0, 40):
        settings = {"epochs": epochs, "out_channels": 128, "edges_per_node": 16}
        fitted, graph = fit_graph("mvgrl", data, configure("mvgrl", settings))
        scores[epochs] = evaluate(fitted.embed_graph(graph), data.y).mean
    assert scores[40] > scores[0] + 3
