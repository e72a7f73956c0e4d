"""Random walks: every step is an edge, and as likely as it should be."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare

from dsgrl.graph.sampled_walks import (
    MISSING,
    NeighborSampler,
    guided_walks,
    second_order_walks,
    undirected,
)

# A triangle with a tail, and a node without neighbours.
EDGES = [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 2.0), (2, 3, 1.0), (3, 4, 1.0)]
ISOLATED = 5


def weights(is_weighted: bool = True) -> Any:
    matrix = np.zeros((6, 6))
    for one, other, weight in EDGES:
        matrix[one, other] = matrix[other, one] = weight if is_weighted else 1.0
    return matrix


def sampler_of(matrix: Any) -> NeighborSampler:
    return NeighborSampler(undirected(sp.csr_matrix(matrix)))


def walk(num_walks: int, length: int, p: float, q: float, seed: int = 0) -> Any:
    """Walk from every node of the graph that has neighbours."""
    starts = np.repeat(np.arange(5), num_walks)
    generator = np.random.default_rng(seed)
    return second_order_walks(
        sampler_of(weights()), starts, length, generator, p=p, q=q
    )


def assert_frequencies(counts: Any, chances: Any) -> None:
    """Compare each row with its exact chances."""
    for found, chance in zip(counts, chances, strict=True):
        possible = chance > 0
        assert (found[~possible] == 0).all()
        if possible.sum() > 1 and found.sum():
            expected = chance[possible] * found.sum()
            assert chisquare(found[possible], expected).pvalue > 1e-3


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25)])
def test_walks__every_step_is_an_edge(p: float, q: float) -> None:
    walks = walk(50, 20, p, q)
    assert walks.shape == (250, 21)
    assert (weights()[walks[:, :-1], walks[:, 1:]] > 0).all()
    np.testing.assert_array_equal(walks[:, 0], np.repeat(np.arange(5), 50))


@pytest.mark.parametrize("is_weighted", [True, False])
def test_first_order__steps_are_as_likely_as_their_weights(is_weighted: bool) -> None:
    matrix = weights(is_weighted)
    starts = np.repeat(np.arange(5), 2_000)
    generator = np.random.default_rng(0)
    walks = guided_walks([sampler_of(matrix)], starts, 4, generator)
    counts = np.zeros((6, 6))
    np.add.at(counts, (walks[:, :-1].ravel(), walks[:, 1:].ravel()), 1)
    total = np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    assert_frequencies(counts, matrix / total)


@pytest.mark.parametrize(("p", "q"), [(0.5, 2.0), (2.0, 0.5), (4.0, 4.0), (1.0, 3.0)])
def test_second_order__steps_have_the_probabilities_of_the_paper(
    p: float, q: float
) -> None:
    """Against the formula, for every pair of a node and the one before."""
    matrix = weights()
    walks = walk(4_000, 3, p, q)
    for before in range(5):
        for here in np.flatnonzero(matrix[before]):
            near = matrix[before] > 0
            bias = np.where(near, 1.0, 1 / q)
            bias[before] = 1 / p
            chance = matrix[here] * bias
            counts = np.zeros(6)
            for step in (1, 2):
                at = (walks[:, step - 1] == before) & (walks[:, step] == here)
                np.add.at(counts, walks[at, step + 1], 1)
            assert counts.sum() > 200
            assert_frequencies(counts[None], chance[None] / chance.sum())


def test_second_order__p_and_q_have_the_effect_they_are_for() -> None:
    def share_of_returns(p: float, q: float) -> float:
        walks = walk(500, 20, p, q)
        return float((walks[:, 2:] == walks[:, :-2]).mean())

    def visited(p: float, q: float) -> float:
        ring = sp.csr_matrix(
            sum(np.roll(np.eye(60), k, axis=1) for k in (-2, -1, 1, 2))
        )
        generator = np.random.default_rng(0)
        walks = second_order_walks(
            NeighborSampler(ring), np.arange(60), 30, generator, p=p, q=q
        )
        return float(np.mean([len(np.unique(row)) for row in walks]))

    assert share_of_returns(0.1, 1) > share_of_returns(1, 1) + 0.1
    assert share_of_returns(10, 1) < share_of_returns(1, 1) - 0.1
    assert visited(1, 0.2) > visited(1, 1) + 1 > visited(1, 5) + 2


def test_walks__same_seed_same_walks() -> None:
    for p in (1.0, 2.0):
        np.testing.assert_array_equal(walk(9, 7, p, 1, seed=3), walk(9, 7, p, 1, 3))
        assert (walk(9, 7, p, 1, seed=3) != walk(9, 7, p, 1, seed=4)).any()


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (2.0, 0.5)])
def test_walks__end_at_a_node_without_neighbours(p: float, q: float) -> None:
    starts = np.array([ISOLATED, 4, ISOLATED])
    sampler, generator = sampler_of(weights()), np.random.default_rng(0)
    walks = second_order_walks(sampler, starts, 5, generator, p=p, q=q)
    np.testing.assert_array_equal(walks[0], [ISOLATED] + [MISSING] * 5)
    np.testing.assert_array_equal(walks[2], walks[0])
    assert (walks[1] != MISSING).all()
    empty = NeighborSampler(sp.csr_matrix((6, 6)))
    walks = second_order_walks(empty, starts, 5, generator, p=p, q=q)
    assert (walks[:, 1:] == MISSING).all()


@pytest.mark.parametrize("length", [0, 1])
def test_walks__may_be_as_short_as_their_start(length: int) -> None:
    assert walk(1, length, 2.0, 2.0).shape == (5, 1 + length)


def test_guided_walks__take_the_edges_of_each_step_in_turn() -> None:
    """Clockwise, then anticlockwise: every second node is the start."""
    around = [sp.csr_matrix(np.roll(np.eye(7), k, axis=1)) for k in (1, 2)]
    samplers = [NeighborSampler(matrix) for matrix in around]
    walks = guided_walks(samplers, np.arange(7), 5, np.random.default_rng(0))
    np.testing.assert_array_equal(
        (walks - walks[:, :1]) % 7, np.tile([0, 1, 3, 4, 6, 0], (7, 1))
    )


def test_undirected__drops_loops_and_weights_that_are_not_above_zero() -> None:
    matrix = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    found = undirected(sp.csr_matrix(matrix))
    np.testing.assert_array_equal(found.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert found.nnz == 2
