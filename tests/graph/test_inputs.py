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
from dsgrl.graph.structural import DEGREE_COLUMNS
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
