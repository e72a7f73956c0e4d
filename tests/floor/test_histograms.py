import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.floor import GraphFloor, histograms
from dsgrl.floor.histograms import HISTOGRAM_WEIGHT
from dsgrl.floor.hops import COLUMNS
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.graph.batches import graph_parts
from dsgrl.graph.structural import degree_profile
from samples import make_graphs, permute

Array = npt.NDArray[np.float64]


def edges_both_ways(pairs: list[tuple[int, int]]) -> Tensor:
    edges = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t()
    return torch.cat([edges, edges.flip(0)], dim=1)


def plain(num_nodes: int, pairs: list[tuple[int, int]]) -> Data:
    """Give a graph whose nodes all have the same feature."""
    return Data(x=torch.ones(num_nodes, 1), edge_index=edges_both_ways(pairs))


def cycle(size: int, first: int = 0) -> list[tuple[int, int]]:
    return [(first + i, first + (i + 1) % size) for i in range(size)]


def path(size: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(size - 1)]


def clique(size: int, first: int = 0) -> list[tuple[int, int]]:
    return [(first + i, first + j) for i in range(size) for j in range(i)]


def with_x(make: Callable[[int], Tensor]) -> list[Data]:
    """Give random graphs, each twice, with other features."""
    graphs = []
    for graph in make_graphs() + make_graphs():
        torch.manual_seed(graph.num_nodes)
        graphs.append(Data(x=make(graph.num_nodes), edge_index=graph.edge_index))
    return graphs


def real(size: int) -> Tensor:
    return torch.randn(size, 4)


def one_hot(size: int) -> Tensor:
    return torch.nn.functional.one_hot(torch.randint(3, (size,)), 3).float()


def one_flag(size: int) -> Tensor:
    """Give a single label that most nodes do not have."""
    return (torch.arange(size) < 2).float()[:, None]


def mixed(size: int) -> Tensor:
    """Give labels that were scaled and shifted, between columns of measurements."""
    columns = [torch.randn(size, 1), 0.3 + 7 * one_hot(size), torch.randn(size, 1)]
    return torch.cat(columns, dim=1)


FEATURES = {
    "degrees": (real, None),
    "labels": (one_hot, [0, 1, 2]),
    "flag": (one_flag, [0]),
    "mixed": (mixed, [1, 2, 3]),
}
features = pytest.mark.parametrize("name", FEATURES)


def exact_colors(data: Data, labels: list[int] | None) -> list[list[object]]:
    """Return the colours of every round as nested tuples: nothing is hashed."""
    sources: list[list[int]] = [[] for _ in range(data.num_nodes)]
    for source, target in data.edge_index.t().tolist():
        sources[target].append(source)
    colors: list[object] = [
        len(near) if labels is None else tuple((data.x[node, labels] > 0.5).tolist())
        for node, near in enumerate(sources)
    ]
    rounds = [colors]
    for _ in range(3):
        colors = [
            (colors[node], tuple(sorted((colors[i] for i in near), key=repr)))
            for node, near in enumerate(sources)
        ]
        rounds.append(colors)
    return rounds


def fitted(graph: Graph) -> GraphFloor:
    floor = GraphFloor(graph.num_features)
    floor.fit(graph)
    return floor


def histogram(floor: GraphFloor, data: list[Data]) -> Tensor:
    """Return the histograms; their length is 1 if all colours are known."""
    return floor(as_graph(data))[:, :COLUMNS] / HISTOGRAM_WEIGHT


@features
def test_paint__gives_equal_colours_to_what_looks_alike(name: str) -> None:
    """After every round, two nodes differ if and only if Weisfeiler-Lehman's do."""
    make, labels = FEATURES[name]
    data = with_x(make)
    graph = as_graph(data)
    floor = fitted(graph)
    assert floor.labels.nonzero().flatten().tolist() == (labels or [])
    exact = [exact_colors(each, labels) for each in data]
    rounds = floor._paint(graph)
    assert len(rounds) == 4
    for number, colors in enumerate(rounds):
        wanted = [color for each in exact for color in each[number]]
        pairs = set(zip(colors.tolist(), wanted, strict=True))
        assert len(pairs) == len(set(wanted)), f"round {number}: told too few apart"
        assert len(pairs) == len(set(colors.tolist())), f"round {number}: too many"
    every = torch.cat(rounds)
    # The same neighbourhood in another round has another colour.
    assert len(every.unique()) == sum(len(each.unique()) for each in rounds)


