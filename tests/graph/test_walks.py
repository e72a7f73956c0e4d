import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
import torch

from dsgrl.graph import walks
from dsgrl.graph.walks import walk_factors

Array = npt.NDArray[np.float64]


def random_edges(num_nodes: int = 40, seed: int = 0) -> sp.csr_matrix:
    """Give a symmetric weighted graph with about six edges per node."""
    generator = np.random.default_rng(seed)
    matrix = generator.random((num_nodes, num_nodes)) + 0.1
    matrix *= generator.random((num_nodes, num_nodes)) < 3 / num_nodes
    matrix = np.triu(matrix, 1)
    return sp.csr_matrix(matrix + matrix.T)


def cliques(size: int) -> sp.csr_matrix:
    return sp.csr_matrix(np.kron(np.eye(2), np.ones((size, size)) - np.eye(size)))


def tiny_weights() -> Array:
    """Five nodes whose edges weigh from 1 to 9."""
    matrix = np.zeros((5, 5))
    for one, other, weight in [(0, 1, 1), (0, 2, 9), (1, 2, 2), (2, 3, 4), (3, 4, 0.5)]:
        matrix[one, other] = matrix[other, one] = weight
    return matrix


def count_meetings(edges: sp.csr_matrix, length: int, num_walks: int) -> Array:
    blocks = walks._count_meetings(walks.undirected(edges), length, num_walks)
    table: Array = sp.vstack(list(blocks)).toarray().astype(np.float64)
    return table


def surprise(edges: sp.csr_matrix) -> sp.csr_matrix:
    return walks._surprise(
        walks.undirected(edges), walks.WALK_LENGTH, walks.WALKS_PER_NODE
    )


def test_walk_factors__separate_two_cliques() -> None:
    rows = walk_factors(cliques(12), 4)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    member = np.arange(24) // 12
    same = member[:, None] == member
    cosine = rows[:, :2] @ rows[:, :2].T
    assert cosine[same].min() > 0.3
    np.testing.assert_allclose((rows @ rows.T)[~same], 0, atol=1e-3)


@pytest.mark.parametrize("is_weighted", [True, False])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_walks__meet_nodes_with_the_exact_chance(
    length: int, is_weighted: bool
) -> None:
    weights = tiny_weights()
    if not is_weighted:
        weights = (weights > 0).astype(float)
    chance = weights / weights.sum(axis=1, keepdims=True)
    powers = [np.linalg.matrix_power(chance, n) for n in range(1, 1 + length)]
    num_walks = 20_000
    found = count_meetings(sp.csr_matrix(weights), length, num_walks) / num_walks
    # A walk meets a node 0 to `length` times: the standard deviation of the mean of
    # all walks is at most length / 2 / sqrt(walks).
    tolerance = 4 * length / 2 / num_walks**0.5
    np.testing.assert_allclose(found, sum(powers), rtol=0, atol=tolerance)
    assert (found[sum(powers) == 0] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), length)


