"""Curves, and what is lost by choosing without labels."""

from pathlib import Path
from typing import Any

import pytest
from studies.choosing import (
    CRITERIA,
    judge_criterion,
    points_lost,
    render_choosing,
)
from studies.curves import ALONE, base_setting, name_setting, run_curves
from test_runner import toy_graph, toy_graphs

from dsgrl.bench.lines import read_lines
from dsgrl.typing import InputError
from studies import curves

BASE = base_setting("node")
QUICK = {"out_channels": 4, "augment_channels": 8}


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cora be a toy, and a curve short."""

    def load(name: str, folder: Path | None = None) -> Any:
        return toy_graphs() if name == "mutag" else toy_graph()

    monkeypatch.setattr(curves, "load_dataset", load)
    monkeypatch.setattr(
        curves, "EPOCHS", {"node": (0, 1, 3), "graph": (0, 2), "hetero": (0,)}
    )


@pytest.mark.usefixtures("toys")
def test_curves__record_the_untrained_model_and_the_epochs_asked_for() -> None:
    (line,) = run_curves(["cora"], settings=QUICK)
    assert [row["epoch"] for row in line["rows"]] == [0, 1, 3]
    untrained, *trained = line["rows"]
    assert "loss" not in untrained
    for row in trained:
        assert {"loss", "invariance", "link_auc", "agreement", "val", "test"} <= {*row}


@pytest.mark.usefixtures("toys")
def test_curves__are_resumed_and_repeatable(tmp_path: Path) -> None:
    results = tmp_path / "curves.jsonl"
    (first,) = run_curves(["cora"], settings=QUICK, results=results)
    assert list(run_curves(["cora"], settings=QUICK, results=results)) == []
    (again,) = run_curves(["cora"], settings=QUICK)
    assert again["rows"] == first["rows"]
    assert [line["rows"] for line in read_lines([results])] == [first["rows"]]


@pytest.mark.usefixtures("toys")
def test_curves__may_be_appended_to_lines_of_another_suite(tmp_path: Path) -> None:
    results = tmp_path / "all.jsonl"
    results.write_text('{"suite": "speed", "case": "photo"}\n')
    assert len(list(run_curves(["cora"], settings=QUICK, results=results))) == 1
    assert [found["suite"] for found in read_lines([results])] == ["speed", "curves"]
    assert list(run_curves(["cora"], settings=QUICK, results=results)) == []


@pytest.mark.usefixtures("toys")
def test_curves__bad_names_and_settings_are_refused() -> None:
    with pytest.raises(InputError, match="unknown dataset 'coral'"):
        next(run_curves(["coral"]))
    with pytest.raises(InputError, match="lr=-1"):
        next(run_curves(["cora"], settings={"lr": -1}))


def row(epoch: int, val: float, test: float, **signals: float) -> dict[str, float]:
    return {"epoch": epoch, "val": val, "test": test, "loss": -epoch, **signals}


def test_points_lost__is_measured_on_test_rows_after_choosing_by_validation() -> None:
    good, better, liked = row(0, 70, 71), row(1, 80, 75), row(2, 60, 69)
    candidates = [(0.1, good), (0.2, better), (0.9, liked)]
    assert points_lost(candidates) == 75 - 69
    assert points_lost([(0.9, better), (0.1, good)]) == 0


def curve(dataset: str, setting: str, *rows: dict[str, float]) -> dict[str, Any]:
    return {
        "suite": "curves",
        "dataset": dataset,
        "setting": setting,
        "level": "node",
        "hidden": 100,
        "rows": list(rows),
    }


def test_judge_criterion__epochs_within_the_default_and_all_settings_together() -> None:
    lines = [
        curve("a", BASE, row(0, 50, 50, link_auc=0.6), row(5, 60, 61, link_auc=0.9)),
        curve("a", "lr=1", row(0, 50, 50, link_auc=0.6), row(5, 70, 72, link_auc=0.8)),
    ]
    judged = judge_criterion("held-out links, the best", lines)
    assert judged is not None
    assert judged.epochs == {"a": 0}
    assert judged.everything == {"a": 72 - 61}
    assert 0 < judged.correlation["a"] < 1


def test_judge_criterion__the_earliest_within_a_standard_error_of_the_best() -> None:
    # At 100 links the standard error near 0.9 is 0.03.
    lines = [
        curve(
            "a",
            BASE,
            row(0, 1, 1, link_auc=0.8),
            row(5, 2, 2, link_auc=0.88),
            row(10, 3, 3, link_auc=0.9),
        )
    ]
    judged = judge_criterion("held-out links, earliest near the best", lines)
    assert judged is not None
    assert judged.epochs == {"a": 1}


def test_judge_criterion__none_where_the_signal_was_not_recorded() -> None:
    lines = [curve("a", BASE, row(0, 1, 1))]
    assert judge_criterion("held-out links, the best", lines) is None


def test_judge_criterion__a_curve_cut_short_by_divergence_has_its_first_row() -> None:
    lines = [curve("a", BASE, row(0, 1, 1, link_auc=0.6))]
    judged = judge_criterion("held-out links, earliest near the best", lines)
    assert judged is not None
    assert judged.epochs == {"a": 0}
    # One setting: there was nothing to choose among.
    assert judged.everything == {}


def test_judge_criterion__an_epoch_that_was_not_recorded_has_no_say() -> None:
    lines = [curve("a", BASE, row(0, 1, 1), row(20, 1, 1))]
    assert judge_criterion("always epoch 100", lines) is None
    assert judge_criterion("always epoch 20", lines) is not None


@pytest.mark.usefixtures("toys")
def test_curves__looking_more_often_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (often,) = run_curves(["cora"], settings=QUICK)
    monkeypatch.setattr(curves, "EPOCHS", {"node": (0, 3)})
    (seldom,) = run_curves(["cora"], settings=QUICK)
    assert seldom["rows"] == [often["rows"][0], often["rows"][-1]]


@pytest.mark.usefixtures("toys")
def test_render_choosing__has_every_level_and_criterion_that_has_a_say() -> None:
    changes = {"node": {"gain": 1.0}, "graph": {}}
    lines = [
        line
        for name, level in (("cora", "node"), ("mutag", "graph"))
        for line in run_curves([name], settings=changes[level])
    ]
    text = render_choosing(lines)
    nodes, graphs = text.split("## Whole graphs")
    assert "## Nodes" in nodes
    for name in CRITERIA:
        recorded = not name.startswith("always")
        assert nodes.count(f"| {name} |") == 2 * recorded
        needs_links = "links" in name or "smooth" in name or "neighbours" in name
        assert graphs.count(f"| {name} |") == 2 * (recorded and not needs_links)


def test_render_choosing__the_default_of_nodes_is_judged_within_half_an_error() -> None:
    # As above: within a whole standard error epoch 5 would be kept, and 1 point lost.
    rows = (
        row(0, 1, 1, link_auc=0.8),
        row(5, 2, 2, link_auc=0.88),
        row(10, 3, 3, link_auc=0.9),
    )
    before, after = (
        render_choosing([curve("a", BASE, *rows), *more])
        for more in ([], [curve("a", name_setting(ALONE), *rows)])
    )
    assert "today's default" not in before
    assert "|  | a | mean |\n| --- | --- | --- |\n| lost | 0.00 | 0.00 |" in after
