"""The study of columns."""

from pathlib import Path
from typing import Any

import pytest

from dsgrl.bench.lines import read_lines
from studies import columns
from studies.columns import CASES, METHODS, RESULTS, make_tables, run_cases

PACKAGES = {
    f"p{i}": {
        "Section": "games" if i % 2 else "math",
        "Size": str(1000 + i),
        "Installed-Size": str(7 * i),
        "Architecture": "all" if i % 3 else "amd64",
        "Maintainer": f"{'Games Team' if i % 2 else 'Math Team'} <a@b.c>",
        "Description": f"{'a game of cards' if i % 2 else 'tool for algebra'} {i}",
    }
    for i in range(60)
}
LINKS = [(f"p{i}", f"p{(i + 2) % 60}", 0) for i in range(60)]


def test_tables__hold_the_fields_of_the_stanzas() -> None:
    edges, nodes = make_tables(PACKAGES, LINKS)
    assert edges.num_rows == 60
    assert nodes["maintainer"][1].as_py() == "Games Team"
    assert nodes["installed_size"][2].as_py() == 14


def test_run_cases__goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "METHODS", ("raw", "hops"))
    path = tmp_path / "lines.jsonl"
    lines = list(run_cases(*make_tables(PACKAGES, LINKS), path))
    assert len(lines) == 2 * len(CASES)
    by_case: dict[str, Any] = {
        line["columns"]: line["mean"] for line in lines if line["method"] == "raw"
    }
    assert by_case["numbers, categories"] > 70 > by_case["numbers"]
    assert list(run_cases(*make_tables(PACKAGES, LINKS), path)) == []


def test_recorded__categories_and_text_pay() -> None:
    scores = {(x["columns"], x["method"]): x["mean"] for x in read_lines([RESULTS])}
    assert len(scores) == len(CASES) * len(METHODS)
    for method in METHODS:
        few, some, everything = (scores[name, method] for name in CASES)
        assert few < some < everything
