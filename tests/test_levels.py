"""What must hold for nodes, graphs and graphs of several types alike."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.augment import FixedTopology, TopologyAugmenter
from dsgrl.augment.view_base import PLAIN
from dsgrl.estimator import embedder
from dsgrl.graph import Graph, Relations
from dsgrl.typing import InputError
from samples import (
    AUGMENTS,
    LEVELS,
    as_one_type,
    make_data,
    make_graphs,
    make_model,
    pairs_of,
    permute,
    weights_as_one_type,
)

SMALL: dict[str, Any] = {
    "out_channels": 4,
    "augment_channels": 6,
    "edges_per_node": 3,
    "epochs": 2,
    "batch_size": 3,
}
levels = pytest.mark.parametrize("level", LEVELS)
augments = pytest.mark.parametrize("augment", AUGMENTS)
learned = pytest.mark.parametrize("augment", ["topology", "both"])
NONE = torch.empty(2, 0, dtype=torch.long)


def small(level: str = "node", **changes: Any) -> DSGRL:
    return make_model(level, **{**SMALL, **changes})


def stacked(z: Any) -> Any:
    """All rows under each other, types in a fixed order."""
    if isinstance(z, dict):
        return np.concatenate([z[kind] for kind in sorted(z)])
    return z


def assert_alike(one: Any, other: Any) -> None:
    np.testing.assert_allclose(stacked(one), stacked(other), rtol=1e-3, atol=1e-4)


def method_and_graph(data: Any, **changes: Any) -> tuple[Any, Graph]:
    """The untrained method, in training mode, and what it sees of the data."""
    model = small(epochs=0, **{**changes, "dropout": 0.0}).fit(data)
    return model.method_.train(), model.preparation_.apply(data)


@levels
@augments
def test_fit__shapes_and_save_load_transform_of_unseen_data(
    level: str, augment: str, tmp_path: Path
) -> None:
    data, unseen = make_data(level), make_data(level, seed=7)
    model = small(augment=augment)
    z = model.fit_transform(data)
    model.save(tmp_path / "model")
    loaded = DSGRL.load(tmp_path / "model")
    nodes = {"node": 40, "graph": 68, "hetero": 38}[level]
    assert f"on {nodes} nodes" in (tmp_path / "model/README.md").read_text()
    assert loaded.get_params() == model.get_params()
    assert loaded.epoch_ == model.epoch_ == 2
    assert loaded.history_ == model.history_
    for row in model.history_:
        terms = row["invariance"] + row["variance"] + row["covariance"]
        assert row["loss"] == pytest.approx(terms, rel=1e-4)
    for given in (data, unseen):
        found, again = model.transform(given), loaded.transform(given)
        np.testing.assert_array_equal(stacked(found), stacked(again))
        assert np.isfinite(stacked(found)).all()
    np.testing.assert_array_equal(stacked(model.transform(data)), stacked(z))
    assert not np.allclose(stacked(model.transform(unseen)), stacked(z), atol=1e-3)
    # Three layers side by side for graphs, the last one otherwise; two views.
    if level == "hetero":
        assert {k: rows.shape for k, rows in z.items()} == {
            "film": (20, 8),
            "person": (12, 8),
            "tag": (6, 8),
        }
    else:
        assert z.shape == {"node": (40, 8), "graph": (8, 2 * 3 * 4)}[level]


@levels
@augments
def test_fit__same_seed_same_bits(level: str, augment: str) -> None:
    data = make_data(level)
    runs = [stacked(small(augment=augment).fit_transform(data)) for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    other = stacked(small(augment=augment, random_state=1).fit_transform(data))
    assert not np.allclose(runs[0], other)


class Poison(Tensor):
    """Labels that may not be touched in any way."""

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        raise AssertionError("labels were read")


def poison(data: Any) -> Any:
    parts = data if isinstance(data, list) else [data]
    for store in itertools.chain.from_iterable(part.node_stores for part in parts):
        if "x" in store:
            store["y"] = torch.zeros(len(store["x"])).as_subclass(Poison)
    return data


@levels
@augments
@pytest.mark.parametrize("epochs", [2, "auto"])
def test_fit__never_reads_labels(level: str, augment: str, epochs: Any) -> None:
    poisoned = poison(make_data(level))
    first = poisoned["film"] if level == "hetero" else poisoned
    with pytest.raises(AssertionError, match="labels were read"):
        (first[0] if level == "graph" else first).y.sum()
    model = small(augment=augment, epochs=epochs, max_epochs=5)
    z = model.fit_transform(poisoned)
    model.transform(poisoned)
    model.views(poisoned)
    expected = model.fit_transform(make_data(level))
    np.testing.assert_array_equal(stacked(z), stacked(expected))


@levels
@augments
def test_transform__permuting_nodes_permutes_rows(level: str, augment: str) -> None:
    data = make_data(level)
    model = small(augment=augment).fit(data)
    moved, orders = permute(data)
    z, found = model.transform(data), model.transform(moved)
    if level == "hetero":
        assert_alike(found, {k: z[k][orders[k].numpy()] for k in z})
    else:
        assert_alike(found, z if level == "graph" else z[orders.numpy()])


@levels
@learned
def test_views__permuting_nodes_permutes_learned_edges(
    level: str, augment: str
) -> None:
    data = make_data(level)
    model = small(augment=augment).fit(data)
    moved, orders = permute(data)
    (_, before), (_, after) = model.views(data), model.views(moved)
    if level == "hetero":
        for source, name, target in before.edge_index:
            ends = after.edge_index[source, name, target]
            back = torch.stack([orders[source][ends[0]], orders[target][ends[1]]])
            expected = pairs_of(before.edge_index[source, name, target])
            assert pairs_of(back) == expected
        return
    if level == "node":
        before, after, orders = [before], [after], [orders]
    for one, other, order in zip(before, after, orders, strict=True):
        assert pairs_of(order[other.edge_index]) == pairs_of(one.edge_index)


@levels
@augments
def test_loss__reaches_every_augmenter_parameter(level: str, augment: str) -> None:
    for encoder in ("gcn", "sage", "gin"):
        method, graph = method_and_graph(
            make_data(level), augment=augment, encoder=encoder
        )
        method.training_loss(graph).total.backward()
        for name, parameter in method.named_parameters():
            if name.startswith(("features", "topology")):
                assert parameter.grad is not None, name
                assert parameter.grad.abs().max() > 1e-9, name


def reweighted(adjacency: Any) -> Any:
    parts = [
        part.with_value(part.value * torch.rand(part.num_edges))
        for part, _, _ in adjacency.parts()
    ]
    return adjacency.with_parts(parts)


@levels
@learned
@pytest.mark.parametrize("encoder", ["gcn", "sage", "gin"])
def test_learned_weights__change_z2_only(
    level: str, augment: str, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, graph = method_and_graph(make_data(level), augment=augment, encoder=encoder)
    method.eval()
    z1, z2 = method.encode(graph).unbind(1)
    learn = method.topology.forward
    monkeypatch.setattr(method.topology, "forward", lambda g: reweighted(learn(g)))
    other1, other2 = method.encode(graph).unbind(1)
    torch.testing.assert_close(z1, other1)
    assert not torch.allclose(z2, other2, atol=1e-4)


@learned
@pytest.mark.parametrize("keep_edges", [False, True])
@pytest.mark.parametrize("edges_per_node", [3, None])
@pytest.mark.parametrize("level", ["graph", "hetero"])
def test_learned_edges__never_cross_graphs_or_types(
    level: str, augment: str, keep_edges: bool, edges_per_node: int | None
) -> None:
    method, graph = method_and_graph(
        make_data(level),
        augment=augment,
        keep_edges=keep_edges,
        edges_per_node=edges_per_node,
    )
    made = method.topology(graph)
    if isinstance(made, Relations):
        assert made.schema == graph.adjacency.schema
        for relation, part in made.adjacencies.items():
            if relation[0] != relation[2]:
                assert part is graph.adjacency.adjacencies[relation]
            else:
                assert part.materialize().num_edges > 0
        return
    ends = made.materialize().edge_index
    source, target = torch.bucketize(ends, torch.tensor(graph.bounds), right=True)
    assert ends.numel() > 0
    assert torch.equal(source, target)


@augments
@pytest.mark.parametrize("encoder", ["gcn", "sage", "gin"])
@pytest.mark.parametrize("edges_per_node", [3, None])
def test_hetero__one_type_and_relation_is_the_plain_model(
    augment: str, encoder: str, edges_per_node: int | None
) -> None:
    data = make_data("node")
    options = {
        "augment": augment,
        "encoder": encoder,
        "edges_per_node": edges_per_node,
        "orthogonality_weight": 0.1,
        "edge_drop": 0.0,
        "feature_drop": 0.0,
        **PLAIN,
    }
    plain, graph = method_and_graph(data, **options)
    typed, relations = method_and_graph(as_one_type(data), **options)
    assert len(relations.adjacency.adjacencies) == 1
    typed.load_state_dict(weights_as_one_type(plain.state_dict()))
    one, other = plain.training_loss(graph), typed.training_loss(relations)
    assert one.terms.keys() == other.terms.keys()
    for name in one.terms:
        torch.testing.assert_close(one.terms[name], other.terms[name])
    torch.testing.assert_close(plain.eval().embed(graph), typed.eval().embed(relations))


@augments
@pytest.mark.parametrize("topology", ["learned", "two_hop"])
def test_graphs__order_and_company_do_not_matter(augment: str, topology: str) -> None:
    """Batch norm is in evaluation mode; no graph's edges depend on another."""
    graphs = make_graphs()
    model = small(augment=augment, topology=topology).fit(graphs)
    z = model.transform(graphs)
    order = [3, 7, 0, 5, 1, 6, 2, 4]
    assert_alike(model.transform([graphs[i] for i in order]), z[order])
    assert_alike(np.concatenate([model.transform([g]) for g in graphs]), z)


