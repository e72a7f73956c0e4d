import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Data

from dsgrl.augment import TopologyAugmenter
from dsgrl.augment.above_mean import AboveMean
from dsgrl.encode import Encoder
from dsgrl.graph import Adjacency, Graph, Relations, as_graph, propagate
from samples import LEVELS, make_data, make_hetero, make_model


def dense_formula(h: Tensor) -> Tensor:
    """The paper's equation with an N x N matrix, rows divided by their sums."""
    similarity = h @ h.t()
    above = similarity > similarity.mean(dim=1, keepdim=True).detach()
    weight = torch.where(above, similarity.clamp_min(0), 0.0)
    return weight / weight.sum(dim=1, keepdim=True).clamp_min(1e-12)


def blocks_of(graph: Graph, made: Any) -> list[Adjacency]:
    """The new edges inside every graph, or of every type to itself."""
    if isinstance(made, Relations):
        return [a for (s, _, t), a in made.adjacencies.items() if s == t]
    return [made]


def dense_raw(h: Tensor) -> Tensor:
    """The paper's a'_ij, written out pair by pair: no clamp, no division."""
    rows = []
    for one in h:
        similarity = torch.stack([(one * other).sum() for other in h])
        threshold = similarity.detach().sum() / len(h)
        rows.append(torch.where(similarity > threshold, similarity, 0.0))
    return torch.stack(rows)


def dense_normalized(matrix: Tensor, kind: str) -> Tensor:
    """What a layer makes of an adjacency matrix [N, N]."""
    if kind == "sum":
        return matrix
    if kind == "gcn":
        matrix = matrix + torch.diag((matrix.diagonal() == 0).to(matrix.dtype))
    degree = matrix.sum(dim=1)
    positive = torch.where(degree > 0, degree, 1.0)
    if kind == "mean":
        return torch.where(degree > 0, 1 / positive, 0.0)[:, None] * matrix
    root = torch.where(degree > 0, positive.rsqrt(), 0.0)
    return root[:, None] * matrix * root


layers = pytest.mark.parametrize("kind", ["gcn", "mean", "sum"])
weightings = pytest.mark.parametrize("weights", ["normalized", "raw"])


