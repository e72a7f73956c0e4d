from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from dsgrl.graph import Adjacency, as_graph, walks
from dsgrl.graph.prepare import Preparation
from dsgrl.graph.structural import (
    DEGREE_COLUMNS,
    degree_columns,
    degree_features,
    degree_profile,
    structural_features,
    to_scipy,
)


def test_structural_features__degree_profile(tiny_graph: Data) -> None:
    """Node 3 has one neighbour, 4, of degree 1; node 5 has none."""
    x = structural_features(as_graph(tiny_graph).adjacency)
    log2, log3 = torch.log(torch.tensor(2.0)), torch.log(torch.tensor(3.0))
    torch.testing.assert_close(
        x[3, :5], torch.stack([log2, log2, log2, log2, 0 * log2])
    )
    torch.testing.assert_close(
        x[0, :5], torch.stack([log3, log3, log3, log3, 0 * log3])
    )
    assert not x[5, :5].any()


def test_structural_features__same_graph_same_columns(community_graph: Data) -> None:
    adjacency = as_graph(community_graph).adjacency
    one, other = structural_features(adjacency), structural_features(adjacency)
    assert torch.equal(one, other)
    narrow = structural_features(adjacency, columns=9)
    wide = structural_features(adjacency, columns=80)
    torch.testing.assert_close(narrow, one[:, :9])
    assert wide.shape == (60, 80)


def ring(num_nodes: int) -> torch.Tensor:
    node = torch.arange(num_nodes)
    edges = torch.stack([node, (node + 1) % num_nodes])
    return torch.cat([edges, edges.flip(0)], dim=1)


def disjoint_pairs(num_nodes: int) -> torch.Tensor:
    even = torch.arange(0, num_nodes, 2)
    edges = torch.stack([even, even + 1])
    return torch.cat([edges, edges.flip(0)], dim=1)


def sparse_random(num_nodes: int) -> torch.Tensor:
    edges = torch.randint(num_nodes, (2, int(0.6 * num_nodes)))
    return torch.cat([edges, edges.flip(0)], dim=1)


@pytest.mark.parametrize("shape", [ring, disjoint_pairs, sparse_random])
def test_structural_features__exact_and_repeatable_on_degenerate_graphs(
    shape: Callable[[int], torch.Tensor],
) -> None:
    """Columns are singular vectors times their singular values."""
    adjacency = Adjacency.from_edge_index(shape(150), num_nodes=150)
    one, two = (structural_features(adjacency) for _ in range(2))
    assert torch.equal(one, two)
    assert one.shape == (150, DEGREE_COLUMNS + 148)
    factors = one[:, DEGREE_COLUMNS:].double().numpy()
    matrix = walks._surprise(
        walks.undirected(to_scipy(adjacency)), walks.WALK_LENGTH, walks.WALKS_PER_NODE
    )
    matrix = matrix.toarray().astype(np.float64)
    values = np.linalg.svd(matrix)[1]
    np.testing.assert_allclose(
        factors.T @ factors, np.diag(values[:148] ** 2), rtol=0, atol=2e-2
    )
    leading = np.linalg.qr(factors[:, :64])[0]
    captured = np.square(leading.T @ matrix).sum()
    assert captured == pytest.approx(np.square(values[:64]).sum(), rel=1e-3)


def test_structural_features__are_degrees_and_walk_factors(
    community_graph: Data,
) -> None:
    adjacency = as_graph(community_graph).adjacency
    x = structural_features(adjacency)
    assert torch.equal(x[:, :DEGREE_COLUMNS], degree_profile(adjacency))
    factors = walks.walk_factors(to_scipy(adjacency), 58)
    np.testing.assert_array_equal(x[:, DEGREE_COLUMNS:].numpy(), factors)


@pytest.mark.parametrize(
    ("num_nodes", "columns", "width", "factors"),
    [
        (300, None, 261, 256),
        (300, 9, 9, 4),
        (300, 5, 5, 0),
        (300, 290, 290, 285),
        (300, 400, 400, 298),
        (258, None, 261, 256),
        (257, None, 260, 255),
    ],
)
def test_structural_features__number_of_columns(
    num_nodes: int, columns: int | None, width: int, factors: int
) -> None:
    """256 factors by default, and at most two fewer than nodes."""
    adjacency = Adjacency.from_edge_index(ring(num_nodes), num_nodes=num_nodes)
    x = structural_features(adjacency, columns)
    assert x.shape == (num_nodes, width)
    used = x[:, DEGREE_COLUMNS:].abs().sum(dim=0) > 0
    assert used[:factors].all()
    assert not used[factors:].any()


