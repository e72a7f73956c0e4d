from typing import Any

import numpy as np
import pytest

from dsgrl.evaluation import evaluate, protocols
from dsgrl.evaluation.labels import encode_labels
from dsgrl.evaluation.logistic import LogisticProblem, PrincipalAxes
from dsgrl.evaluation.probes import logistic_probe
from dsgrl.evaluation.scaling import SCALINGS, Scaling
from dsgrl.evaluation.shared import SharedAxes, are_worth_sharing
from dsgrl.evaluation.splits import protocol_splits

every_scaling = pytest.mark.parametrize("name", SCALINGS)


def thin_rows(num_rows: int = 400, num_columns: int = 60, rank: int = 20) -> Any:
    """Give rows of fewer dimensions than columns, of uneven spread, off the origin."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(num_rows, rank)) * np.geomspace(1, 0.1, rank)
    z = 2 + factor @ rng.normal(size=(rank, num_columns))
    return (z * np.geomspace(1, 100, num_columns)).astype("f4")


@every_scaling
def test_shared_axes__are_orthonormal_and_span_the_rows_of_a_split(name: str) -> None:
    z = thin_rows()
    train = np.arange(0, 400, 3)
    scaling = Scaling.of(name, z[train])
    axes = SharedAxes.of(z).fitted_to(scaling, len(train))
    assert axes is not None
    np.testing.assert_allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-4)
    rows = scaling(z)
    centered = rows - rows[train].mean(axis=0)
    left = centered - centered @ axes @ axes.T
    assert np.square(left).sum() < 1e-6 * np.square(centered).sum()


@every_scaling
def test_shared_axes__lead_to_the_optimum_of_the_splits_own_axes(name: str) -> None:
    z = thin_rows()
    train = np.arange(0, 400, 2)
    y = sum((z[train, k] > np.median(z[:, k])).astype(int) for k in (0, 5))
    scaling = Scaling.of(name, z[train])
    rows = scaling(z[train])
    basis = SharedAxes.of(z).fitted_to(scaling, len(train))
    weights = []
    for axes in (PrincipalAxes.of(rows), PrincipalAxes.of(rows, basis)):
        problem = LogisticProblem.of(axes.coordinates, y, 3, several=False)
        weights.append(axes.to_columns(problem.solve(0.1, None, 1e-9)))
    (own, own_intercept), (shared, shared_intercept) = weights
    np.testing.assert_allclose(
        rows @ shared + shared_intercept, rows @ own + own_intercept, atol=0.02
    )


def test_shared_axes__too_many_for_the_rows__are_left() -> None:
    axes = SharedAxes.of(thin_rows(rank=20))
    scaling = Scaling.of("unit", thin_rows())
    assert axes.fitted_to(scaling, 20) is None
    assert axes.fitted_to(scaling, 200) is not None


def test_evaluate__shares_axes__and_judges_as_every_split_alone() -> None:
    z = thin_rows()
    y = (z[:, 0] > np.median(z[:, 0])).astype(int)
    splits = protocol_splits("folds", y)
    assert are_worth_sharing(z.shape[1], splits)
    alone = [logistic_probe(z, encode_labels(y), part, "accuracy") for part in splits]
    found = evaluate(z, y, splits=splits)
    assert found.scores == pytest.approx([result.test for result in alone], abs=2.5)


def test_evaluate__few_training_rows__does_not_look_for_axes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(z: Any) -> Any:
        raise AssertionError("looked at all columns")

    monkeypatch.setattr(protocols.SharedAxes, "of", refuse)
    z = thin_rows(num_columns=300)
    evaluate(z, np.arange(400) % 2, protocol="5/15/80", num_splits=2)
