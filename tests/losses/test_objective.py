import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from dsgrl.losses import objective as eq

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden/objective.json").read_text()
)

PAIRED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "invariance_mse": lambda a, b: eq.invariance(a, b, "mse"),
    "invariance_frobenius": lambda a, b: eq.invariance(a, b, "frobenius"),
    "variance": lambda a, b: eq.regularize_covariance(a, b)[0],
    "covariance": lambda a, b: eq.regularize_covariance(a, b)[1],
    "orthogonality": eq.regularize_orthogonality,
}
paired = pytest.mark.parametrize("name", PAIRED)


def golden_inputs() -> tuple[Tensor, Tensor]:
    grid = torch.arange(24, dtype=torch.float64).reshape(8, 3)
    return torch.sin(grid), torch.cos(1.3 * grid)


def golden_values() -> dict[str, float]:
    return {name: term(*golden_inputs()).item() for name, term in PAIRED.items()}


@paired
def test_term__golden_value(name: str) -> None:
    value = PAIRED[name](*golden_inputs()).item()
    assert value == pytest.approx(GOLDEN[name], rel=1e-5)


@paired
def test_term__symmetric_in_the_views(name: str) -> None:
    a, b = torch.randn(20, 5), torch.randn(20, 5)
    torch.testing.assert_close(PAIRED[name](a, b), PAIRED[name](b, a))


@paired
def test_term__does_not_depend_on_row_order(name: str) -> None:
    a, b = torch.randn(20, 5), torch.randn(20, 5)
    order = torch.randperm(20)
    torch.testing.assert_close(PAIRED[name](a, b), PAIRED[name](a[order], b[order]))


@paired
def test_term__gradient_is_right(name: str) -> None:
    a, b = (z.requires_grad_() for z in golden_inputs())
    assert gradcheck(PAIRED[name], (a, b))


@paired
@pytest.mark.parametrize(
    "case", ["one row", "constant", "zero", "huge", "tiny", "one column", "equal"]
)
def test_term__finite_with_finite_gradients(name: str, case: str) -> None:
    z = {
        "one row": torch.randn(1, 5),
        "constant": torch.ones(9, 5),
        "zero": torch.zeros(9, 5),
        "huge": 1e8 * torch.randn(9, 5),
        "tiny": 1e-30 * torch.randn(9, 5),
        "one column": torch.randn(9, 1),
        "equal": torch.randn(9, 5),
    }[case]
    a, b = z.clone().requires_grad_(), (z if case == "equal" else 2 * z).clone()
    value = PAIRED[name](a, b)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(a.grad).all()


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(2, 12), cols=st.integers(1, 12), seed=st.integers(0, 99))
def test_terms__equal_the_formula_written_again(
    rows: int, cols: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(rows, cols, generator=generator, dtype=torch.float64)
    deviation = (z.var(dim=0) + 1e-4).sqrt()
    torch.testing.assert_close(eq.variance(z), (1 - deviation).clamp_min(0).mean())
    moments = torch.cov(z.t()).reshape(cols, cols)
    squares = moments.square().sum() - moments.diagonal().square().sum()
    torch.testing.assert_close(eq.covariance(z), squares / cols)


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 12), cols=st.integers(1, 12), seed=st.integers(0, 99))
def test_distance_from_orthonormal__equals_the_large_matrix(
    rows: int, cols: int, seed: int
) -> None:
    """The linear-time identity, for more rows than columns and for fewer."""
    generator = torch.Generator().manual_seed(seed)
    w = torch.randn(rows, cols, generator=generator, dtype=torch.float64)
    w.requires_grad_()
    literal = (w @ w.t() - torch.eye(rows, dtype=w.dtype)).norm()
    ours = eq.distance_from_orthonormal(w)
    torch.testing.assert_close(ours, literal)
    found, wanted = (torch.autograd.grad(v, w)[0] for v in (ours, literal))
    torch.testing.assert_close(found, wanted)


def test_regularize_orthogonality__is_the_n_by_n_quantity() -> None:
    z1, z2 = torch.randn(30, 4), torch.randn(30, 4)
    literal = sum(
        (F.normalize(z, dim=1) @ F.normalize(z, dim=1).t() - torch.eye(30)).norm()
        for z in (z1, z2)
    )
    torch.testing.assert_close(eq.regularize_orthogonality(z1, z2), literal)


def test_invariance__zero_only_for_equal_views() -> None:
    z = torch.randn(6, 3)
    for form in ("mse", "frobenius"):
        assert eq.invariance(z, z, form) == 0
        assert eq.invariance(z, z + 0.1, form) > 0


def test_variance__zero_when_every_deviation_reaches_one() -> None:
    z = torch.randn(50, 4)
    z = (z - z.mean(0)) / z.std(0)
    assert eq.variance(1.01 * z) == 0
    assert eq.variance(0.5 * z) > 0.4