def test_structural_features__read_weights_and_both_directions() -> None:
    """Degrees count what flows in; walks go both ways, and rather to heavy edges."""
    node = torch.arange(30)
    edges = torch.stack([node, (node + 1) % 30])
    one_way = structural_features(Adjacency.from_edge_index(edges, num_nodes=30))
    both = structural_features(Adjacency.from_edge_index(ring(30), num_nodes=30))
    assert torch.equal(one_way[:, DEGREE_COLUMNS:], both[:, DEGREE_COLUMNS:])
    assert not torch.equal(one_way[:, :DEGREE_COLUMNS], both[:, :DEGREE_COLUMNS])
    weight = torch.where(node % 2 == 0, 9.0, 0.1)
    heavy = Adjacency.from_edge_index(edges, weight, num_nodes=30)
    rows = torch.nn.functional.normalize(structural_features(heavy)[:, 5:], dim=1)
    near = (rows * rows.roll(-1, dims=0)).sum(dim=1)
    assert near[::2].min() > near[1::2].max()


def torus(num_nodes: int) -> torch.Tensor:
    """Rows of ten nodes, each joined to four neighbours: many equal eigenvalues."""
    node = torch.arange(num_nodes)
    right = node - node % 10 + (node + 1) % 10
    below = (node + 10) % num_nodes
    ends = torch.stack([torch.cat([node, node]), torch.cat([right, below])])
    return torch.cat([ends, ends.flip(0)], dim=1)


def two_circles(num_nodes: int) -> torch.Tensor:
    half = num_nodes // 2
    return torch.cat([ring(half), half + ring(half)], dim=1)


def without_some_edges(adjacency: Adjacency, seed: int) -> Adjacency:
    """Leave out one edge of twenty, both directions."""
    source, target = adjacency.edge_index
    pair = torch.minimum(source, target) * len(source) + torch.maximum(source, target)
    pairs = pair.unique()
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(pairs), generator=generator)[: len(pairs) // 20]
    return adjacency.select(~torch.isin(pair, pairs[chosen]))


def correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    """Correlation of the columns, larger ones counting more."""
    one, other = (x - x.mean(dim=0) for x in (one, other))
    return float(torch.cosine_similarity(one.flatten(), other.flatten(), dim=0))


@pytest.mark.parametrize("shape", [torus, two_circles])
@pytest.mark.parametrize("scaling", [None, "columns"])
@pytest.mark.parametrize("seed", [0, 1])
def test_made_features__of_fewer_edges_keep_their_columns(
    shape: Callable[[int], torch.Tensor], scaling: Any, seed: int
) -> None:
    """Walk factors are known up to rotations, which must not differ."""
    data = Data(edge_index=shape(400), num_nodes=400)
    graph = as_graph(data) if scaling is None else Preparation.fit(data, scaling)[1]
    fewer = without_some_edges(graph.adjacency, seed)
    # The leading factors: the last ones are noise of the walks.
    factors = slice(DEGREE_COLUMNS, DEGREE_COLUMNS + 64)
    whole = graph.x[:, factors]
    aligned = graph.with_adjacency(fewer).x[:, factors]
    unaligned = structural_features(fewer)[:, factors]
    assert abs(correlation(unaligned, whole)) < 0.3
    assert correlation(aligned, whole) > 0.7


@pytest.mark.parametrize("columns", [None, 21])
def test_made_features__know_of_the_whole_graph_only_a_rotation(
    columns: int | None,
) -> None:
    """The rotation [K, K] is that of all columns: it mixes no degrees in."""
    data = Data(edge_index=torus(400), num_nodes=400)
    graph = as_graph(data, structural_columns=columns)
    fewer = without_some_edges(graph.adjacency, 0)
    found = graph.with_adjacency(fewer).x.double()
    wanted = structural_features(fewer, columns).double()
    assert found.shape == graph.x.shape
    torch.testing.assert_close(found[:, :DEGREE_COLUMNS], wanted[:, :DEGREE_COLUMNS])
    found, wanted = found[:, DEGREE_COLUMNS:], wanted[:, DEGREE_COLUMNS:]
    rotation = torch.linalg.lstsq(wanted, found).solution
    torch.testing.assert_close(wanted @ rotation, found, rtol=0, atol=1e-4)
    torch.testing.assert_close(
        rotation @ rotation.t(), torch.eye(len(rotation)).double(), rtol=0, atol=1e-3
    )
    # It changes the columns, but not the inner products of rows.
    assert not torch.allclose(found, wanted, atol=0.1)
    torch.testing.assert_close(
        found @ found.t(), wanted @ wanted.t(), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 8])
