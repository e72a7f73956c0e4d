"""Seconds of the default now and before."""

import json
from pathlib import Path
from typing import Any

import pytest

from studies import fit_time


def test_run_times__one_line_per_dataset_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, community_graph: Any
) -> None:
    from dsgrl.datasets.table import DATASETS, Dataset

    row = Dataset(
        lambda _: community_graph, "toy", 60, community_graph.num_edges, 12, 3
    )
    monkeypatch.setitem(DATASETS, "toy", row)
    monkeypatch.setattr(fit_time, "BEFORE", {"epochs": 0})
    results = tmp_path / "times.jsonl"
    results.touch()
    (line,) = fit_time.run_times(["toy"], results)
    # The default trains, the other one does not.
    assert line["now_cpu_s"] > line["before_cpu_s"] >= 0
    assert list(fit_time.run_times(["toy"], results)) == []


def test_table__sums_all_datasets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "times.jsonl"
    lines = [
        {"suite": "fit_time", "dataset": name, "before_cpu_s": before, "now_cpu_s": now}
        for name, before, now in (("a", 10.0, 4.0), ("b", 30.0, 6.0))
    ]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(fit_time, "RESULTS", results)
    assert "| all | 40.0 | 10.0 | 0.25 |" in fit_time.table()
