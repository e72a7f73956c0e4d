import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.augment.above_mean import AboveMean
from dsgrl.encode import Encoder
from dsgrl.graph import Adjacency, as_graph, propagate
from samples import make_hetero


def dense_formula(h: Tensor) -> Tensor:
    """The paper's equation with an N x N matrix, rows divided by their sums."""
    similarity = h @ h.t()
    above = similarity > similarity.mean(dim=1, keepdim=True).detach()
    weight = torch.where(above, similarity.clamp_min(0), 0.0)
    return weight / weight.sum(dim=1, keepdim=True).clamp_min(1e-12)


class Unscaled(Adjacency):
    """A graph taken as it is, however it is to be normalised."""

    def __init__(self, graph: Adjacency) -> None:
        super().__init__(graph.pattern, graph.value)

    def normalized(self, kind: str) -> Adjacency:
        return self


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
        patch.setattr("dsgrl.augment.above_mean.BLOCK_ELEMENTS", rows * num_nodes)
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
        patch.setattr("dsgrl.augment.above_mean.BLOCK_ELEMENTS", rows * max(sizes))
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
    if kind == "gcn":
        # The streamed graph's rows sum to 1 already: no loops are added to it.
        held = [Unscaled(block) for block in held]
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
    model = DSGRL(
        augment=augment,  # type: ignore[arg-type]
        edges_per_node=None,
        out_channels=4,
        augment_channels=6,
        epochs=3,
    )
    z = model.fit_transform(community_graph)
    assert z.shape == (60, 8)
    _, view = model.views(community_graph)
    limited = model.set_params(edges_per_node=5).fit(community_graph)
    assert view.edge_index.size(1) > limited.views(community_graph)[1].edge_index.size(
        1
    )