@pytest.mark.parametrize("columns", [None, 6, 40])
def test_made_features__of_small_graphs(num_nodes: int, columns: int | None) -> None:
    data = Data(edge_index=ring(num_nodes), num_nodes=num_nodes)
    graph = as_graph(data, structural_columns=columns)
    for adjacency in (
        graph.adjacency,
        graph.adjacency.select(graph.adjacency.edge_index[0] > 2),
    ):
        found = dense(graph.with_adjacency(adjacency).x)
        assert found.shape == dense(graph.x).shape
        assert torch.isfinite(found).all()


def dense(x: torch.Tensor | Adjacency) -> torch.Tensor:
    return x.to_dense() if isinstance(x, Adjacency) else x


def test_structural_features__as_many_as_asked_for(community_graph: Data) -> None:
    adjacency = as_graph(community_graph).adjacency
    wide = structural_features(adjacency, columns=60)
    assert (wide.abs().sum(dim=0) > 0).all()
    # Sixty nodes have no more than 58 of these coordinates.
    assert not structural_features(adjacency, columns=80)[:, 63:].any()


def test_degree_features__one_column_per_degree(tiny_graph: Data) -> None:
    adjacency = as_graph(tiny_graph).adjacency
    degree = adjacency.pattern.rowptr.diff().tolist()
    x = degree_features(adjacency, columns=DEGREE_COLUMNS + 2)
    torch.testing.assert_close(x[:, :DEGREE_COLUMNS], degree_features(adjacency))
    assert x[:, DEGREE_COLUMNS:].tolist() == [
        [1.0, 0.0] if d == 0 else [0.0, 1.0] for d in degree
    ]
    wide = degree_features(adjacency, columns=DEGREE_COLUMNS + 9)[:, DEGREE_COLUMNS:]
    assert wide.argmax(dim=1).tolist() == degree
    assert (wide.sum(dim=1) == 1).all()


def directed_edges(num_nodes: int, seed: int) -> list[tuple[int, int]]:
    """Draw different pairs whose sources and targets differ in number."""
    generator = torch.Generator().manual_seed(seed)
    chance = torch.rand(num_nodes, generator=generator)
    linked = torch.rand(num_nodes, num_nodes, generator=generator) < chance
    return [(a, b) for a, b in linked.nonzero().tolist() if a != b]


@pytest.mark.parametrize("seed", [0, 1])
def test_degree_profile__of_a_directed_graph_counts_what_flows_in(seed: int) -> None:
    edges = directed_edges(12, seed)
    adjacency = Adjacency.from_edge_index(torch.tensor(edges).t(), num_nodes=12)
    into: list[list[int]] = [[a for a, b in edges if b == node] for node in range(12)]
    outof = [[b for a, b in edges if a == node] for node in range(12)]
    assert [len(ends) for ends in into] != [len(ends) for ends in outof]
    degree = np.log1p([len(sources) for sources in into])
    wanted = np.zeros((12, DEGREE_COLUMNS))
    for node, sources in enumerate(into):
        near = degree[sources] if sources else np.zeros(1)
        wanted[node] = degree[node], near.min(), near.max(), near.mean(), near.std()
    np.testing.assert_allclose(degree_profile(adjacency), wanted, atol=1e-6)
    for make in (degree_features, structural_features):
        found = make(adjacency)[:, :DEGREE_COLUMNS]
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    one_hot = degree_features(adjacency, DEGREE_COLUMNS + 12)[:, DEGREE_COLUMNS:]
    assert one_hot.argmax(dim=1).tolist() == [len(sources) for sources in into]


def test_degree_columns__of_directed_relations_count_what_flows_in() -> None:
    follows, likes = (torch.tensor(directed_edges(12, seed)).t() for seed in (2, 3))
    data = HeteroData()
    data["person"].num_nodes, data["film"].num_nodes = 12, 12
    data["person", "follows", "person"].edge_index = follows
    data["person", "likes", "film"].edge_index = likes
    relations = as_graph(data).adjacency
    for number, kind in enumerate(("person", "film")):
        found = degree_columns(relations, number)
        assert (found[:, 0] == 1).all()
        wanted = [
            torch.bincount(part.edge_index[1], minlength=12).float().log1p()
            for (_, _, target), part in relations.adjacencies.items()
            if target == kind
        ]
        torch.testing.assert_close(found[:, 1:], torch.stack(wanted, dim=1))
    for edges, column in (
        (follows, degree_columns(relations, 0)[:, 1]),
        (likes, degree_columns(relations, 1)[:, 1]),
    ):
        into, outof = (torch.bincount(e, minlength=12) for e in edges.flip(0))
        torch.testing.assert_close(column, into.float().log1p())
        assert not torch.equal(into, outof)
