import dataclasses
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dsgrl
from dsgrl.evaluation import evaluate, manifest_hash, protocol_splits
from dsgrl.evaluation.probes import PROBES, ProbeResult
from dsgrl.typing import InputError, Score, Split


def test_evaluate__finds_what_is_there_and_no_more(blobs: Any) -> None:
    z, y = blobs()
    assert evaluate(z, y).mean > 95
    assert evaluate(z, y, probe="knn").mean > 95
    rng = np.random.default_rng(1)
    assert abs(evaluate(rng.normal(size=(300, 6)), y).mean - 33) < 6


# Each name after a fresh import of the package; other libraries are loaded once.
PLAIN_IMPORTS = """
import inspect, sys
for name in sys.argv[1:]:
    for module in [m for m in sys.modules if m.partition(".")[0] == "dsgrl"]:
        del sys.modules[module]
    import dsgrl
    assert [m for m in sys.modules if m.startswith("dsgrl.")] == [], name
    public = getattr(dsgrl, name)
    assert name in dir(dsgrl), name
    assert public.__doc__, name
    parameters = inspect.signature(public).parameters.values()
    assert parameters, name
    assert not any(p.kind is p.VAR_KEYWORD for p in parameters), name
"""


@pytest.mark.slow
def test_public_names__are_there_after_a_plain_import() -> None:
    command = [sys.executable, "-c", PLAIN_IMPORTS, *dsgrl.__all__]
    subprocess.run(command, check=True)


def test_evaluate__takes_any_kind_of_labels(blobs: Any) -> None:
    z, y = blobs()
    names = np.array(["ape", "bat", "cat"])[y]
    assert evaluate(z, names, num_splits=2) == evaluate(z, y, num_splits=2)


def test_score__hand_computed_mean_and_deviation() -> None:
    score = Score([70.0, 80.0, 90.0])
    assert score.mean == 80
    assert score.std == pytest.approx((200 / 3) ** 0.5)


def test_evaluate__hand_computed_from_the_splits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = iter([ProbeResult(60.0, 1.0, ("", 0)), ProbeResult(80.0, 2.0, ("", 0))])
    monkeypatch.setitem(PROBES, "logistic", lambda *_: next(results))
    score = evaluate(np.eye(40), np.arange(40) % 2, num_splits=2)
    assert (score.mean, score.std) == (70, 10)
    assert score.validation == [1.0, 2.0]


