"""What the other datasets would have chosen."""

from pathlib import Path
from typing import Any

import pytest

from studies import joining
from studies.joining import GRAPH_WAYS, NODE_WAYS, leave_one_out, run_joining
from studies.render import render


def lines_of(scores: dict[str, dict[float, tuple[float, float]]]) -> list[Any]:
    """Make lines of validation and test scores by dataset and weight."""
    return [
        {
            "dataset": name,
            "level": "graph",
            "weight": weight,
            "own": False,
            "val_mean": val,
            "mean": test,
            "seed": 0,
        }
        for name, ways in scores.items()
        for weight, (val, test) in {0.0: (0.0, 5.0), **ways}.items()
    ]


def test_leave_one_out__the_others_choose_by_validation_rows() -> None:
    lines = lines_of(
        {
            "a": {1.0: (90.0, 10.0), 2.0: (10.0, 90.0)},
            "b": {1.0: (50.0, 20.0), 2.0: (60.0, 80.0)},
            "c": {1.0: (50.0, 30.0), 2.0: (60.0, 70.0)},
        }
    )
    a, b, c = leave_one_out(lines)
    assert (a["way"], a["left_out"]) == ((2.0, False), 90.0)
    assert (b["way"], b["left_out"]) == ((1.0, False), 20.0)
    assert (c["all"], c["floor"]) == (30.0, 5.0)


def test_run_joining__one_line_per_way_and_goes_on_where_it_was(tmp_path: Path) -> None:
    results = tmp_path / "joining.jsonl"
    (tmp_path / "joining.jsonl").touch()
    lines = list(run_joining(["toy"], results=results))
    assert [(line["weight"], line["own"]) for line in lines[1:]] == list(NODE_WAYS)
    assert lines[0]["weight"] == 0
    assert list(run_joining(["toy"], results=results)) == []


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch, community_graph: Any) -> None:
    from dsgrl.datasets.table import DATASETS, Dataset

    edges = community_graph.num_edges
    row = Dataset(lambda _: community_graph, "toy", 60, edges, 12, 3)
    monkeypatch.setitem(DATASETS, "toy", row)


def test_ways__have_what_the_package_does() -> None:
    assert joining.CHOSEN["node"] in NODE_WAYS
    assert joining.CHOSEN["graph"] in GRAPH_WAYS


def test_page__has_a_row_per_recorded_dataset() -> None:
    page = render("JOINING.md")
    for name in ("cora", "citeseer", "debian"):
        assert f"| {name} |" in page
