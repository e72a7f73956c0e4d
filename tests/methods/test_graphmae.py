"""GraphMAE: what is hidden, what is rebuilt, and what training is worth."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, Spec, as_graph
from dsgrl.methods import METHODS, configure
from dsgrl.methods.base import Progress
from dsgrl.methods.graphmae import scaled_cosine_error
from dsgrl.train import fit_graph
from samples import build_method, make_config, make_graphs

PLAIN = {"dropout": 0.0, "attention_drop": 0.0, "replace_rate": 0.0}
every_encoder = pytest.mark.parametrize("encoder", ["gat", "gin"])


def build(**changes: Any) -> Any:
    return build_method("graphmae", **{"out_channels": 6, **PLAIN, **changes})


def hidden_nodes(seed: int, count: int) -> Tensor:
    """Return the nodes that a step with this seed hides."""
    torch.manual_seed(seed)
    return torch.randperm(60)[:count]


def test_error__is_a_power_of_one_minus_the_cosine() -> None:
    guess, target = torch.randn(2, 7, 5)
    cosine = torch.cosine_similarity(guess, target)
    for power in (1.0, 2.0, 2.5):
        expected = (1 - cosine).pow(power).mean()
        found = scaled_cosine_error(guess, target, power)
        torch.testing.assert_close(found, expected)
    # The length of a guess has no part.
    assert scaled_cosine_error(3 * target, target, 2.5) < 1e-6


def test_error__of_zeros_and_of_perfect_guesses_has_a_gradient() -> None:
    target = torch.randn(3, 4)
    guess = torch.stack([torch.zeros(4), target[1], -target[2]]).requires_grad_()
    error = scaled_cosine_error(guess, target, 1.5)
    error.backward()
    assert error.isfinite()
    assert guess.grad is not None
    assert guess.grad.isfinite().all()


@every_encoder
def test_loss__is_that_of_the_parts(encoder: str, community_graph: Data) -> None:
    """Token, encoder, masked codes, decoder on the whole graph, error."""
    method = build(encoder=encoder, mask_rate=0.4, error_power=2.0)
    torch.nn.init.normal_(method.token)
    graph = as_graph(community_graph)
    hidden = hidden_nodes(4, 24)
    torch.manual_seed(4)
    found = method.training_loss(graph)
    x = graph.x.clone()
    x[hidden] = method.token.detach()
    z = method.encoder(graph.adjacency, x)
    codes = method.bridge(z)
    codes[hidden] = 0
    rebuilt = method.decoder(graph.adjacency, codes)
    expected = scaled_cosine_error(rebuilt[hidden], graph.x[hidden], 2.0)
    torch.testing.assert_close(found.z, z.detach())
    torch.testing.assert_close(found.total, expected)


@every_encoder
def test_hidden_nodes__neither_features_nor_codes_are_seen(
    encoder: str, community_graph: Data
) -> None:
    method, graph = build(encoder=encoder), as_graph(community_graph)
    x = graph.x.clone()
    x[hidden_nodes(4, 30)] = torch.randn(30, 12)
    found = []
    for features in (graph.x, x):
        torch.manual_seed(4)
        found.append(method.training_loss(Graph(features, graph.adjacency)).z)
    torch.testing.assert_close(*found)
    # Without neighbours there is nothing to rebuild from: the encoder cannot help.
    alone = Adjacency.from_edge_index(torch.empty(2, 0).long(), num_nodes=60)
    method.training_loss(Graph(x, alone)).backward()
    assert all(p.grad is None or not p.grad.any() for p in method.encoder.parameters())


def test_replaced_nodes__have_features_of_others(community_graph: Data) -> None:
    method, graph = build(replace_rate=0.5), as_graph(community_graph)
    hidden = torch.randperm(60)[:20]
    seen = method._mask(graph.x, hidden)
    changed = (seen != graph.x).any(1).nonzero().flatten()
    assert {*changed.tolist()} <= {*hidden.tolist()}
    is_token = (seen == method.token).all(1)
    assert {*is_token.nonzero().flatten().tolist()} == {*hidden[10:].tolist()}
    for row in seen[hidden[:10]]:
        assert (row == graph.x).all(1).any()


@every_encoder
@pytest.mark.parametrize("replace_rate", [0.0, 0.3])
def test_sparse_features__give_the_same(
    encoder: str, replace_rate: float, community_graph: Data
) -> None:
    x = (torch.rand(60, 12) < 0.2).float()
    dense = Graph(x, as_graph(community_graph).adjacency)
    sparse = Graph(Adjacency.from_dense(x), dense.adjacency)
    method = build(encoder=encoder, replace_rate=replace_rate)
    torch.nn.init.normal_(method.token)
    results = []
    for graph in (dense, sparse):
        torch.manual_seed(5)
        method.zero_grad()
        loss = method.training_loss(graph)
        loss.backward()
        gradients = [p.grad.clone() for p in method.parameters()]
        results.append([loss.total, loss.z, *gradients])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@every_encoder
def test_embedding__is_of_visible_features_and_pooled(encoder: str) -> None:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = make_config("graphmae", spec, out_channels=6, encoder=encoder)
    method = METHODS["graphmae"].build(config, spec).eval()
    z = method.encoder(graph.adjacency, graph.x)
    bounds = graph.bounds
    means = [z[a:b].mean(0) for a, b in itertools.pairwise(bounds)]
    torch.testing.assert_close(method.embed(graph), torch.stack(means))


def test_rate__falls_where_asked_for() -> None:
    rates = [build(decay=True).rate(Progress(e, e, 10)) for e in (1, 6, 10)]
    assert rates[0] == 1
    assert rates[1] == pytest.approx(0.5)
    assert 0 < rates[2] < 0.1
    assert build(decay=False).rate(Progress(9, 9, 10)) == 1


def test_auto__is_attention_for_nodes_and_isomorphism_for_graphs() -> None:
    nodes = make_config("graphmae")
    graphs = make_config("graphmae", Spec.of(as_graph(make_graphs())))
    assert (nodes.encoder, nodes.norm, nodes.decay) == ("gat", None, True)  # type: ignore[attr-defined]
    assert (graphs.encoder, graphs.norm, graphs.decay) == ("gin", "batch", False)  # type: ignore[attr-defined]


@pytest.mark.data
@pytest.mark.slow
def test_cora__training_is_worth_something() -> None:
    data = load_dataset("cora")
    scores = {}
    for epochs in (0, 150):
        settings = {"epochs": epochs, "out_channels": 64, "scaling": "rows"}
        fitted, graph = fit_graph("graphmae", data, configure("graphmae", settings))
        scores[epochs] = evaluate(fitted.embed_graph(graph), data.y).mean
    assert scores[150] > scores[0] + 3
