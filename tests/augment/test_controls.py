from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.augment import FixedTopology
from dsgrl.augment.walks import _thinned
from dsgrl.graph import Adjacency, Graph, Relations, as_graph
from dsgrl.graph.structural import to_scipy
from dsgrl.typing import InputError, TopologyName
from samples import LEVELS, make_data, make_graphs, make_model, pairs_of, permute

KINDS: tuple[TopologyName, ...] = ("random", "knn_x", "knn_ax", "two_hop", "none")
kinds = pytest.mark.parametrize("kind", KINDS)
levels = pytest.mark.parametrize("level", LEVELS)
K = 3


def held(level: str) -> Graph:
    """A graph whose edges weigh differently, so that no two walks are as likely."""
    graph = as_graph(make_data(level))
    parts = [
        part.with_value(torch.rand(part.num_edges) + 0.5)
        for part, _, _ in graph.adjacency.parts()
    ]
    return Graph(graph.x, graph.adjacency.with_parts(parts), None, graph.ptr)


def blocks_of(graph: Graph, made: Any) -> list[Adjacency]:
    """The new edges inside every graph or type."""
    if isinstance(made, Relations):
        inner = [
            (source, adjacency)
            for (source, _, target), adjacency in made.adjacencies.items()
            if source == target
        ]
        assert [kind for kind, _ in sorted(inner, key=lambda one: one[0])] == sorted(
            made.sizes
        )
        return [dict(inner)[kind] for kind in made.sizes]
    blocks: list[Adjacency] = made.diagonal_blocks(graph.bounds)
    return blocks


def widest(tables: list[Tensor]) -> Tensor:
    return torch.cat([F.normalize(table, dim=1) for table in tables], dim=1)


def references(kind: str, graph: Graph) -> list[Tensor]:
    """By brute force: how similar any two nodes of a graph or type are [n, n]."""
    tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
    whole = graph.adjacency
    if kind == "two_hop":
        dense = whole.as_one() if isinstance(whole, Relations) else whole
        walk = dense.to_dense() / dense.to_dense().sum(1, keepdim=True).clamp_min(1e-9)
        twice = (walk @ walk).fill_diagonal_(0)
        cuts = zip(graph.bounds, graph.bounds[1:], strict=False)
        return [twice[low:high, low:high] for low, high in cuts]
    if kind == "knn_ax":
        ends = whole.schema.ends() if isinstance(whole, Relations) else [(0, 0)]
        received: list[list[Tensor]] = [[] for _ in tables]
        for (part, _, _), (source, target) in zip(whole.parts(), ends, strict=True):
            matrix = part.to_dense()
            mean = matrix / matrix.sum(1, keepdim=True).clamp_min(1e-9)
            received[target].append(mean @ tables[source])
        tables = tuple(widest(parts) for parts in received)
    rows = [F.normalize(table, dim=1) for table in tables]
    if graph.ptr is not None:
        rows = list(rows[0].split(graph.ptr.diff().tolist()))
    return [row @ row.t() for row in rows]


def nearest(similarity: Tensor, *, above_mean: bool) -> set[tuple[int, int]]:
    """The k largest of every row, taken both ways, as (source, target)."""
    top = similarity.topk(min(K, len(similarity)), dim=1)
    mean = similarity.mean(dim=1) if above_mean else torch.zeros(len(similarity))
    found = {
        (int(column), row)
        for row in range(len(similarity))
        for column, value in zip(top.indices[row], top.values[row], strict=True)
        if value > mean[row]
    }
    return found | {(b, a) for a, b in found}


@levels
@pytest.mark.parametrize("kind", ["knn_x", "knn_ax", "two_hop"])
def test_control__equals_brute_force(kind: TopologyName, level: str) -> None:
    graph = held(level)
    made = FixedTopology(kind, edges_per_node=K)(graph)
    for block, similarity in zip(
        blocks_of(graph, made), references(kind, graph), strict=True
    ):
        expected = nearest(similarity, above_mean=kind != "two_hop")
        assert pairs_of(block.edge_index) == expected


