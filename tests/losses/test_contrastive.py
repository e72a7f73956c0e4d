"""Losses of the baselines: formulas, gradients, and pairs that are never all kept."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.losses import contrastive
from dsgrl.losses.contrastive import (
    bootstrap_cosine,
    contrast_with_graphs,
    discriminate,
    info_nce,
    jensen_shannon,
)

every_form = pytest.mark.parametrize(
    ("within", "keep_positive"), [(True, True), (False, True), (False, False)]
)


def views(rows: int = 23, width: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z1 = torch.randn(rows, width, generator=generator)
    z2 = z1 + 0.7 * torch.randn(rows, width, generator=generator)
    return z1.requires_grad_(), z2.requires_grad_()


def dense(
    z1: Tensor, z2: Tensor, temperature: float, within: bool, keep_positive: bool
) -> Tensor:
    """Write the formula down again, with every pair at once, in float64."""
    total = torch.zeros((), dtype=torch.float64)
    for anchors, others in ((z1, z2), (z2, z1)):
        a, b = anchors.double(), others.double()
        cross = F.cosine_similarity(a[:, None], b[None], dim=2) / temperature
        same = F.cosine_similarity(a[:, None], a[None], dim=2) / temperature
        for i in range(len(a)):
            rest = [j for j in range(len(a)) if j != i]
            terms = [cross[i, rest]]
            if keep_positive:
                terms.append(cross[i, i, None])
            if within:
                terms.append(same[i, rest])
            total = total + torch.logsumexp(torch.cat(terms), 0) - cross[i, i]
    return total / (2 * len(z1))


def value_and_gradients(loss: Any, *inputs: Tensor) -> list[Tensor]:
    value = loss(*inputs)
    return [value, *torch.autograd.grad(value, inputs)]


@every_form
@pytest.mark.parametrize("temperature", [0.05, 0.4, 2.0])
def test_info_nce__equals_the_dense_formula(
    temperature: float, within: bool, keep_positive: bool
) -> None:
    z1, z2 = views()
    found = value_and_gradients(
        lambda a, b: (
            3
            * info_nce(
                a, b, temperature, within=within, keep_positive=keep_positive, tile=7
            )
        ),
        z1,
        z2,
    )
    expected = value_and_gradients(
        lambda a, b: 3 * dense(a, b, temperature, within, keep_positive), z1, z2
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other.float(), rtol=1e-5, atol=1e-5)


@every_form
def test_info_nce__the_tile_changes_nothing(within: bool, keep_positive: bool) -> None:
    z1, z2 = views()
    results = [
        value_and_gradients(
            lambda a, b, tile=tile: info_nce(
                a, b, 0.3, within=within, keep_positive=keep_positive, tile=tile
            ),
            z1,
            z2,
        )
        for tile in (1, 5, 22, 23, 100)
    ]
    for found in results[1:]:
        for one, other in zip(found, results[0], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@every_form
def test_info_nce__is_symmetric_and_has_no_order(
    within: bool, keep_positive: bool
) -> None:
    z1, z2 = views()
    order = torch.randperm(23, generator=torch.Generator().manual_seed(1))
    options = {"within": within, "keep_positive": keep_positive, "tile": 8}
    loss = info_nce(z1, z2, 0.3, **options)
    torch.testing.assert_close(info_nce(z2, z1, 0.3, **options), loss)
    torch.testing.assert_close(info_nce(z1[order], z2[order], 0.3, **options), loss)
    # Lengths are not compared; which row is paired with which is.
    torch.testing.assert_close(info_nce(9 * z1, z2 / 9, 0.3, **options), loss)
    assert info_nce(z1, z2[order], 0.3, **options) > loss + 0.1


@every_form
@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e8])
def test_info_nce__is_finite_where_rows_are_all_the_same(
    value: float, rows: int, within: bool, keep_positive: bool
) -> None:
    z = [torch.full((rows, 3), value, requires_grad=True) for _ in range(2)]
    results = value_and_gradients(
        lambda a, b: info_nce(
            a, b, 0.05, within=within, keep_positive=keep_positive, tile=4
        ),
        *z,
    )
    assert all(result.isfinite().all() for result in results)


def test_info_nce__never_has_all_pairs() -> None:
    """The largest tensor of both passes has a tile's size, or that of the input."""
    largest = 0

    class Spy(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            for each in result if isinstance(result, tuple | list) else [result]:
                if isinstance(each, Tensor):
                    largest = max(largest, each.numel())
            return result

    z1, z2 = views(rows=300, width=3)
    with Spy():
        info_nce(z1, z2, 0.3, within=True, tile=20).backward()
    assert largest == 300 * 3


def test_info_nce__refuses_temperatures_that_underflow() -> None:
    z1, z2 = views()
    lowest = contrastive.LOWEST_TEMPERATURE
    assert info_nce(z1, -z1, lowest, within=False).isfinite()
    with pytest.raises(ValueError, match=r"temperature=0\.01: expected a number from"):
        info_nce(z1, z2, 0.01, within=False)


@every_form
def test_info_nce__descent_lowers_it(within: bool, keep_positive: bool) -> None:
    z1, z2 = views()
    optimizer = torch.optim.Adam([z1, z2], 0.05)
    losses = []
    for _ in range(20):
        loss = info_nce(z1, z2, 0.5, within=within, keep_positive=keep_positive)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] - 0.1


