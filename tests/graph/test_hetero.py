import logging
from typing import Any

import pytest
import torch
from torch_geometric.data import HeteroData
from torch_geometric.transforms import ToUndirected

from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.typing import InputError
from samples import make_hetero, pairs_of


def edges_of(graph: Graph) -> dict[tuple[str, str, str], set[tuple[int, int]]]:
    held = graph.adjacency.adjacencies
    return {relation: pairs_of(part.edge_index) for relation, part in held.items()}


def flipped(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(b, a) for a, b in pairs}


def test_as_graph__holds_every_type_and_relation() -> None:
    data = make_hetero()
    graph = as_graph(data)
    assert torch.equal(graph.x[0], data["film"].x)
    assert torch.equal(graph.x[1], data["person"].x)
    held = edges_of(graph)
    for relation in data.edge_types:
        assert held[relation] == pairs_of(data[relation].edge_index)
    assert held["person", "rev_by", "film"] == flipped(held["film", "by", "person"])
    added = set(held) - set(data.edge_types)
    assert added == {
        ("person", "rev_by", "film"),
        ("tag", "rev_has", "film"),
        ("film", "self", "film"),
        ("tag", "self", "tag"),
    }


def test_as_graph__to_undirected_changes_nothing() -> None:
    data = make_hetero()
    assert edges_of(as_graph(ToUndirected()(make_hetero()))) == edges_of(as_graph(data))


def test_as_graph__types_without_features_get_a_constant_and_degrees(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = make_hetero()
    with caplog.at_level(logging.WARNING):
        tags = as_graph(data).x[2]
    assert caplog.text.count("no features for node type 'tag'") == 1
    degree = torch.bincount(data["film", "has", "tag"].edge_index[1], minlength=6)
    expected = torch.stack([torch.ones(6), degree.float().log1p(), torch.zeros(6)], 1)
    torch.testing.assert_close(tags, expected)


def test_as_graph__weights_and_sparse_features() -> None:
    data = make_hetero()
    relation = ("film", "by", "person")
    weight = torch.rand(data[relation].num_edges)
    data[relation].edge_weight = weight
    data["person"].x = torch.eye(12)
    graph = as_graph(data)
    assert isinstance(graph.x[1], Adjacency)
    forward, back = (
        graph.adjacency.adjacencies[r].to_dense()
        for r in (relation, ("person", "rev_by", "film"))
    )
    torch.testing.assert_close(forward, back.t())
    assert float(forward.sum()) == pytest.approx(float(weight.sum()))


def test_schema__types_in_another_order_are_put_in_the_trained_one() -> None:
    data, moved = make_hetero(), HeteroData()
    for kind in ("tag", "person", "film"):
        moved[kind].update(data[kind])
    for relation in reversed(data.edge_types):
        moved[relation].update(data[relation])
    trained = as_graph(data)
    again = as_graph(moved, schema=trained.adjacency.schema)
    assert again.adjacency.schema == trained.adjacency.schema
    assert edges_of(again) == edges_of(trained)
    assert all(torch.equal(a, b) for a, b in zip(again.x, trained.x, strict=True))


def test_schema__what_is_not_there_is_empty() -> None:
    schema = as_graph(make_hetero()).adjacency.schema
    unseen = HeteroData()
    unseen["film"].x = torch.randn(4, 5)
    graph = as_graph(unseen, schema=schema)
    assert graph.adjacency.schema == schema
    assert graph.adjacency.sizes == {"film": 4, "person": 0, "tag": 0}
    assert graph.adjacency.num_edges == 0


def test_schema__a_relation_that_is_symmetric_here_keeps_its_reverse() -> None:
    """Whether the reverse is needed must not depend on the unseen graph."""
    relation = ("person", "knows", "person")
    data = make_hetero()
    data[relation].edge_index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    schema = as_graph(data).adjacency.schema
    assert ("person", "rev_knows", "person") in schema.relations
    data[relation].edge_index = torch.tensor([[0, 1], [1, 0]])
    held = edges_of(as_graph(data, schema=schema))
    assert held["person", "rev_knows", "person"] == held[relation] == {(0, 1), (1, 0)}


def refused(**changes: Any) -> HeteroData:
    data = make_hetero()
    for key, value in changes.items():
        kind, _, name = key.partition("_")
        data[kind][name] = value
    return data


def with_relation(source: str, target: str, edges: list[list[int]]) -> HeteroData:
    data = make_hetero()
    data[source, "new", target].edge_index = torch.tensor(edges)
    return data


def without_size() -> HeteroData:
    data = make_hetero()
    data["studio"].name = "a type of unknown size"
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (refused(film_x=torch.full((20, 5), torch.nan)), "node type 'film': .*NaN"),
        (refused(film_x=torch.ones(20)), r"node type 'film': x has shape \[20\]"),
        (
            with_relation("film", "person", [[0], [12]]),
            "relation film new person: .*12",
        ),
        (
            with_relation("film", "person", [[20], [0]]),
            "relation film new person: .*20",
        ),
        (with_relation("film", "studio", [[0], [0]]), "no nodes of type 'studio'"),
        pytest.param(
            without_size(),
            "node type 'studio': expected x or num_nodes",
            # PyG's own remark on it.
            marks=pytest.mark.filterwarnings("ignore:Unable to accurately infer"),
        ),
        (HeteroData(), "empty"),
    ],
)
def test_as_graph__refuses(data: HeteroData, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        as_graph(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (refused(studio_x=torch.ones(2, 2)), "node type 'studio' was not there"),
        (with_relation("film", "tag", [[0], [0]]), "relation film new tag was not"),
    ],
)
def test_schema__refuses_strangers(data: HeteroData, message: str) -> None:
    schema = as_graph(make_hetero()).adjacency.schema
    with pytest.raises(InputError, match=message) as caught:
        as_graph(data, schema=schema)
    assert "\n" not in str(caught.value)


def test_as_graph__tells_of_no_edges(caplog: pytest.LogCaptureFixture) -> None:
    data = HeteroData()
    data["a"].x = torch.ones(3, 2)
    with caplog.at_level(logging.WARNING):
        as_graph(data)
    assert "no edges" in caplog.text