@augments
def test_views__of_a_graph_do_not_depend_on_the_others(augment: str) -> None:
    graphs = make_graphs()
    model = small(augment=augment).fit(graphs)
    for view, number in itertools.product(range(2), (0, 3, 7)):
        one = model.views(graphs)[view][number]
        (alone,) = model.views(graphs[number : number + 1])[view]
        torch.testing.assert_close(one.x, alone.x)
        assert torch.equal(one.edge_index, alone.edge_index)
        torch.testing.assert_close(one.edge_weight, alone.edge_weight)


@levels
@augments
def test_epochs_zero__is_the_untrained_model(level: str, augment: str) -> None:
    """No norm: a batch norm would count the rows it has seen."""
    data = make_data(level)
    untrained = small(augment=augment, epochs=0, norm=None).fit(data)
    hardly = small(augment=augment, epochs=1, lr=1e-12, norm=None).fit(data)
    assert_alike(untrained.transform(data), hardly.transform(data))
    assert (untrained.history_, untrained.epoch_) == ([], 0)
    assert not untrained.method_.training


@levels
@pytest.mark.parametrize("multiplier", [1.0, 2.0])
def test_edge_multiplier__gives_about_that_multiple(
    level: str, multiplier: float
) -> None:
    """One direction, so that nothing is added to what was asked for."""
    method, graph = method_and_graph(
        make_data(level),
        augment="topology",
        edge_multiplier=multiplier,
        symmetric=False,
    )
    made = method.topology(graph)
    if isinstance(made, Relations):
        there = {r: a.num_edges for r, a in made.adjacencies.items() if r[0] == r[2]}
        wanted = dict.fromkeys(made.sizes, 0)
        for relation, part in graph.adjacency.adjacencies.items():
            wanted[relation[2]] += part.num_edges
        for (kind, _, _), count in there.items():
            # A row has no more than about half its type above the mean.
            most = made.sizes[kind] ** 2 / 3
            assert count >= 0.6 * min(multiplier * wanted[kind], most)
            assert count <= 1.3 * multiplier * wanted[kind]
        return
    wide = 0.6 if multiplier > 1 and level == "graph" else 0.8
    ratio = made.num_edges / graph.adjacency.num_edges
    assert wide * multiplier <= ratio <= 1.1 * multiplier


