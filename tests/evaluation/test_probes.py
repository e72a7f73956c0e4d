from typing import Any

import numpy as np
import pytest

from dsgrl.evaluation import probes
from dsgrl.evaluation.labels import Targets, encode_labels
from dsgrl.evaluation.metrics import METRICS
from dsgrl.evaluation.probes import PROBES, ProbeResult
from dsgrl.evaluation.scaling import SCALINGS, Scaling
from dsgrl.evaluation.splits import protocol_splits, stratified_splits
from dsgrl.typing import Split

every_probe = pytest.mark.parametrize("probe", PROBES)


def several_labels() -> tuple[Any, Targets]:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 10)).astype("f4")
    y = (z @ rng.normal(size=(10, 6)) + rng.normal(size=(400, 6)) > 1).astype(int)
    return z, encode_labels(y)


@every_probe
@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "roc_auc"])
def test_probe__poisoned_test_labels_change_no_choice(
    blobs: Any, probe: str, metric: str
) -> None:
    z, y = blobs(spread=4.0)
    for split in stratified_splits(y, num_splits=3):
        poisoned = y.copy()
        poisoned[split.test] = (y[split.test] + 1) % 3
        honest, wrong = (
            PROBES[probe](z, Targets(labels, labels >= 0, 3), split, metric)
            for labels in (y, poisoned)
        )
        assert honest.choice == wrong.choice
        assert honest.validation == wrong.validation
        assert honest.test != wrong.test


@every_probe
def test_probe__chooses_by_the_validation_rows(blobs: Any, probe: str) -> None:
    """Other validation labels, another choice on some split: they do take part."""
    z, y = blobs(spread=4.0)
    differs = []
    for split in stratified_splits(y, num_splits=5):
        turned = y.copy()
        turned[split.val] = (y[split.val] + 1) % 3
        one, two = (
            PROBES[probe](z, encode_labels(labels), split, "accuracy")
            for labels in (y, turned)
        )
        differs.append(one.choice != two.choice)
    assert any(differs)


@every_probe
@pytest.mark.parametrize("most_rows", [60, 20_000])
@pytest.mark.parametrize("name", SCALINGS)
def test_probe__test_rows_do_not_touch_the_fit(
    blobs: Any,
    probe: str,
    most_rows: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other test rows change no prediction for a validation row, by any candidate."""
    monkeypatch.setattr(probes, "MOST_ROWS_TO_CHOOSE", most_rows)
    monkeypatch.setattr(probes, "SCALINGS", (name,))
    z, y = blobs(spread=4.0)
    # Test labels of a class of their own: a metric can tell the rows by them.
    (split,) = protocol_splits("60/20/20", y, num_splits=1)
    y[split.test] = 3
    seen: list[Any] = []

    def record(predicted: Any, labels: Any) -> float:
        if (labels < 3).all():
            seen.append(np.array(predicted))
        return float((predicted.argmax(axis=1) == labels).mean())

    monkeypatch.setitem(METRICS, "accuracy", record)
    moved = z.copy()
    moved[split.test] = 1e3 + 1e3 * z[split.test] ** 2 * np.arange(1, 7)
    predictions = []
    for rows in (z, moved):
        seen.clear()
        PROBES[probe](rows, encode_labels(y), split, "accuracy")
        predictions.append(list(seen))
    assert len(predictions[0]) > 1
    for one, two in zip(*predictions, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("probe", ["logistic", "knn"])
def test_probe__several_labels_a_row(probe: str) -> None:
    z, targets = several_labels()
    (split,) = protocol_splits("60/20/20", targets.values, num_splits=1)
    shuffled = np.random.default_rng(1).permutation(z)
    found = PROBES[probe](z, targets, split, "micro_f1").test
    nothing = PROBES[probe](shuffled, targets, split, "micro_f1").test
    assert found > 60
    assert found > nothing + 30


@pytest.mark.parametrize("name", SCALINGS)
def test_scaling__training_rows_only_set_the_scale(blobs: Any, name: str) -> None:
    z, _ = blobs()
    scaling = Scaling.of(name, z[:100])
    np.testing.assert_array_equal(scaling(z)[100:], scaling(z[100:]))


def test_scaling__hand_computed() -> None:
    train = np.array([[0, 5, 3], [4, 5, 7]], dtype="f4")
    rows = np.array([[6, 6, 5]], dtype="f4")
    standard = Scaling.of("standard", train)(rows)
    np.testing.assert_allclose(standard, [[2, 1, 0]])
    length = np.sqrt(3) / np.sqrt(5)
    expected = [[2 * length, length, 0]]
    np.testing.assert_allclose(
        Scaling.of("standard-unit", train)(rows), expected, rtol=1e-6
    )
    unit = Scaling.of("unit", train)(rows)
    np.testing.assert_allclose(np.square(unit).mean(), 1, rtol=1e-6)


def test_scaling__a_row_of_zeros_stays() -> None:
    zeros = np.zeros((3, 2), dtype="f4")
    for name in SCALINGS:
        assert (Scaling.of(name, zeros)(zeros) == 0).all()


def test_logistic__many_training_rows_are_chosen_by_a_sample_and_all_fitted(
    blobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    z, y = blobs(spread=3.0)
    (split,) = protocol_splits("60/20/20", y, num_splits=1)
    whole = probes.logistic_probe(z, encode_labels(y), split, "accuracy")
    fitted: list[tuple[int, float]] = []
    original = probes.LogisticProblem.solve

    def spy(self: Any, strength: float, *args: Any) -> Any:
        fitted.append((len(self.x), strength))
        return original(self, strength, *args)

    monkeypatch.setattr(probes.LogisticProblem, "solve", spy)
    monkeypatch.setattr(probes, "MOST_ROWS_TO_CHOOSE", 60)
    sampled = probes.logistic_probe(z, encode_labels(y), split, "accuracy")
    # A third of the rows with three times the strength: as much penalty a row.
    tried = [(60, 3 * strength) for strength in probes.STRENGTHS] * len(SCALINGS)
    np.testing.assert_allclose(fitted[:-1], tried)
    assert fitted[-1] == (180, sampled.choice[1])
    assert abs(sampled.test - whole.test) < 5


def test_logistic__the_chosen_fit_is_the_one_judged(
    blobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is fitted to validation rows: each fit has the training rows' number."""
    z, y = blobs(spread=3.0)
    (split,) = stratified_splits(y, num_splits=1)
    sizes: set[int] = set()
    original = probes.LogisticProblem.solve

    def spy(self: Any, *args: Any) -> Any:
        sizes.add(len(self.x))
        return original(self, *args)

    monkeypatch.setattr(probes.LogisticProblem, "solve", spy)
    result = probes.logistic_probe(z, encode_labels(y), split, "accuracy")
    assert sizes == {len(split.train)}
    assert isinstance(result, ProbeResult)


def test_knn__more_training_rows_than_neighbours_are_not_needed() -> None:
    z = np.array([[0.0], [1], [0.1], [0.9], [0.2], [0.8]], dtype="f4")
    targets = encode_labels([0, 1, 0, 1, 0, 1])
    split = Split(np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    result = probes.neighbor_probe(z, targets, split, "accuracy")
    assert (result.test, result.validation) == (100, 100)
