import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl.graph import Adjacency, as_graph
from dsgrl.graph.prepare import Preparation
from dsgrl.graph.scaling import fit_scale
from dsgrl.graph.structural import (
    DEGREE_COLUMNS,
    degree_features,
    structural_features,
)
from dsgrl.typing import InputError
from samples import LEVELS, make_data, make_graphs

levels = pytest.mark.parametrize("level", LEVELS)


class Poisoned(Data):
    """Data whose labels may not be looked at."""

    @property
    def y(self) -> torch.Tensor:
        raise AssertionError("labels were read")


def test_as_graph__never_reads_labels(tiny_graph: Data) -> None:
    data = Poisoned(x=tiny_graph.x, edge_index=tiny_graph.edge_index)
    assert as_graph(data).num_nodes == 6


def test_as_graph__sparse_features_are_held_sparse() -> None:
    dense = torch.zeros(20, 40)
    dense[torch.arange(20), torch.arange(20)] = 1
    edge_index = torch.tensor([[0], [1]])
    for x in (dense, dense.to_sparse_coo()):
        held = as_graph(Data(x=x, edge_index=edge_index)).x
        assert isinstance(held, Adjacency)
        torch.testing.assert_close(held.to_dense(), dense)
    assert isinstance(
        as_graph(Data(x=dense + 1, edge_index=edge_index)).x, torch.Tensor
    )


