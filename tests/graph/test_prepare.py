import json
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.graph import Adjacency, Graph, as_graph, inputs
from dsgrl.graph.prepare import Preparation
from dsgrl.graph.scaling import divide_rows
from dsgrl.typing import InputError
from samples import LEVELS, make_data, make_graphs, make_hetero

levels = pytest.mark.parametrize("level", LEVELS)
CASES = (*LEVELS, "featureless node", "featureless graph")
cases = pytest.mark.parametrize("case", CASES)


def make_case(case: str, seed: int = 0) -> Any:
    data = make_data(case.split()[-1], seed)
    if not case.startswith("featureless"):
        return data
    graphs = data if isinstance(data, list) else [data]
    for graph in graphs:
        graph.num_nodes, graph.x = graph.num_nodes, None
    return data


def tables(graph: Graph) -> list[Tensor]:
    given = graph.x if isinstance(graph.x, tuple) else (graph.x,)
    return [x.to_dense() if isinstance(x, Adjacency) else x for x in given]


@cases
def test_fit__is_what_apply_gives(case: str) -> None:
    data = make_case(case)
    known, fitted = Preparation.fit(data, "columns")
    for found, again in zip(tables(fitted), tables(known.apply(data)), strict=True):
        assert torch.equal(found, again)
    assert known.num_nodes == fitted.num_nodes
    assert [c.count for c in known.columns] == [t.size(1) for t in tables(fitted)]


@cases
def test_fit__columns_of_every_table_are_scaled(case: str) -> None:
    _, graph = Preparation.fit(make_case(case), "standard")
    for table in tables(graph):
        torch.testing.assert_close(
            table.mean(0), torch.zeros(table.size(1)), atol=1e-4, rtol=0
        )
        spread = table.std(0, correction=0)
        constant = spread < 0.5
        torch.testing.assert_close(
            spread[~constant], torch.ones(int((~constant).sum()))
        )
        assert not table[:, constant].any()
    _, raw = Preparation.fit(make_case(case), "none")
    assert not all(
        torch.allclose(one, other)
        for one, other in zip(tables(graph), tables(raw), strict=True)
    )


@cases
def test_json__round_trip_prepares_unseen_data_alike(case: str) -> None:
    known, _ = Preparation.fit(make_case(case), "columns")
    text = json.dumps(known.to_json())
    again = Preparation.from_json(json.loads(text), known.tensors())
    assert again.to_json() == known.to_json()
    assert again.schema == known.schema
    unseen = make_case(case, seed=5)
    for one, other in zip(
        tables(known.apply(unseen)), tables(again.apply(unseen)), strict=True
    ):
        assert torch.equal(one, other)


@cases
def test_rows__sum_to_one_in_training_and_after_a_round_trip(case: str) -> None:
    known, fitted = Preparation.fit(make_case(case), "rows")
    again = Preparation.from_json(json.loads(json.dumps(known.to_json())), {})
    unseen = make_case(case, seed=5)
    for graph in (fitted, known.apply(unseen), again.apply(unseen)):
        for table in tables(graph):
            sums = table.abs().sum(dim=1)
            assert sums.count_nonzero() > 0
            torch.testing.assert_close(sums, (sums > 0).float())
    raw = Preparation.fit(make_case(case), "none")[1]
    for one, other in zip(tables(raw), tables(fitted), strict=True):
        cosine = torch.nn.functional.cosine_similarity(one, other)
        torch.testing.assert_close(cosine, other.any(dim=1).float())


