import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from dsgrl.encode import Readout
from dsgrl.graph import as_graph
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
    kind: str, sizes: list[int], views: tuple[int, ...], seed: int
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


@pytest.mark.parametrize("kind", [*POOLS, "log_sum", "max+log_sum"])
def test_readout__order_of_nodes_does_not_matter(kind: str) -> None:
    z, ptr = torch.randn(9, 2, 3), torch.tensor([0, 4, 9])
    order = torch.cat([torch.randperm(4), 4 + torch.randperm(5)])
    torch.testing.assert_close(Readout(kind)(z[order], ptr), Readout(kind)(z, ptr))


@kinds
def test_readout__takes_the_pointer_of_a_graph(kind: str) -> None:
    graph = as_graph(make_graphs((4, 5, 3)))
    pooled = Readout(kind)(graph.x, graph.ptr)
    reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[kind]
    expected = torch.stack([reduce(g.x, 0) for g in make_graphs((4, 5, 3))])
    torch.testing.assert_close(pooled, expected)


def test_readout__the_logarithm_of_a_sum_keeps_sign_and_order() -> None:
    z = torch.tensor([[3.0, -3.0], [4.0, -4.0], [0.5, 0.0]], requires_grad=True)
    ptr = torch.tensor([0, 2, 3, 3])
    pooled = Readout("log_sum")(z, ptr)
    total = Readout("sum")(z, ptr)
    torch.testing.assert_close(pooled.sign() * pooled.abs().expm1(), total)
    (gradient,) = torch.autograd.grad(pooled.sum(), z)
    torch.testing.assert_close(gradient[:, 0], 1 / (1 + total[[0, 0, 1], 0]))


@pytest.mark.parametrize("views", [(), (2,)])
def test_readout__several_kinds_stand_side_by_side(views: tuple[int, ...]) -> None:
    z, ptr = torch.randn(9, *views, 3), torch.tensor([0, 4, 9])
    found = Readout("max+log_sum+mean")(z, ptr).split(3, dim=-1)
    for part, kind in zip(found, ("max", "log_sum", "mean"), strict=True):
        torch.testing.assert_close(part, Readout(kind)(z, ptr))
