import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgrl.explore import vectors
from dsgrl.explore.vectors import (
    effective_rank,
    nearest_in_groups,
    nearest_rows,
    spectrum,
    unit_rows,
)


def make_rows(count: int, columns: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, columns)).astype(np.float32)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(2, 40), wanted=st.integers(1, 12), seed=st.integers(0, 99))
def test_nearest__are_those_of_a_full_sort(count: int, wanted: int, seed: int) -> None:
    z = make_rows(count, seed=seed)
    near, alike = nearest_rows(z, wanted)
    centered = z.astype(np.float64) - z.mean(axis=0)
    unit = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    best = -np.sort(-cosine, axis=1)[:, : min(wanted, count - 1)]
    np.testing.assert_allclose(alike, best, atol=1e-5)
    found = np.take_along_axis(cosine, near, axis=1)
    np.testing.assert_allclose(found, best, atol=1e-5)


def test_nearest__of_some_rows_are_those_of_all() -> None:
    z = make_rows(30)
    near, alike = nearest_rows(z, 4)
    some, alike_some = nearest_rows(z, 4, [7, 2])
    np.testing.assert_array_equal(some, near[[7, 2]])
    np.testing.assert_allclose(alike_some, alike[[7, 2]])


def test_nearest__length_of_a_vector_does_not_count() -> None:
    z = make_rows(25)
    z -= z.mean(axis=0)
    near, _ = nearest_rows(z, 3)
    np.testing.assert_array_equal(nearest_rows(4 * z, 3)[0], near)


def test_nearest__index_finds_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    z = make_rows(2000, 8)
    exact, _ = nearest_rows(z, 5)
    monkeypatch.setattr(vectors, "MOST_EXACT", 100)
    found, _ = nearest_rows(z, 5)
    assert not (found == np.arange(2000)[:, None]).any()
    shared = [len(set(a) & set(b)) for a, b in zip(exact, found, strict=True)]
    assert np.mean(shared) / 5 > 0.9


def test_groups__neighbours_stay_inside() -> None:
    near, _ = nearest_in_groups(make_rows(20), 4, [0, 12, 13, 20])
    assert (near[:12] < 12).all()
    assert (near[12] == -1).all()
    assert (near[13:] >= 13).all()


def test_spectrum__counts_the_directions_in_use() -> None:
    z = make_rows(500, 3) @ np.linalg.qr(make_rows(8, 8))[0][:3]
    share = spectrum(z)
    assert share.sum() == pytest.approx(1)
    assert (share[3:] < 1e-6).all()
    assert 2.5 < effective_rank(share) < 3.01


def test_unit_rows__of_equal_rows_are_zeros() -> None:
    assert np.isfinite(unit_rows(np.ones((3, 2), np.float32))).all()
