"""Views of whole graphs: what goes, how much of it, and from which graph."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from dsgrl.augment.graph_views import (
    AUGMENTATIONS,
    EDGES,
    MASK,
    NODES,
    SAME,
    SUBGRAPH,
    GraphAugmentation,
    add_edges,
    entries_per_graph,
    first_of_each,
    graph_of,
    grow_subgraphs,
    names_of,
    pick_nodes,
)
from dsgrl.graph import Adjacency, Graph, as_graph
from samples import make_graphs

SIZES = (9, 25, 12, 7, 60, 10, 1, 41)
every_kind = pytest.mark.parametrize("kind", range(len(AUGMENTATIONS)))


def make_batch() -> Graph:
    """Give graphs of many sizes whose first feature is the node's number."""
    graph = as_graph(make_graphs(SIZES, seed=3))
    graph.x[:, 0] = 1 + torch.arange(graph.num_nodes)
    return graph


def draw(batch: Graph, kind: int | Tensor, **changes: float) -> Graph:
    settings = {"share": 0.3, "edge_add": 0.0, "subgraph_share": 0.4, **changes}
    choice = torch.as_tensor(kind).expand(batch.num_graphs)
    return GraphAugmentation(**settings)(batch, choice)


def pairs(graph: Graph) -> list[tuple[int, int]]:
    """Return the edges by the numbers that the nodes had before."""
    name = graph.x.to_dense()[:, 0].long() - 1
    return [(a, b) for a, b in name[graph.adjacency.edge_index].t().tolist()]


def sizes_of(graph: Graph) -> list[int]:
    assert graph.ptr is not None
    return graph.ptr.diff().tolist()


def test_nodes__the_share_of_every_graph_is_dropped() -> None:
    batch = make_batch()
    view = draw(batch, NODES)
    assert sizes_of(view) == [size - int(0.3 * size) for size in SIZES]
    assert view.x.shape[0] == view.num_nodes == view.adjacency.shape[1]
    # What is left are all edges between the nodes that are left.
    left = {int(name) - 1 for name in view.x[:, 0]}
    expected = [pair for pair in pairs(batch) if {*pair} <= left]
    assert sorted(pairs(view)) == sorted(expected)


def test_subgraph__the_share_of_every_graph_is_kept_and_connected() -> None:
    batch = make_batch()
    view = draw(batch, SUBGRAPH)
    assert sizes_of(view) == [int(0.4 * size) + 1 for size in SIZES]
    reached = (view.adjacency.to_dense() + torch.eye(view.num_nodes)) > 0
    for _ in range(6):
        reached = (reached.float() @ reached.float()) > 0
    graph = graph_of(view.ptr)  # type: ignore[arg-type]
    # Rings with chords are connected, and so are the parts of them.
    assert torch.equal(reached, graph[:, None] == graph)


def chances_to_grow(
    neighbors: dict[int, set[int]], picked: frozenset[int], count: int
) -> dict[frozenset[int], float]:
    """Return the chance of every set of nodes that may grow from those picked."""
    if len(picked) == count:
        return {picked: 1.0}
    nodes = {*neighbors} if not picked else {j for i in picked for j in neighbors[i]}
    found: dict[frozenset[int], float] = {}
    for node in nodes - picked:
        grown = chances_to_grow(neighbors, picked | {node}, count)
        for key, chance in grown.items():
            found[key] = found.get(key, 0) + chance / len(nodes - picked)
    return found


@pytest.mark.parametrize("count", [2, 3, 4])
def test_subgraph__grows_by_any_neighbour_with_the_same_chance(count: int) -> None:
    """A star with a tail, against all ways of growing in it."""
    edges = to_undirected(torch.tensor([[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]]))
    graph = as_graph([Data(x=torch.ones(6, 1), edge_index=edges)] * 6000)
    counts = torch.full((6000,), count)
    picked = grow_subgraphs(graph, counts, counts > 0).view(6000, 6)
    found = Counter(frozenset(row.nonzero().flatten().tolist()) for row in picked)
    neighbors = {i: {*edges[1, edges[0] == i].tolist()} for i in range(6)}
    chance = chances_to_grow(neighbors, frozenset(), count)
    assert sum(chance.values()) == pytest.approx(1)
    assert {*found} == {*chance}
    for key, share in chance.items():
        assert found[key] / 6000 == pytest.approx(share, abs=0.02)