EDGES = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a string", "expected a torch_geometric.data.Data"),
        (Data(x=torch.zeros(0, 3), edge_index=EDGES[:, :0]), "the graph is empty"),
        (
            Data(x=torch.ones(2, 3), edge_index=EDGES),
            "names node 2, expected .* 0 to 1",
        ),
        (Data(x=torch.ones(3, 3), edge_index=EDGES - 1), "names node -1"),
        (Data(x=torch.ones(3, 3), edge_index=EDGES[0]), r"shape \[2\], expected"),
        (Data(x=torch.full((3, 3), torch.nan), edge_index=EDGES), "NaN or infinite"),
        (Data(x=torch.ones(3, 0), edge_index=EDGES), "columns >= 1"),
        (Data(x=torch.ones(3, 3), edge_index=EDGES.float()), "expected whole numbers"),
        (Data(x=torch.ones(3, 3), edge_index=EDGES * 1j), "expected real numbers"),
        (Data(x=torch.ones(3, 3), edge_index="EDGES"), "edge_index is a str"),
        (Data(x=np.array([["a"]] * 3), edge_index=EDGES), "x is a ndarray"),
        (Data(x=torch.ones(3, 3) * 1j, edge_index=EDGES), "x holds torch.complex64"),
        (
            Data(x=torch.ones(3, 3), edge_index=EDGES, edge_weight=np.array(["a"] * 2)),
            "edge_weight is a ndarray",
        ),
        (
            Data(x=torch.ones(3, 3), edge_index=EDGES, edge_attr=np.array(["a"] * 2)),
            "edge_attr is a ndarray",
        ),
        (Data(x=torch.ones(3, 3), adj_t=torch.eye(3)), "adj_t"),
        (
            Data(x=torch.ones(3, 3), edge_index=EDGES, edge_weight=torch.ones(5)),
            "5 values for 2 edges",
        ),
        (
            Data(
                x=torch.ones(3, 3),
                edge_index=EDGES,
                edge_weight=torch.tensor([1.0, -1]),
            ),
            "negative",
        ),
    ],
)
def test_as_graph__refuses(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        as_graph(data)
    assert "\n" not in str(caught.value)


def with_arrays(data: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """Change every tensor of the graph, after giving it weights and attributes."""
    for graph in data if isinstance(data, list) else [data]:
        for store in graph.node_stores:
            if "x" in store:
                store.x = change(store.x)
        for store in graph.edge_stores:
            count = store.edge_index.size(1)
            store.edge_weight = change(1 + torch.arange(count).float())
            store.edge_attr = change(torch.arange(2.0 * count).view(count, 2))
            store.edge_index = change(store.edge_index)
    return data


def assert_same_graph(one: Any, other: Any) -> None:
    tables = [g.x if isinstance(g.x, tuple) else (g.x,) for g in (one, other)]
    for found, wanted in zip(*tables, strict=True):
        assert torch.equal(found, wanted)
    assert one.adjacency.num_edges > 0
    parts = zip(one.adjacency.parts(), other.adjacency.parts(), strict=True)
    for (found, *_), (wanted, *_) in parts:
        assert torch.equal(found.edge_index, wanted.edge_index)
        assert torch.equal(found.value, wanted.value)
        # Reverse relations have no attributes of their own.
        assert (found.attr is None) == (wanted.attr is None)
        assert wanted.attr is None or torch.equal(found.attr, wanted.attr)


def frozen(x: torch.Tensor) -> np.ndarray:
    array = x.numpy().copy()
    array.flags.writeable = False
    return array


@levels
@pytest.mark.parametrize(
    "change",
    [
        torch.Tensor.numpy,
        frozen,
        lambda x: np.asfortranarray(x.numpy()),
        lambda x: x.numpy()[::-1].copy()[::-1],
    ],
    ids=["array", "read-only", "by columns", "negative strides"],
)
def test_as_graph__takes_numpy_arrays(level: str, change: Any) -> None:
    wanted = as_graph(with_arrays(make_data(level), torch.clone))
    assert_same_graph(as_graph(with_arrays(make_data(level), change)), wanted)


def test_as_graph__takes_numpy_edges_of_graphs_without_features() -> None:
    graphs = make_graphs()
    bare = [Data(edge_index=g.edge_index, num_nodes=g.num_nodes) for g in graphs]
    wanted = as_graph(bare), as_graph(bare[0])
    for graph in bare:
        graph.edge_index = graph.edge_index.numpy()
    found = as_graph(bare), as_graph(bare[0])
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.adjacency.edge_index, other.adjacency.edge_index)


@levels
@pytest.mark.parametrize(
    "kind", ["uint8", "int8", "int16", "int32", "uint16", "uint32", "uint64"]
)
def test_as_graph__edges_of_any_integer_type_are_the_same_edges(
    level: str, kind: str
) -> None:
    """Many graphs have more nodes in all than one byte can count."""
    data = make_graphs((40,) * 9) if level == "graph" else make_data(level)
    before = as_graph(data)
    for graph in data if isinstance(data, list) else [data]:
        for store in graph.edge_stores:
            store.edge_index = store.edge_index.to(getattr(torch, kind))
    found = as_graph(data)
    for (one, *_), (other, *_) in zip(
        found.adjacency.parts(), before.adjacency.parts(), strict=True
    ):
        assert torch.equal(one.edge_index, other.edge_index)


def test_preparation__refuses_names_that_do_not_fit() -> None:
    data = Data(x=torch.ones(3, 3), edge_index=EDGES, feature_names=["a", "b"])
    with pytest.raises(InputError, match="2 names for 3 columns"):
        Preparation.fit(data, "columns")


def test_as_graph__tells_of_structural_features(
    tiny_graph: Data, caplog: pytest.LogCaptureFixture
) -> None:
    data = Data(edge_index=tiny_graph.edge_index, num_nodes=6)
    with caplog.at_level(logging.WARNING):
        graph = as_graph(data)
    assert graph.num_features == DEGREE_COLUMNS + 4
    assert "no node features" in caplog.text


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
@pytest.mark.parametrize("dense_up_to", [0, 1000])
def test_structural_features__exact_and_repeatable_on_degenerate_graphs(
    shape: Callable[[int], torch.Tensor],
    dense_up_to: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dsgrl.graph.structural.DENSE_UP_TO", dense_up_to)
    edge_index = shape(150)
    one, two = (
        structural_features(Adjacency.from_edge_index(edge_index, num_nodes=150))
        for _ in range(2)
    )
    assert torch.equal(one, two)
    left = one[:, DEGREE_COLUMNS:].double() / 150**0.5
    torch.testing.assert_close(
        left.t() @ left, torch.eye(64, dtype=torch.float64), rtol=0, atol=1e-4
    )
    matrix = Adjacency.from_edge_index(edge_index, num_nodes=150).normalized("gcn")
    values = torch.linalg.svdvals(matrix.to_dense().double())
    captured = torch.linalg.norm(left.t() @ matrix.to_dense().double(), dim=1)
    torch.testing.assert_close(captured, values[:64], rtol=0, atol=0.02)


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
    """Mean correlation of the columns."""
    one, other = (x - x.mean(dim=0) for x in (one, other))
    return float(torch.cosine_similarity(one, other, dim=0).mean())


@pytest.mark.parametrize("shape", [torus, two_circles])
@pytest.mark.parametrize("dense_up_to", [0, 1000])
@pytest.mark.parametrize("scaling", [None, "columns"])
@pytest.mark.parametrize("seed", [0, 1])
def test_made_features__of_fewer_edges_keep_their_columns(
    shape: Callable[[int], torch.Tensor],
    dense_up_to: int,
    scaling: Any,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Singular vectors are known up to rotations, which must not differ."""
    monkeypatch.setattr("dsgrl.graph.structural.DENSE_UP_TO", dense_up_to)
    data = Data(edge_index=shape(400), num_nodes=400)
    graph = as_graph(data) if scaling is None else Preparation.fit(data, scaling)[1]
    fewer = without_some_edges(graph.adjacency, seed)
    spectral = slice(DEGREE_COLUMNS, None)
    whole = graph.x[:, spectral]
    aligned = graph.with_adjacency(fewer).x[:, spectral]
    unaligned = structural_features(fewer)[:, spectral]
    assert abs(correlation(unaligned, whole)) < 0.3
    assert correlation(aligned, whole) > 0.7


def test_made_features__know_of_the_whole_graph_only_a_rotation() -> None:
    graph = as_graph(Data(edge_index=torus(400), num_nodes=400))
    fewer = without_some_edges(graph.adjacency, 0)
    found = graph.with_adjacency(fewer).x.double()
    wanted = structural_features(fewer).double()
    torch.testing.assert_close(found[:, :DEGREE_COLUMNS], wanted[:, :DEGREE_COLUMNS])
    found, wanted = found[:, DEGREE_COLUMNS:], wanted[:, DEGREE_COLUMNS:]
    rotation = wanted.t() @ found / 400
    torch.testing.assert_close(wanted @ rotation, found, rtol=0, atol=1e-4)
    torch.testing.assert_close(
        rotation @ rotation.t(), torch.eye(64).double(), rtol=0, atol=1e-4
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


def test_scale__standard_columns_and_constant_ones() -> None:
    x = torch.stack(
        [torch.randn(50) * 1e4 + 1e5, torch.full((50,), 7.3), torch.rand(50)], dim=1
    )
    scale = fit_scale(x, "columns")
    assert scale is not None
    scaled = scale.apply(x)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(
        scaled.std(0, correction=0), torch.tensor([1.0, 0.0, 1.0]), atol=1e-4, rtol=0
    )


def test_scale__sparse_features_of_any_unit_become_alike() -> None:
    x = torch.rand(30, 6) * (torch.rand(30, 6) < 0.3)
    scaled = []
    for factor in (1.0, 1e-25, 1e25):
        sparse = Adjacency.from_dense(factor * x)
        scale = fit_scale(sparse, "unit")
        assert scale is not None
        result = scale.apply(sparse)
        assert isinstance(result, Adjacency)
        assert result.value.square().mean() == pytest.approx(1.0, rel=1e-5)
        scaled.append(result.to_dense())
    for other in scaled[1:]:
        torch.testing.assert_close(other, scaled[0])
    torch.testing.assert_close(scaled[0] * (x.max() / scaled[0].max()), x)


def test_scale__columns_leaves_zero_one_and_sparse_features() -> None:
    binary = (torch.rand(30, 6) < 0.5).float()
    for scaling in ("columns", "unit"):
        assert fit_scale(binary, scaling) is None
        assert fit_scale(Adjacency.from_dense(binary), scaling) is None
        assert fit_scale(Adjacency.from_dense(0 * binary), scaling) is None
    assert fit_scale(Adjacency.from_dense(3 * binary), "columns") is None
    assert fit_scale(binary, "standard") is not None
    assert fit_scale(torch.randn(30, 6), "none") is None


@pytest.mark.parametrize("sparse", [False, True])
def test_scale__short_rows_get_a_length_all_by_one_number(sparse: bool) -> None:
    binary = (torch.rand(30, 6) < 0.5).float()
    x = Adjacency.from_dense(binary) if sparse else binary
    scale = fit_scale(x, "length")
    assert scale is not None
    scaled = scale.apply(x)
    assert isinstance(scaled, Adjacency) == sparse
    dense = scaled.to_dense()
    assert dense.square().sum(1).mean() == pytest.approx(36.0, rel=1e-5)
    torch.testing.assert_close(dense, binary * dense.max())


def test_scale__length_of_standard_columns() -> None:
    x = torch.randn(200, 4) * torch.tensor([1.0, 10.0, 100.0, 0.1]) + 3
    scale = fit_scale(x, "length")
    assert scale is not None
    # Four columns of deviation 1 have a squared length of 4, a ninth of 36.
    torch.testing.assert_close(
        scale.apply(x).std(0, correction=0), torch.full((4,), 3.0), rtol=1e-4, atol=0
    )


def test_scale__long_rows_and_rows_of_zeros_keep_their_length() -> None:
    assert fit_scale(torch.ones(5, 40), "length") is None
    assert fit_scale(torch.zeros(5, 3), "length") is None
    many = fit_scale(torch.randn(300, 60), "length")
    assert many is not None
    assert many.deviation.mean() == pytest.approx(1.0, abs=0.1)


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
