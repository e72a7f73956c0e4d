from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dsgrl.evaluation.logistic import LogisticProblem, PrincipalAxes, probabilities

FINE = 1e-9


def predict(x: Any, y: Any, rows: Any, strength: float, num_classes: int) -> Any:
    axes = PrincipalAxes.of(x)
    several = y.ndim == 2
    problem = LogisticProblem.of(axes.coordinates, y, num_classes, several=several)
    columns, intercept = axes.to_columns(problem.solve(strength, None, FINE))
    return probabilities(rows @ columns + intercept, exclusive=problem.exclusive)


def uneven(num_rows: int, num_columns: int) -> Any:
    """Give columns of very different spread that hang together."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(num_columns, num_columns))
    x = rng.normal(size=(num_rows, num_columns)) * np.geomspace(1, 0.05, num_columns)
    return (5 + x @ mix).astype("f4")


def objective(x: Any, y: Any, weights: Any, intercept: Any, strength: float) -> float:
    """Compute what both minimise in a way of its own; weights [D, K]."""
    logits = x.astype("f8") @ weights + intercept
    if logits.shape[1] == 1:
        logits = np.hstack([np.zeros_like(logits), logits])
    log_total = np.log(np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1))
    likelihood = logits[np.arange(len(y)), y] - logits.max(axis=1) - log_total
    return float(np.square(weights).sum() / (2 * strength * len(y)) - likelihood.mean())


@pytest.mark.parametrize("num_columns", [8, 60], ids=["tall", "wide"])
@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("strength", [1e-3, 0.1, 10.0])
def test_fit__finds_the_optimum_scikit_learn_finds(
    num_columns: int, num_classes: int, strength: float
) -> None:
    x = uneven(150, num_columns)
    train, rest = x[:50], x[50:]
    y = np.arange(50) * 7 % num_classes
    axes = PrincipalAxes.of(train)
    problem = LogisticProblem.of(axes.coordinates, y, num_classes, several=False)
    columns, intercept = axes.to_columns(problem.solve(strength, None, FINE))
    model = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000)
    model.fit(train.astype("f8"), y)
    lowest = objective(train, y, model.coef_.T, model.intercept_, strength)
    reached = objective(train, y, columns.astype("f8"), intercept, strength)
    assert reached == pytest.approx(lowest, abs=1e-6)
    own = probabilities(rest @ columns + intercept, exclusive=problem.exclusive)
    expected = model.predict_proba(rest)[:, -own.shape[1] :]
    # Where the classes can be parted, the optimum is flat: much moves, little is won.
    np.testing.assert_allclose(own, expected, atol=5e-3 if strength < 1 else 0.01)


def test_fit__several_labels_are_one_against_the_rest() -> None:
    x = uneven(150, 8)
    rng = np.random.default_rng(1)
    y = (x @ rng.normal(size=(8, 3)) + 3 * rng.normal(size=(150, 3)) > 0).astype(int)
    together = predict(x[:100], y[:100], x[100:], 0.1, 3)
    for label in range(3):
        alone = predict(x[:100], y[:100, label], x[100:], 0.1, 2)
        np.testing.assert_allclose(together[:, label], alone[:, 0], atol=5e-3)


def test_fit__a_better_start_leads_to_the_same_place() -> None:
    axes = PrincipalAxes.of(uneven(200, 10))
    problem = LogisticProblem.of(axes.coordinates, np.arange(200) % 3, 3, several=False)
    cold = problem.solve(1.0, None, FINE)
    warm = problem.solve(1.0, problem.solve(0.01, None, FINE), FINE)
    difference = axes.coordinates @ (cold - warm)[:, :-1].T
    assert np.abs(difference).max() < 0.02


def test_axes__keep_distances() -> None:
    for shape in ((50, 12), (12, 50)):
        x = uneven(*shape)
        coordinates = PrincipalAxes.of(x).coordinates
        assert coordinates.shape[1] <= min(shape)
        for rows in (x, coordinates):
            rows -= rows.mean(axis=0)
        np.testing.assert_allclose(coordinates @ coordinates.T, x @ x.T, atol=0.02)


def test_fit__rows_all_alike_give_the_shares_of_the_classes() -> None:
    y = np.array([0] * 15 + [1] * 3 + [2] * 2)
    own = predict(np.ones((20, 4), "f4"), y, np.ones((2, 4), "f4"), 1.0, 3)
    np.testing.assert_allclose(own, [[0.75, 0.15, 0.1]] * 2, atol=1e-4)


def test_fit__an_absent_label_is_never_predicted() -> None:
    x = uneven(60, 5)
    y = np.stack([np.zeros(60, int), np.arange(60) % 2], axis=1)
    assert predict(x, y, x, 1.0, 2)[:, 0].max() < 0.05