def test_subgraph__stays_in_its_part_of_a_graph_and_heeds_weights_of_zero() -> None:
    edges = to_undirected(torch.tensor([[0, 1, 3, 2], [1, 2, 4, 3]]))
    weight = (edges.sum(dim=0) != 5).float()
    graph = as_graph([Data(x=torch.ones(6, 1), edge_index=edges, edge_weight=weight)])
    for _ in range(20):
        all_nodes = torch.tensor([6])
        picked = grow_subgraphs(graph, all_nodes, all_nodes > 0)
        assert picked.nonzero().flatten().tolist() in ([0, 1, 2], [3, 4], [5])


@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_edges__the_share_of_every_graph_in_both_directions(share: float) -> None:
    batch = make_batch()
    view = draw(batch, EDGES, share=share)
    assert torch.equal(view.x, batch.x)
    before, after = entries_per_graph(batch), entries_per_graph(view)
    dropped = 2 * (share * before / 2).long()
    assert torch.equal(after, before - dropped)
    found = pairs(view)
    assert sorted(found) == sorted((b, a) for a, b in found)
    assert {*found} <= {*pairs(batch)}


def test_edges__loops_and_parallel_edges_are_not_torn() -> None:
    edges = torch.tensor(
        [[0, 1, 1, 2, 2, 3, 3, 0, 0, 1], [1, 0, 2, 1, 2, 0, 0, 3, 3, 1]]
    )
    batch = as_graph([Data(x=torch.arange(1.0, 5)[:, None], edge_index=edges)])
    for _ in range(20):
        left = Counter(pairs(draw(batch, EDGES, share=0.5)))
        assert left[2, 2] == left[1, 1] == 1
        assert (left[3, 0], left[0, 3]) in ((0, 0), (2, 2))


def test_edges__as_many_are_added_as_asked_for_and_none_leaves_its_graph() -> None:
    batch = make_batch()
    view = draw(batch, EDGES, share=0.0, edge_add=0.5)
    more = entries_per_graph(view) - entries_per_graph(batch)
    asked = 2 * (0.25 * entries_per_graph(batch)).long()
    assert torch.equal(more, asked)
    assert more[6] == 0
    graph = graph_of(view.ptr)  # type: ignore[arg-type]
    one, other = view.adjacency.edge_index
    assert torch.equal(graph[one], graph[other])
    assert (one != other).all()
    found = pairs(view)
    assert sorted(found) == sorted((b, a) for a, b in found)


def test_add_edges__every_pair_is_as_likely() -> None:
    batch = as_graph([Data(x=torch.ones(4, 1), edge_index=torch.empty(2, 0).long())])
    matrix = add_edges(batch, torch.tensor([6000])).adjacency.to_dense()
    off = matrix[~torch.eye(4, dtype=torch.bool)]
    assert (off / 1000 - 1).abs().max() < 0.15
    assert matrix.diagonal().eq(0).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_mask__the_share_of_the_rows_of_every_graph(sparse: bool) -> None:
    batch = make_batch()
    if sparse:
        batch = Graph(Adjacency.from_dense(batch.x), batch.adjacency, ptr=batch.ptr)
    view = draw(batch, MASK)
    assert isinstance(view.x, Adjacency) == sparse
    assert view.adjacency is batch.adjacency
    x, before = view.x.to_dense(), batch.x.to_dense()
    masked = x.eq(0).all(dim=1)
    assert torch.equal(x[~masked], before[~masked])
    graph = graph_of(batch.ptr)  # type: ignore[arg-type]
    counts = torch.bincount(graph[masked], minlength=len(SIZES))
    assert counts.tolist() == [int(0.3 * size) for size in SIZES]


