"""DGI: its loss, its corruption, and what training is worth."""

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.methods import METHODS, configure
from dsgrl.train import fit_graph
from samples import build_method


def test_loss__is_the_papers_formula(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    method = build_method("dgi", out_channels=6)
    torch.manual_seed(3)
    found = method.training_loss(graph).total
    torch.manual_seed(3)
    order = torch.randperm(60)
    z = method.embed(graph)
    other = method.embed(Graph(graph.x[order], graph.adjacency))
    summary = torch.sigmoid(z.mean(dim=0))
    real, fake = (torch.sigmoid(h @ method.weight @ summary) for h in (z, other))
    cross_entropy = F.binary_cross_entropy(
        torch.cat([real, fake]), torch.cat([torch.ones(60), torch.zeros(60)])
    )
    torch.testing.assert_close(found, cross_entropy)


def test_corruption__keeps_the_edges_and_shuffles_the_rows(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are shuffled in place would make both sides the same."""
    graph = as_graph(community_graph)
    method = build_method("dgi", out_channels=6)
    monkeypatch.setattr(torch, "randperm", lambda n: torch.arange(n))
    loss = method.training_loss(graph)
    z = method.embed(graph)
    target = method.weight @ z.mean(dim=0).sigmoid()
    expected = (F.softplus(-(z @ target)) + F.softplus(z @ target)).mean() / 2
    torch.testing.assert_close(loss.total, expected)


def test_sparse_features__give_the_same(community_graph: Data) -> None:
    x = (torch.rand(60, 12) < 0.2).float()
    dense = Graph(x, as_graph(community_graph).adjacency)
    sparse = Graph(Adjacency.from_dense(x), dense.adjacency)
    method = build_method("dgi", out_channels=6)
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
        config = configure("dgi", {"epochs": epochs, "out_channels": 128})
        fitted, graph = fit_graph("dgi", data, config)
        scores[epochs] = evaluate(fitted.embed_graph(graph), data.y).mean
    assert METHODS["dgi"].levels == {"node"}
    assert scores[40] > scores[0] + 3
