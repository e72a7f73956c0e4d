import gc
import pickle
import weakref
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.data import Subset
from torch_geometric.data import Data
from torch_geometric.datasets import FakeDataset, FakeHeteroDataset

from dsgrl.augment import Perturbation
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.graph.graph import take_blocks
from dsgrl.graph.inputs import level_of
from dsgrl.typing import InputError
from samples import make_data, make_graphs, make_hetero

NONE = torch.empty(2, 0, dtype=torch.long)


def any_graph(num_nodes: int, generator: torch.Generator, *, sparse: bool) -> Data:
    """A graph that may have no nodes, no edges, loops and parallel edges."""
    count = 2 * num_nodes if num_nodes % 3 else 0
    edge_index = torch.randint(max(num_nodes, 1), (2, count), generator=generator)
    x = torch.rand(num_nodes, 12, generator=generator)
    if sparse:
        x = torch.where(x > 0.95, x, 0.0)
    return Data(
        x=x,
        edge_index=edge_index,
        edge_weight=torch.rand(count, generator=generator),
        edge_attr=torch.rand(count, 3, generator=generator),
    )


def dense(x: Tensor | Adjacency) -> Tensor:
    return x.to_dense() if isinstance(x, Adjacency) else x


def assert_same_graph(one: Graph, other: Graph, *, attr: bool = True) -> None:
    assert one.bounds == other.bounds
    torch.testing.assert_close(dense(one.x), dense(other.x), rtol=0, atol=0)
    mine, theirs = one.adjacency, other.adjacency
    assert mine.shape == theirs.shape
    assert mine.bipartite == theirs.bipartite
    for found, wanted in (
        (mine.edge_index, theirs.edge_index),
        (mine.value, theirs.value),
    ):
        assert torch.equal(found, wanted)
    assert not attr or torch.equal(mine.attr, theirs.attr)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any),
    data=st.data(),
    sparse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_take__equals_holding_the_chosen_graphs_alone(
    sizes: list[int], data: Any, sparse: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    graphs = [any_graph(size, generator, sparse=sparse) for size in sizes]
    numbers = st.integers(0, len(sizes) - 1)
    chosen = data.draw(
        st.lists(numbers, min_size=1).filter(lambda some: any(sizes[i] for i in some))
    )
    taken = as_graph(graphs).take(torch.tensor(chosen))
    alone = as_graph([graphs[i] for i in chosen])
    if alone.adjacency.num_edges:
        assert_same_graph(taken, alone)
    else:
        assert taken.bounds == alone.bounds


def test_take__remembers_what_it_took() -> None:
    whole = as_graph(make_graphs((4, 5, 3, 6)))
    assert whole.origin is None
    batch = whole.take(torch.tensor([3, 0, 1]))
    assert batch.origin is not None
    assert batch.origin.whole is whole
    assert batch.origin.numbers.tolist() == [3, 0, 1]
    # Some of some of them are some of the same whole.
    less = batch.take(torch.tensor([2, 0]))
    assert less.origin is not None
    assert less.origin.whole is whole
    assert less.origin.numbers.tolist() == [1, 3]
    assert_same_graph(less, whole.take(torch.tensor([1, 3])), attr=False)


def test_take__other_edges_are_no_part_of_the_whole() -> None:
    batch = as_graph(make_graphs((4, 5, 3))).take(torch.tensor([1, 0]))
    assert batch.to(batch.adjacency.device).origin is batch.origin
    cut = batch.adjacency.select(batch.adjacency.value < 0)
    assert batch.with_adjacency(cut).origin is None
    torch.manual_seed(0)
    assert Perturbation(edge_drop=0.5)(batch).origin is None
    assert Perturbation(feature_drop=0.5)(batch).origin is batch.origin


def test_graph__pickles_a_batch_without_the_whole() -> None:
    whole = as_graph(make_graphs((400, 5, 3)))
    batch = whole.take(torch.tensor([2, 1]))
    stored = pickle.dumps(batch)
    assert len(stored) < len(pickle.dumps(whole)) / 5
    again = pickle.loads(stored)
    assert again.origin is None
    assert_same_graph(again, batch, attr=False)
    assert_same_graph(pickle.loads(pickle.dumps(whole)), whole, attr=False)


def test_take__does_not_keep_the_whole_alive() -> None:
    """Nothing but the batch itself holds the graphs it was taken from."""
    whole = as_graph(make_graphs((4, 5, 3)))
    edges = weakref.ref(whole.adjacency)
    batch = whole.take(torch.tensor([2, 1]))
    del whole, batch
    gc.collect()
    assert edges() is None


def test_take_blocks__equals_taking_the_graphs() -> None:
    whole = as_graph(make_graphs((4, 5, 3, 6)))
    numbers = torch.tensor([3, 0, 3])
    assert whole.ptr is not None
    found = take_blocks(whole.adjacency, whole.ptr, numbers)
    expected = whole.take(numbers).adjacency
    assert torch.equal(found.edge_index, expected.edge_index)
    assert torch.equal(found.value, expected.value)


def test_take__of_node_less_graphs_alone_is_empty() -> None:
    graphs = [*make_graphs((4, 5)), Data(x=torch.zeros(0, 4), edge_index=NONE)]
    taken = as_graph(graphs).take(torch.tensor([2, 2]))
    assert (taken.num_graphs, taken.num_nodes, taken.bounds) == (2, 0, [0, 0, 0])


def test_bounds__are_the_ranges_edges_stay_in() -> None:
    assert as_graph(make_data("node")).bounds == [0, 40]
    assert as_graph(make_graphs((4, 5, 3))).bounds == [0, 4, 9, 12]
    assert as_graph(make_hetero(20, 12)).bounds == [0, 20, 32, 38]


def test_split__types_apart_and_graphs_together() -> None:
    graph = as_graph(make_hetero(20, 12))
    z = torch.randn(38, 2)
    assert [len(part) for part in graph.split(z)] == [20, 12, 6]
    assert torch.equal(torch.cat(graph.split(z)), z)
    (whole,) = as_graph(make_graphs((4, 5))).split(z)
    assert whole is z


def test_graph__counts() -> None:
    graphs, hetero = as_graph(make_graphs((4, 5, 3))), as_graph(make_hetero(20, 12))
    assert (graphs.num_graphs, graphs.num_nodes, graphs.num_features) == (3, 12, 4)
    # Tags have a constant and one degree per relation: 'has' and their own.
    assert (hetero.num_graphs, hetero.num_features) == (1, 5 + 3 + 3)


def test_with_adjacency__features_made_of_edges_follow() -> None:
    hetero = as_graph(make_hetero())
    empty = hetero.adjacency.with_parts(
        [
            a.select(torch.zeros(a.num_edges, dtype=torch.bool))
            for a, _, _ in hetero.adjacency.parts()
        ]
    )
    cut = hetero.with_adjacency(empty)
    assert torch.equal(cut.x[0], hetero.x[0])
    assert hetero.x[2][:, 1:].any()
    assert not cut.x[2][:, 1:].any()


@pytest.mark.parametrize("slots", [slice(None), slice(1, 3)])
def test_level_of__datasets_are_lists_of_graphs(slots: slice) -> None:
    dataset = FakeDataset(num_graphs=4, avg_num_nodes=6)[slots]
    assert level_of(dataset) == level_of(list(dataset)) == "graph"
    assert as_graph(dataset).num_graphs == len(dataset)
    assert as_graph(Subset(dataset, [1, 0])).num_graphs == 2


def test_level_of__an_attribute_called_indices_is_just_an_attribute() -> None:
    graph = make_graphs()[0]
    graph.indices = torch.arange(3)
    assert level_of(graph) == "node"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [], "an empty list"),
        (lambda: FakeDataset(num_graphs=2)[:0], "an empty list"),
        (lambda: [make_hetero(), make_hetero()], "got one of HeteroData"),
        (lambda: FakeHeteroDataset(num_graphs=2), "got one of HeteroData"),
        (lambda: [make_graphs()[0], 3], "got one of int"),
        (lambda: {"a": 1}, "got dict"),
        (lambda: "debian", "got str"),
        (lambda: torch.ones(3), "got Tensor"),
    ],
)
def test_level_of__refuses_anything_else(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        level_of(make())
    assert "\n" not in str(caught.value)


WEIGHT = torch.ones(make_graphs((4, 5, 3))[1].num_edges)


def change(number: int, **attributes: Any) -> list[Data]:
    graphs = make_graphs((4, 5, 3))
    for name, value in attributes.items():
        graphs[number][name] = value
    return graphs


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        (change(1, x=None, num_nodes=5), "2 of 3 graphs have node features"),
        (change(1, x=torch.ones(5, 7)), "feature columns, expected the same"),
        (change(1, edge_weight=WEIGHT), "1 of 3 graphs have edge_weight"),
        (change(2, edge_index=torch.tensor([[0], [3]])), "graph 2: .*names node 3"),
        (change(2, edge_attr=torch.ones(99, 2)), "graph 2: edge_attr has shape"),
        (change(0, x=torch.full((4, 4), torch.nan)), "NaN or infinite"),
        ([Data(x=torch.ones(0, 2), edge_index=NONE)] * 2, "all empty"),
    ],
)
def test_as_graph__refuses_graphs(graphs: list[Data], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        as_graph(graphs)
    assert "\n" not in str(caught.value)


def test_as_graph__attributes_of_other_widths_are_refused() -> None:
    graphs = make_graphs((4, 5))
    for width, graph in enumerate(graphs, start=2):
        graph.edge_attr = torch.ones(graph.num_edges, width)
    with pytest.raises(InputError, match=r"\[2, 3\] columns of edge_attr"):
        as_graph(graphs)


def test_as_graph__edge_less_graphs_need_no_weights_or_attributes() -> None:
    graphs = make_graphs((4, 5))
    for graph in graphs:
        graph.edge_weight = torch.rand(graph.num_edges)
        graph.edge_attr = torch.rand(graph.num_edges)
    bare = Data(x=torch.ones(3, 4), edge_index=NONE)
    empty = Data(x=torch.ones(3, 4), edge_index=NONE, edge_attr=torch.ones(0, 9))
    held = as_graph([graphs[0], bare, graphs[1], empty]).adjacency
    assert held.num_edges == graphs[0].num_edges + graphs[1].num_edges
    assert held.attr.shape == (held.num_edges, 1)