def test_paint__counts_neighbours_without_labels() -> None:
    """A labelled node with two or three neighbours, none of which has a label."""
    stars = [
        plain(1 + leaves, [(0, 1 + i) for i in range(leaves)]) for leaves in (2, 3)
    ]
    for star in stars:
        star.x = (torch.arange(star.num_nodes) == 0).float()[:, None]
    graph = as_graph(stars)
    first, second = (fitted(graph)._paint(graph)[1][node] for node in (0, 3))
    assert first != second


def test_paint__a_node_is_not_one_of_its_neighbours() -> None:
    """A labelled node with n others around it, and the other way round."""
    stars = []
    for leaves in range(1, 8):
        for label in (0.0, 1.0):
            star = plain(1 + leaves, [(0, 1 + i) for i in range(leaves)])
            star.x = torch.full((1 + leaves, 1), 1 - label)
            star.x[0] = label
            stars.append(star)
    graph = as_graph(stars)
    centers = fitted(graph)._paint(graph)[1][graph.ptr[:-1]]
    assert len(centers.unique()) == len(stars)


@features
def test_histograms__are_log_counts_of_known_colours(name: str) -> None:
    """There are more columns than graphs: the projection keeps inner products."""
    make, labels = FEATURES[name]
    data = with_x(make)[:12]
    counts = []
    for each in data:
        rounds = enumerate(exact_colors(each, labels))
        counts.append(Counter((n, color) for n, colors in rounds for color in colors))
    graphs_of = Counter(color for count in counts for color in count)
    # The last four graphs are there once: most of their colours are not counted.
    kept = [color for color, graphs in graphs_of.items() if graphs > 1]
    assert len(kept) < len(graphs_of)
    rows = np.array([[np.log1p(count[color]) for color in kept] for count in counts])
    # With all colours, known or not, rows would have unit length.
    squares = [sum(np.log1p(n) ** 2 for n in count.values()) for count in counts]
    rows /= np.sqrt(squares)[:, None]
    found = histogram(fitted(as_graph(data)), data).double().numpy()
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=1e-4)


def test_histograms__equal_colours_equal_rows() -> None:
    """Weisfeiler-Lehman cannot tell a hexagon from two triangles, but from a path."""
    hexagon = plain(6, cycle(6))
    triangles = plain(6, cycle(3) + cycle(3, first=3))
    line = plain(6, path(6))
    rows = histogram(fitted(as_graph([hexagon, line] * 2)), [hexagon, triangles, line])
    torch.testing.assert_close(rows[0], rows[1])
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(3))
    assert (rows[0] - rows[2]).norm() > 0.5


def test_histograms__look_three_steps_far() -> None:
    """A fork with arms of 6, 6 and 6 edges, and one with arms of 5, 6 and 7."""

    def forked(arms: tuple[int, ...]) -> Data:
        pairs, last = [], 0
        for arm in arms:
            ends = [0, *range(last + 1, last + 1 + arm)]
            pairs += list(itertools.pairwise(ends))
            last += arm
        return plain(last + 1, pairs)

    one, other = forked((6, 6, 6)), forked((5, 6, 7))
    colors = [exact_colors(graph, None) for graph in (one, other)]
    same = [Counter(a) == Counter(b) for a, b in zip(*colors, strict=True)]
    assert same == [True, True, True, False]
    rows = histogram(fitted(as_graph([one, other] * 2)), [one, other])
    assert (rows[0] - rows[1]).norm() > 0.01


def test_histograms__unseen_colours_are_ignored() -> None:
    train = [plain(6, cycle(6)), plain(6, path(6)), plain(5, cycle(5))] * 2
    floor = fitted(as_graph(train))
    beside = [
        plain(each.num_nodes + 6, clique(6, first=each.num_nodes)) for each in train
    ]
    for each, known in zip(beside, train, strict=True):
        each.edge_index = torch.cat([each.edge_index, known.edge_index], dim=1)
    known, found = histogram(floor, train), histogram(floor, beside)
    torch.testing.assert_close(known.norm(dim=1), torch.ones(6))
    length = found.norm(dim=1, keepdim=True)
    torch.testing.assert_close(found / length, known, rtol=0, atol=1e-5)
    # The rest is not known: the histogram is shorter.
    assert ((length > 0.5) & (length < 0.95)).all()
    unknown = histogram(floor, [plain(6, clique(6))])
    assert not unknown.any()


