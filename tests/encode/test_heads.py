import pytest
import torch
import torch.nn.functional as F

from dsgrl.encode.heads import ShortcutMLP


@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_shortcut__is_added_to_three_activated_layers(activation: str) -> None:
    head = ShortcutMLP(5, 4, activation)  # type: ignore[arg-type]
    slope = 0.25 if activation == "prelu" else 0.0
    h = x = torch.randn(7, 5)
    for number in (0, 2, 4):
        h = F.leaky_relu(head.layers[number](h), slope)
    expected = h + x @ head.shortcut.weight.t() + head.shortcut.bias
    torch.testing.assert_close(head(x), expected)
    head(x).sum().backward()
    assert all(p.grad is not None for p in head.parameters())
