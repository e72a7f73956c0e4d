import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_undirected

from dsgrl.graph.adjacency import Adjacency, propagate


def random_edges(num_nodes: int, num_edges: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(num_nodes, (2, num_edges), generator=generator)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 9),
    cols=st.integers(1, 9),
    num_edges=st.integers(0, 30),
    seed=st.integers(0, 99),
)
def test_propagate__equals_dense_product(
    rows: int, cols: int, num_edges: int, seed: int
) -> None:
    """Bipartite, weighted, with parallel edges, empty rows and empty graphs."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.stack(
        [
            torch.randint(cols, (num_edges,), generator=generator),
            torch.randint(rows, (num_edges,), generator=generator),
        ]
    )
    weight = torch.rand(num_edges, generator=generator)
    adjacency = Adjacency.from_edge_index(edge_index, weight, num_nodes=(cols, rows))
    dense = torch.zeros(rows, cols)
    dense.index_put_((edge_index[1], edge_index[0]), weight, accumulate=True)
    h = torch.randn(cols, 2, 3, generator=generator)
    torch.testing.assert_close(adjacency.to_dense(), dense)
    torch.testing.assert_close(
        propagate(adjacency, h), torch.einsum("rc,cvd->rvd", dense, h)
    )


def test_propagate__gradients_to_features_and_learned_weights() -> None:
    edge_index = random_edges(7, 20)
    h = torch.randn(7, 2, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.rand(20, dtype=torch.float64, requires_grad=True)

    def run(h: Tensor, weight: Tensor) -> Tensor:
        return propagate(Adjacency.from_edge_index(edge_index, weight, num_nodes=7), h)

    assert gradcheck(run, (h, weight))
    fixed = weight.detach()
    assert gradcheck(lambda h: run(h, fixed), (h,))


@pytest.mark.parametrize("block", [1, 7, 4096])
def test_propagate__weight_gradient_does_not_depend_on_block(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.graph.kernels.EDGE_BLOCK", block)
    edge_index = random_edges(30, 200)
    weight = torch.rand(200, requires_grad=True)
    h = torch.randn(30, 5)
    propagate(
        Adjacency.from_edge_index(edge_index, weight, num_nodes=30), h
    ).square().sum().backward()
    received = torch.zeros(30, 30).index_put(
        (edge_index[1], edge_index[0]), weight.detach(), accumulate=True
    )
    expected = 2 * ((received @ h)[edge_index[1]] * h[edge_index[0]]).sum(1)
    torch.testing.assert_close(weight.grad, expected)


@pytest.mark.parametrize("kind", ["gcn", "mean"])
def test_normalized__gradient_through_learned_weights(kind: str) -> None:
    edge_index = random_edges(6, 15)
    h = torch.randn(6, 3, dtype=torch.float64)
    weight = 0.5 + torch.rand(15, dtype=torch.float64)

    def run(weight: Tensor) -> Tensor:
        adjacency = Adjacency.from_edge_index(edge_index, weight, num_nodes=6)
        return propagate(adjacency.normalized(kind), h)  # type: ignore[arg-type]

    assert gradcheck(run, (weight.requires_grad_(),))


@pytest.mark.parametrize("kind", ["gcn", "mean"])
def test_normalized__rows_without_weight_have_finite_gradients(kind: str) -> None:
    """A learned weight may fall to zero, and with it a whole row."""
    edge_index = torch.tensor([[0, 1, 2, 1], [1, 2, 0, 1]])
    weight = torch.tensor([0.0, 1.0, 0.0, 0.0], requires_grad=True)
    adjacency = Adjacency.from_edge_index(edge_index, weight, num_nodes=3)
    propagate(adjacency.normalized(kind), torch.randn(3, 2)).sum().backward()  # type: ignore[arg-type]
    assert torch.isfinite(weight.grad).all()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loops", [True, False])
def test_normalized_gcn__equals_pyg(
    directed: bool, weighted: bool, loops: bool
) -> None:
    edge_index = random_edges(12, 40).unique(dim=1)
    if not loops:
        edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    if not directed:
        edge_index = to_undirected(edge_index)
    weight = torch.rand(edge_index.size(1)) if weighted else None
    ours = Adjacency.from_edge_index(edge_index, weight, num_nodes=13)
    pyg_index, pyg_weight = gcn_norm(edge_index, weight, num_nodes=13)
    expected = torch.zeros(13, 13)
    expected.index_put_((pyg_index[1], pyg_index[0]), pyg_weight, accumulate=True)
    torch.testing.assert_close(ours.normalized("gcn").to_dense(), expected)


def test_normalized_mean__rows_sum_to_one_or_zero() -> None:
    adjacency = Adjacency.from_edge_index(
        random_edges(10, 25), torch.rand(25), num_nodes=(10, 12)
    )
    sums = adjacency.normalized("mean").to_dense().sum(1)
    has_edges = adjacency.to_dense().sum(1) > 0
    torch.testing.assert_close(sums, has_edges.float())


@pytest.mark.parametrize("weighted", [True, False])
def test_normalized_gcn__bipartite_scales_both_sides(weighted: bool) -> None:
    adjacency = Adjacency.from_edge_index(
        torch.stack([random_edges(4, 12)[0], random_edges(6, 12, seed=1)[0]]),
        0.1 + torch.rand(12) if weighted else None,
        num_nodes=(4, 6),
    )
    dense = adjacency.to_dense()
    left = dense.sum(1).clamp_min(1e-9).rsqrt()[:, None]
    right = dense.sum(0).clamp_min(1e-9).rsqrt()[None]
    torch.testing.assert_close(
        adjacency.normalized("gcn").to_dense(), dense * left * right
    )


def test_normalized__is_computed_once() -> None:
    adjacency = Adjacency.from_edge_index(random_edges(5, 9), num_nodes=5)
    assert adjacency.normalized("gcn") is adjacency.normalized("gcn")
    assert adjacency.normalized("sum") is adjacency


def test_from_edge_index__order_of_edges_does_not_matter() -> None:
    edge_index, weight = random_edges(9, 30), torch.rand(30)
    order = torch.randperm(30)
    one = Adjacency.from_edge_index(edge_index, weight, num_nodes=9)
    other = Adjacency.from_edge_index(edge_index[:, order], weight[order], num_nodes=9)
    torch.testing.assert_close(one.to_dense(), other.to_dense())


def test_from_edge_index__index_arithmetic_at_fifty_thousand_nodes() -> None:
    last = 49_999
    edge_index = torch.tensor([[0, last, last], [last, 0, last - 1]])
    adjacency = Adjacency.from_edge_index(edge_index, num_nodes=50_000)
    found = {tuple(pair) for pair in adjacency.edge_index.t().tolist()}
    assert found == {(0, last), (last, 0), (last, last - 1)}


def test_from_dense__sparse_features_multiply_like_dense_ones() -> None:
    x = torch.randn(8, 20) * (torch.rand(8, 20) < 0.2)
    weight = torch.randn(20, 5, requires_grad=True)
    propagate(Adjacency.from_dense(x), weight).square().sum().backward()
    sparse_grad = weight.grad
    weight.grad = None
    (x @ weight).square().sum().backward()
    torch.testing.assert_close(sparse_grad, weight.grad)


def test_propagate__refuses_wrong_number_of_rows() -> None:
    adjacency = Adjacency.from_edge_index(random_edges(5, 9), num_nodes=5)
    with pytest.raises(ValueError, match="got 4 rows, the matrix has 5"):
        propagate(adjacency, torch.randn(4, 2))


@pytest.mark.parametrize("shape", [7, (9, 4)], ids=["square", "bipartite"])
@pytest.mark.parametrize("num_edges", [0, 1, 60])
def test_from_edge_index__sorted_edges_are_held_as_any_others(
    shape: int | tuple[int, int], num_edges: int
) -> None:
    """Edges sorted by source are counted, others compared; parallel ones are kept."""
    sources, targets = (shape, shape) if isinstance(shape, int) else shape
    source = torch.randint(sources, (num_edges,)).sort().values
    edges = torch.stack([source, torch.randint(targets, (num_edges,))])
    weight = torch.rand(num_edges)
    held = Adjacency.from_edge_index(edges, weight, num_nodes=shape)
    order = torch.argsort(edges[1] * sources + edges[0], stable=True)
    assert torch.equal(held.edge_index, edges[:, order])
    assert torch.equal(held.value, weight[order])
    assert held.shape == (targets, sources)
    # Edges in another order, each pair's own among themselves as before.
    moved = torch.argsort(edges[0], stable=True, descending=True)
    again = Adjacency.from_edge_index(edges[:, moved], weight[moved], num_nodes=shape)
    assert torch.equal(again.edge_index, held.edge_index)
    assert torch.equal(again.value, held.value)


@settings(max_examples=20, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
def test_block_diagonal__undoes_diagonal_blocks(sizes: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    blocks = []
    for size in sizes:
        edges = torch.randint(max(size, 1), (2, 2 * size), generator=generator)
        weight = torch.rand(2 * size, generator=generator)
        blocks.append(Adjacency.from_edge_index(edges, weight, num_nodes=size))
    whole = Adjacency.block_diagonal(blocks)
    expected = torch.block_diag(*(block.to_dense() for block in blocks))
    assert torch.equal(whole.to_dense(), expected.view(whole.shape))
    bounds = torch.tensor([0, *sizes]).cumsum(0).tolist()
    for one, other in zip(whole.diagonal_blocks(bounds), blocks, strict=True):
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.value, other.value)