def test_covariance__zero_on_whitened_rows() -> None:
    q, _ = torch.linalg.qr(torch.randn(40, 4) - torch.randn(1, 4))
    centered = q - q.mean(0)
    whitened, _ = torch.linalg.qr(centered)
    assert eq.covariance(whitened * 6) < 1e-6
    assert eq.covariance(torch.randn(40, 1).expand(40, 4)) > 0.5


@paired
def test_term__descent_lowers_it(name: str) -> None:
    a = torch.randn(30, 4).mul(0.3).requires_grad_()
    b = torch.randn(30, 4)
    before = PAIRED[name](a, b).item()
    optimizer = torch.optim.SGD([a], lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        PAIRED[name](a, b).backward()
        optimizer.step()
    assert PAIRED[name](a, b).item() < before


def test_augmenter_orthogonality__sums_layers_and_unit_rows_forget_scale() -> None:
    w1, w2 = torch.randn(6, 9), torch.randn(8, 5)
    both = eq.augmenter_orthogonality([w1, w2])
    alone = eq.augmenter_orthogonality([w1]) + eq.augmenter_orthogonality([w2])
    torch.testing.assert_close(both, alone)
    unit = eq.augmenter_orthogonality([w1], unit_rows=True)
    torch.testing.assert_close(
        eq.augmenter_orthogonality([3 * w1], unit_rows=True), unit
    )
    assert not torch.allclose(eq.augmenter_orthogonality([3 * w1]), alone)


def test_objective__is_the_weighted_sum_of_named_terms() -> None:
    z1, z2, w = torch.randn(9, 3), torch.randn(9, 3), torch.randn(4, 6)
    plain = eq.objective(z1, z2, [w])
    weighted = eq.objective(
        z1,
        z2,
        [w],
        invariance_weight=2.0,
        variance_weight=3.0,
        covariance_weight=5.0,
        orthogonality_weight=7.0,
    )
    factors = {"invariance": 2, "variance": 3, "covariance": 5, "orthogonality": 7}
    assert plain.keys() == weighted.keys() == factors.keys()
    for name, factor in factors.items():
        torch.testing.assert_close(weighted[name], factor * plain[name])
    other = eq.objective(z1, z2, [], regularizer="orthogonality", covariance_weight=2.0)
    assert other.keys() == {"invariance", "covariance"}
    torch.testing.assert_close(
        other["covariance"], 2 * eq.regularize_orthogonality(z1, z2)
    )


@pytest.mark.parametrize("regularizer", ["covariance", "orthogonality"])
def test_objective__standardized_forgets_scale_and_shift_of_both_views(
    regularizer: str,
) -> None:
    z1, z2 = 50 * torch.randn(2, 30, 4, dtype=torch.float64)
    scale, shift = 1 + 9 * torch.rand(2, 4).double()
    options = {"regularizer": regularizer, "standardize": True}
    plain = eq.objective(z1, z2, [], **options)  # type: ignore[arg-type]
    for one, two in ((z1 * scale + shift, z2), (z1, z2 * scale + shift)):
        found = eq.objective(one, two, [], **options)  # type: ignore[arg-type]
        for name, value in plain.items():
            torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-6)
    options["standardize"] = False
    raw = eq.objective(z1, z2, [], **options)  # type: ignore[arg-type]
    assert not torch.allclose(raw["covariance"], plain["covariance"])


def test_augmenter_orthogonality__unit_rows_forget_the_length_of_every_row() -> None:
    """Other lengths of the columns do make a difference."""
    weight = torch.randn(6, 9, dtype=torch.float64)
    rows, columns = 0.5 + torch.rand(6, 1).double(), 0.5 + torch.rand(9).double()
    plain = eq.augmenter_orthogonality([weight], unit_rows=True)
    scaled = eq.augmenter_orthogonality([rows * weight], unit_rows=True)
    torch.testing.assert_close(scaled, plain)
    other = eq.augmenter_orthogonality([weight * columns], unit_rows=True)
    assert not torch.allclose(other, plain)
    orthogonal = rows * torch.linalg.qr(torch.randn(9, 6).double())[0].t()
    assert eq.augmenter_orthogonality([orthogonal], unit_rows=True) < 1e-6


@pytest.mark.parametrize("count", [1, 2, 5])
def test_mean_terms__of_equal_costs_is_that_cost(count: int) -> None:
    loss = {"one": torch.tensor(3.0), "two": torch.tensor(0.5)}
    assert eq.mean_terms([loss] * count) == loss


def test_mean_terms__takes_every_cost_alike() -> None:
    low, high = {"term": torch.tensor(1.0)}, {"term": torch.tensor(4.0)}
    (found,) = eq.mean_terms([low, high]).values()
    (other,) = eq.mean_terms([high, low]).values()
    assert found == other
    assert found - low["term"] == high["term"] - found
