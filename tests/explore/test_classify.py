from typing import Any

import numpy as np
import pytest

from dsgrl.explore.classify import calibration_error, classify, make_folds
from dsgrl.typing import InputError


def make_task(
    count: int, classes: int = 3, noise: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=count)
    z = 2 * np.eye(classes, 10)[y] + noise * random.normal(size=(count, 10))
    return z.astype(np.float32), y


def hide(y: np.ndarray, kept: int) -> list[Any]:
    return [f"class {code}" if i < kept else None for i, code in enumerate(y)]


@pytest.mark.parametrize("classes", [2, 3])
def test_classify__few_labels_predict_the_rest(classes: int) -> None:
    z, y = make_task(600, classes, noise=0.5)
    found = classify(z, hide(y, 40))
    assert found.classes == [f"class {code}" for code in range(classes)]
    np.testing.assert_allclose(found.chance.sum(axis=1), 1)
    assert (found.best == y)[40:].mean() > 0.9
    assert found.accuracy is not None
    assert found.accuracy > 0.85
    assert found.num_checked == 40


def test_classify__probabilities_hold_on_rows_never_seen() -> None:
    z, y = make_task(4000, noise=1.5)
    found = classify(z, hide(y, 200))
    top, right = found.chance.max(axis=1)[200:], (found.best == y)[200:]
    assert 0.5 < right.mean() < 0.9
    assert calibration_error(top, right) < 0.08
    assert found.accuracy == pytest.approx(right.mean(), abs=0.1)


def test_classify__labels_without_meaning_are_not_trusted() -> None:
    z, _ = make_task(500)
    y = np.random.default_rng(5).integers(2, size=500)
    found = classify(z, hide(y, 100))
    assert found.accuracy is not None
    assert found.accuracy < 0.65
    assert found.summary()["sure"] < 0.05


def test_classify__other_labels_are_never_read() -> None:
    z, y = make_task(100)
    one = classify(z, hide(y, 30)).chance
    two = classify(z, hide(np.where(np.arange(100) < 30, y, 2 - y), 30)).chance
    np.testing.assert_array_equal(one, two)


def test_classify__one_label_a_class_is_a_guess_that_says_so() -> None:
    z, _ = make_task(50)
    labels: list[Any] = ["a", "b", "c", *[None] * 47]
    found = classify(z, labels)
    assert found.accuracy is None
    assert found.summary()["checked"] == 0
    assert np.isfinite(found.chance).all()


def test_classify__one_class_is_refused() -> None:
    with pytest.raises(InputError, match="2 labels of 1 class"):
        classify(np.ones((3, 2), np.float32), ["a", "a", None])


def test_folds__single_labels_stay_in_every_fit() -> None:
    y = np.array([0] * 12 + [1] * 3 + [2])
    fold = make_folds(y, 0)
    assert fold[-1] == -1
    assert np.bincount(fold[:12]).max() <= 3
    assert len(set(fold[12:15])) == 3


def test_calibration__is_zero_where_shares_are_right() -> None:
    chance = np.repeat([0.25, 0.75], 40)
    right = np.tile([True, False, False, False], 10)
    assert calibration_error(chance, np.concatenate([right, ~right])) < 0.06
    assert calibration_error(np.ones(50), np.zeros(50, bool)) == 1