@layers
@weightings
@pytest.mark.parametrize("rows", [1, 4, 40])
def test_normalized__equals_the_dense_formula_values_and_gradients(
    kind: Any, weights: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Similarities of both signs, so that sums of a row may be negative."""
    sizes = (11, 1, 0, 7)
    h, x, target = (
        torch.randn(sum(sizes), width, dtype=torch.float64) for width in (3, 4, 4)
    )
    h.requires_grad_()
    x.requires_grad_()
    bounds = [0, *itertools.accumulate(sizes)]
    monkeypatch.setattr("dsgrl.augment.above_mean.SIMILARITY_ELEMENTS", rows * 11)
    streamed = AboveMean(h, bounds, weights=weights).normalized(kind)
    ours = propagate(streamed, x)
    found = torch.autograd.grad((ours * target).sum(), (h, x), retain_graph=True)
    formula = dense_raw if weights == "raw" else dense_formula
    parts = [formula(part) for part in h.split(sizes) if len(part)]
    matrix = dense_normalized(torch.block_diag(*parts), kind)
    wanted = torch.autograd.grad((matrix @ x * target).sum(), (h, x), retain_graph=True)
    torch.testing.assert_close(ours, matrix @ x)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(streamed.materialize().to_dense(), matrix)


@layers
@weightings
@pytest.mark.parametrize("similarity", ["cosine", "inner"])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("keep_edges", [True, False])
@pytest.mark.parametrize("level", LEVELS)
def test_all_pairs__equal_the_n_largest_of_every_row(
    kind: Any,
    weights: Any,
    similarity: str,
    symmetric: bool,
    keep_edges: bool,
    level: str,
) -> None:
    """With k = N the k largest of a row are all of them."""
    graph = as_graph(make_data(level))
    options: dict[str, Any] = {
        "weights": weights,
        "similarity": similarity,
        "symmetric": symmetric,
        "keep_edges": keep_edges,
    }
    widths: Any = graph.num_features
    if level == "hetero":
        widths = [table.shape[1] for table in graph.x]
        options["schema"] = graph.adjacency.schema
    limited = TopologyAugmenter(widths, 8, edges_per_node=graph.num_nodes, **options)
    unlimited = TopologyAugmenter(widths, 8, edges_per_node=None, **options)
    unlimited.load_state_dict(limited.state_dict())
    losses = [torch.zeros(()), torch.zeros(())]
    for one, other in zip(
        *(blocks_of(graph, model(graph)) for model in (limited, unlimited)),
        strict=True,
    ):
        x, target = torch.randn(2, one.shape[0], 5)
        products = [propagate(block.normalized(kind), x) for block in (one, other)]
        torch.testing.assert_close(*products, rtol=1e-5, atol=1e-5)
        losses = [
            loss + (product * target).sum()
            for loss, product in zip(losses, products, strict=True)
        ]
        held = other.materialize()
        torch.testing.assert_close(
            held.to_dense(), one.to_dense(), rtol=1e-5, atol=1e-5
        )
        assert torch.equal(held.edge_index, one.edge_index)
    gradients = [
        torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        for loss, model in zip(losses, (limited, unlimited), strict=True)
    ]
    for wanted, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


class Largest(TorchDispatchMode):
    """Remembers the size of the largest tensor that is made."""

    numel = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, Tensor):
                self.numel = max(self.numel, tensor.numel())
        return made


@layers
def test_normalized__never_holds_all_pairs(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.augment.above_mean.SIMILARITY_ELEMENTS", 3 * 50)
    h, x = torch.randn(50, 4, requires_grad=True), torch.randn(50, 2)
    with Largest() as largest:
        propagate(AboveMean(h, symmetric=True).normalized(kind), x).sum().backward()
    assert 2 * 50 <= largest.numel < 5 * 50


@layers
@weightings
def test_normalized__of_no_nodes_is_empty(kind: Any, weights: Any) -> None:
    learned = AboveMean(torch.zeros(0, 4), weights=weights).normalized(kind)
    assert propagate(learned, torch.zeros(0, 3)).shape == (0, 3)
    assert learned.materialize().shape == (0, 0)


def test_normalized__is_computed_once_per_kind() -> None:
    learned = AboveMean(torch.randn(9, 3))
    assert learned.normalized("gcn") is learned.normalized("gcn")


def test_raw__is_the_paper_s_matrix() -> None:
    graph = as_graph(make_data("node"))
    learner = TopologyAugmenter(
        4,
        8,
        similarity="inner",
        edges_per_node=None,
        symmetric=False,
        weights="raw",
    )
    expected = dense_raw(learner.represent(graph))
    found = learner(graph).materialize().to_dense()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert (expected.sum(dim=1) - 1).abs().min() > 0.1, "a division would not show"


def test_raw__keeps_negative_similarities_above_the_mean() -> None:
    h = torch.tensor([[1.0, 0.0], [-0.1, 0.0], [-2.0, 0.0]])
    # Row 0: 1, -0.1, -2 with the mean -0.37; row 2 has the mean 0.73.
    expected = torch.tensor([[1.0, -0.1, 0.0], [0.0, 0.0, 0.2], [0.0, 0.0, 4.0]])
    raw = AboveMean(h, weights="raw")
    torch.testing.assert_close(raw.materialize().to_dense(), expected)
    clamped = AboveMean(h).materialize().to_dense()
    torch.testing.assert_close(clamped[0], torch.tensor([1.0, 0.0, 0.0]))


def test_raw__a_node_with_a_negative_sum_is_left_out_by_gcn() -> None:
    """Its row and its column are zero, and gradients stay finite."""
    h = torch.tensor([[1.0], [-0.9], [-0.9], [-0.9], [-5.0]], requires_grad=True)
    raw = AboveMean(h, weights="raw")
    assert raw.materialize().to_dense()[0].sum() < 0
    scaled = raw.normalized("gcn")
    dense = scaled.materialize().to_dense()
    assert not dense[0].any()
    assert not dense[:, 0].any()
    propagate(scaled, torch.randn(5, 2)).sum().backward()
    assert h.grad is not None
    assert torch.isfinite(h.grad).all()


@settings(max_examples=25, deadline=None)
@given(
    num_nodes=st.integers(2, 40),
    width=st.integers(1, 8),
    rows=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_above_mean__equals_the_dense_formula_values_and_gradients(
    num_nodes: int, width: int, rows: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(num_nodes, width, generator=generator, dtype=torch.float64)
    x = torch.randn(num_nodes, 2, 3, generator=generator, dtype=torch.float64)
    target = torch.randn(num_nodes, 2, 3, generator=generator, dtype=torch.float64)
    h.requires_grad_()
    x.requires_grad_()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsgrl.augment.above_mean.SIMILARITY_ELEMENTS", rows * num_nodes)
        ours = propagate(AboveMean(h), x)
        found = torch.autograd.grad((ours * target).sum(), (h, x))
    expected = torch.einsum("ij,jvc->ivc", dense_formula(h), x)
    wanted = torch.autograd.grad((expected * target).sum(), (h, x))
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any),
    rows=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_above_mean__many_graphs_equal_the_dense_formula_of_each(
    sizes: list[int], rows: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    h, x, target = (
        torch.randn(sum(sizes), width, generator=generator, dtype=torch.float64)
        for width in (4, 3, 3)
    )
    h.requires_grad_()
    x.requires_grad_()
    bounds = [0, *itertools.accumulate(sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsgrl.augment.above_mean.SIMILARITY_ELEMENTS", rows * max(sizes))
        ours = propagate(AboveMean(h, bounds), x)
        found = torch.autograd.grad((ours * target).sum(), (h, x))
    expected = torch.block_diag(*(dense_formula(part) for part in h.split(sizes))) @ x
    wanted = torch.autograd.grad((expected * target).sum(), (h, x))
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["gcn", "sage", "gin"])
def test_above_mean__inside_every_type_equals_the_dense_formula(kind: str) -> None:
    """As a relation among others, values and gradients."""
    graph = as_graph(make_hetero())
    h = torch.randn(graph.num_nodes, 4, requires_grad=True)
    layer = Encoder(
        [t.shape[1] for t in graph.x],
        5,
        5,
        layer=kind,  # type: ignore[arg-type]
        schema=graph.adjacency.schema,
    )
    streamed = AboveMean(h, graph.bounds).diagonal_blocks(graph.bounds)
    held = []
    for part in h.split(list(graph.adjacency.sizes.values())):
        weight = dense_formula(part)
        rows, columns = weight.nonzero(as_tuple=True)
        pairs = torch.stack([columns, rows])
        value = weight[rows, columns]
        held.append(Adjacency.from_edge_index(pairs, value, num_nodes=len(part)))
    ours, theirs = (
        layer(graph.adjacency.with_inner(blocks), graph.x)
        for blocks in (streamed, held)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    target = torch.randn(ours.shape)
    (found,) = torch.autograd.grad((ours * target).sum(), h)
    (wanted,) = torch.autograd.grad((theirs * target).sum(), h)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_above_mean__materialised_is_the_same_graph() -> None:
    h, x = torch.randn(30, 4), torch.randn(30, 3)
    learned = AboveMean(h)
    held = learned.materialize()
    assert type(held) is Adjacency
    torch.testing.assert_close(held.to_dense(), dense_formula(h))
    torch.testing.assert_close(propagate(held, x), propagate(learned, x))


@pytest.mark.parametrize("layer", ["gcn", "sage", "gin"])
def test_above_mean__goes_through_every_encoder(layer: str) -> None:
    h = torch.randn(30, 4, requires_grad=True)
    encoder = Encoder(5, 4, 3, layer=layer)  # type: ignore[arg-type]
    encoder(AboveMean(h), torch.randn(30, 5)).square().sum().backward()
    assert h.grad is not None
    assert h.grad.abs().max() > 0


@pytest.mark.parametrize("augment", ["topology", "both"])
def test_estimator__every_pair_above_the_mean(
    augment: str, community_graph: Data
) -> None:
    model = make_model(
        augment=augment,
        edges_per_node=None,
        out_channels=4,
        augment_channels=6,
        epochs=3,
    )
    z = model.fit_transform(community_graph)
    assert z.shape == (60, 8)
    _, view = model.views(community_graph)
    limited = model.set_params(views__edges_per_node=5).fit(community_graph)
    assert view.edge_index.size(1) > limited.views(community_graph)[1].edge_index.size(
        1
    )