def test_rows__sparse_features_stay_sparse() -> None:
    x = torch.tensor([[0.0, 3.0, 0.0, 1.0], [0.0] * 4, [2.0, 0.0, 0.0, 0.0]])
    divided = divide_rows(Adjacency.from_dense(x))
    assert isinstance(divided, Adjacency)
    expected = torch.tensor([[0.0, 0.75, 0.0, 0.25], [0.0] * 4, [1.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(divided.to_dense(), expected)
    torch.testing.assert_close(divide_rows(x), expected)


@levels
def test_apply__scales_by_the_training_data(level: str) -> None:
    """Columns a hundred times as large must stay a hundred times as large."""
    known, fitted = Preparation.fit(make_data(level), "columns")
    larger = make_data(level)
    for part in larger if level == "graph" else [larger]:
        stores = part.node_stores
        for store in stores:
            if "x" in store:
                store.x = store.x * 100
    one, other = tables(fitted)[0], tables(known.apply(larger))[0]
    assert float(other.std() / one.std()) == pytest.approx(100, rel=0.2)


def test_featureless_graphs__have_five_degree_columns() -> None:
    data = make_case("featureless graph")
    known, graph = Preparation.fit(data, "none")
    assert known.columns[0].count == 5
    degree = torch.bincount(data[0].edge_index[1], minlength=9).float().log1p()
    torch.testing.assert_close(graph.x[:9, 0], degree)
    # A graph's columns do not depend on the graphs around it.
    alone = known.apply(data[3:4])
    torch.testing.assert_close(alone.x, graph.x[26:33])


@pytest.mark.parametrize("trained", LEVELS)
@pytest.mark.parametrize("given", LEVELS)
def test_apply__refuses_another_level(trained: str, given: str) -> None:
    known, _ = Preparation.fit(make_data(trained), "columns")
    if trained == given:
        known.apply(make_data(given))
        return
    with pytest.raises(InputError, match=r"trained on .*, this is "):
        known.apply(make_data(given))


def bare_films() -> Any:
    data = make_hetero()
    data["film"].num_nodes = 20
    del data["film"].x
    return data


def described_tags() -> Any:
    data = make_hetero()
    data["tag"].x = torch.ones(6, 3)
    return data


def narrow_people() -> Any:
    data = make_hetero()
    data["person"].x = data["person"].x[:, :2]
    return data


def narrow_graphs() -> Any:
    return [Data(x=g.x[:, :3], edge_index=g.edge_index) for g in make_graphs()]


@pytest.mark.parametrize(
    ("level", "make", "message"),
    [
        ("hetero", bare_films, "trained with node features, this graph is without"),
        ("hetero", described_tags, "trained without node features, this .* is with"),
        ("hetero", narrow_people, "2 feature columns, the model was trained on 3"),
        ("graph", narrow_graphs, "3 feature columns, the model was trained on 4"),
        ("graph", lambda: make_case("featureless graph"), "is without"),
    ],
)
def test_apply__refuses_other_columns(level: str, make: Any, message: str) -> None:
    known, _ = Preparation.fit(make_data(level), "columns")
    with pytest.raises(InputError, match=message) as caught:
        known.apply(make())
    assert "\n" not in str(caught.value)


def test_apply__named_columns_of_a_type_are_put_in_order() -> None:
    data = make_hetero()
    data["film"].feature_names = list("abcde")
    known, fitted = Preparation.fit(data, "columns")
    order = [3, 0, 4, 1, 2]
    data["film"].x = data["film"].x[:, order]
    data["film"].feature_names = ["abcde"[i] for i in order]
    torch.testing.assert_close(known.apply(data).x[0], fitted.x[0])
    data["film"].feature_names[0] = "stranger"
    with pytest.raises(InputError, match="lacks 'd'"):
        known.apply(data)


def test_apply__named_columns_of_graphs_are_put_in_order() -> None:
    graphs = make_graphs()
    for graph in graphs:
        graph.feature_names = list("abcd")
    known, fitted = Preparation.fit(graphs, "columns")
    for graph in graphs:
        graph.x, graph.feature_names = graph.x.flip(1), list("dcba")
    torch.testing.assert_close(known.apply(graphs).x, fitted.x)
    graphs[2].feature_names = list("abcd")
    with pytest.raises(InputError, match="differ in feature_names"):
        known.apply(graphs)


@levels
def test_made_features__of_other_edges_are_scaled_alike(level: str) -> None:
    """Training hides links: the features made without them keep their scale."""
    data = make_hetero() if level == "hetero" else make_case(f"featureless {level}")
    _, graph = Preparation.fit(data, "columns")
    again = graph.with_adjacency(graph.adjacency)
    for one, other in zip(tables(graph), tables(again), strict=True):
        torch.testing.assert_close(one, other)


def without_some_edges(graph: Graph, share: float = 0.2) -> Any:
    return graph.adjacency.with_parts(
        [
            part.select(torch.rand(part.num_edges) >= share)
            for part, _, _ in graph.adjacency.parts()
        ]
    )


@pytest.mark.parametrize("case", [*CASES, "featureless hetero"])
@pytest.mark.parametrize("scaling", [None, "none", "columns", "standard"])
def test_pickle__round_trip_makes_the_same_features(
    case: str, scaling: str | None
) -> None:
    if case == "featureless hetero":
        data = make_hetero()
        for kind in ("film", "person"):
            data[kind].num_nodes = data[kind].num_nodes
            del data[kind].x
    else:
        data = make_case(case)
    if scaling is None:
        graph = as_graph(data)
    else:
        _, graph = Preparation.fit(data, scaling)  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(graph))
    assert again.bounds == graph.bounds
    fewer = without_some_edges(graph)
    for one, other in (
        (graph, again),
        (graph.with_adjacency(fewer), again.with_adjacency(fewer)),
    ):
        for found, wanted in zip(tables(one), tables(other), strict=True):
            assert torch.equal(found, wanted)
    has_made = case.startswith("featureless") or case == "hetero"
    assert (again.make_features is not None) == has_made


@cases
def test_level__is_asked_once(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = inputs.level_of

    def count(data: Any) -> Any:
        asked.append(data)
        return original(data)

    monkeypatch.setattr(inputs, "level_of", count)
    data = make_case(case)
    known, graph = Preparation.fit(data, "columns")
    assert len(asked) == 1
    assert known.level == graph.level == case.split()[-1]
    known.apply(data)
    assert len(asked) == 2


def test_apply__makes_no_features_for_data_it_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("made features")

    known, _ = Preparation.fit(make_data("node"), "columns")
    monkeypatch.setattr(inputs, "structural_features", fail)
    monkeypatch.setattr(inputs, "degree_features", fail)
    for case in ("featureless node", "featureless graph"):
        with pytest.raises(InputError, match="the model was trained"):
            known.apply(make_case(case))


@pytest.mark.parametrize("level", ["node", "graph", "hetero"])
def test_fit__refuses_names_that_do_not_fit(level: str) -> None:
    data = make_data(level)
    for part in data if level == "graph" else [data]:
        store = part["film"] if level == "hetero" else part
        store.feature_names = ["a", "b"]
    with pytest.raises(InputError, match="feature_names has 2 names for"):
        Preparation.fit(data, "columns")
