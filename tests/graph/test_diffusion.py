"""Diffusion: the closed forms, and what is kept of them."""

from typing import Any

import pytest
import torch
from torch import Tensor

from dsgrl.graph import Adjacency, as_graph, diffusion
from dsgrl.graph.diffusion import diffuse
from samples import make_graph, make_graphs

KINDS = [("ppr", 0.2), ("ppr", 0.05), ("heat", 5.0), ("heat", 0.5)]
every_kind = pytest.mark.parametrize(("kind", "strength"), KINDS)


def sample(size: int = 40) -> Adjacency:
    graph = make_graph(size, torch.Generator().manual_seed(2))
    weight = torch.rand(graph.num_edges) + 0.5
    return Adjacency.from_edge_index(graph.edge_index, weight, num_nodes=size)


def closed_form(adjacency: Adjacency, kind: str, strength: float) -> Tensor:
    a = adjacency.to_dense().double()
    a = torch.maximum(a, a.t())
    a = a + torch.diag((a.diagonal() == 0).double())
    degree, eye = a.sum(1), torch.eye(len(a), dtype=torch.double)
    if kind == "heat":
        return torch.matrix_exp(strength * (a / degree - eye))
    half = degree.rsqrt()
    return strength * torch.inverse(eye - (1 - strength) * half[:, None] * a * half)


def whole(adjacency: Adjacency, kind: Any, strength: float, count: int = 999) -> Tensor:
    bounds = [0, adjacency.shape[0]]
    found = diffuse(
        adjacency, bounds, kind=kind, strength=strength, edges_per_node=count
    )
    return found.to_dense()


@every_kind
@pytest.mark.parametrize("elements", [1 << 21, 7 * 40, 1])
def test_all_entries__are_the_closed_form(
    kind: str, strength: float, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of rows that are computed at a time."""
    monkeypatch.setattr(diffusion, "BLOCK_ELEMENTS", elements)
    adjacency = sample()
    expected = closed_form(adjacency, kind, strength)
    found = whole(adjacency, kind, strength)
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=5e-5)


@every_kind
def test_some_entries__are_the_largest_and_rows_keep_their_sum(
    kind: str, strength: float
) -> None:
    adjacency = sample()
    expected = closed_form(adjacency, kind, strength).float()
    found = whole(adjacency, kind, strength, count=6)
    assert (found >= 0).all()
    assert ((found > 0).sum(1) == 6).all()
    torch.testing.assert_close(found.sum(1), expected.sum(1), rtol=1e-3, atol=1e-5)
    for row, wanted in zip(found, expected, strict=True):
        kept = row > 0
        assert wanted[kept].min() >= wanted[~kept].max()
        share = row[kept] / wanted[kept]
        torch.testing.assert_close(share, share[:1].expand_as(share), rtol=1e-3, atol=0)


def test_permutation__permutes_rows_and_columns() -> None:
    adjacency = sample()
    order = torch.randperm(40)
    place = order.argsort()
    moved = Adjacency.from_edge_index(
        place[adjacency.edge_index], adjacency.value, num_nodes=40
    )
    one, other = whole(adjacency, "ppr", 0.2, 6), whole(moved, "ppr", 0.2, 6)
    torch.testing.assert_close(other, one[order][:, order])


@every_kind
def test_many_graphs__each_by_itself(kind: Any, strength: float) -> None:
    graph = as_graph(make_graphs())
    found = diffuse(
        graph.adjacency, graph.bounds, kind=kind, strength=strength, edges_per_node=4
    )
    blocks = graph.adjacency.diagonal_blocks(graph.bounds)
    alone = torch.block_diag(*(whole(block, kind, strength, 4) for block in blocks))
    torch.testing.assert_close(found.to_dense(), alone)


def test_unconnected_nodes__are_not_joined() -> None:
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    adjacency = Adjacency.from_edge_index(edge_index, num_nodes=5)
    found = whole(adjacency, "ppr", 0.2)
    assert (found[:3, :3] > 0).all()
    torch.testing.assert_close(found[3:, 3:], torch.eye(2), rtol=0, atol=1e-4)
    assert not found[:3, 3:].any()
    assert not found[3:, :3].any()


def test_directions__have_no_part() -> None:
    edge_index = torch.tensor([[0, 1, 2, 2], [1, 2, 3, 0]])
    one = Adjacency.from_edge_index(edge_index, num_nodes=4)
    both = Adjacency.from_edge_index(
        torch.cat([edge_index, edge_index.flip(0)], 1), num_nodes=4
    )
    torch.testing.assert_close(whole(one, "heat", 5.0), whole(both, "heat", 5.0))


def test_memory__does_not_grow_with_the_square_of_the_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No block has more elements than allowed, and the result few per node."""
    largest = 0
    plain = diffusion.propagate

    def spy(matrix: Adjacency, h: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, h.numel())
        return plain(matrix, h)

    monkeypatch.setattr(diffusion, "propagate", spy)
    monkeypatch.setattr(diffusion, "BLOCK_ELEMENTS", 1 << 14)
    adjacency = sample(2000)
    found = diffuse(adjacency, [0, 2000], kind="ppr", strength=0.2, edges_per_node=8)
    assert largest <= 1 << 14
    assert found.num_edges == 8 * 2000