def test_same__is_the_batch_itself() -> None:
    batch = make_batch()
    assert draw(batch, SAME) is batch


def test_choice__every_graph_has_its_own() -> None:
    batch = make_batch()
    kinds = [NODES, EDGES, SUBGRAPH, MASK, SAME, SUBGRAPH, NODES, EDGES]
    view = draw(batch, torch.tensor(kinds))
    assert view.ptr is not None
    for number, (kind, size) in enumerate(zip(kinds, SIZES, strict=True)):
        own = batch.take(torch.tensor([number]))
        alone = view.take(torch.tensor([number]))
        smaller = {NODES: size - int(0.3 * size), SUBGRAPH: int(0.4 * size) + 1}
        assert alone.num_nodes == smaller.get(kind, size)
        zeros = int(alone.x.eq(0).all(dim=1).sum())
        assert zeros == (int(0.3 * size) if kind == MASK else 0)
        entries = int(own.adjacency.num_edges)
        if kind in (MASK, SAME):
            assert pairs(Graph(own.x, alone.adjacency)) == pairs(own)
        if kind == EDGES:
            assert alone.adjacency.num_edges == entries - 2 * int(0.3 * entries / 2)


@every_kind
def test_view__same_seed_same_view_and_the_input_is_untouched(kind: int) -> None:
    batch = make_batch()
    copies = [
        t.clone() for t in (batch.x, batch.adjacency.value, batch.adjacency.pattern.col)
    ]
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        view = draw(batch, kind, edge_add=0.2)
        found.append((view.x, view.adjacency.to_dense()))
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    if kind != SAME:
        assert not all(
            a.shape == b.shape and torch.equal(a, b)
            for a, b in zip(found[0], found[2], strict=True)
        )
    for copy, now in zip(
        copies,
        (batch.x, batch.adjacency.value, batch.adjacency.pattern.col),
        strict=True,
    ):
        assert torch.equal(copy, now)


@every_kind
def test_view__empty_graphs_and_graphs_without_edges_do_no_harm(kind: int) -> None:
    none = torch.empty(2, 0).long()
    data = [Data(x=torch.ones(n, 2), edge_index=none) for n in (0, 1, 3, 0)]
    view = draw(as_graph(data), kind, edge_add=0.5)
    assert view.num_graphs == 4
    sizes = sizes_of(view)
    assert (sizes[0], sizes[1], sizes[3]) == (0, 1, 0)


@every_kind
def test_view__keeps_weights_and_attributes_of_the_edges(kind: int) -> None:
    data: list[Any] = make_graphs(SIZES, seed=3)
    for graph in data:
        graph.edge_weight = 1 + torch.rand(graph.num_edges)
        graph.edge_attr = graph.edge_weight[:, None].expand(-1, 2)
    view = draw(as_graph(data), kind, edge_add=0.3).adjacency
    assert view.attr is not None
    own = view.attr[:, 0] != 0
    assert torch.equal(view.attr[own, 1], view.value[own])
    assert view.value[~own].eq(1).all()
    assert (kind == EDGES) == bool((~own).any())


def test_pick_nodes__any_node_is_as_likely() -> None:
    ptr = torch.tensor([0, 5, 5, 8])
    counts = torch.tensor([2, 3, 1])
    times = sum(pick_nodes(ptr, counts).int() for _ in range(3000))
    share = torch.as_tensor(times) / 3000
    expected = torch.tensor([0.4] * 5 + [1 / 3] * 3)
    torch.testing.assert_close(share, expected, atol=0.04, rtol=0)


def test_first_of_each__by_hand() -> None:
    key = torch.tensor([3.0, 1, 2, 9, 7, 8])
    found = first_of_each(key, torch.tensor([0, 3, 6]), torch.tensor([2, 1]))
    assert found.tolist() == [False, True, True, False, True, False]


def test_names__are_known_and_given_once() -> None:
    assert names_of("mask+nodes") == [MASK, NODES]
    assert names_of("nodes+nodes") == names_of("walk") == names_of("") == []
