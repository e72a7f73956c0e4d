from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.estimator import embedder
from dsgrl.report.learned import describe_views, linear_cka
from samples import make_data, make_graphs, make_hetero


def fit(data: Any, **options: Any) -> Any:
    return DSGRL(epochs=1, out_channels=4, **options).fit(data)


def test_edges__are_counted_against_the_graph(community_graph: Data) -> None:
    model = fit(community_graph, augment="topology")
    ids = [f"n{i}" for i in range(60)]
    found = describe_views(model, community_graph, ids, community_graph.y.numpy())
    edges = found.edges
    assert found.is_learned
    assert edges is not None
    assert found.features == []
    _, view = model.views(community_graph)
    learned = {frozenset(pair) for pair in view.edge_index.t().tolist()}
    learned = {pair for pair in learned if len(pair) == 2}
    own = {frozenset(pair) for pair in community_graph.edge_index.t().tolist()}
    assert edges.count == len(learned) == len(edges.weights)
    assert edges.own == len(own)
    assert edges.new == len(learned - own)
    y = community_graph.y.tolist()
    new = [y[a] == y[b] for a, b in map(tuple, learned - own)]
    assert edges.agreement["learned, new"] == pytest.approx(np.mean(new))
    assert edges.agreement["random pairs"] == pytest.approx(1 / 3)
    for one, other, weight in edges.examples:
        pair = frozenset({int(one[1:]), int(other[1:])})
        assert pair in learned - own
        assert weight > 0
    weights = [weight for *_, weight in edges.examples]
    assert weights == sorted(weights, reverse=True)


def test_features__the_stressed_column_is_named(community_graph: Data) -> None:
    community_graph.feature_names = [f"f{i}" for i in range(12)]
    model = fit(community_graph, augment="feature")
    weight = model.method_.features.weights[0]
    with torch.no_grad():
        weight[3, 0] *= 50
        weight[7, 1] *= 50
    found = describe_views(model, community_graph, [], None)
    (stressed,) = found.features
    assert stressed.first[0][0] == "f3"
    assert stressed.second[0][0] == "f7"
    _, one, two = stressed.first[0]
    assert one > two
    assert 0 < found.alikeness[""] < 1
    assert found.edges is None


@pytest.mark.parametrize("augment", ["feature", "topology", "both"])
@pytest.mark.parametrize("make", [make_graphs, make_hetero])
def test_views__of_every_level(make: Any, augment: str) -> None:
    data = make()
    count = 38 if not isinstance(data, list) else sum(g.num_nodes for g in data)
    found = describe_views(fit(data, augment=augment), data, ["n"] * count, None)
    assert found.is_learned
    assert (found.edges is None) == (augment == "feature")
    assert bool(found.features) == (augment != "topology")


@pytest.mark.parametrize("level", ["node", "hetero"])
def test_views__that_are_not_learned_say_so(level: str) -> None:
    data = make_data(level)
    found = describe_views(fit(data), data, [], None)
    assert not found.is_learned
    assert "second" in found.kind


def test_views__of_a_method_without_any(community_graph: Data) -> None:
    model = embedder("hops")().fit(community_graph)
    assert "no learned views" in describe_views(model, community_graph, [], None).kind


def test_cka__is_one_for_a_rotation_and_small_for_noise() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(2000, 5)).astype(np.float32)
    turn = np.linalg.qr(random.normal(size=(5, 5)))[0].astype(np.float32)
    assert linear_cka(x, 3 * x @ turn + 1) == pytest.approx(1, abs=1e-4)
    assert linear_cka(x, random.normal(size=(2000, 5)).astype(np.float32)) < 0.05