@levels
def test_symmetric__off_keeps_one_direction(level: str) -> None:
    for symmetric in (True, False):
        method, graph = method_and_graph(
            make_data(level), augment="topology", symmetric=symmetric
        )
        made = method.topology(graph)
        parts = [made]
        if isinstance(made, Relations):
            parts = [a for r, a in made.adjacencies.items() if r[0] == r[2]]
        for part in parts:
            pairs = pairs_of(part.edge_index)
            both_ways = pairs == {(b, a) for a, b in pairs}
            assert both_ways == symmetric
            if not symmetric:
                assert part.pattern.rowptr.diff().max() <= 3


@pytest.mark.parametrize("augment", ["auto", "feature", "both"])
def test_smoothing__adds_what_is_n_steps_around(augment: str) -> None:
    data = make_data("node")
    plain = small(augment=augment, smoothing=0).fit(data)
    z = torch.as_tensor(plain.transform(data))
    adjacency = plain.preparation_.apply(data).adjacency.normalized("gcn").to_dense()
    for steps in (1, 2, 3):
        smoothed = small(augment=augment, smoothing=steps).fit_transform(data)
        expected = z + torch.linalg.matrix_power(adjacency, steps) @ z
        torch.testing.assert_close(torch.as_tensor(smoothed), expected)


