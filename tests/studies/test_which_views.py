"""Which views each way to choose takes."""

from pathlib import Path
from typing import Any

import pytest

from studies.which_views import KINDS, choose, complete_rows, run_views


def lines_of(name: str, scores: dict[str, tuple[float, float, float]]) -> list[Any]:
    """Make lines of one dataset: validation, test and AUC by kind of views."""
    return [
        {
            "dataset": name,
            "views": kind,
            "val_mean": scores.get(kind, (0.0, 0.0, 0.0))[0],
            "mean": scores.get(kind, (0.0, 0.0, 0.0))[1],
            "link_auc": scores.get(kind, (0.0, 0.0, 0.0))[2],
            "seed": 0,
        }
        for kind in KINDS
    ]


def test_choose__each_way_reads_its_own_numbers() -> None:
    lines = lines_of(
        "a",
        {
            "two_steps": (10.0, 1.0, 0.9),
            "learned_graph": (1.0, 90.0, 0.5),
            "node_alone": (50.0, 40.0, 0.5),
        },
    ) + lines_of("b", {"learned_both": (70.0, 3.0, 0.8)})
    chosen = choose(complete_rows(lines), "a")
    assert chosen == {
        "node alone": "node_alone",
        "by held-out links": "two_steps",
        "by the other graphs": "learned_both",
        "best in hindsight": "learned_graph",
    }


def test_complete_rows__leave_out_a_dataset_that_is_being_recorded() -> None:
    lines = lines_of("a", {})[:-1] + lines_of("b", {})
    assert list(complete_rows(lines)) == ["b"]


@pytest.mark.slow
def test_run_views__one_line_per_kind_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, community_graph: Any
) -> None:
    from dsgrl.datasets.table import DATASETS, Dataset

    row = Dataset(
        lambda _: community_graph, "toy", 60, community_graph.num_edges, 12, 3
    )
    monkeypatch.setitem(DATASETS, "toy", row)
    results = tmp_path / "views.jsonl"
    results.touch()
    lines = list(run_views(["toy"], results=results))
    assert [line["views"] for line in lines] == list(KINDS)
    assert all(0.4 < line["link_auc"] <= 1 for line in lines)
    assert list(run_views(["toy"], results=results)) == []