def test_fit__keeps_the_colours_that_most_graphs_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(histograms, "VOCABULARY", 6)
    data = [plain(size, path(size)) for size in (2, 3, 4, 5, 6, 7, 7, 8, 9)]
    graph = as_graph(data)
    floor = fitted(graph)
    colors = torch.cat(floor._paint(graph))
    member = torch.arange(9).repeat_interleave(graph.ptr.diff()).repeat(4)
    graphs_of = Counter(
        color for _, color in {*zip(member.tolist(), colors.tolist(), strict=True)}
    )
    kept = set(floor.colors.tolist())
    assert len(kept) == 6
    assert min(graphs_of[color] for color in kept) >= max(
        count for color, count in graphs_of.items() if color not in kept
    )
    assert floor.colors.tolist() == sorted(kept)


def log_sum(rows: Array) -> Array:
    total: Array = rows.sum(axis=0)
    return np.sign(total) * np.log1p(np.abs(total))


def direct_pools(data: Data, floor: GraphFloor) -> tuple[Array, Array]:
    """Pool smoothed features and random layers of one graph, densely."""
    graph = as_graph([data])
    matrix = graph.adjacency.to_dense().double().numpy()
    degrees = degree_profile(graph.adjacency).double().numpy()
    x = np.concatenate([data.x.double().numpy(), degrees], axis=1)
    mean = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-9)
    smoothed: list[Array] = []
    for hop in range(4):
        h = np.linalg.matrix_power(mean, hop) @ x
        smoothed += [log_sum(h), h.mean(axis=0), h.max(axis=0)]
    counted: list[Array] = []
    h = x
    for layer in floor.weights.double().numpy():
        h = np.maximum((h + matrix @ h) @ layer[: h.shape[1]], 0)
        counted += [log_sum(h), h.max(axis=0)]
    return np.concatenate(smoothed), np.concatenate(counted)


def test_pools__are_smoothed_features_and_random_layers() -> None:
    """Both are standardised by the training graphs, then scaled to unit rows."""
    train, unseen = with_x(real)[:8], make_graphs(seed=5)
    floor = fitted(as_graph(train))
    parts = floor(as_graph(unseen))[:, COLUMNS:].split(floor.widths, dim=1)
    for number, part in enumerate(parts):
        found = part.double().numpy()
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
        known, rows = (
            np.stack([direct_pools(each, floor)[number] for each in graphs])
            for graphs in (train, unseen)
        )
        assert found.shape == rows.shape
        # A column that is the same in all training graphs has nothing to divide by.
        varies = known.std(axis=0) > 1e-4
        assert varies.mean() > 0.7
        rows = ((rows - known.mean(axis=0)) / known.std(axis=0).clip(1e-9))[:, varies]
        found = found[:, varies]
        rows, found = (
            table / np.linalg.norm(table, axis=1, keepdims=True)
            for table in (rows, found)
        )
        np.testing.assert_allclose(found, rows, atol=1e-3)


def test_pools__columns_that_were_constant_do_not_drown_the_others() -> None:
    """A flag that no training graph had, and one unseen graph has in one node."""
    train, given = with_x(real), with_x(real)[:1]
    for each in train + given:
        each.x = torch.cat([each.x, torch.zeros(each.num_nodes, 1)], dim=1)
    floor = fitted(as_graph(train))
    plain_row = floor(as_graph(given))[0, COLUMNS:]
    given[0].x[0, -1] = 1
    parts = floor(as_graph(given))[0, COLUMNS:].split(floor.widths)
    for part, before in zip(parts, plain_row.split(floor.widths), strict=True):
        assert float(part @ before) > 0.5


def test_pools__constant_columns_are_not_amplified() -> None:
    """A column that says nothing must not drown the others in rounding errors."""
    data = with_x(real)
    constant = [
        Data(
            x=torch.cat([each.x, torch.full((each.num_nodes, 1), 1000.1)], dim=1),
            edge_index=each.edge_index,
        )
        for each in data
    ]
    moved = permute(constant)[0]
    floor = fitted(as_graph(constant))
    torch.testing.assert_close(
        floor(as_graph(moved)), floor(as_graph(constant)), rtol=0, atol=1e-3
    )


def test_random_layers__are_always_the_same() -> None:
    one = GraphFloor(4)
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    other = GraphFloor(4)
    assert torch.equal(one.weights, other.weights)
    # Layers differ, and their outputs are about as large as their inputs.
    first, second, third = one.weights
    assert not torch.allclose(second, third, atol=0.1)
    for layer, inputs in ((first, 4 + 5), (second, 64), (third, 64)):
        assert float(layer.std()) == pytest.approx(inputs**-0.5, rel=0.05)


