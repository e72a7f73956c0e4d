import logging
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.datasets import load_dataset
from dsgrl.graph import Adjacency, FlatGraphs, Graph, as_graph
from dsgrl.graph.inputs import level_of
from dsgrl.typing import InputError

OPTIONAL = ("x", "y", "edge_weight", "edge_attr", "names")


def make_flat(
    seed: int, parts: Sequence[str] = OPTIONAL, num_graphs: int = 7
) -> FlatGraphs:
    """Give graphs in any order of edges, some without edges, one without nodes."""
    generator = torch.Generator().manual_seed(seed)

    def whole(high: int, count: int) -> torch.Tensor:
        return torch.randint(high, (count,), generator=generator)

    sizes = whole(6, num_graphs) + 1
    sizes[2] = 0
    counts = whole(9, num_graphs) * (sizes > 0)
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    edge_ptr = torch.tensor([0, *counts]).cumsum(0)
    edges = [
        torch.stack([whole(max(n, 1), c), whole(max(n, 1), c)])
        for n, c in zip(sizes.tolist(), counts.tolist(), strict=True)
    ]
    num_nodes, num_edges = int(ptr[-1]), int(edge_ptr[-1])
    given: dict[str, Any] = {
        "x": torch.randn(num_nodes, 3, generator=generator),
        "y": whole(3, num_graphs),
        "edge_weight": torch.rand(num_edges, generator=generator),
        "edge_attr": torch.randn(num_edges, 2, generator=generator),
    }
    chosen = {name: value for name, value in given.items() if name in parts}
    if "names" in parts:
        chosen |= {
            "feature_names": ["a", "b", "c"],
            "label_names": ["p", "q", "r"],
            "node_ids": [f"n{i}" for i in range(num_nodes)],
            "graph_ids": [10 * i for i in range(num_graphs)],
        }
    return FlatGraphs(
        edge_index=torch.cat(edges, dim=1), node_ptr=ptr, edge_ptr=edge_ptr, **chosen
    )


def same_matrix(one: Adjacency, two: Adjacency) -> bool:
    parts = [
        (getattr(one.pattern, n), getattr(two.pattern, n)) for n in ("rowptr", "col")
    ]
    parts.append((one.value, two.value))
    if one.attr is not None and two.attr is not None:
        parts.append((one.attr, two.attr))
    return (
        one.shape == two.shape
        and (one.attr is None) == (two.attr is None)
        and all(same_tensor(a, b) for a, b in parts)
    )


def same_tensor(one: torch.Tensor, two: torch.Tensor) -> bool:
    return one.dtype == two.dtype and torch.equal(one, two)


def assert_same_graph(one: Graph, two: Graph) -> None:
    assert same_matrix(one.adjacency, two.adjacency)
    assert type(one.x) is type(two.x)
    same = same_matrix if isinstance(one.x, Adjacency) else same_tensor
    assert same(one.x, two.x)
    assert one.ptr is not None
    assert two.ptr is not None
    assert same_tensor(one.ptr, two.ptr)
    assert (one.make_features is None) == (two.make_features is None)


def assert_same_data(one: Any, two: Any) -> None:
    assert set(one.keys()) == set(two.keys())
    for name in one.keys():  # noqa: SIM118
        if isinstance(one[name], torch.Tensor):
            assert same_tensor(one[name], two[name]), name
        else:
            assert one[name] == two[name], name


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "parts",
    [(), ("y",), ("x", "y"), ("edge_weight",), ("x", "edge_attr"), OPTIONAL],
    ids=lambda parts: "+".join(parts) or "bare",
)
def test_as_graph__as_that_of_a_list(seed: int, parts: tuple[str, ...]) -> None:
    flat = make_flat(seed, parts)
    for some in (flat, flat[1:5], flat[::-2], flat[3:]):
        assert_same_graph(as_graph(some), as_graph(list(some)))


@pytest.mark.parametrize("columns", [None, 5, 9])
def test_as_graph__makes_as_many_columns_as_asked_for(columns: int | None) -> None:
    flat = make_flat(0, ())
    one = as_graph(flat, structural_columns=columns)
    assert_same_graph(one, as_graph(list(flat), structural_columns=columns))


@pytest.mark.data
@pytest.mark.parametrize("name", ["enzymes", "imdb-b", "imdb-m", "proteins", "nci1"])
def test_as_graph__benchmark_as_that_of_a_list(name: str) -> None:
    flat = load_dataset(name)
    assert isinstance(flat, FlatGraphs)
    assert_same_graph(as_graph(flat), as_graph(list(flat)))


def test_as_graph__built_in_as_that_of_a_list() -> None:
    flat = load_dataset("digits-graphs", Path("no-such-folder"))
    assert isinstance(flat, FlatGraphs)
    assert_same_graph(as_graph(flat), as_graph(list(flat)))


def test_as_graph__makes_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError("made a Data")

    flat = make_flat(0)
    monkeypatch.setattr(FlatGraphs, "_data", fail)
    assert as_graph(flat).num_graphs == len(flat)


