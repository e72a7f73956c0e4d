import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

from dsgrl.graph import as_graph
from dsgrl.train.links import HeldOutLinks, area_under_curve


def pairs_of(edge_index: torch.Tensor) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for a, b in edge_index.t().tolist()}


def test_held_out_links__hides_both_directions_and_nothing_else(
    community_graph: Data,
) -> None:
    adjacency = as_graph(community_graph).adjacency
    links = HeldOutLinks(adjacency, share=0.2)
    hidden = pairs_of(links.edges)
    kept = pairs_of(links.training.edge_index)
    everything = pairs_of(adjacency.edge_index)
    assert len(hidden) == round(0.2 * len(everything))
    assert hidden.isdisjoint(kept)
    assert hidden | kept == everything


def test_held_out_links__self_loops_are_never_hidden() -> None:
    loops = torch.arange(30).expand(2, -1)
    ring = torch.stack([torch.arange(30), (torch.arange(30) + 1) % 30])
    data = Data(x=torch.ones(30, 1), edge_index=torch.cat([loops, ring], dim=1))
    links = HeldOutLinks(as_graph(data).adjacency, share=0.5)
    assert (links.edges[0] != links.edges[1]).all()
    kept = links.training.edge_index
    assert int((kept[0] == kept[1]).sum()) == 30


def test_held_out_links__no_node_is_paired_with_itself(community_graph: Data) -> None:
    links = HeldOutLinks(as_graph(community_graph).adjacency, share=0.9)
    assert (links.pairs[0] != links.pairs[1]).all()
    assert links.pairs.min() >= 0
    assert links.pairs.max() < 60


def test_held_out_links__tells_communities_from_noise(community_graph: Data) -> None:
    links = HeldOutLinks(as_graph(community_graph).adjacency, share=0.3)
    group = torch.nn.functional.one_hot(community_graph.y).float()
    assert links.score(group) > 0.7
    assert abs(links.score(torch.randn(60, 8)) - 0.5) < 0.2


def test_held_out_links__does_not_depend_on_scale_or_shift(
    community_graph: Data,
) -> None:
    links = HeldOutLinks(as_graph(community_graph).adjacency)
    z = torch.randn(60, 8)
    moved = z * torch.rand(8).add(0.5) + 3
    assert links.score(z) == pytest.approx(links.score(moved), abs=1e-3)


def test_held_out_links__unusable_without_edges(tiny_graph: Data) -> None:
    assert not HeldOutLinks(as_graph(tiny_graph).adjacency).usable


def test_area_under_curve__equals_scikit_learn() -> None:
    positive = torch.randint(0, 20, (200,)).float() + 2
    negative = torch.randint(0, 20, (150,)).float()
    truth = [1] * 200 + [0] * 150
    scores = torch.cat([positive, negative]).tolist()
    assert area_under_curve(positive, negative) == pytest.approx(
        roc_auc_score(truth, scores)
    )
