import logging

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.graph import Adjacency, as_graph
from dsgrl.graph.inputs import DEGREE_COLUMNS, structural_features
from dsgrl.graph.scaling import fit_scale
from dsgrl.typing import InputError


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


def test_scale__standard_columns_and_constant_ones() -> None:
    x = torch.stack(
        [torch.randn(50) * 1e4 + 1e5, torch.full((50,), 7.3), torch.rand(50)], dim=1
    )
    scale = fit_scale(x, "auto")
    assert scale is not None
    scaled = scale.apply(x)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(
        scaled.std(0, correction=0), torch.tensor([1.0, 0.0, 1.0]), atol=1e-4, rtol=0
    )


def test_scale__auto_leaves_zero_one_and_sparse_features() -> None:
    binary = (torch.rand(30, 6) < 0.5).float()
    assert fit_scale(binary, "auto") is None
    assert fit_scale(Adjacency.from_dense(binary), "auto") is None
    assert fit_scale(binary, "standard") is not None
    assert fit_scale(torch.randn(30, 6), "none") is None