@pytest.mark.parametrize("level", ["graph", "hetero"])
def test_smoothing__is_refused_where_there_is_no_one_graph(level: str) -> None:
    with pytest.raises(InputError, match="smoothing=2: expected 0"):
        small(smoothing=2).fit(make_data(level))


@pytest.mark.parametrize("level", LEVELS)
def test_augment__by_default_a_second_graph__and_features_for_many_graphs(
    level: str,
) -> None:
    method = DSGRL(epochs=0).fit(make_data(level)).method_
    assert (method.topology is not None) == (level != "graph")
    assert (method.features is not None) == (level == "graph")


def test_augment__by_default_features_where_nodes_have_none_of_their_own() -> None:
    data = make_data("node")
    data = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    model = DSGRL(epochs=0).fit(data)
    assert model.method_.features is not None
    assert model.chosen_["views"] == "learned_features"


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ({}, FixedTopology),
        ({"topology": "learned"}, TopologyAugmenter),
        ({"augment": "topology"}, TopologyAugmenter),
        ({"augment": "both"}, TopologyAugmenter),
        ({"augment": "both", "topology": "two_hop"}, FixedTopology),
    ],
)
@pytest.mark.parametrize(("level", "own"), [("node", "none"), ("hetero", "two_hop")])
def test_topology__is_learned_where_augment_says_so(
    level: str, own: str, named: dict[str, str], kind: type
) -> None:
    model = make_model(level, epochs=0, **named).fit(make_data(level))
    method = model.method_
    assert type(method.topology) is kind
    if kind is FixedTopology:
        assert method.topology.kind == named.get("topology", own)


@pytest.mark.parametrize("topology", ["two_hop", "random", "knn_x"])
def test_topology__that_compares_nothing_is_not_told_of_a_missing_index(
    topology: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dsgrl.augment.search.EXACT_PRODUCTS", 0)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    small(augment="topology", topology=topology).fit(make_data("hetero"))
    assert ("faiss" in caplog.text) == (topology == "knn_x")


def test_floor__a_graph_without_features_gets_its_random_walks() -> None:
    """Nothing is trained, and nothing is lost against the training-free method."""
    graph = make_data("node")
    graph.num_nodes, graph.x = len(graph.x), None
    model = DSGRL(out_channels=8)
    z = model.fit_transform(graph)
    assert (model.epoch_, model.history_) == (0, [])
    walks = embedder("walks")(out_channels=16).fit_transform(graph)
    np.testing.assert_allclose(z @ z.T, walks @ walks.T, rtol=1e-3, atol=1e-4)
