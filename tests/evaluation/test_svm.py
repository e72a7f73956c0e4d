"""The support vector machine of `10-fold-svm`: its folds, its choice, its scores."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from typer.testing import CliRunner

from dsgrl.cli import app
from dsgrl.evaluation import evaluate, protocol_splits, svm
from dsgrl.evaluation.labels import encode_labels
from dsgrl.evaluation.probes import svm_probe
from dsgrl.evaluation.svm import COSTS
from dsgrl.typing import InputError, Split

PROTOCOL = "10-fold-svm"


def test_folds__cover_every_row_once_and_are_stratified() -> None:
    y = np.random.default_rng(0).permutation(np.repeat(range(3), [100, 60, 28]))
    # Also for a set that has public folds.
    splits = protocol_splits(PROTOCOL, y, dataset="enzymes")
    assert len(splits) == 10
    judged = np.concatenate([split.test for split in splits])
    assert sorted(judged.tolist()) == list(range(len(y)))
    for split in splits:
        assert sorted(np.concatenate(split).tolist()) == list(range(len(y)))
        np.testing.assert_allclose(
            np.bincount(y[split.test]), np.bincount(y) / 10, atol=1
        )


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_score__equals_a_plain_grid_search_of_scikit_learn(
    blobs: Any, classes: int
) -> None:
    """As GraphCL and GraphMAE evaluate; kernels are not shared here."""
    z, y = blobs(spread=5.0)
    z, y = z[y < classes], y[y < classes]
    expected, inner, chosen = [], [], set()
    for rest, test in StratifiedKFold(10, shuffle=True, random_state=0).split(z, y):
        search = GridSearchCV(SVC(break_ties=True), {"C": COSTS}, cv=5)
        search.fit(z[rest], y[rest])
        expected.append(100 * search.score(z[test], y[test]))
        inner.append(100 * search.best_score_)
        chosen.add(search.best_params_["C"])
    found = evaluate(z, y, protocol=PROTOCOL)
    assert len(chosen) > 1
    assert found.scores == pytest.approx(expected)
    assert found.validation == pytest.approx(inner)
    assert (found.protocol, found.metric) == (PROTOCOL, "accuracy")


def test_choice__reads_no_test_label_and_no_test_row(blobs: Any) -> None:
    z, y = blobs(spread=5.0)
    for split in protocol_splits(PROTOCOL, y, num_splits=3):
        poisoned, moved = y.copy(), z.copy()
        poisoned[split.test] = (y[split.test] + 1) % 3
        moved[split.test] *= 100
        honest, wrong, far = (
            svm_probe(rows, encode_labels(labels), split, "accuracy")
            for rows, labels in ((z, y), (z, poisoned), (moved, y))
        )
        assert honest.choice == wrong.choice == far.choice
        assert honest.validation == wrong.validation
        assert honest.validation == pytest.approx(far.validation)
        assert honest.test != wrong.test


def test_machine__is_fitted_to_training_and_validation_rows(blobs: Any) -> None:
    """The split between the two changes nothing, what they have together does."""
    z, y = blobs(spread=5.0)
    (split,) = protocol_splits(PROTOCOL, y, num_splits=1)
    turned = Split(split.val, split.train, split.test)
    fewer = Split(split.train[::2], split.val, split.test)
    one, two, other = (
        svm_probe(z, encode_labels(y), part, "accuracy")
        for part in (split, turned, fewer)
    )
    assert one == two
    assert one.validation != other.validation


def test_machine__a_class_without_training_rows_is_never_predicted(blobs: Any) -> None:
    z, y = blobs()
    (split,) = protocol_splits(PROTOCOL, y, num_splits=1)
    only_tested = y.copy()
    only_tested[split.test] += 3
    assert svm_probe(z, encode_labels(only_tested), split, "accuracy").test == 0


def test_roc_auc__ranks_by_the_distance_from_the_boundary(blobs: Any) -> None:
    z, y = blobs(spread=5.0)
    z, y = z[y < 2], y[y < 2]
    (split,) = protocol_splits(PROTOCOL, y, num_splits=1)
    found = svm_probe(z, encode_labels(y), split, "roc_auc")
    inside = np.concatenate([split.train, split.val])
    machine = SVC(C=found.choice[1]).fit(z[inside], y[inside])
    distance = machine.decision_function(z[split.test])
    assert found.test == pytest.approx(100 * roc_auc_score(y[split.test], distance))


def test_refusals__are_one_line(blobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    z, y = blobs()
    several = np.stack([y == 0, y == 1], axis=1).astype(int)
    with pytest.raises(InputError, match="folds of rows with several labels"):
        evaluate(z, several, protocol=PROTOCOL)
    with pytest.raises(InputError, match="'svm' on rows with several labels"):
        evaluate(z, several, probe="svm")
    lonely = np.append(y[:-1], 3)
    split = Split(
        np.append(np.arange(250), 299), np.arange(250, 260), np.arange(260, 280)
    )
    with pytest.raises(InputError, match="a class of one training row"):
        evaluate(z, lonely, splits=[split], probe="svm")
    monkeypatch.setattr(svm, "MOST_ROWS", 299)
    with pytest.raises(InputError, match="300 rows compares all pairs"):
        evaluate(z, y, protocol=PROTOCOL)


def test_command_line__knows_the_protocol(blobs: Any, tmp_path: Path) -> None:
    z, y = blobs(spread=5.0)
    np.save(tmp_path / "z.npy", z)
    np.save(tmp_path / "y.npy", y)
    paths = [str(tmp_path / "z.npy"), "--labels", str(tmp_path / "y.npy")]
    result = CliRunner().invoke(app, ["evaluate", *paths, "--protocol", PROTOCOL])
    expected = evaluate(z, y, protocol=PROTOCOL)
    assert result.exit_code == 0, result.output
    assert f"accuracy {expected.mean:.2f}" in result.output
    assert "10-fold-svm, 10 splits" in result.output