@kinds
@levels
def test_control__has_no_parameters_and_no_gradient(
    kind: TopologyName, level: str
) -> None:
    control, graph = FixedTopology(kind, edges_per_node=K), held(level)
    assert not list(control.parameters())
    assert not control.state_dict()
    for block in blocks_of(graph, control(graph)):
        assert not block.value.requires_grad


@kinds
@levels
def test_control__rows_sum_to_one_where_there_are_edges(
    kind: TopologyName, level: str
) -> None:
    graph = held(level)
    made = FixedTopology(kind, edges_per_node=K)(graph)
    for block in blocks_of(graph, made):
        sums = block.to_dense().sum(1)
        linked = block.pattern.rowptr.diff() > 0
        torch.testing.assert_close(sums[linked], torch.ones(int(linked.sum())))


@kinds
@levels
def test_control__edges_never_leave_their_graph_or_type(
    kind: TopologyName, level: str
) -> None:
    graph = held(level)
    made = FixedTopology(kind, edges_per_node=K)(graph)
    if isinstance(made, Relations):
        for relation, part in made.adjacencies.items():
            if relation[0] != relation[2]:
                assert part is graph.adjacency.adjacencies[relation]
        return
    bounds = torch.tensor(graph.bounds)
    source, target = torch.bucketize(made.edge_index, bounds, right=True)
    assert torch.equal(source, target)


@kinds
@levels
def test_control__does_not_depend_on_the_call(kind: TopologyName, level: str) -> None:
    graph = held(level)
    control = FixedTopology(kind, edges_per_node=K)
    once = control.train()(graph)
    assert control(graph) is once
    torch.manual_seed(99)
    other = FixedTopology(kind, edges_per_node=K).eval()(graph)
    for one, two in zip(blocks_of(graph, once), blocks_of(graph, other), strict=True):
        assert torch.equal(one.edge_index, two.edge_index)
        assert torch.equal(one.value, two.value)


@kinds
def test_control__does_not_depend_on_the_other_graphs(kind: TopologyName) -> None:
    graphs = make_graphs()
    whole = as_graph(graphs)
    together = FixedTopology(kind, edges_per_node=K)(whole)
    for number, block in enumerate(together.diagonal_blocks(whole.bounds)):
        alone = FixedTopology(kind, edges_per_node=K)(
            as_graph(graphs[number : number + 1])
        )
        torch.testing.assert_close(alone.to_dense(), block.to_dense())


