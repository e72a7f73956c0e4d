import importlib.util
import itertools

import numpy as np
import pytest

from dsgrl.explore.vectors import nearest_in_groups
from dsgrl.report import layout
from dsgrl.report.layout import main_directions, make_layout


def make_rows(sizes: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(len(sizes)), sizes)
    z = 5 * np.eye(len(sizes), 10)[group] + random.normal(size=(len(group), 10))
    return z.astype(np.float32)


def place(z: np.ndarray, bounds: list[int], seed: int = 0) -> np.ndarray:
    near, _ = nearest_in_groups(z, 10, bounds)
    return make_layout(z, near, bounds, seed)


def assert_is_a_map(position: np.ndarray, count: int) -> None:
    assert position.shape == (count, 2)
    assert position.dtype == np.float32
    assert np.abs(position).max() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(
        position.max(axis=0) + position.min(axis=0), 0, atol=1e-5
    )


def test_layout__without_pacmap_two_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "layout_name", lambda: "PCA")
    z = make_rows((60, 60))
    position = place(z, [0, 120])
    assert_is_a_map(position, 120)
    assert (position[:60, 0] < 0).all() != (position[60:, 0] < 0).all()
    np.testing.assert_array_equal(position, place(z, [0, 120], seed=5))


@pytest.mark.slow
def test_layout__pacmap_keeps_groups_and_follows_the_seed() -> None:
    pytest.importorskip("pacmap")
    z = make_rows((40, 40, 40))
    one, again, other = (place(z, [0, 120], seed) for seed in (0, 0, 1))
    assert_is_a_map(one, 120)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    gap = np.linalg.norm(one[:, None] - one[None], axis=2)
    np.fill_diagonal(gap, np.inf)
    group = np.repeat(range(3), 40)
    assert (group[gap.argmin(axis=1)] == group).mean() > 0.95


@pytest.mark.parametrize("sizes", [(1, 30), (2,), (20, 5, 9)])
def test_layout__types_lie_side_by_side(sizes: tuple[int, ...]) -> None:
    bounds = np.cumsum([0, *sizes]).tolist()
    position = place(make_rows(sizes), bounds)
    parts = np.split(position[:, 0], bounds[1:-1])
    for left, right in itertools.pairwise(parts):
        assert left.max() < right.min()
    assert np.isfinite(position).all()


def test_main_directions__are_few_columns_filled_up() -> None:
    z = np.arange(5, dtype=np.float32)[:, None]
    assert main_directions(z).shape == (5, 2)
    assert np.isfinite(main_directions(np.ones((4, 3), np.float32))).all()


def test_name__says_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert layout.layout_name() == "PCA"
