"""Views weakened at random: which edges and columns go, and how many."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from dsgrl.augment import Perturbation
from dsgrl.augment.perturb import (
    drop_edges,
    drop_features,
    mask_columns,
    scatter_number,
)
from dsgrl.encode import Encoder, PyGEncoder
from dsgrl.graph import Adjacency, as_graph
from samples import make_hetero


def test_drop_edges__both_directions_together_and_loops_stay(
    community_graph: Data,
) -> None:
    loops = torch.arange(60).expand(2, -1)
    edges = torch.cat([community_graph.edge_index, loops], dim=1)
    whole = Adjacency.from_edge_index(edges, num_nodes=60)
    matrix = drop_edges(whole, 0.5).to_dense()
    torch.testing.assert_close(matrix, matrix.t())
    assert matrix.diagonal().eq(1).all()
    kept = matrix.count_nonzero() - 60
    assert 0 < kept < whole.num_edges - 60
    # Never an edge that was not there.
    assert (matrix <= whole.to_dense()).all()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_drop_edges__the_share_asked_for(share: float) -> None:
    one, other = torch.randint(2000, (2, 20_000))
    edges = torch.stack([one, other])[:, one != other]
    whole = Adjacency.from_edge_index(edges, num_nodes=2000)
    found = drop_edges(whole, share).value.eq(0).double().mean().item()
    assert found == pytest.approx(share, abs=0.015)


def test_drop_edges__a_pair_goes_with_all_its_relations() -> None:
    relations = as_graph(make_hetero(films=60, people=50)).adjacency
    before = relations.as_one().to_dense()
    after = drop_edges(relations, 0.5).as_one().to_dense()
    torch.testing.assert_close(after, after.t())
    share = 1 - after.sum().item() / before.sum().item()
    assert share == pytest.approx(0.5, abs=0.08)
    # Wholly there or wholly gone.
    assert ((after == before) | (after == 0)).all()


def test_drop_edges__draws_are_independent_of_each_other() -> None:
    edges = torch.stack([torch.arange(10_000), torch.arange(10_000) + 1])
    graph = Adjacency.from_edge_index(edges, num_nodes=10_001)
    kept = torch.stack([drop_edges(graph, 0.5).value for _ in range(3)])
    between_draws = torch.corrcoef(kept)
    between_neighbours = torch.corrcoef(torch.stack([kept[0, 1:], kept[0, :-1]]))
    for found in (between_draws, between_neighbours):
        assert (found - torch.eye(len(found))).abs().max() < 0.05


def test_scatter_number__is_uniform_also_for_large_keys() -> None:
    for key in (torch.arange(50_000), 2**60 + torch.arange(50_000) * 977):
        number = scatter_number(key, torch.tensor(12345))
        assert number.min() >= 0
        assert number.max() < 1
        counts = torch.histc(number, 20, 0, 1)
        assert (counts / 2500 - 1).abs().max() < 0.1


@pytest.mark.parametrize("layer", ["gcn", "sage", "gin"])
def test_drop_edges__a_weight_of_zero_is_no_edge(
    layer: str, community_graph: Data
) -> None:
    """The encoder sees what it would see had the edges been taken out."""
    graph = as_graph(community_graph)
    weak = drop_edges(graph.adjacency, 0.5)
    without = weak.select(weak.value != 0)
    assert without.num_edges < weak.num_edges
    encoder = Encoder(12, 8, 4, layer=layer)  # type: ignore[arg-type]
    torch.testing.assert_close(encoder(weak, graph.x), encoder(without, graph.x))


def test_drop_edges__is_seen_by_a_module_that_knows_no_weights(
    community_graph: Data,
) -> None:
    graph = as_graph(community_graph)
    encoder = PyGEncoder(SAGEConv(12, 4))
    weak = drop_edges(graph.adjacency, 0.5)
    without = weak.select(weak.value != 0)
    seen = encoder(weak, graph.x)
    torch.testing.assert_close(seen, encoder(without, graph.x))
    assert not torch.allclose(seen, encoder(graph.adjacency, graph.x))


def test_perturbation__draws_differ_and_leave_the_graph_alone(
    community_graph: Data,
) -> None:
    graph = as_graph(community_graph)
    before, x = graph.adjacency.value.clone(), graph.x.clone()
    perturb = Perturbation(edge_drop=0.3, feature_mask=0.3)
    one, two = perturb(graph), perturb(graph)
    assert not torch.equal(one.adjacency.value, two.adjacency.value)
    assert not torch.equal(one.x, two.x)
    assert torch.equal(graph.adjacency.value, before)
    assert torch.equal(graph.x, x)


def test_perturbation__is_the_graph_itself_when_not_training(
    community_graph: Data,
) -> None:
    graph = as_graph(community_graph)
    assert Perturbation(edge_drop=0.3, feature_mask=0.3).eval()(graph) is graph
    assert Perturbation()(graph) is graph


@pytest.mark.parametrize("sparse", [False, True])
def test_drop_features__each_by_itself_and_the_mean_stays(sparse: bool) -> None:
    torch.manual_seed(0)
    dense = 2 * (torch.rand(400, 50) < 0.5).float()
    x = Adjacency.from_dense(dense) if sparse else dense
    before = dense.clone()
    dropped = drop_features(x, 0.25)
    assert isinstance(dropped, Adjacency) == sparse
    result = dropped.to_dense()
    assert result.unique().tolist() == pytest.approx([0.0, 2 / 0.75])
    assert not result[dense == 0].any()
    assert result.mean() == pytest.approx(float(dense.mean()), rel=0.03)
    # No column, and no row, goes as one.
    for axis in (0, 1):
        kept = (result > 0).sum(axis) / (dense > 0).sum(axis)
        assert 0.4 < kept.min() < 0.75 < kept.max() < 1.0001
    torch.testing.assert_close(x.to_dense(), before)


def test_mask__takes_whole_columns() -> None:
    x = 1 + torch.rand(30, 2000)
    masked = mask_columns(x, 0.2)
    assert isinstance(masked, torch.Tensor)
    is_zero = masked.eq(0)
    assert torch.equal(is_zero.all(dim=0), is_zero.any(dim=0))
    assert is_zero[0].double().mean().item() == pytest.approx(0.2, abs=0.04)
    assert torch.equal(masked[~is_zero], x[~is_zero])


def test_mask__every_type_by_itself() -> None:
    tables = (torch.ones(3, 200), torch.ones(2, 300))
    masked = mask_columns(tables, 0.5)
    assert [table.shape for table in masked] == [(3, 200), (2, 300)]
    assert all(0 < table.mean() < 1 for table in masked)


def test_drop_edges__a_chance_per_edge(community_graph: Data) -> None:
    whole = as_graph(community_graph).adjacency
    row, col = whole.pattern.row, whole.pattern.col
    low = torch.minimum(row, col) < 20
    kept = drop_edges(whole, low.float()).value.ne(0)
    assert torch.equal(kept, ~low)


def test_mask_columns__a_chance_per_column() -> None:
    share = torch.tensor([0.0, 1.0, 0.5, 1.0, 0.0])
    x = torch.ones(7, 5)
    for table in (x, Adjacency.from_dense(x)):
        masked = mask_columns(table, share).to_dense()
        assert masked[:, [0, 4]].all()
        assert not masked[:, [1, 3]].any()
