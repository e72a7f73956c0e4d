import pytest
import torch
import torch.nn.functional as F

from dsgrl.encode.dense import activate, linear
from dsgrl.graph import Adjacency


@pytest.mark.parametrize("block", [8, 1 << 19])
@pytest.mark.parametrize("shape", [(50, 7), (50, 2, 7)])
def test_activate__equals_relu_of_sum(
    shape: tuple[int, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.encode.dense.CACHED_ELEMENTS", block)
    x = torch.randn(*shape[:-1], 5)
    weight = torch.randn(5, 7, requires_grad=True)
    bias = torch.randn(7, requires_grad=True)
    target = torch.randn(shape)
    ours = activate(x @ weight, bias)
    expected = F.relu(x @ weight + bias)
    torch.testing.assert_close(ours, expected)
    found = torch.autograd.grad((ours * target).sum(), (weight, bias))
    wanted = torch.autograd.grad((expected * target).sum(), (weight, bias))
    torch.testing.assert_close(found, wanted)


def test_activate__dropout_keeps_mean_and_gradient_follows_mask() -> None:
    h = torch.ones(400, 500, requires_grad=True)
    dropped = activate(h * 1.0, dropout=0.3)
    kept = dropped.detach() > 0
    assert abs(kept.float().mean().item() - 0.7) < 0.01
    # 77 of 256: the quantised share, whose inverse scales what is kept.
    torch.testing.assert_close(
        dropped[kept], torch.full_like(dropped[kept], 256 / (256 - 77))
    )
    assert abs(dropped.mean().item() - 1) < 0.01
    values = dropped.detach().clone()
    dropped.sum().backward()
    torch.testing.assert_close(h.grad, values)


def test_activate__same_seed_same_mask_other_seed_other_mask() -> None:
    def draw(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return activate(torch.ones(30, 30), dropout=0.5)

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_activate__bytes_are_uniform() -> None:
    """Every byte of a 64-bit draw is used: none may be stuck or skewed."""
    kept = activate(torch.ones(2000, 8), dropout=0.5).bool().float().mean(0)
    assert ((kept - 0.5).abs() < 0.06).all()


def test_activate__second_backward_is_refused_not_wrong() -> None:
    weight = torch.randn(3, 4, requires_grad=True)
    loss = activate(torch.randn(5, 3) @ weight).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()


def test_linear__sparse_equals_dense() -> None:
    x = (torch.rand(9, 30) < 0.1).float()
    weight = torch.randn(30, 4)
    torch.testing.assert_close(
        linear(Adjacency.from_dense(x), weight), linear(x, weight)
    )
