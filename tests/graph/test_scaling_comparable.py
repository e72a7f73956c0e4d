from typing import Any

import pytest
import torch
from torch import Tensor

from dsgrl.graph import Adjacency
from dsgrl.graph.scaling import MOST_SPREAD, SQUARED_LENGTH, fit_scale
from dsgrl.typing import ScalingName


def scaled(x: Tensor | Adjacency, scaling: ScalingName = "comparable") -> Any:
    scale = fit_scale(x, scaling)
    assert scale is not None
    return scale.apply(x)


def squared_length(x: Tensor | Adjacency) -> float:
    rows = x.to_dense() if isinstance(x, Adjacency) else x
    return float(rows.double().square().sum(dim=1).mean())


def components() -> Tensor:
    """Give centred columns like principal components: each is 0.8 of the last."""
    x = torch.randn(500, 16) * 0.8 ** torch.arange(16)
    return x - x.mean(dim=0)


def units() -> Tensor:
    """Give a share, an age and an income among small columns."""
    return torch.randn(500, 9) * torch.tensor([1.0] * 7 + [20.0, 30_000.0])


def words(share: float = 0.2) -> Tensor:
    return (torch.rand(500, 30) < share).float()


CASES = {
    "components": components,
    "units": units,
    "offset": lambda: 10 + torch.randn(500, 16),
    "words": words,
    "sparse words": lambda: Adjacency.from_dense(words()),
    "sparse counts": lambda: Adjacency.from_dense(words() * 7 * torch.rand(500, 30)),
    "short": lambda: 1e-4 * components(),
    "long": lambda: 1e4 * components(),
}


def assert_common_factor(found: Tensor, x: Tensor) -> None:
    """Check that all entries were multiplied by one number."""
    factor = found[x != 0] / x[x != 0]
    torch.testing.assert_close(factor, factor[:1].expand_as(factor))
    assert not found[x == 0].any()


@pytest.mark.parametrize("case", CASES)
def test_comparable__rows_have_one_length(case: str) -> None:
    assert SQUARED_LENGTH == 36
    x = CASES[case]()
    assert squared_length(x) != pytest.approx(36, rel=0.05)
    assert squared_length(scaled(x)) == pytest.approx(36, rel=1e-4)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_comparable__principal_components_keep_their_proportions(size: float) -> None:
    x = size * components()
    assert_common_factor(scaled(x), x)
    # "columns" does not: that is the difference.
    deviation = scaled(x, "columns").std(dim=0, correction=0)
    torch.testing.assert_close(deviation, torch.ones(16), rtol=1e-4, atol=0)


def test_comparable__a_moderate_offset_stays() -> None:
    """A tenth of the squares is spread: less would be one large offset."""
    x = torch.randn(5000, 16)
    x = (x - x.mean(dim=0)) / x.std(dim=0, correction=0)
    assert_common_factor(scaled(x + 2.9), x + 2.9)
    torch.testing.assert_close(
        scaled(x + 3.1).mean(dim=0), torch.zeros(16), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("case", ["units", "offset"])
def test_comparable__other_columns_are_standardised(case: str) -> None:
    """All columns get the same spread, and mean zero."""
    x = CASES[case]()
    found = scaled(x)
    width = x.size(1)
    torch.testing.assert_close(found.mean(dim=0), torch.zeros(width), rtol=0, atol=1e-4)
    torch.testing.assert_close(
        found.std(dim=0, correction=0),
        torch.full((width,), (36 / width) ** 0.5),
        rtol=1e-4,
        atol=0,
    )


@pytest.mark.parametrize("is_beyond", [False, True])
def test_comparable__units_differ_if_one_column_is_far_larger(is_beyond: bool) -> None:
    """The largest is compared with the median, not with the smallest."""
    x = torch.randn(500, 9)
    x = (x - x.mean(dim=0)) / x.square().mean(dim=0).sqrt()
    x /= x.square().mean(dim=0).sqrt()
    x[:, :3] *= 1e-3
    x[:, 8] *= MOST_SPREAD * (1.05 if is_beyond else 0.95)
    deviation = scaled(x).std(dim=0, correction=0)
    proportions = deviation / deviation[5]
    wanted = x.std(dim=0, correction=0) / x[:, 5].std(correction=0)
    if is_beyond:
        wanted = torch.ones(9)
    torch.testing.assert_close(proportions, wanted, rtol=1e-3, atol=0)


def test_comparable__columns_of_zeros_do_not_count() -> None:
    """They would make the median zero."""
    x = torch.cat([components(), torch.zeros(500, 40)], dim=1)
    assert_common_factor(scaled(x), x)


@pytest.mark.parametrize("share", [0.001, 0.2, 0.97])
def test_comparable__zeros_and_ones_only_get_a_factor(share: float) -> None:
    """Also rare words among common ones, and columns that are nearly constant."""
    x = words(share)
    x[:, 0] = 1
    assert_common_factor(scaled(x), x)


@pytest.mark.parametrize("is_count", [False, True])
def test_comparable__sparse_features_only_get_a_factor(is_count: bool) -> None:
    x = words()
    if is_count:
        x = x * torch.tensor([1000.0] + [1.0] * 29) * (1 + torch.rand(500, 30))
    found = scaled(Adjacency.from_dense(x))
    assert isinstance(found, Adjacency)
    assert_common_factor(found.to_dense(), x)
    if not is_count:
        torch.testing.assert_close(found.to_dense(), scaled(x))


@pytest.mark.parametrize("value", [0.0, 1.0, 5.3])
def test_comparable__constant_features_are_finite(value: float) -> None:
    x = torch.full((20, 4), value)
    scale = fit_scale(x, "comparable")
    found = x if scale is None else scale.apply(x)
    assert torch.isfinite(found).all()
    assert found.std(dim=0).max() == 0


def test_comparable__one_constant_column_becomes_zero() -> None:
    x = units()
    x[:, 3] = 5.3
    found = scaled(x)
    assert found[:, 3].abs().max() < 1e-4
    assert squared_length(found) == pytest.approx(36, rel=1e-4)


def test_comparable__no_rows() -> None:
    assert fit_scale(torch.empty(0, 4), "comparable") is None


def test_comparable__shortens_where_length_only_lengthens() -> None:
    x = 10 * words(0.5)
    x[:, 0] = torch.randn(500)
    assert squared_length(scaled(x, "comparable")) == pytest.approx(36, rel=1e-4)
    long = Adjacency.from_dense(10 * words(0.5))
    assert fit_scale(long, "length") is None
    assert squared_length(scaled(long)) == pytest.approx(36, rel=1e-4)