def test_evaluate__ten_splits_fit_on_ten_training_sets(
    blobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    z, y = blobs()
    seen: set[bytes] = set()

    def spy(z: Any, targets: Any, split: Split, metric: str) -> ProbeResult:
        seen.add(split.train.tobytes())
        return ProbeResult(50.0, 50.0, ("", 0))

    monkeypatch.setitem(PROBES, "logistic", spy)
    assert len(evaluate(z, y).scores) == len(seen) == 10
    seen.clear()
    assert len(evaluate(z, y, protocol="10/10/80").scores) == len(seen) == 20
    seen.clear()
    assert len(evaluate(z, y, protocol="folds").scores) == len(seen) == 10


def test_evaluate__says_what_it_measured_and_on_which_rows(blobs: Any) -> None:
    z, y = blobs()
    score = evaluate(z, y, num_splits=3, metric="macro_f1")
    assert (score.metric, score.protocol) == ("macro_f1", "5/15/80")
    splits = protocol_splits("5/15/80", y, num_splits=3)
    assert score.manifest == manifest_hash(splits, "5/15/80")
    assert len(score.validation) == 3
    other = evaluate(z, y, num_splits=3, metric="macro_f1", random_state=1)
    assert other.manifest != score.manifest


def test_evaluate__given_splits_score_as_drawn_ones(blobs: Any) -> None:
    z, y = blobs(spread=3.0)
    splits = protocol_splits("balanced", y, num_splits=2)
    named = evaluate(z, y, splits=splits, protocol="balanced")
    assert named == evaluate(z, y, protocol="balanced", num_splits=2)
    unnamed = evaluate(z, y, splits=splits)
    assert (unnamed.protocol, unnamed.scores) == ("given", named.scores)


@pytest.mark.slow
def test_evaluate__two_runs_give_identical_lines(blobs: Any) -> None:
    """In processes of their own, to the last digit."""
    code = """
import dataclasses, json, numpy as np
from dsgrl.evaluation import evaluate
z = np.random.default_rng(0).normal(size=(400, 30))
y = (z[:, :4] + np.random.default_rng(1).normal(size=(400, 4))).argmax(axis=1)
print(json.dumps(dataclasses.asdict(evaluate(z, y, metric="macro_f1"))))
"""
    lines = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert lines[0] == lines[1]
    assert len(json.loads(lines[0])["scores"]) == 10


@pytest.mark.parametrize("protocol", ["5/15/80", "folds"])
def test_evaluate__a_shuffled_loader_changes_no_score(
    blobs: Any, protocol: str
) -> None:
    z, y = blobs(spread=3.0)
    expected = evaluate(z, y, protocol=protocol)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = evaluate(z[order], y[order], ids=order, protocol=protocol)
    assert shuffled == expected
    without_ids = evaluate(z[order], y[order], protocol=protocol)
    assert without_ids.manifest != expected.manifest


def test_evaluate__poisoned_test_labels_change_no_validation_score(blobs: Any) -> None:
    z, y = blobs(spread=4.0)
    splits = protocol_splits("10/10/80", y, num_splits=1)
    poisoned = y.copy()
    poisoned[splits[0].test] = (y[splits[0].test] + 1) % 3
    honest, wrong = (evaluate(z, labels, splits=splits) for labels in (y, poisoned))
    assert honest.validation == wrong.validation
    assert honest.scores != wrong.scores


def test_evaluate__default_metric_follows_the_task(blobs: Any) -> None:
    z, y = blobs()
    assert evaluate(z, y, num_splits=1).metric == "accuracy"
    several = np.stack([y == 0, y == 1], axis=1).astype(int)
    assert evaluate(z, several, num_splits=1).metric == "micro_f1"
    rows = np.random.default_rng(0).permutation(300)
    masks = tuple(np.isin(np.arange(300), part) for part in np.split(rows, [50, 100]))
    splits = protocol_splits("imdb-20", y, masks=masks)
    assert evaluate(z, y, splits=splits, protocol="imdb-20").metric == "macro_f1"


def test_evaluate__metrics_agree_where_they_must(blobs: Any) -> None:
    z, y = blobs(spread=4.0)
    splits = protocol_splits("5/15/80", y, num_splits=2)
    exact, micro, macro = (
        evaluate(z, y, splits=splits, metric=metric).scores
        for metric in ("accuracy", "micro_f1", "macro_f1")
    )
    assert micro == pytest.approx(exact)
    assert macro != pytest.approx(exact)


def test_evaluate__constant_and_shifted_columns_do_no_harm(blobs: Any) -> None:
    z, y = blobs()
    wide = np.concatenate([z, np.full((300, 1), 5.0), 1e4 + z[:, :1]], axis=1)
    assert evaluate(wide, y, num_splits=3).mean > 90


def test_evaluate__rows_without_a_label_are_left_out(blobs: Any) -> None:
    z, y = blobs()
    some = np.where(np.arange(300) % 7 == 0, -1, y)
    known = some >= 0
    expected = evaluate(z[known], y[known], num_splits=2).scores
    assert evaluate(z, some, num_splits=2).scores == expected
    names = np.array(["a", "b", "c"], dtype=object)[y]
    names[~known] = None
    assert evaluate(z, names, num_splits=2).scores == expected


def test_evaluate__refuses_in_one_line(blobs: Any) -> None:
    z, y = blobs()
    broken = z.copy()
    broken[7, 2] = np.nan
    calls: list[tuple[dict[str, Any], str]] = [
        ({"y": y[:-1]}, r"shape \[300, 6\] for 299 labels"),
        ({"z": z[:, 0]}, r"shape \[300\]"),
        ({"z": broken}, "in 1 of 300 rows, the first in row 7"),
        ({"probe": "tree"}, "unknown probe 'tree', expected logistic, knn, svm"),
        (
            {"protocol": "10-fold-svm", "probe": "knn"},
            "probe 'knn' for protocol '10-fold-svm', expected 'svm'",
        ),
        ({"metric": "f2"}, "unknown metric 'f2', expected accuracy"),
        ({"protocol": "half"}, "unknown protocol 'half'"),
        ({"num_splits": 0}, "0 splits"),
        ({"ids": np.zeros(300)}, "1 different ids for 300 rows"),
        ({"splits": [Split(*np.split(np.arange(600), [9, 99]))]}, "names row 599"),
    ]
    for changed, message in calls:
        with pytest.raises(InputError, match=message):
            evaluate(**{"z": z, "y": y, **changed})


def test_score__is_plain_data() -> None:
    assert json.loads(json.dumps(dataclasses.asdict(Score([1.0])))) == {
        "scores": [1.0],
        "validation": [],
        "metric": "accuracy",
        "protocol": "",
        "manifest": "",
    }


@pytest.mark.parametrize("shape", [(60, 0), (0, 5), (0, 0)])
@pytest.mark.parametrize("probe", PROBES)
def test_evaluate__refuses_embeddings_of_no_size(
    shape: tuple[int, int], probe: str
) -> None:
    with pytest.raises(InputError, match="shape") as caught:
        evaluate(np.zeros(shape), np.arange(shape[0]) % 3, probe=probe)
    assert str(list(shape)) in str(caught.value)
    assert "\n" not in str(caught.value)