def test_discriminate__is_a_binary_cross_entropy_with_equal_weights() -> None:
    positive, negative = torch.randn(6), torch.randn(6)
    labels = torch.cat([torch.ones(6), torch.zeros(6)])
    expected = F.binary_cross_entropy_with_logits(
        torch.cat([positive, negative]), labels
    )
    torch.testing.assert_close(discriminate(positive, negative), expected)
    torch.testing.assert_close(discriminate(positive, negative.repeat(3)), expected)


def test_jensen_shannon__is_the_estimator_of_its_papers() -> None:
    """The difference of the two expectations as InfoGraph and MVGRL write them."""
    positive, negative = torch.randn(6), torch.randn(4, 5)
    log_2 = torch.log(torch.tensor(2.0))
    of_true = (log_2 - F.softplus(-positive)).mean()
    of_false = (F.softplus(-negative) + negative - log_2).mean()
    torch.testing.assert_close(jensen_shannon(positive, negative), of_false - of_true)
    nothing = jensen_shannon(torch.zeros(3), torch.zeros(3))
    torch.testing.assert_close(nothing, torch.tensor(0.0))
    assert jensen_shannon(torch.full((3,), 1e4), torch.full((3,), -1e4)).isfinite()
    # Better told apart is lower.
    assert jensen_shannon(positive + 1, negative - 1) < jensen_shannon(
        positive, negative
    )


def test_bootstrap__is_the_squared_distance_of_directions() -> None:
    prediction, target = views()
    loss = bootstrap_cosine(prediction, target)
    q, z = (each / each.norm(dim=1, keepdim=True) for each in (prediction, target))
    torch.testing.assert_close(loss, (q - z).square().sum(dim=1).mean())
    loss.backward()
    assert target.grad is None
    assert prediction.grad.abs().max() > 0
    torch.testing.assert_close(bootstrap_cosine(4 * z, z), torch.tensor(0.0))


def test_bootstrap__is_finite_at_zero() -> None:
    zero = torch.zeros(3, 2, requires_grad=True)
    loss = bootstrap_cosine(zero, torch.zeros(3, 2))
    loss.backward()
    assert loss.isfinite()
    assert zero.grad.isfinite().all()


def test_graphs__pairs_are_all_nodes_and_graphs() -> None:
    nodes, graphs = torch.randn(9, 4), torch.randn(3, 4)
    ptr = torch.tensor([0, 2, 7, 9])
    own, other = [], []
    for node, number in enumerate([0, 0, 1, 1, 1, 1, 1, 2, 2]):
        for graph in range(3):
            score = nodes[node] @ graphs[graph]
            (own if graph == number else other).append(score)
    expected = jensen_shannon(torch.stack(own), torch.stack(other))
    torch.testing.assert_close(contrast_with_graphs(nodes, graphs, ptr), expected)


def test_graphs__an_empty_graph_has_no_true_pair_and_one_graph_no_false_one() -> None:
    nodes, graphs = torch.randn(4, 3), torch.randn(3, 3)
    with_empty = contrast_with_graphs(nodes, graphs, torch.tensor([0, 2, 2, 4]))
    assert with_empty.isfinite()
    alone = contrast_with_graphs(nodes, graphs[:1], torch.tensor([0, 4]))
    expected = F.softplus(-nodes @ graphs[0]).mean() - 2 * torch.tensor(2.0).log()
    torch.testing.assert_close(alone, expected)