@features
def test_forward__isomorphic_graphs_have_the_same_rows(name: str) -> None:
    data = with_x(FEATURES[name][0])
    floor = fitted(as_graph(data))
    rows = floor(as_graph(data))
    moved = permute(data)[0]
    assert not torch.equal(moved[0].edge_index, data[0].edge_index)
    torch.testing.assert_close(floor(as_graph(moved)), rows, rtol=0, atol=1e-3)
    assert torch.equal(
        floor._count(as_graph(moved)).to_dense(),
        floor._count(as_graph(data)).to_dense(),
    )
    # Each graph is there twice; different ones have different rows.
    torch.testing.assert_close(rows[:8], rows[8:], rtol=0, atol=1e-3)
    assert (torch.cdist(rows[:8], rows[:8]) + torch.eye(8)).min() > 0.05


@features
def test_forward__rows_do_not_depend_on_the_graphs_around(name: str) -> None:
    data = with_x(FEATURES[name][0])
    floor = fitted(as_graph(data))
    whole = floor(as_graph(data))
    for number in (0, 5, 15):
        row = floor(as_graph(data[number : number + 1]))
        torch.testing.assert_close(row[0], whole[number], rtol=0, atol=1e-4)


@pytest.mark.parametrize("elements", [1, 20, 150])
@features
def test_fit__in_parts_gives_the_same_rows(
    name: str, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = as_graph(with_x(FEATURES[name][0]))
    whole = fitted(graph)
    assert len(list(graph_parts(graph))) == 1
    monkeypatch.setattr("dsgrl.graph.batches.PART_ELEMENTS", elements)
    parts = list(graph_parts(graph))
    assert 1 < len(parts) <= 16
    assert sum(part.num_graphs for part in parts) == 16
    floor = fitted(graph)
    assert torch.equal(floor.colors, whole.colors)
    rows = whole(graph)
    torch.testing.assert_close(floor(graph), rows, rtol=0, atol=1e-3)
    torch.testing.assert_close(
        torch.cat([floor(part) for part in parts]), rows, rtol=0, atol=1e-3
    )


def test_graph_parts__are_small_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part has more elements than allowed by one graph at most."""
    none = Data(x=torch.empty(0, 4), edge_index=torch.empty(2, 0).long())
    data = [none, *make_graphs(), none, *make_graphs(seed=1)]
    graph = as_graph(data)
    largest = max(each.num_nodes + each.num_edges for each in data)
    monkeypatch.setattr("dsgrl.graph.batches.PART_ELEMENTS", 80)
    parts = list(graph_parts(graph))
    sizes = [part.num_nodes + part.adjacency.num_edges for part in parts]
    assert len(parts) >= sum(sizes) // 80
    assert max(sizes) < 80 + largest
    assert torch.equal(torch.cat([part.x for part in parts]), graph.x)
    assert torch.equal(torch.cat([part.ptr.diff() for part in parts]), graph.ptr.diff())
    alone = replace(graph, ptr=None)
    assert list(graph_parts(alone)) == [alone]


def test_forward__sparse_and_dense_features_agree() -> None:
    graph = as_graph(with_x(one_hot))
    sparse = replace(graph, x=Adjacency.from_dense(graph.x))
    torch.testing.assert_close(
        fitted(sparse)(sparse), fitted(graph)(graph), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("name", ["degrees", "labels"])
def test_forward__graphs_without_edges_or_nodes_are_finite(name: str) -> None:
    make = FEATURES[name][0]
    width = make(1).size(1)
    none = torch.empty(2, 0, dtype=torch.long)
    bare = [
        Data(x=torch.empty(0, width), edge_index=none),
        Data(x=make(1), edge_index=none),
        Data(x=make(5), edge_index=none),
    ]
    for train in (bare, with_x(make), with_x(make) + bare):
        floor = fitted(as_graph(train))
        for given in (bare, with_x(make)):
            rows = floor(as_graph(given))
            assert rows.shape == (len(given), floor.out_channels)
            assert torch.isfinite(rows).all()
    # A graph without nodes has no colours.
    assert not histogram(floor, bare)[0].any()
    assert histogram(floor, bare)[1].any()


@pytest.mark.parametrize("name", ["degrees", "labels"])
def test_fit__a_single_graph(name: str) -> None:
    graph = as_graph(with_x(FEATURES[name][0])[:1])
    assert torch.isfinite(fitted(graph)(graph)).all()


def test_state_dict__round_trip() -> None:
    graph = as_graph(with_x(mixed))
    one = fitted(graph)
    other = GraphFloor(graph.num_features)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(graph), other(graph))
