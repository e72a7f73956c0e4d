import pytest
import torch

from dsgrl.augment import FeatureAugmenter
from dsgrl.graph import Adjacency


def test_augmenter__views_differ_from_the_start() -> None:
    x1, x2 = FeatureAugmenter(7, 5)(torch.randn(20, 7)).unbind(1)
    assert not torch.allclose(x1, x2)


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("hidden", [None, 9])
def test_augmenter__each_view_is_its_own_network(
    num_layers: int, hidden: int | None
) -> None:
    augmenter = FeatureAugmenter(7, 5, num_layers=num_layers, hidden_channels=hidden)
    for bias in augmenter.biases:
        torch.nn.init.normal_(bias)
    x = torch.randn(20, 7)
    views = augmenter(x)
    assert views.shape == (20, 2, 5)
    for v in range(2):
        h = x
        for weight, bias in zip(augmenter.weights, augmenter.biases, strict=True):
            h = torch.relu(h @ weight[:, v] + bias[v])
        torch.testing.assert_close(views[:, v], h)


@pytest.mark.parametrize("num_layers", [1, 3])
def test_augmenter__gradients_reach_every_parameter_of_both_views(
    num_layers: int,
) -> None:
    augmenter = FeatureAugmenter(7, 6, num_layers=num_layers, dropout=0.2)
    views = augmenter(torch.randn(50, 7))
    (views * torch.randn(views.shape)).sum().backward()
    for parameter in augmenter.parameters():
        per_view = parameter.grad.movedim(-2, 0)
        assert per_view[0].any()
        assert per_view[1].any()


def test_augmenter__sparse_and_dense_features_agree() -> None:
    augmenter = FeatureAugmenter(30, 5, num_layers=2)
    x = (torch.rand(20, 30) < 0.1).float()
    torch.testing.assert_close(augmenter(x), augmenter(Adjacency.from_dense(x)))


def test_augmenter__stacked_weights_are_one_above_the_other() -> None:
    augmenter = FeatureAugmenter(7, 5, num_layers=2)
    first, second = augmenter.stacked_weights()
    assert first.shape == (10, 7)
    assert second.shape == (10, 5)
    torch.testing.assert_close(first[:5], augmenter.weights[0][:, 0].t())
    torch.testing.assert_close(first[5:], augmenter.weights[0][:, 1].t())


def test_augmenter__dropout_only_while_training_and_input_untouched() -> None:
    augmenter = FeatureAugmenter(7, 50, dropout=0.5)
    x = torch.randn(20, 7)
    before = x.clone()
    assert not torch.equal(augmenter(x), augmenter(x))
    augmenter.eval()
    assert torch.equal(augmenter(x), augmenter(x))
    assert torch.equal(x, before)


def hidden_columns(augmenter: FeatureAugmenter, columns: int) -> torch.Tensor:
    """Tell which columns each view does not see [V, F]: row i has only column i."""
    for weight in augmenter.weights:
        torch.nn.init.uniform_(weight, 0.1, 1.0)
    return augmenter(torch.eye(columns)).eq(0).all(dim=2).t()


def test_augmenter__each_view_has_a_mask_of_its_own() -> None:
    augmenter = FeatureAugmenter(4000, 3, mask=0.3)
    one, two = hidden_columns(augmenter, 4000)
    for hidden in (one, two):
        assert hidden.double().mean().item() == pytest.approx(0.3, abs=0.03)
    # Hidden from both as often as chance has it.
    assert (one & two).double().mean().item() == pytest.approx(0.09, abs=0.02)
    assert not torch.equal(hidden_columns(augmenter, 4000)[0], one)
    assert not hidden_columns(augmenter.eval(), 4000).any()
