import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

from dsgrl.graph import Graph, as_graph
from dsgrl.train.links import HeldOutLinks, area_under_curve
from samples import make_hetero


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


def test_held_out_links__follow_the_seed_not_what_was_drawn_since(
    community_graph: Data,
) -> None:
    adjacency = as_graph(community_graph).adjacency

    def draw(seed: int, numbers_used: int) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(seed)
        torch.rand(numbers_used)  # as the first weights of a model of some width
        before = torch.get_rng_state()
        links = HeldOutLinks(adjacency, share=0.3)
        assert torch.equal(torch.get_rng_state(), before)
        return links.edges, links.pairs

    for narrow, wide, other in zip(draw(1, 10), draw(1, 99), draw(2, 10), strict=True):
        assert torch.equal(narrow, wide)
        assert not torch.equal(narrow, other)


def test_held_out_links__no_node_is_paired_with_itself(community_graph: Data) -> None:
    links = HeldOutLinks(as_graph(community_graph).adjacency, share=0.9)
    assert (links.pairs[0] != links.pairs[1]).all()
    assert links.pairs.min() >= 0
    assert links.pairs.max() < 60


def test_held_out_links__few_links_meet_more_random_pairs(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    adjacency = as_graph(community_graph).adjacency
    links = HeldOutLinks(adjacency, share=0.3)
    count = links.edges.size(1)
    assert links.pairs.size(1) == 20 * count
    for enough, expected in ((3 * count, 3 * count), (1, count)):
        monkeypatch.setattr("dsgrl.train.links.ENOUGH_PAIRS", enough)
        assert HeldOutLinks(adjacency, share=0.3).pairs.size(1) == expected


def test_held_out_links__tells_communities_from_noise(community_graph: Data) -> None:
    links = HeldOutLinks(as_graph(community_graph).adjacency, share=0.3)
    group = torch.nn.functional.one_hot(community_graph.y).float()
    assert links.score((group,)) > 0.7
    assert abs(links.score((torch.randn(60, 8),)) - 0.5) < 0.2


def test_held_out_links__does_not_depend_on_scale_or_shift(
    community_graph: Data,
) -> None:
    links = HeldOutLinks(as_graph(community_graph).adjacency)
    z = torch.randn(60, 8)
    moved = z * torch.rand(8).add(0.5) + 3
    assert links.score((z,)) == pytest.approx(links.score((moved,)), abs=1e-3)


def test_held_out_links__unusable_without_edges(tiny_graph: Data) -> None:
    assert not HeldOutLinks(as_graph(tiny_graph).adjacency).usable


RELATION = tuple[str, str, str]


def numbers_of(graph: Graph) -> dict[RELATION, set[tuple[int, int]]]:
    """The edges of every relation, nodes of all types counted through."""
    relations = graph.adjacency
    return {
        name: pairs_of(part.edge_index + torch.tensor([[source], [target]]))
        for name, (part, source, target) in zip(
            relations.adjacencies, relations.parts(), strict=True
        )
    }


def test_hetero_links__hides_a_pair_in_all_its_relations_and_nothing_else() -> None:
    graph = as_graph(make_hetero())
    links = HeldOutLinks(graph.adjacency, share=0.3)
    before = numbers_of(graph)
    after = numbers_of(graph.with_adjacency(links.training))
    hidden = set().union(*before.values()) - set().union(*after.values())
    assert len(hidden) == round(0.3 * len(set().union(*before.values())))
    for relation, pairs in before.items():
        assert after[relation] == pairs - hidden


def test_hetero_links__pairs_are_of_one_type() -> None:
    graph = as_graph(make_hetero(60, 40))
    links = HeldOutLinks(graph.adjacency, share=0.3)
    bounds = torch.tensor(graph.bounds)
    for ends in (links.edges, links.pairs):
        one, other = torch.bucketize(ends, bounds, right=True)
        assert torch.equal(one, other)
        assert links.usable
    assert links.edges.shape == links.pairs.shape
    assert (links.edges[0] != links.edges[1]).all()


def test_hetero_links__no_node_is_paired_with_itself() -> None:
    links = HeldOutLinks(as_graph(make_hetero(60, 40)).adjacency, share=0.5)
    assert (links.pairs[0] != links.pairs[1]).all()


def test_hetero_links__near_ones_share_a_neighbour_or_were_linked() -> None:
    graph = as_graph(make_hetero())
    links = HeldOutLinks(graph.adjacency, share=0.3)
    whole = graph.adjacency.as_one().to_dense() > 0
    shared = (whole.float() @ whole.float()) > 0
    one, near = links.edges
    assert (whole[one, near] | shared[one, near]).all()


def test_hetero_links__tells_groups_from_noise() -> None:
    """Films and people in three groups, linked inside a group only."""
    group = torch.arange(60) % 3
    same = group[:, None] == group[None, :]
    data = make_hetero(60, 60)
    linked = (torch.rand(60, 60) < 0.3) & same
    data["film", "by", "person"].edge_index = linked.nonzero().t()
    data["person", "knows", "person"].edge_index = torch.empty(2, 0, dtype=torch.long)
    data["film", "has", "tag"].edge_index = torch.empty(2, 0, dtype=torch.long)
    links = HeldOutLinks(as_graph(data).adjacency, share=0.3)
    known = torch.nn.functional.one_hot(group).float()
    assert links.score((known, known, torch.randn(6, 3))) > 0.7
    noise = torch.randn(60, 3), torch.randn(60, 3), torch.randn(6, 3)
    assert abs(links.score(noise) - 0.5) < 0.2


def test_area_under_curve__equals_scikit_learn() -> None:
    positive = torch.randint(0, 20, (200,)).float() + 2
    negative = torch.randint(0, 20, (150,)).float()
    truth = [1] * 200 + [0] * 150
    scores = torch.cat([positive, negative]).tolist()
    assert area_under_curve(positive, negative) == pytest.approx(
        roc_auc_score(truth, scores)
    )
