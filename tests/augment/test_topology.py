import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.augment import TopologyAugmenter
from dsgrl.augment.similar import most_similar
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.typing import InputError
from samples import LEVELS, build_method, make_data

similarities = pytest.mark.parametrize("similarity", ["cosine", "inner"])


def augmenter(**changes: object) -> TopologyAugmenter:
    options = {"edges_per_node": 5, **changes}
    return TopologyAugmenter(12, 8, **options)  # type: ignore[arg-type]


def method(augment: str) -> Any:
    return build_method(
        augment=augment, out_channels=4, augment_channels=8, edges_per_node=5
    )


def dense_view(h: Tensor, k: int) -> Tensor:
    """The paper's formula with N x N matrices, limited to the row's k largest."""
    similarity = h @ h.t()
    above = similarity > similarity.mean(dim=1, keepdim=True)
    largest = torch.zeros_like(above)
    largest.scatter_(1, similarity.topk(min(k, h.size(0)), dim=1).indices, True)
    kept = above & largest
    kept = kept | kept.t()
    weight = torch.where(kept, similarity.clamp_min(0), 0.0)
    return weight / weight.sum(dim=1, keepdim=True).clamp_min(1e-12)


@similarities
@pytest.mark.parametrize("k", [1, 5, 60])
def test_topology__equals_the_dense_formula_values_and_gradients(
    similarity: str, k: int, community_graph: Data
) -> None:
    graph = as_graph(community_graph)
    learner = augmenter(similarity=similarity, edges_per_node=k)
    target = torch.randn(60, 60)
    found = learner(graph).to_dense()
    expected = dense_view(learner.represent(graph), k)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    parameters = list(learner.parameters())
    ours, theirs = (
        torch.autograd.grad((view * target).sum(), parameters, allow_unused=True)
        for view in (
            learner(graph).to_dense(),
            dense_view(learner.represent(graph), k),
        )
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


@similarities
@pytest.mark.parametrize("k", [1, 5, 60])
def test_raw__equals_the_dense_formula_values_and_gradients(
    similarity: str, k: int, community_graph: Data
) -> None:
    """Similarities as they are, where the formula keeps them."""
    graph = as_graph(community_graph)
    learner = augmenter(similarity=similarity, edges_per_node=k, weights="raw")
    learned = learner(graph)
    h = learner.represent(graph)
    kept = dense_view(h, k) > 0
    # Both kinds of weights have the same edges; a clamped one may be 0.
    assert kept[learned.to_dense() > 0].all()
    mask = torch.zeros(60, 60, dtype=torch.bool)
    mask[tuple(learned.edge_index.flip(0))] = True
    expected = torch.where(mask, h @ h.t(), 0.0)
    torch.testing.assert_close(learned.to_dense(), expected, rtol=1e-5, atol=1e-5)
    target = torch.randn(60, 60)
    ours, theirs = (
        torch.autograd.grad(
            (view * target).sum(), list(learner.parameters()), allow_unused=True
        )
        for view in (learned.to_dense(), expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_weights__change_nothing_else(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    raw, normalized = augmenter(weights="raw"), augmenter(weights="normalized")
    raw.load_state_dict(normalized.state_dict())
    one, other = raw(graph), normalized(graph)
    assert torch.equal(one.edge_index, other.edge_index)
    clamped = one.with_value(one.value.clamp_min(0))
    torch.testing.assert_close(clamped.normalized("mean").value, other.value)


def test_weights__of_another_name_are_refused() -> None:
    with pytest.raises(InputError, match=r"weights='softmax': expected .*'raw'"):
        augmenter(weights="softmax")


@similarities
def test_topology__rows_sum_to_one(similarity: str, community_graph: Data) -> None:
    learned = augmenter(similarity=similarity)(as_graph(community_graph))
    torch.testing.assert_close(learned.to_dense().sum(1), torch.ones(60))


@pytest.mark.parametrize("block", [60, 7 * 60, 1 << 24])
def test_most_similar__does_not_depend_on_block(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = torch.randn(60, 4)
    whole = {tuple(pair) for pair in most_similar(h, 6).t().tolist()}
    monkeypatch.setattr("dsgrl.augment.similar.COMPARED_ELEMENTS", block)
    assert {tuple(pair) for pair in most_similar(h, 6).t().tolist()} == whole


def test_most_similar__above_the_mean_and_at_most_k() -> None:
    h = torch.randn(40, 5)
    source, row = most_similar(h, 7)
    similarity = h @ h.t()
    assert (similarity[row, source] > similarity.mean(1)[row]).all()
    assert torch.bincount(row).max() <= 7


def test_topology__permuting_nodes_permutes_learned_edges(
    community_graph: Data,
) -> None:
    learner = augmenter().eval()
    order = torch.randperm(60)
    moved = Data(
        x=community_graph.x[order],
        edge_index=order.argsort()[community_graph.edge_index],
    )
    one = learner(as_graph(community_graph)).to_dense()
    other = learner(as_graph(moved)).to_dense()
    torch.testing.assert_close(other, one[order][:, order], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("augment", ["topology", "both"])
def test_topology__full_loss_reaches_every_augmenter_parameter(
    augment: str, community_graph: Data
) -> None:
    model = method(augment)
    model.training_loss(as_graph(community_graph)).total.backward()
    assert model.topology is not None
    for name, parameter in model.topology.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 1e-8, name


@pytest.mark.parametrize("augment", ["topology", "both"])
def test_topology__learned_weights_change_z2_only(
    augment: str, community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = method(augment).eval()
    graph = as_graph(community_graph)
    z1, z2 = model.encode(graph).unbind(1)
    learn = model.topology.forward  # type: ignore[union-attr]

    def other_weights(graph: Graph) -> Adjacency:
        learned = learn(graph)
        return learned.with_value(learned.value * torch.rand(learned.num_edges))

    monkeypatch.setattr(model.topology, "forward", other_weights)
    other1, other2 = model.encode(graph).unbind(1)
    torch.testing.assert_close(z1, other1)
    assert not torch.allclose(z2, other2, atol=1e-4)


def test_topology__view_1_is_the_identity(community_graph: Data) -> None:
    model = method("topology").eval()
    graph = as_graph(community_graph)
    (first, x1), (second, x2) = model.views(graph)
    assert first is graph.adjacency
    assert second is not graph.adjacency
    assert x1 is x2 is graph.x
    torch.testing.assert_close(
        model.encode(graph)[:, 0], model.encoder(graph.adjacency, graph.x)
    )


def test_topology__pairs_are_looked_up_every_few_steps(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    learner = augmenter(refresh=3)
    patterns = [learner(graph).pattern for _ in range(4)]
    assert patterns[0] is patterns[1] is patterns[2]
    assert patterns[3] is not patterns[2]
    other = as_graph(Data(x=graph.x[:20], edge_index=torch.tensor([[0], [1]])))
    assert learner(other).shape == (20, 20)


def test_topology__weights_learn_between_look_ups(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    learner = augmenter(refresh=100)
    optimizer = torch.optim.SGD(learner.parameters(), lr=1.0)
    before = learner(graph)
    (before.value * torch.randn(before.num_edges)).sum().backward()
    optimizer.step()
    after = learner(graph)
    assert after.pattern is before.pattern
    assert not torch.allclose(after.value, before.value)


def test_topology__keeps_original_edges_if_asked(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    original = {tuple(pair) for pair in graph.adjacency.edge_index.t().tolist()}
    for keep in (True, False):
        learned = augmenter(keep_edges=keep)(graph).edge_index.t().tolist()
        assert ({tuple(pair) for pair in learned} >= original) == keep


def test_topology__sparse_features_give_the_same_graph(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    sparse = Graph(Adjacency.from_dense(graph.x), graph.adjacency)
    learner = augmenter().eval()
    torch.testing.assert_close(
        learner(sparse).to_dense(), learner(graph).to_dense(), rtol=1e-4, atol=1e-5
    )


def test_topology__zero_features_are_no_trouble(community_graph: Data) -> None:
    model = method("both")
    empty = Data(x=torch.zeros(60, 12), edge_index=community_graph.edge_index)
    loss = model.training_loss(as_graph(empty)).total
    loss.backward()
    assert torch.isfinite(loss)
    assert all(
        p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters()
    )


def regular(num_nodes: int, degree: int) -> Data:
    """So many edges flow into every node: from those before it on a circle."""
    node = torch.arange(num_nodes)
    targets = [(node + step) % num_nodes for step in range(1, degree + 1)]
    edge_index = torch.stack([node.repeat(degree), torch.cat(targets)])
    return Data(x=torch.randn(num_nodes, 12), edge_index=edge_index)


@pytest.mark.parametrize("multiplier", [0.5, 1.0, 2.0])
def test_counts__of_regular_graphs_are_multiples_of_their_degrees(
    multiplier: float,
) -> None:
    degrees = [2, 4, 6, 2]
    graph = as_graph([regular(9 + d, d) for d in degrees])
    found = augmenter(edge_multiplier=multiplier).counts(graph)
    assert found == [multiplier * degree for degree in degrees]
    alone = as_graph(regular(30, 4))
    assert augmenter(edge_multiplier=multiplier).counts(alone) == [4 * multiplier]


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("level", LEVELS)
def test_counts__no_other_whole_number_is_closer(multiplier: float, level: str) -> None:
    graph = as_graph(make_data(level))
    edges_into = torch.zeros(graph.num_nodes)
    for part, _, start in graph.adjacency.parts():
        edges_into.index_add_(0, part.edge_index[1] + start, torch.ones(part.num_edges))
    found = augmenter(edge_multiplier=multiplier).counts(graph)
    bounds = itertools.pairwise(graph.bounds)
    for count, (low, high) in zip(found, bounds, strict=True):
        wanted = multiplier * float(edges_into[low:high].mean())
        assert count == 1 if wanted < 1 else abs(count - wanted) <= 0.5


def test_counts__a_graph_without_edges_still_gets_one() -> None:
    bare = Data(x=torch.randn(5, 12), edge_index=torch.empty(2, 0, dtype=torch.long))
    graph = as_graph([bare, regular(7, 2)])
    assert augmenter(edge_multiplier=1.0).counts(graph) == [1, 2]
