"""GGD: its scores, its corruption, and the distant nodes in its embedding."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.methods import configure
from dsgrl.train import fit_graph
from samples import build_method


def build(**changes: Any) -> Any:
    return build_method("ggd", **{"out_channels": 6, **changes})


@pytest.mark.parametrize("projection_layers", [1, 3])
def test_loss__is_the_papers_formula(
    projection_layers: int, community_graph: Data
) -> None:
    graph = as_graph(community_graph)
    method = build(projection_layers=projection_layers, feature_mask=0.0)
    torch.manual_seed(3)
    found = method.training_loss(graph).total
    torch.manual_seed(3)
    order = torch.randperm(60)
    scores = []
    for x in (graph.x, graph.x[order]):
        h = method.encoder(graph.adjacency, x)
        for layer in method.projection:
            h = h @ layer.weight.t() + layer.bias
        scores.append(h.sum(dim=1))
    labels = torch.cat([torch.ones(60), torch.zeros(60)])
    expected = F.binary_cross_entropy_with_logits(torch.cat(scores), labels)
    torch.testing.assert_close(found, expected)


def test_corruption__both_groups_lack_the_same_columns(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the groups could be told apart by what was masked."""
    method = build(feature_mask=0.5)
    seen = []
    monkeypatch.setattr(
        method.encoder,
        "forward",
        lambda _, x: (seen.append(x), torch.ones(60, 6, requires_grad=True))[1],
    )
    method.training_loss(as_graph(community_graph))
    masked = [x.eq(0).all(dim=0) for x in seen]
    assert torch.equal(*masked)
    assert 0 < masked[0].sum() < 12
    assert not torch.equal(*seen)
    torch.testing.assert_close(*(x.sort(dim=0).values for x in seen))


@pytest.mark.parametrize("hops", [0, 1, 4])
def test_embedding__adds_distant_nodes(hops: int, community_graph: Data) -> None:
    graph, method = as_graph(community_graph), build(hops=hops)
    z = method.encoder(graph.adjacency, graph.x)
    matrix = graph.adjacency.to_dense() + torch.eye(60)
    scale = matrix.sum(dim=1).rsqrt()
    matrix = scale[:, None] * matrix * scale
    expected = z + torch.linalg.matrix_power(matrix, hops) @ z
    torch.testing.assert_close(method.embed(graph), expected, rtol=1e-4, atol=1e-5)


def test_sparse_features__give_the_same(community_graph: Data) -> None:
    x = (torch.rand(60, 12) < 0.2).float()
    dense = Graph(x, as_graph(community_graph).adjacency)
    sparse = Graph(Adjacency.from_dense(x), dense.adjacency)
    method = build()
    losses = []
    for graph in (dense, sparse):
        torch.manual_seed(5)
        losses.append(method.training_loss(graph).total)
    torch.testing.assert_close(*losses)


@pytest.mark.data
def test_cora__training_is_worth_something() -> None:
    data = load_dataset("cora")
    scores = {}
    for epochs in (0, 40):
        settings = {"epochs": epochs, "out_channels": 128, "hops": 0}
        fitted, graph = fit_graph("ggd", data, configure("ggd", settings))
        scores[epochs] = evaluate(fitted.embed_graph(graph), data.y).mean
    assert scores[40] > scores[0] + 3