@kinds
@pytest.mark.parametrize("at_once", [1, 60, 10**9])
@pytest.mark.parametrize("training", [True, False])
def test_control__batches_have_the_edges_they_have_alone(
    kind: TopologyName, at_once: int, training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.augment.controls.MADE_AT_ONCE", at_once)
    whole = as_graph(make_graphs((9, 5, 12, 0, 7, 6, 10, 1)))
    control = FixedTopology(kind, edges_per_node=K).train(training)
    for _ in range(3):
        for numbers in torch.randperm(8).split(3):
            batch = whole.take(numbers)
            alone = FixedTopology(kind, edges_per_node=K)(replace(batch, origin=None))
            found = control(batch)
            assert found.shape == alone.shape
            assert torch.equal(found.edge_index, alone.edge_index)
            assert torch.equal(found.value, alone.value)


@pytest.mark.parametrize("kind", ["random", "knn_x", "knn_ax", "two_hop"])
@pytest.mark.parametrize("at_once", [1, 60, 10**9])
def test_control__every_graph_is_made_once(
    kind: TopologyName, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.augment.controls.MADE_AT_ONCE", at_once)
    whole = as_graph(make_graphs((9, 5, 12, 0, 7, 6, 10, 1)))
    control = FixedTopology(kind, edges_per_node=K)
    made: list[int] = []
    find = control.find_pairs

    def count(graph: Graph, h: Tensor) -> Tensor:
        made.extend(graph.ptr.diff().tolist())  # type: ignore[union-attr]
        return find(graph, h)

    monkeypatch.setattr(control, "find_pairs", count)
    for _ in range(4):
        for numbers in torch.randperm(8).split(3):
            control(whole.take(numbers))
    assert made == [9, 5, 12, 0, 7, 6, 10, 1]
    control.eval()(whole.take(torch.tensor([2, 1])))
    assert len(made) == 8


def test_control__evaluation_of_other_graphs_forgets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, other = as_graph(make_graphs()), as_graph(make_graphs(seed=1))
    control = FixedTopology("knn_x", edges_per_node=K)
    control(whole.take(torch.tensor([0, 1])))
    monkeypatch.setattr(control, "find_pairs", None)
    with pytest.raises(TypeError):
        control.eval()(other.take(torch.tensor([0, 1])))
    control.train()(whole.take(torch.tensor([3, 1])))


def test_control__all_pairs_of_a_batch() -> None:
    whole = as_graph(make_graphs())
    numbers = torch.tensor([3, 0])
    control = FixedTopology("knn_x", edges_per_node=None)
    found = control(whole.take(numbers)).materialize()
    alone = control(replace(whole.take(numbers), origin=None)).materialize()
    assert torch.equal(found.edge_index, alone.edge_index)


@pytest.mark.parametrize("kind", ["knn_x", "knn_ax"])
@levels
def test_control__permuting_nodes_permutes_edges(
    kind: TopologyName, level: str
) -> None:
    data = make_data(level)
    moved, orders = permute(data)
    ordered = {"node": [orders], "graph": orders}.get(level)
    if ordered is None:
        ordered = list(orders.values())
    one, other = as_graph(data), as_graph(moved)
    control = FixedTopology(kind, edges_per_node=K)
    for before, after, order in zip(
        blocks_of(one, control(one)),
        blocks_of(other, control(other)),
        ordered,
        strict=True,
    ):
        torch.testing.assert_close(
            after.to_dense(), before.to_dense()[order][:, order], rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("kind", ["knn_x", "two_hop"])
def test_control__does_not_depend_on_block(
    kind: TopologyName, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = held("node")
    whole = FixedTopology(kind, edges_per_node=K)(graph)
    monkeypatch.setattr("dsgrl.augment.similar.COMPARED_ELEMENTS", rows * 40)
    monkeypatch.setattr("dsgrl.augment.walks.BLOCK_WALKS", rows * 40)
    again = FixedTopology(kind, edges_per_node=K)(graph)
    torch.testing.assert_close(again.to_dense(), whole.to_dense())


def test_random__draws_about_k_nodes_from_all_over() -> None:
    graph = held("node")
    made = FixedTopology("random", edges_per_node=K, symmetric=False)(graph)
    degree = made.pattern.rowptr.diff()
    # Some of the k draws of a node may be the same.
    assert degree.max() <= K
    assert degree.float().mean() > 0.8 * K
    drawn = made.pattern.col.unique().numel()
    assert drawn > 25
    assert pairs_of(made.edge_index) != pairs_of(graph.adjacency.edge_index)


@kinds
def test_control__small_graphs_have_no_more_edges_than_pairs(
    kind: TopologyName,
) -> None:
    graph = as_graph(make_graphs((1, 2, 3)))
    made = FixedTopology(kind, edges_per_node=50)(graph)
    assert (made.pattern.rowptr.diff() <= torch.tensor([1, 2, 2, 3, 3, 3])).all()


@pytest.mark.parametrize("kind", ["random", "two_hop"])
def test_control__without_similarities_needs_a_limit(kind: TopologyName) -> None:
    with pytest.raises(InputError, match=f"topology='{kind}'.*expected a whole number"):
        FixedTopology(kind, edges_per_node=None)
    FixedTopology(kind, edges_per_node=None, edge_multiplier=1.0)
    FixedTopology("knn_x", edges_per_node=None)


@pytest.mark.parametrize("kind", ["random", "two_hop"])
def test_raw__without_similarities_every_edge_weighs_one(kind: TopologyName) -> None:
    graph = held("node")
    raw = FixedTopology(kind, edges_per_node=K, weights="raw")(graph)
    assert torch.equal(raw.value, torch.ones(raw.num_edges))
    assert torch.equal(
        raw.edge_index, FixedTopology(kind, edges_per_node=K)(graph).edge_index
    )


@levels
def test_none__a_node_sees_its_own_features_only(level: str) -> None:
    graph = held(level)
    made = FixedTopology("none", edges_per_node=None)(graph)
    assert [block.num_edges for block in blocks_of(graph, made)] == [0] * (
        len(graph.bounds) - 1
    )


def test_none__second_view_does_not_depend_on_other_nodes() -> None:
    data = make_data("node")
    model = make_model(topology="none", out_channels=4, epochs=1, smoothing=0)
    before = model.fit_transform(data)
    data.x[1:] += 1.0
    after = model.transform(data)
    # The first view has edges, the second is node 0 alone.
    np.testing.assert_allclose(after[0, 4:], before[0, 4:], rtol=1e-5, atol=1e-6)
    assert not np.allclose(after[0, :4], before[0, :4], rtol=1e-2)


def star(leaves: int) -> Graph:
    ends = torch.stack(
        [torch.zeros(leaves, dtype=torch.long), 1 + torch.arange(leaves)]
    )
    edges = torch.cat([ends, ends.flip(0)], dim=1)
    return as_graph(Data(x=torch.ones(leaves + 1, 2), edge_index=edges))


def test_two_hop__equally_likely_ends_are_spread() -> None:
    graph = star(200)
    made = FixedTopology("two_hop", edges_per_node=K, symmetric=False)(graph)
    chosen = made.pattern.col.bincount(minlength=201)
    # The middle leads back to itself only, and no walk of a leaf ends there.
    assert made.pattern.rowptr.diff().tolist() == [0] + [K] * 200
    # 600 choices of 200 leaves: at random 95 % are chosen, by number only four.
    assert (chosen[1:] > 0).sum() > 180
    assert chosen.max() < 15


@pytest.mark.parametrize("most", [1, 20, 199])
def test_two_hop__a_hub_lets_walks_on_to_some(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.augment.walks.MOST_FOLLOWED", most)
    made = FixedTopology("two_hop", edges_per_node=50, symmetric=False)(star(200))
    assert made.pattern.col.unique().numel() == most
    # Those followed have one less to go to, themselves.
    degree = made.pattern.rowptr.diff()[1:]
    assert degree.max() == min(50, most)
    assert degree.min() >= min(50, most - 1)


def test_two_hop__thinning_keeps_the_share_of_a_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walk = to_scipy(star(200).adjacency.normalized("mean"))
    monkeypatch.setattr("dsgrl.augment.walks.MOST_FOLLOWED", 30)
    thinned = _thinned(walk)
    assert np.diff(thinned.indptr).max() == 30
    np.testing.assert_allclose(thinned.sum(axis=1), walk.sum(axis=1), rtol=1e-6)


def test_two_hop__long_rows_are_searched_as_short_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(60, (2, 700), generator=generator)
    graph = as_graph(Data(x=torch.ones(60, 2), edge_index=edges))
    whole = FixedTopology("two_hop", edges_per_node=K)(graph)
    monkeypatch.setattr("dsgrl.augment.walks.SHORT_ROW", 0)
    again = FixedTopology("two_hop", edges_per_node=K)(graph)
    assert torch.equal(again.edge_index, whole.edge_index)
