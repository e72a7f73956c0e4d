from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.floor import HopsFloor
from dsgrl.floor.hops import ALIKE, MOST_OWN_WEIGHT, own_weight, unit_rows
from dsgrl.graph import Adjacency, Graph, as_graph
from samples import permute

Array = npt.NDArray[np.float64]


def dense_gcn(graph: Graph) -> Array:
    """Compute D^-1/2 (A + I) D^-1/2 of a graph without self-loops."""
    matrix = graph.adjacency.to_dense().double().numpy()
    assert not matrix.diagonal().any()
    matrix = matrix + np.eye(len(matrix))
    scale = matrix.sum(axis=1) ** -0.5
    product: Array = scale[:, None] * matrix * scale
    return product


def direct_hops(graph: Graph, x: Array, num_hops: int = 3) -> Array:
    """Compute [X | AX | A^2 X | A^3 X] with unit rows, densely."""
    matrix = dense_gcn(graph)
    parts = []
    for hop in range(1 + num_hops):
        rows = np.linalg.matrix_power(matrix, hop) @ x
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        parts.append(np.divide(rows, length, where=length > 0, out=0 * rows))
    return np.concatenate(parts, axis=1)


def weighted(data: Data, seed: int = 0) -> Data:
    """Give the edges symmetric weights between 0.5 and 2.5."""
    low, high = data.edge_index.sort(dim=0).values
    spread = (7 * low + 13 * high + seed) % 5
    return Data(x=data.x, edge_index=data.edge_index, edge_weight=0.5 + spread / 2)


def fitted(graph: Graph, **settings: object) -> HopsFloor:
    floor = HopsFloor(graph.num_features, **settings)
    floor.fit(graph)
    return floor


