import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from dsgrl.encode import Readout
from dsgrl.graph import as_graph
from dsgrl.typing import ReadoutName
from samples import make_graphs

POOLS = {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}
kinds = pytest.mark.parametrize("kind", POOLS)


@kinds
@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=7).filter(any),
    views=st.sampled_from([(), (2,)]),
    seed=st.integers(0, 99),
)
def test_readout__equals_pyg_values_and_gradients(
    kind: ReadoutName, sizes: list[int], views: tuple[int, ...], seed: int
) -> None:
    """Graphs without nodes are zeros, as in PyG."""
    generator = torch.Generator().manual_seed(seed)
    counts = torch.tensor(sizes)
    z = torch.randn(sum(sizes), *views, 3, generator=generator, requires_grad=True)
    ptr = torch.nn.functional.pad(counts.cumsum(0), (1, 0))
    batch = torch.arange(len(sizes)).repeat_interleave(counts)
    ours = Readout(kind)(z, ptr)
    theirs = POOLS[kind](z.flatten(1), batch, len(sizes)).view(ours.shape)
    torch.testing.assert_close(ours, theirs)
    target = torch.randn(ours.shape, generator=generator)
    (found,) = torch.autograd.grad((ours * target).sum(), z)
    (wanted,) = torch.autograd.grad((theirs * target).sum(), z)
    torch.testing.assert_close(found, wanted)


@kinds
def test_readout__order_of_nodes_does_not_matter(kind: ReadoutName) -> None:
    z, ptr = torch.randn(9, 2, 3), torch.tensor([0, 4, 9])
    order = torch.cat([torch.randperm(4), 4 + torch.randperm(5)])
    torch.testing.assert_close(Readout(kind)(z[order], ptr), Readout(kind)(z, ptr))


@kinds
def test_readout__takes_the_pointer_of_a_graph(kind: ReadoutName) -> None:
    graph = as_graph(make_graphs((4, 5, 3)))
    pooled = Readout(kind)(graph.x, graph.ptr)
    reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[kind]
    expected = torch.stack([reduce(g.x, 0) for g in make_graphs((4, 5, 3))])
    torch.testing.assert_close(pooled, expected)
