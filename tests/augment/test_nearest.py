import sys

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.augment.nearest import best_of, nearest_by_hops, nearest_by_index
from dsgrl.augment.similar import most_similar
from dsgrl.graph import Adjacency, as_graph
from dsgrl.typing import InputError


def clustered(num_nodes: int = 2000, columns: int = 80, groups: int = 40) -> Tensor:
    center = torch.randn(groups, columns)
    noise = 0.5 * torch.randn(num_nodes, columns)
    return center[torch.arange(num_nodes) % groups] + noise


def exact(h: Tensor, k: int) -> Tensor:
    return (h @ h.t()).topk(k, dim=1).indices


def recall(h: Tensor, found: Tensor) -> float:
    there = (exact(h, found.size(1))[:, :, None] == found[:, None, :]).any(2)
    return float(there.float().mean())


@pytest.mark.parametrize("unit", [True, False], ids=["cosine", "inner"])
def test_index__finds_most_of_the_exact_nearest(unit: bool) -> None:
    h = clustered()
    h = F.normalize(h, dim=1) if unit else h * (0.5 + torch.rand(len(h), 1))
    found = nearest_by_index(h, 10)
    assert found.shape == (2000, 10)
    assert recall(h, found) > 0.9


def test_index__same_input_same_result() -> None:
    h = F.normalize(clustered(), dim=1)
    assert torch.equal(nearest_by_index(h, 8), nearest_by_index(h.clone(), 8))


@pytest.mark.parametrize("num_nodes", [1, 5, 63, 65])
def test_index__few_nodes(num_nodes: int) -> None:
    h = torch.randn(num_nodes, 4)
    found = nearest_by_index(h, min(3, num_nodes))
    assert found.shape == (num_nodes, min(3, num_nodes))
    assert found.min() >= 0
    assert found.max() < num_nodes


def test_index__says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match=r"dsgrl\[scale\]"):
        nearest_by_index(torch.randn(9, 4), 2)


def test_hops__all_are_at_most_two_steps_away(community_graph: Data) -> None:
    adjacency = as_graph(community_graph).adjacency
    one = adjacency.to_dense() > 0
    reach = one | ((one.float() @ one.float()) > 0) | torch.eye(60, dtype=torch.bool)
    found = nearest_by_hops(torch.randn(60, 8), adjacency, 5)
    assert reach[torch.arange(60)[:, None], found].all()


def test_hops__equals_exact_where_all_are_near() -> None:
    ends = torch.combinations(torch.arange(10)).t()
    adjacency = Adjacency.from_edge_index(
        torch.cat([ends, ends.flip(0)], dim=1), num_nodes=10
    )
    h = torch.randn(10, 4)
    assert recall(h, nearest_by_hops(h, adjacency, 4)) == 1.0


def test_hops__without_edges_a_node_has_itself() -> None:
    none = Adjacency.from_edge_index(torch.empty(2, 0, dtype=torch.long), num_nodes=4)
    found = nearest_by_hops(torch.randn(4, 3), none, 1)
    assert found[:, 0].tolist() == [0, 1, 2, 3]


def test_best_of__counts_a_candidate_once_and_keeps_the_best() -> None:
    h = torch.tensor([[1.0, 0], [2, 0], [3, 0], [0, 1]])
    candidates = torch.tensor([[1, 1, 2, 3]]).expand(4, -1)
    assert best_of(h, candidates, 2)[0].tolist() == [2, 1]


def test_most_similar__candidates_keep_the_rule() -> None:
    """Above the row's mean, at most k, and a part of what exact search finds."""
    h = F.normalize(clustered(600), dim=1)
    found = {tuple(p) for p in most_similar(h, 6, search="index").t().tolist()}
    whole = {tuple(p) for p in most_similar(h, 6).t().tolist()}
    assert len(found & whole) > 0.9 * len(whole)
    row = torch.tensor([r for _, r in found])
    assert torch.bincount(row).max() <= 6
    similarity, mean = h @ h.t(), h @ h.mean(0)
    assert all(similarity[r, c] > mean[r] for c, r in found)


def test_most_similar__candidates_stay_inside_their_graph() -> None:
    h = F.normalize(clustered(300), dim=1)
    bounds = [0, 100, 140, 300]
    member = torch.bucketize(torch.arange(300), torch.tensor(bounds[1:]), right=True)
    for search in ("exact", "index"):
        source, row = most_similar(h, 5, bounds, search)  # type: ignore[arg-type]
        assert torch.equal(member[source], member[row])
