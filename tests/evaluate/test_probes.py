from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import dsgrl
from dsgrl.evaluate import evaluate, probes
from dsgrl.evaluate.splits import stratified_splits
from dsgrl.typing import InputError, Score


def blobs(spread: float = 1.0, columns: int = 6) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 100)
    center = 3 * rng.normal(size=(3, columns))
    return (center[y] + spread * rng.normal(size=(300, columns))).astype("f4"), y


def test_evaluate__finds_what_is_there_and_no_more() -> None:
    z, y = blobs()
    assert evaluate(z, y).mean > 95
    rng = np.random.default_rng(1)
    assert abs(evaluate(rng.normal(size=(300, 6)), y).mean - 33) < 6


def test_evaluate__can_be_called_as_the_package_says() -> None:
    z, y = blobs()
    assert (
        dsgrl.evaluate(z, y, num_splits=2).scores == evaluate(z, y, num_splits=2).scores
    )


def test_evaluate__takes_any_kind_of_labels() -> None:
    z, y = blobs()
    names = np.array(["ape", "bat", "cat"])[y]
    assert (
        evaluate(z, names, num_splits=2).scores == evaluate(z, y, num_splits=2).scores
    )


def test_score__hand_computed_mean_and_deviation() -> None:
    score = Score([70.0, 80.0, 90.0])
    assert score.mean == 80
    assert score.std == pytest.approx((200 / 3) ** 0.5)


def test_probe__poisoned_test_labels_change_no_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    z, y = blobs(spread=4.0)
    (split,) = stratified_splits(y, num_splits=1)
    poisoned = y.copy()
    poisoned[split.test] = (y[split.test] + 1) % 3
    predictions: list[Any] = []
    predict = LogisticRegression.predict

    def spy(self: LogisticRegression, rows: Any) -> Any:
        result = predict(self, rows)
        if len(rows) == len(split.test):
            predictions.append(result)
        return result

    monkeypatch.setattr(LogisticRegression, "predict", spy)
    honest = probes.probe_accuracy(z, y, split)
    first, predictions = predictions, []
    wrong = probes.probe_accuracy(z, poisoned, split)
    assert honest != wrong
    assert len(first) == len(predictions) > 0
    for one, other in zip(first, predictions, strict=True):
        np.testing.assert_array_equal(one, other)


def test_probe__training_rows_only_set_the_scale() -> None:
    """Moving all test rows far away must not change how training rows are seen."""
    z, y = blobs()
    (split,) = stratified_splits(y, num_splits=1)
    one = probes._standardized(z, split.train)[split.train]
    moved = z.copy()
    moved[split.test] += 1e3
    other = probes._standardized(moved, split.train)[split.train]
    np.testing.assert_array_equal(one, other)


def test_probe__span_of_training_rows_gives_the_same_predictions() -> None:
    z, y = blobs(spread=4.0, columns=80)
    (split,) = stratified_splits(y, num_splits=1)
    assert len(split.train) < 80
    reduced = probes._within_span(z, split.train)
    assert reduced.shape == (300, len(split.train))
    predictions = [
        LogisticRegression(C=0.1, max_iter=5000, tol=1e-8)
        .fit(rows[split.train], y[split.train])
        .predict_proba(rows[split.test])
        for rows in (z, reduced)
    ]
    np.testing.assert_allclose(*predictions, atol=1e-3)


def test_probe__ten_splits_fit_on_ten_training_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    z, y = blobs()
    seen: set[bytes] = set()
    monkeypatch.setattr(
        "dsgrl.evaluate.protocols.probe_accuracy",
        lambda z, y, split: seen.add(split.train.tobytes()) or 50.0,
    )
    assert len(evaluate(z, y).scores) == len(seen) == 10


def test_evaluate__constant_and_shifted_columns_do_no_harm() -> None:
    z, y = blobs()
    wide = np.concatenate([z, np.full((300, 1), 5.0), 1e4 + z[:, :1]], axis=1)
    assert evaluate(wide, y, num_splits=3).mean > 90


def test_evaluate__refuses_other_numbers_of_rows() -> None:
    z, y = blobs()
    with pytest.raises(InputError, match=r"shape \[300, 6\] for 299 labels"):
        evaluate(z, y[:-1])


def test_evaluate__rows_without_a_label_are_left_out() -> None:
    z, y = blobs()
    some = np.where(np.arange(300) % 7 == 0, -1, y)
    known = some >= 0
    expected = evaluate(z[known], y[known], num_splits=2).scores
    assert evaluate(z, some, num_splits=2).scores == expected
    names = np.array(["a", "b", "c"], dtype=object)[y]
    names[~known] = None
    assert evaluate(z, names, num_splits=2).scores == expected
