"""Centralities: equal to dense linear algebra, on awkward graphs too."""

import pytest
import torch
from torch import Tensor

from dsgrl.graph import Adjacency
from dsgrl.graph.centrality import DAMPING, KINDS, centrality


def adjacency_of(matrix: Tensor) -> Adjacency:
    """Take entry (i, j) for an edge from j to i, as the rows of an `Adjacency`."""
    row, col = matrix.nonzero(as_tuple=True)
    return Adjacency.from_edge_index(
        torch.stack([col, row]), matrix[row, col], num_nodes=len(matrix)
    )


def random_matrix(directed: bool) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    matrix = (torch.rand(30, 30, generator=generator) < 0.15).float()
    matrix *= 1 + torch.rand(30, 30, generator=generator)
    matrix = matrix if directed else torch.maximum(matrix, matrix.t())
    matrix.fill_diagonal_(0)
    # A node that leads nowhere, and one without any edge.
    matrix[:, 3] = 0
    matrix[:, 7] = matrix[7] = 0
    return matrix if directed else torch.minimum(matrix, matrix.t())


@pytest.mark.parametrize("directed", [False, True])
def test_pagerank__is_where_the_surfer_ends(directed: bool) -> None:
    matrix = random_matrix(directed).double()
    leaving = matrix.sum(dim=0)
    moves = torch.where(leaving > 0, matrix / leaving.clamp_min(1e-9), 1 / 30)
    moves = DAMPING * moves + (1 - DAMPING) / 30
    share = torch.linalg.matrix_power(moves, 200)[:, 0]
    found = centrality(adjacency_of(matrix.float()), "pagerank")
    torch.testing.assert_close(found, (30 * share).float(), rtol=1e-4, atol=1e-5)
    assert found.mean() == pytest.approx(1.0, abs=1e-5)


def test_eigenvector__is_the_leading_one() -> None:
    matrix = random_matrix(directed=False)
    expected = torch.linalg.eigh(matrix.double())[1][:, -1].abs().float()
    found = centrality(adjacency_of(matrix), "eigenvector")
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_eigenvector__of_a_star_does_not_oscillate() -> None:
    star = torch.zeros(5, 5)
    star[0, 1:] = star[1:, 0] = 1
    found = centrality(adjacency_of(star), "eigenvector")
    expected = torch.tensor([0.5**0.5, *[0.125**0.5] * 4])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_degree__is_the_sum_of_a_row() -> None:
    matrix = random_matrix(directed=True)
    torch.testing.assert_close(
        centrality(adjacency_of(matrix), "degree"), matrix.sum(dim=1)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_centrality__of_no_edges_is_the_same_for_all(kind: str) -> None:
    found = centrality(adjacency_of(torch.zeros(4, 4)), kind)  # type: ignore[arg-type]
    assert found.isfinite().all()
    assert found.unique().numel() == 1