@pytest.mark.parametrize("num_hops", [0, 1, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_forward__is_features_and_hops_with_unit_rows(
    num_hops: int, is_weighted: bool, community_graph: Data
) -> None:
    data = weighted(community_graph) if is_weighted else community_graph
    graph = as_graph(data)
    floor = fitted(graph, num_hops=num_hops)
    wanted = direct_hops(graph, graph.x.double().numpy(), num_hops)
    assert wanted.shape == (60, floor.out_channels)
    np.testing.assert_allclose(floor(graph).numpy(), wanted, atol=1e-5)


def test_forward__has_three_hops_by_default(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    wanted = direct_hops(graph, graph.x.double().numpy())
    np.testing.assert_allclose(fitted(graph)(graph).numpy(), wanted, atol=1e-5)


def test_forward__projects_wide_features_before_the_hops(
    community_graph: Data,
) -> None:
    """Directions have arbitrary signs: inner products in every part do not."""
    graph = as_graph(community_graph)
    floor = fitted(graph, columns=5)
    assert floor.out_channels == 20
    x = graph.x.double().numpy()
    projected = x @ np.linalg.svd(x)[2][:5].T
    wanted = np.split(direct_hops(graph, projected), 4, axis=1)
    for found, rows in zip(floor(graph).split(5, dim=1), wanted, strict=True):
        table = found.double().numpy()
        np.testing.assert_allclose(table @ table.T, rows @ rows.T, atol=1e-4)


@pytest.mark.parametrize("columns", [5, 256])
def test_forward__follows_a_new_order_of_nodes(
    columns: int, community_graph: Data
) -> None:
    graph = as_graph(community_graph)
    moved, order = permute(community_graph)
    other = as_graph(moved)
    rows = fitted(graph, columns=columns, weighs_own=True)(graph)
    torch.testing.assert_close(
        fitted(other, columns=columns, weighs_own=True)(other),
        rows[order],
        rtol=0,
        atol=1e-5,
    )
    assert not torch.allclose(rows, rows[order], atol=0.1)


@pytest.mark.parametrize("columns", [2, 256])
def test_forward__isolated_nodes_and_empty_rows_are_finite(
    columns: int, tiny_graph: Data
) -> None:
    """Node 5 has no edges, node 3 no features; 3 and 4 are each other's only one."""
    tiny_graph.x[3] = 0
    graph = as_graph(tiny_graph)
    rows = fitted(graph, columns=columns, weighs_own=True)(graph)
    assert torch.isfinite(rows).all()
    parts = torch.stack(rows.split(min(columns, 3), dim=1))
    # The isolated node sees only itself, at every hop.
    torch.testing.assert_close(parts[1:, 5], parts[1:2, 5].expand(3, -1))
    assert (parts[1:, 5].norm(dim=1) > 0.99).all()
    assert not parts[0, 3].any()
    torch.testing.assert_close(parts[1, 3], parts[1, 4])
    tiny_graph.x[:] = 0
    nothing = as_graph(tiny_graph)
    assert not fitted(nothing, columns=3)(nothing).any()


def test_forward__graph_without_edges_repeats_its_features() -> None:
    none = torch.empty(2, 0, dtype=torch.long)
    graph = as_graph(Data(x=torch.randn(7, 4), edge_index=none))
    rows = fitted(graph)(graph)
    torch.testing.assert_close(rows, unit_rows(graph.x).repeat(1, 4))


@pytest.mark.parametrize("columns", [3, 256])
def test_forward__sparse_and_dense_features_agree(
    columns: int, community_graph: Data
) -> None:
    """The first directions of both are the same up to signs."""
    x = torch.where(community_graph.x > 0.5, community_graph.x, 0.0)
    graph = replace(as_graph(community_graph), x=x)
    sparse = replace(graph, x=Adjacency.from_dense(x))
    found, wanted = (
        fitted(each, columns=columns)(each).split(min(columns, 12), dim=1)
        for each in (sparse, graph)
    )
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one @ one.t(), other @ other.t(), rtol=0, atol=1e-2)


def test_fit__training_directions_describe_other_graphs(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    floor = fitted(graph, columns=5)
    before = floor(graph)
    other = as_graph(Data(x=torch.randn(9, 12), edge_index=torch.empty(2, 0).long()))
    first = floor(other)[:, :5]
    torch.testing.assert_close(first, unit_rows(other.x @ floor.features.weight))
    assert torch.equal(floor(graph), before)


def direct_lift(x: Tensor, edge_index: Tensor) -> float:
    """Return how much more alike the ends of edges are than random pairs."""
    rows = x.double().numpy()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows - rows.mean(axis=0)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = rows @ rows.T
    linked = [cosine[a, b] for a, b in edge_index.t().tolist()]
    return float(np.mean(linked) - cosine.mean())


def alike_by(share: float, data: Data) -> Tensor:
    """Give features of which so much is the community's, the rest each node's own.

    What is a node's own has a few directions: features like white noise have no say.
    """
    generator = torch.Generator().manual_seed(0)
    center = torch.randn(3, 40, generator=generator)
    topics = torch.randn(12, 40, generator=generator) / 12**0.5
    own = torch.randn(60, 12, generator=generator) @ topics
    return share * center[data.y] + (1 - share) * own


@pytest.mark.parametrize("shared", [0.3, -0.3])
def test_own_weight__of_noise_is_that_of_a_hop_if_neighbors_share_a_signal(
    shared: float,
) -> None:
    noise = torch.randn(600, 8, generator=torch.Generator().manual_seed(0))
    ring = torch.arange(600)
    edges = torch.stack([ring, ring.roll(1)])
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    adjacency = Adjacency.from_edge_index(edges, num_nodes=600)
    # Neighbours on the ring are a little alike, or a little unlike.
    x = noise + shared * noise.roll(1, 0)
    wanted = 1 if shared > 0 else MOST_OWN_WEIGHT
    assert own_weight(unit_rows(x), adjacency) == wanted
    few = noise * torch.tensor([1.0, 1.0, *[0.1] * 6])
    structured = few + 0.05 * few.roll(1, 0)
    assert own_weight(unit_rows(structured), adjacency) > 1


@pytest.mark.parametrize(
    ("share", "lowest", "highest"),
    [(0.8, 1.0, 1.0), (0.29, 1.05, 1.95), (0.0, MOST_OWN_WEIGHT, MOST_OWN_WEIGHT)],
)
def test_own_weight__falls_as_neighbours_are_more_alike(
    share: float, lowest: float, highest: float, community_graph: Data
) -> None:
    x = alike_by(share, community_graph)
    graph = as_graph(Data(x=x, edge_index=community_graph.edge_index))
    found = own_weight(unit_rows(x), graph.adjacency)
    assert lowest <= found <= highest
    lift = max(direct_lift(x, community_graph.edge_index), 1e-9)
    wanted = min(max(ALIKE / lift, 1.0), MOST_OWN_WEIGHT)
    assert found == pytest.approx(wanted, rel=1e-4)
    floor = fitted(graph, weighs_own=True)
    torch.testing.assert_close(floor.own, torch.tensor(found))
    parts = floor(graph).split(40, dim=1)
    torch.testing.assert_close(parts[0].norm(dim=1), floor.own.expand(60))
    for part in parts[1:]:
        torch.testing.assert_close(part.norm(dim=1), torch.ones(60))


def test_own_weight__counts_only_on_demand(community_graph: Data) -> None:
    x = alike_by(0.0, community_graph)
    graph = as_graph(Data(x=x, edge_index=community_graph.edge_index))
    assert float(fitted(graph).own) == 1
    assert float(fitted(graph, weighs_own=True).own) == MOST_OWN_WEIGHT


def test_own_weight__a_common_direction_is_no_likeness(community_graph: Data) -> None:
    """All rows are alike here, and neighbours not more so than others."""
    x = alike_by(0.0, community_graph) + 5
    graph = as_graph(Data(x=x, edge_index=community_graph.edge_index))
    assert own_weight(unit_rows(x), graph.adjacency) == MOST_OWN_WEIGHT


def test_own_weight__without_edges_is_the_most() -> None:
    none = Adjacency.from_edge_index(torch.empty(2, 0, dtype=torch.long), num_nodes=5)
    assert own_weight(unit_rows(torch.randn(5, 4)), none) == MOST_OWN_WEIGHT


def test_own_weight__a_node_is_not_its_own_neighbour(community_graph: Data) -> None:
    """Self-loops join a node to the most similar node of all."""
    x = alike_by(0.0, community_graph)
    loops = torch.arange(60).expand(2, -1)
    edges = torch.cat([community_graph.edge_index, loops], dim=1)
    adjacency = Adjacency.from_edge_index(edges, num_nodes=60)
    assert own_weight(unit_rows(x), adjacency) == MOST_OWN_WEIGHT


def test_own_weight__reads_features_and_edges_only(community_graph: Data) -> None:
    x = alike_by(0.29, community_graph)
    data = Data(x=x, edge_index=community_graph.edge_index)
    graph = as_graph(data)
    wanted = fitted(graph, weighs_own=True)
    poisoned = replace(
        graph, labels=torch.full((60,), float("nan")), extras={"y": torch.empty(0)}
    )
    found = fitted(poisoned, weighs_own=True)
    assert torch.equal(found.own, wanted.own)
    assert torch.equal(found(poisoned), wanted(graph))
    # How heavy an edge is does not matter, only which nodes it joins.
    assert fitted(as_graph(weighted(data)), weighs_own=True).own == wanted.own
    fewer = graph.adjacency.select(graph.adjacency.edge_index[0] < 30)
    assert fitted(graph.with_adjacency(fewer), weighs_own=True).own != wanted.own


def test_state_dict__round_trip(community_graph: Data) -> None:
    x = alike_by(0.0, community_graph)
    graph = as_graph(Data(x=x, edge_index=community_graph.edge_index))
    one = fitted(graph, columns=30, weighs_own=True)
    other = HopsFloor(40, columns=30, weighs_own=True)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(graph), other(graph))
    assert float(other.own) > 1
