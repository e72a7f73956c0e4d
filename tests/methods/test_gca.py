"""GCA and GRACE: what goes and what stays in a view, and the contrast."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.bench.systems import SYSTEMS
from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.losses.contrastive import info_nce
from dsgrl.methods import gca
from dsgrl.methods.gca import HIGHEST_CHANCE, column_sums, loss_chances
from dsgrl.train import fit_graph
from dsgrl.typing import InputError
from samples import build_method


def build(in_channels: int = 12, **changes: Any) -> Any:
    return build_method("gca", in_channels, **{"out_channels": 6, **changes})


def spread(num_leaves: int = 30) -> Graph:
    """Give a star and a ring of as many nodes: few central nodes, many others."""
    leaf = torch.arange(1, num_leaves + 1)
    ring = torch.arange(num_leaves + 1, 2 * num_leaves + 1)
    edges = torch.cat(
        [
            torch.stack([torch.zeros_like(leaf), leaf]),
            torch.stack([ring, ring.roll(1)]),
        ],
        dim=1,
    )
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    x = torch.rand(2 * num_leaves + 1, 12)
    return Graph(x, Adjacency.from_edge_index(edges, num_nodes=len(x)))


@pytest.mark.parametrize("centrality", ["degree", "pagerank", "eigenvector"])
def test_views__edges_of_central_nodes_stay(centrality: str) -> None:
    method = build(centrality=centrality, edge_drop_1=0.5)
    graph = method.prepare(spread())
    scores, _ = method._scores(graph)
    chance = loss_chances(scores, 0.5)
    assert isinstance(chance, Tensor)
    pattern = graph.adjacency.pattern
    in_star = (pattern.row == 0) | (pattern.col == 0)
    assert chance[in_star].max() < chance[~in_star].min()
    # The same for both directions of an edge.
    dense = graph.adjacency.with_value(chance).to_dense()
    torch.testing.assert_close(dense, dense.t())


def test_chances__are_the_share_on_average_and_limited() -> None:
    score = torch.linspace(1, 50, 200)
    low, high = loss_chances(score, 0.2), loss_chances(score, 0.6)
    assert isinstance(low, Tensor)
    assert isinstance(high, Tensor)
    assert low.mean() == pytest.approx(0.2, abs=0.02)
    assert low[-1] == high[-1] == 0
    assert high.max() == pytest.approx(HIGHEST_CHANCE)
    assert (high.diff() <= 0).all()
    # Where all are alike, all have the same chance.
    assert loss_chances(torch.full((9,), 3.0), 0.3) == 0.3


def test_chances__follow_the_papers_formula() -> None:
    score = torch.tensor([1.0, 3.0, 8.0])
    s = torch.log(1 + score)
    expected = (s.max() - s) / (s.max() - s.mean()) * 0.3
    torch.testing.assert_close(loss_chances(score, 0.3), expected)


def test_columns__count_the_centrality_of_the_nodes_that_have_them() -> None:
    x = torch.tensor([[0.0, 0.2], [0.5, 0.5], [0.0, 1.0]])
    weight = torch.tensor([1.0, 2.0, 4.0])
    for table in (x, Adjacency.from_dense(x)):
        torch.testing.assert_close(column_sums(table, weight), torch.tensor([2.0, 7.0]))
    signed = torch.tensor([[-1.0, 2.0], [3.0, 0.5], [0.0, -1.0]])
    for table in (signed, Adjacency.from_dense(signed)):
        found = column_sums(table, weight)
        torch.testing.assert_close(found, torch.tensor([7.0, 7.0]))


def test_loss__is_the_contrast_of_both_projected_views(community_graph: Data) -> None:
    method = build(centrality="uniform", temperature=0.3, out_channels=6)
    method.chances = ((0.0, 0.0), (0.0, 0.0))
    graph = as_graph(community_graph)
    h = method.projection(method.embed(graph))
    expected = info_nce(h, h, 0.3, within=True)
    torch.testing.assert_close(method.training_loss(graph).total, expected)


def test_grace__needs_no_centrality_and_is_a_form(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(gca, "centrality", fail)
    method = build(centrality="uniform")
    graph = method.prepare(as_graph(community_graph))
    assert not graph.extras
    assert method.training_loss(graph).total.isfinite()
    system = SYSTEMS["grace"]
    assert (system.method, system.recipes) == ("gca", "grace")
    config: Any = system.configure({"centrality": "degree"}, "node")
    assert config.centrality == "uniform"


def test_contrasted__fewer_nodes_other_ones_each_time(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []

    def spy(h1: Tensor, h2: Tensor, *_: Any, **__: Any) -> Tensor:
        seen.append(h1.detach())
        return (h1 * h2).sum()

    monkeypatch.setattr(gca, "info_nce", spy)
    method = build(num_contrasted=20)
    graph = method.prepare(as_graph(community_graph))
    for _ in range(2):
        method.training_loss(graph)
    assert [len(h) for h in seen] == [20, 20]
    build(num_contrasted=500).training_loss(graph)
    assert len(seen[-1]) == 60


def test_contrast__the_nodes_drawn_are_the_same_in_both_views(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spy(h1: Tensor, h2: Tensor, *_: Any, **__: Any) -> Tensor:
        torch.testing.assert_close(h1, h2)
        assert len(h1.unique(dim=0)) > 15
        return (h1 * h2).sum()

    monkeypatch.setattr(gca, "info_nce", spy)
    names = ("edge_drop_1", "edge_drop_2", "feature_mask_1", "feature_mask_2")
    method = build(num_contrasted=20, **dict.fromkeys(names, 0.0))
    method.training_loss(method.prepare(as_graph(community_graph)))


def test_sparse_features__give_the_same(community_graph: Data) -> None:
    x = (torch.rand(60, 12) < 0.2).float()
    method = build()
    dense = method.prepare(Graph(x, as_graph(community_graph).adjacency))
    sparse = replace(dense, x=Adjacency.from_dense(x))
    losses = []
    for graph in (dense, sparse):
        torch.manual_seed(5)
        losses.append(method.training_loss(graph).total)
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 0.01}, "temperature=0.01: expected a number from 0.03"),
        ({"centrality": "closeness"}, "centrality='closeness': expected one of"),
        ({"activation": "tanh"}, "activation='tanh': expected one of 'relu'"),
        ({"edge_drop_2": 1.0}, "edge_drop_2=1.0: expected a share from 0 to below 1"),
        ({"num_contrasted": 0}, "num_contrasted=0: expected"),
    ],
)
def test_check__says_what_was_expected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(**changes)
    assert message in str(caught.value)


@pytest.mark.data
@pytest.mark.slow
def test_cora__training_is_worth_something() -> None:
    data = load_dataset("cora")
    scores = {}
    for epochs in (0, 40):
        settings = {"epochs": epochs, "scaling": "rows", "lr": 0.005}
        config = SYSTEMS["gca"].configure(settings, "node")
        fitted, graph = fit_graph("gca", data, config)
        scores[epochs] = evaluate(fitted.embed_graph(graph), data.y).mean
    assert scores[40] > scores[0] + 3


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_loss_chances__of_nothing_is_the_rate(rate: float) -> None:
    assert loss_chances(torch.empty(0), rate) == rate


def test_training__without_an_edge_is_finite() -> None:
    method = build()
    graph = spread()
    none = graph.adjacency.value.new_zeros(graph.adjacency.num_edges).bool()
    graph = replace(graph, adjacency=graph.adjacency.select(none))
    loss = method.training_loss(method.prepare(graph))
    assert all(torch.isfinite(value) for value in loss.terms.values())
