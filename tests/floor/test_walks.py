import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.estimator import embedder
from dsgrl.floor import WalksFloor
from dsgrl.graph import Graph, as_graph
from dsgrl.graph.structural import DEGREE_COLUMNS
from dsgrl.methods.dsgrl import DSGRLMethod


def cliques(size: int, isolated: int = 0) -> Data:
    """Give two disjoint cliques, then isolated nodes."""
    member = torch.arange(2 * size) // size
    linked = (member[:, None] == member).fill_diagonal_(False)
    edge_index = linked.nonzero().t().contiguous()
    return Data(edge_index=edge_index, num_nodes=2 * size + isolated)


def without_features(data: Data) -> Graph:
    return as_graph(Data(edge_index=data.edge_index, num_nodes=data.num_nodes))


def cosines(rows: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize(rows, dim=1)
    return unit @ unit.t()


@pytest.mark.parametrize("smoothing", [0, 1, 8])
def test_forward__is_the_factors_smoothed(
    smoothing: int, community_graph: Data
) -> None:
    graph = without_features(community_graph)
    floor = WalksFloor(graph.num_features, smoothing=smoothing)
    floor.fit(graph)
    matrix = graph.adjacency.to_dense().double().numpy() + np.eye(60)
    scale = matrix.sum(axis=1) ** -0.5
    matrix = np.linalg.matrix_power(scale[:, None] * matrix * scale, smoothing)
    wanted = matrix @ graph.x[:, DEGREE_COLUMNS:].double().numpy()
    assert wanted.shape == (60, floor.out_channels)
    np.testing.assert_allclose(floor(graph).numpy(), wanted, atol=1e-5)


def test_forward__smooths_eight_times_by_default(community_graph: Data) -> None:
    graph = without_features(community_graph)
    one, other = (WalksFloor(graph.num_features, smoothing=n)(graph) for n in (8, 7))
    assert torch.equal(WalksFloor(graph.num_features)(graph), one)
    assert not torch.allclose(one, other, rtol=0.01)


def test_forward__separates_two_cliques() -> None:
    graph = without_features(cliques(10))
    rows = WalksFloor(graph.num_features)(graph)
    same = torch.arange(20) // 10 == (torch.arange(20) // 10)[:, None]
    assert cosines(rows)[same].min() > 0.9
    assert cosines(rows)[~same].abs().max() < 0.1


def test_forward__communities_are_nearer_than_strangers(community_graph: Data) -> None:
    graph = without_features(community_graph)
    alike = cosines(WalksFloor(graph.num_features)(graph))
    same = community_graph.y[:, None] == community_graph.y
    assert alike[same].mean() > alike[~same].mean() + 0.3


def test_forward__degrees_do_not_matter(community_graph: Data) -> None:
    graph = without_features(community_graph)
    floor = WalksFloor(graph.num_features)
    rows = floor(graph)
    graph.x[:, :DEGREE_COLUMNS] = float("nan")
    assert torch.equal(floor(graph), rows)


def test_forward__isolated_nodes_are_finite() -> None:
    graph = without_features(cliques(6, isolated=3))
    rows = WalksFloor(graph.num_features)(graph)
    assert torch.isfinite(rows).all()
    torch.testing.assert_close(
        rows[12:], torch.zeros_like(rows[12:]), rtol=0, atol=1e-6
    )
    assert (rows[:12].norm(dim=1) > 0.1).all()


def test_default__of_edges_only_is_what_walks_gives(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = Data(edge_index=community_graph.edge_index, num_nodes=60)

    def run(*_: object) -> None:
        raise AssertionError("an encoder that learns nothing need not run")

    monkeypatch.setattr(DSGRLMethod, "learned", run)
    default, walks = (
        embedder(name)().fit_transform(edges) for name in ("dsgrl", "walks")
    )
    np.testing.assert_array_equal(default, walks)


@pytest.mark.parametrize(("size", "isolated"), [(0, 30), (3, 400)])
@pytest.mark.parametrize("name", ["dsgrl", "hops", "walks", "cca-ssg"])
def test_method__embeds_a_graph_with_hardly_an_edge(
    name: str, size: int, isolated: int
) -> None:
    data = (
        cliques(size, isolated)
        if size
        else Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=isolated)
    )
    kind = embedder(name)
    more = {"epochs": 2} if name == "cca-ssg" else {}
    z = kind(random_state=0, **more).fit_transform(data)
    assert z.shape[0] == data.num_nodes
    assert np.isfinite(z).all()
