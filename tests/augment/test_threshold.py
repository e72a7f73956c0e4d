"""Ties with the mean of a row are not above it, whatever the rounding."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.augment import FixedTopology, TopologyAugmenter
from dsgrl.augment.above_mean import AboveMean
from dsgrl.augment.nearest import best_of
from dsgrl.augment.similar import _keep_above, most_similar
from dsgrl.graph import as_graph
from samples import make_graphs, pairs_of

Find = Callable[[Tensor], Tensor]
CONSTANTS = (1e-20, 1e-4, 0.3, 1.0, 7.7, 1e3, 1e10)
constants = pytest.mark.parametrize("constant", CONSTANTS)
types = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def clique(num_nodes: int, row: Tensor) -> Data:
    edges = torch.ones(num_nodes, num_nodes).fill_diagonal_(0).nonzero().t()
    return Data(x=row.expand(num_nodes, -1).clone(), edge_index=edges)


def exact_pairs(h: Tensor) -> Tensor:
    return most_similar(h, len(h))


def candidate_pairs(h: Tensor) -> Tensor:
    everyone = torch.arange(len(h)).expand(len(h), -1)
    return _keep_above(h, best_of(h, everyone, len(h)))


def streamed_pairs(h: Tensor) -> Tensor:
    return AboveMean(h).materialize().edge_index


paths = pytest.mark.parametrize("find", [exact_pairs, candidate_pairs, streamed_pairs])


@paths
@types
@constants
def test_equal_rows__have_no_pairs_at_any_size(
    find: Find, constant: float, dtype: torch.dtype
) -> None:
    for size in range(2, 41):
        for width in (1, 3, 64, 300, 1500):
            row = constant * torch.randn(width, dtype=dtype)
            h = row.expand(size, -1).clone()
            assert find(h).size(1) == 0, (size, width)


@paths
@types
@pytest.mark.parametrize("constant", CONSTANTS[1:])
def test_two_kinds_of_rows__pair_their_own_kind_at_any_size(
    find: Find, constant: float, dtype: torch.dtype
) -> None:
    """Ties inside a kind do not hide what is above the mean."""
    for size in range(2, 21):
        kinds = constant * torch.eye(2, 5, dtype=dtype)
        h = kinds.repeat_interleave(size, dim=0)
        kind = torch.arange(2 * size) // size
        same = kind[:, None] == kind
        expected = pairs_of(same.nonzero().t())
        assert pairs_of(find(h)) == expected


@pytest.mark.parametrize("similarity", ["cosine", "inner"])
@pytest.mark.parametrize("edges_per_node", [3, 16, None])
@constants
def test_topology__of_a_clique_has_no_edges_at_any_size(
    similarity: str, edges_per_node: int | None, constant: float
) -> None:
    learner = TopologyAugmenter(
        4,
        8,
        similarity=similarity,  # type: ignore[arg-type]
        edges_per_node=edges_per_node,
    ).eval()
    graphs = [clique(size, constant * torch.randn(4)) for size in range(2, 41)]
    assert learner(as_graph(graphs)).materialize().num_edges == 0


def test_topology__node_of_a_clique_is_alone_with_its_self_loop() -> None:
    learned = TopologyAugmenter(4, 8)(as_graph(clique(9, torch.randn(4))))
    torch.testing.assert_close(learned.normalized("gcn").to_dense(), torch.eye(9))


def test_control__equal_features_are_not_similar_above_the_mean() -> None:
    for size in range(2, 41):
        graph = as_graph(clique(size, torch.randn(4)))
        for kind in ("knn_x", "knn_ax"):
            made = FixedTopology(kind, edges_per_node=5)(graph)  # type: ignore[arg-type]
            assert made.num_edges == 0


@paths
@types
def test_ordinary_rows__same_pairs_as_without_tolerance(
    find: Find, dtype: torch.dtype
) -> None:
    for size in (2, 7, 40, 150):
        h = torch.randn(size, 6, dtype=dtype)
        similarity = h @ h.t()
        above = similarity > similarity.mean(dim=1, keepdim=True)
        expected = pairs_of(above.nonzero().flip(1).t())
        assert pairs_of(find(h)) == expected


@paths
def test_close_rows__are_distinguished_down_to_rounding(find: Find) -> None:
    """A difference of a thousandth of the rows decides as without tolerance."""
    h = 1.0 + 1e-3 * torch.randn(30, 6)
    exact = h.double() @ h.double().t()
    above = exact > exact.mean(dim=1, keepdim=True)
    assert pairs_of(find(h)) == pairs_of(above.nonzero().flip(1).t())


@paths
def test_lengths__a_long_row_does_not_blur_the_others(find: Find) -> None:
    """The tolerance of a pair depends on its two rows, not on the longest one."""
    h = torch.randn(30, 6)
    h[:, 0] = 0.0
    h[0] = torch.tensor([1e8, 0, 0, 0, 0, 0])
    exact = h.double() @ h.double().t()
    above = (exact > exact.mean(dim=1, keepdim=True)) & (exact > 0)
    found = {(a, b) for a, b in pairs_of(find(h)) if exact[b, a] > 0}
    assert found == pairs_of(above.nonzero().flip(1).t())


def test_graphs__of_every_kind_at_once_do_not_touch_each_other() -> None:
    graphs = make_graphs((9, 5))
    mixed = as_graph([clique(10, torch.randn(4)), *graphs, clique(11, torch.randn(4))])
    learner = TopologyAugmenter(4, 8).eval()
    blocks = learner(mixed).diagonal_blocks(mixed.bounds)
    assert [block.num_edges > 0 for block in blocks] == [False, True, True, False]