def test_walks__start_anew_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks in pairs of nodes cannot but go back and forth."""
    pairs = sp.block_diag([np.ones((2, 2)) - np.eye(2), np.zeros((3, 3))] * 3).tocsr()
    wanted = count_meetings(pairs, 5, 4)
    np.testing.assert_array_equal(wanted[:2, :2], [[8, 12], [12, 8]])
    for steps in (1, 20, 60, 1000):
        monkeypatch.setattr(walks, "BLOCK_STEPS", steps)
        np.testing.assert_array_equal(count_meetings(pairs, 5, 4), wanted)
        assert np.isfinite(walk_factors(pairs, 4)).all()


@pytest.mark.parametrize("steps", [1000, 1 << 22])
def test_matrix__is_the_log_of_how_much_more_often_than_by_chance(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "BLOCK_STEPS", steps)
    edges = random_edges()
    length, num_walks = walks.WALK_LENGTH, walks.WALKS_PER_NODE
    share = count_meetings(edges, length, num_walks) / (num_walks * length)
    degree = edges.toarray().sum(axis=0)
    wanted = np.log(np.maximum(1, degree.sum() * share / np.maximum(degree, 1e-9)))
    found = surprise(edges)
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-4, atol=1e-5)
    assert (found.data > 0).all()


def test_walk_factors__are_those_of_the_svd() -> None:
    edges = random_edges()
    left, values, _ = np.linalg.svd(surprise(edges).toarray().astype(np.float64))
    wanted = left[:, :6] * values[:6]
    found = walk_factors(edges, 6).astype(np.float64)
    assert found.shape == (40, 6)
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=0.5)
    np.testing.assert_allclose((found**2).sum(axis=0), values[:6] ** 2, rtol=0.01)


def test_walk_factors__take_more_walks_and_steps_on_demand() -> None:
    edges = random_edges()
    default = walk_factors(edges, 6)
    named = walk_factors(edges, 6, walk_length=10, walks_per_node=40)
    assert np.array_equal(default, named)
    assert not np.allclose(default, walk_factors(edges, 6, walk_length=3), atol=0.05)
    assert not np.allclose(default, walk_factors(edges, 6, walks_per_node=9), atol=0.05)


def test_walk_factors__heavier_edges_bring_nodes_nearer() -> None:
    """A ring of ten nodes in which every second edge is heavy."""
    node = np.arange(10)
    weight = np.where(node % 2, 0.1, 5.0)
    ring = sp.csr_matrix((weight, (node, (node + 1) % 10)), shape=(10, 10))
    rows = walk_factors(ring, 8)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = (rows * np.roll(rows, -1, axis=0)).sum(axis=1)
    assert near[::2].min() > near[1::2].max() + 0.3


def test_walk_factors__take_directed_edges_both_ways() -> None:
    both = random_edges()
    upper, lower = sp.triu(both).tocsr(), sp.tril(both).tocsr()
    wanted = walk_factors(both, 6)
    assert np.array_equal(walk_factors(upper, 6), wanted)
    assert np.array_equal(walk_factors(lower, 6), wanted)
    # Of two weights the larger counts.
    assert np.array_equal(walk_factors(upper + 0.5 * lower, 6), wanted)
    assert not np.array_equal(walk_factors(upper + lower.power(0.5), 6), wanted)


def test_walk_factors__sum_parallel_edges() -> None:
    both = random_edges()
    halves = sp.csr_matrix(
        (np.repeat(both.data / 2, 2), np.repeat(both.indices, 2), 2 * both.indptr),
        shape=both.shape,
    )
    assert halves.nnz == 2 * both.nnz
    assert np.array_equal(walk_factors(halves, 6), walk_factors(both, 6))


def test_walk_factors__leave_out_self_loops() -> None:
    edges = random_edges()
    loops = sp.diags(np.arange(1.0, 41.0)).tocsr()
    assert np.array_equal(walk_factors(edges + loops, 6), walk_factors(edges, 6))
    assert not walk_factors(loops, 6).any()


@pytest.mark.parametrize("weight", [0.0, -1.0, -1e-9])
def test_walks__never_take_edges_without_weight(weight: float) -> None:
    """Such edges join two cliques, and a node to the others."""
    edges = sp.block_diag([cliques(5), np.zeros((1, 1))]).toarray()
    useless = edges.copy()
    for one, other in [(0, 5), (5, 0), (2, 7), (10, 3), (4, 10), (10, 4)]:
        useless[one, other] = weight
    # Zeros are held like any other weight.
    row, col = (edges + (useless != edges) + (weight == 0)).nonzero()
    held = sp.csr_matrix((useless[row, col], (row, col)), shape=edges.shape)
    assert held.nnz > np.count_nonzero(edges)
    found = count_meetings(held, 5, 100)
    assert not found[:5, 5:].any()
    assert not found[5:, :5].any()
    assert not found[10].any()
    assert not found[:, 10].any()
    assert np.array_equal(walk_factors(held, 4), walk_factors(sp.csr_matrix(edges), 4))


@pytest.mark.parametrize(("size", "isolated", "columns"), [(6, 3, 8), (15, 200, 100)])
def test_walk_factors__of_isolated_nodes_are_zeros(
    size: int, isolated: int, columns: int
) -> None:
    """Also where there are more columns than the graph needs."""
    edges = sp.block_diag([cliques(size), np.zeros((isolated, isolated))]).tocsr()
    rows = walk_factors(edges, columns)
    assert np.isfinite(rows).all()
    assert (np.linalg.norm(rows[: 2 * size], axis=1) > 0.1).all()
    assert not rows[2 * size :].any()


@pytest.mark.parametrize("columns", [0, 3])
def test_walk_factors__without_edges_are_zeros(columns: int) -> None:
    rows = walk_factors(sp.csr_matrix((5, 5)), columns)
    assert rows.shape == (5, columns)
    assert rows.dtype == np.float32
    assert not rows.any()
    assert walk_factors(random_edges(), 0).shape == (40, 0)


def test_walk_factors__same_edges_same_bits() -> None:
    edges = random_edges()
    held = edges.copy()
    one = walk_factors(edges, 6)
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    assert np.array_equal(walk_factors(random_edges(), 6), one)
    assert not np.array_equal(walk_factors(random_edges(seed=1), 6), one)
    # The edges are not changed.
    assert (held != edges).nnz == 0


def test_matrix__is_sparse() -> None:
    """In a complete graph all pairs may meet, but walks are too short for that."""
    complete = sp.csr_matrix(np.ones((300, 300)))
    matrix = walks._surprise(walks.undirected(complete), 4, 6)
    assert sp.issparse(matrix)
    assert matrix.shape == (300, 300)
    per_row = np.diff(matrix.indptr)
    assert 10 < per_row.max() <= 4 * 6
    assert matrix.dtype == np.float32
