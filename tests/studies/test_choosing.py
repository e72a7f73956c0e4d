"""What is lost by choosing without labels."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from toys import toy_graph, toy_graphs

from dsgrl.bench.lines import read_lines
from dsgrl.methods import Method, StopByLinks
from dsgrl.train.watch import Watch
from studies import RESULTS, curves
from studies.choosing import (
    CRITERIA,
    HiddenLinks,
    choose_by_links,
    default_table,
    judge_criterion,
    points_lost,
    render_choosing,
)
from studies.curves import NODE_DEFAULT, base_setting, name_setting, run_curves

BASE = base_setting("node")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cora be a toy, and a curve short."""

    def load(name: str, folder: Path | None = None) -> Any:
        return toy_graphs() if name == "mutag" else toy_graph()

    monkeypatch.setattr(curves, "load_dataset", load)
    monkeypatch.setattr(
        curves, "RECORDED_EPOCHS", {"node": (0, 1, 3), "graph": (0, 2), "hetero": (0,)}
    )


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


def test_default_table__is_judged_with_the_tolerance_of_the_default() -> None:
    # As above: within a whole standard error epoch 5 would be kept, and 1 point lost.
    rows = (
        row(0, 1, 1, link_auc=0.8),
        row(5, 2, 2, link_auc=0.88),
        row(10, 3, 3, link_auc=0.9),
    )
    default = curve("a", name_setting(NODE_DEFAULT), *rows)
    half, whole = (
        default_table([{**default, "config": {"epochs__tolerance": tolerance}}])
        for tolerance in (0.5, 1.0)
    )
    assert half.endswith("| epoch kept | 10 |  |\n| lost | 0.00 | 0.00 |")
    assert whole.endswith("| epoch kept | 5 |  |\n| lost | 1.00 | 1.00 |")
    assert default_table([curve("a", BASE, *rows)]) == ""


class Still(Method):
    """Has an embedding that nobody looks at."""

    def embed(self, graph: Any) -> torch.Tensor:
        return torch.zeros(1, 1)


def watched(rows: list[dict[str, float]], hidden: int, tolerance: float) -> int:
    """Let `Watch` follow a curve as the training loop does; return what it keeps."""
    scores = iter([row["link_auc"] for row in rows])
    links: Any = SimpleNamespace(
        score=lambda _: next(scores),
        standard_error=HiddenLinks(hidden).standard_error,
    )
    graph: Any = SimpleNamespace(split=lambda z: (z,))
    watch = Watch(Still(), graph, links, StopByLinks(tolerance=tolerance))
    for each in rows[1:]:
        watch.look(int(each["epoch"]))
        if watch.should_stop(int(each["epoch"])):
            break
    return watch.restore()


EPOCHS = (0, 5, 50, 100, 150, 200, 250, 300)
SHAPES = {
    # The re-implementation that was here stopped at epoch 150 and kept epoch 5.
    "dips and rises": (0.7, 0.8, 0.6, 0.65, 0.7, 0.75, 0.9, 0.9),
    "falls": (0.9, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6),
    "rises": (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.95),
    "stays": (0.8,) * 8,
}


@pytest.mark.parametrize("tolerance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_choose_by_links__keeps_what_watch_keeps(shape: str, tolerance: float) -> None:
    rows = [
        row(epoch, 0, 0, link_auc=auc)
        for epoch, auc in zip(EPOCHS, SHAPES[shape], strict=True)
    ]
    kept, _ = choose_by_links(rows, 1000, tolerance)
    assert rows[kept]["epoch"] == watched(rows, 1000, tolerance)
    if shape == "dips and rises":
        assert rows[kept]["epoch"] == 250


def test_choose_by_links__keeps_what_watch_keeps_on_recorded_curves() -> None:
    lines = [each for each in read_lines([RESULTS / "curves.jsonl"]) if each["hidden"]]
    assert len(lines) > 40
    for each in lines:
        for tolerance in (0.5, 1.0):
            kept, _ = choose_by_links(each["rows"], each["hidden"], tolerance)
            expected = watched(each["rows"], each["hidden"], tolerance)
            assert each["rows"][kept]["epoch"] == expected