def broken(name: str) -> FlatGraphs:
    """Give graphs with one fault."""
    flat = make_flat(1)
    if name == "node of another graph":
        edge = int(flat.edge_ptr[3])
        flat.edge_index[1, edge] = int(flat.node_ptr.diff()[3])
    elif name == "negative node":
        flat.edge_index[0, 0] = -1
    elif name == "negative weight":
        assert flat.edge_weight is not None
        flat.edge_weight[0] = -1
    elif name == "hole":
        assert flat.x is not None
        flat.x[0, 0] = torch.nan
    elif name == "no nodes":
        flat = flat[2:3]
    else:
        flat = flat[:0]
    return flat


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("node of another graph", "graph 3: edge_index names node"),
        ("negative node", "edge_index names node -1"),
        ("negative weight", "edge_weight has negative"),
        ("hole", "NaN"),
        ("no nodes", "the graphs are all empty"),
        ("no graphs", "empty"),
    ],
)
def test_as_graph__faults_are_named(fault: str, message: str) -> None:
    for graphs in (broken(fault), list(broken(fault))):
        with pytest.raises(InputError, match=message) as caught:
            as_graph(graphs)
        assert "\n" not in str(caught.value)


def test_flat__is_a_sequence_of_data() -> None:
    flat = make_flat(0)
    items = list(flat)
    assert isinstance(flat, Sequence)
    assert len(items) == len(flat) == 7
    assert all(type(item) is Data for item in items)
    for number, item in enumerate(items):
        for same in (flat[number], flat[number - len(flat)]):
            assert_same_data(same, item)
    assert sum(item.num_nodes for item in items) == flat.num_nodes
    assert sum(item.num_edges for item in items) == flat.num_edges
    assert [item.id for item in items] == flat.graph_ids
    assert [i for item in items for i in item.ids] == flat.node_ids
    assert level_of(flat) == level_of(items) == "graph"
    for beyond in (7, -8):
        with pytest.raises(IndexError):
            flat[beyond]


@pytest.mark.parametrize("parts", [(), OPTIONAL], ids=["bare", "full"])
@pytest.mark.parametrize(
    "some",
    [
        slice(None),
        slice(2, 5),
        slice(-2, None),
        slice(3, 3),
        slice(5, 2),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(6, 0, -3),
        slice(0, 99),
    ],
    ids=str,
)
def test_flat__slices_as_a_list_does(parts: tuple[str, ...], some: slice) -> None:
    flat = make_flat(1, parts)
    cut, expected = flat[some], list(flat)[some]
    assert isinstance(cut, FlatGraphs)
    assert len(cut) == len(expected)
    for one, two in zip(cut, expected, strict=True):
        assert_same_data(one, two)
    assert cut.num_nodes == sum(item.num_nodes for item in expected)


def test_flat__items_and_ranges_share_memory() -> None:
    flat = make_flat(0)
    for part in ("edge_index", "x", "y", "edge_weight", "edge_attr"):
        own = getattr(flat, part).untyped_storage().data_ptr()
        for held in (flat[1][part], getattr(flat[1:4], part)):
            assert held.untyped_storage().data_ptr() == own


@pytest.mark.parametrize("some", [slice(None), slice(2, 5)], ids=str)
def test_flat__pickles_what_it_shows(some: slice) -> None:
    flat = make_flat(0)[some]
    again = pickle.loads(pickle.dumps(flat))
    for one, two in zip(again, flat, strict=True):
        assert_same_data(one, two)


def test_flat__pickle_of_a_slice_is_small() -> None:
    flat = FlatGraphs(
        edge_index=torch.zeros(2, 50_000, dtype=torch.long),
        node_ptr=torch.arange(50_001),
        edge_ptr=torch.arange(50_001),
        x=torch.ones(50_000, 8),
    )
    assert len(pickle.dumps(flat[:10])) < len(pickle.dumps(flat)) / 100


def test_flat__without_labels() -> None:
    flat = make_flat(0)
    bare = flat.without_labels()
    assert bare.y is None
    assert flat.y is not None
    for graph in bare:
        assert "y" not in graph
        assert "label_names" not in graph


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", torch.ones(1, 2)),
        ("y", torch.ones(1)),
        ("edge_weight", torch.ones(1)),
        ("edge_ptr", torch.tensor([0, 1])),
        ("graph_ids", [1]),
    ],
)
def test_flat__parts_that_do_not_fit_are_refused(name: str, value: Any) -> None:
    given: dict[str, Any] = {
        "edge_index": torch.tensor([[0, 0], [1, 0]]),
        "node_ptr": torch.tensor([0, 2, 3]),
        "edge_ptr": torch.tensor([0, 1, 2]),
    }
    assert len(FlatGraphs(**given)) == 2
    with pytest.raises(InputError, match=name if name != "edge_ptr" else "edge"):
        FlatGraphs(**given | {name: value})


def test_flat__one_warning_for_graphs_without_features(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        as_graph(make_flat(0, ()))
    assert [r.getMessage() for r in caplog.records] == [
        "the graphs have no node features: using 5 columns of the degree profile"
    ]
