"""Tables: ours beside the paper's, computed from lines only."""

import re
from typing import Any

import pytest

from dsgrl.bench.systems import SYSTEMS, typical_spec
from dsgrl.bench.tables import BY_ITSELF, load_paper, render_best, render_tables
from dsgrl.methods import METHODS


def line(
    dataset: str, method: str, scores: list[float], **other: Any
) -> dict[str, Any]:
    return {
        "suite": "nodes",
        "dataset": dataset,
        "method": method,
        "protocol": "5/15/80",
        "metric": "accuracy",
        "scores": scores,
        "recipe": "default",
        "seed": 0,
        "config": {},
        "seconds_per_epoch": None,
        "val_mean": 0.0,
        **other,
    }


def rows_of(text: str, title: str) -> list[list[str]]:
    """Cells of the table below a title, its head first."""
    part = text.split(f"### {title}\n\n")[1].split("\n\n")[0]
    rows = (row.strip("\n")[2:-2].split(" | ") for row in part.splitlines())
    return [row for row in rows if "---" not in row]


def cells_of(text: str, title: str, system: str, whose: str) -> list[str]:
    (row,) = (
        row for row in rows_of(text, title) if system in row[:2] and whose in row[:3]
    )
    return row[row.index(whose) + 1 :]


def test_table__our_number_the_papers_and_the_difference() -> None:
    text = render_tables([line("photo", "dsgrl-feature", [91.0, 91.4])])
    cells = cells_of(text, "Node classification", "DSGRL-F", "ours (default)")
    assert cells[1] == "91.2 ± 0.2 (paper 90.6, +0.6)"
    assert cells[0] == "(paper 91.4)"


def test_table__has_the_papers_layout() -> None:
    text = render_tables([line("photo", "dsgrl-feature", [91.0])])
    head, *rows = rows_of(text, "Node classification")
    table = load_paper()["nodes"]
    assert head[3:] == [column["title"] for column in table["columns"]]
    assert [row[1] for row in rows] == [row["system"] for row in table["rows"]]
    groups = [row[0] for row in rows if row[0]]
    assert groups == [
        "Ours",
        "Self-supervised (baselines)",
        "Semi-supervised (references)",
    ]


def test_table__systems_we_have_not_run_show_the_papers_number() -> None:
    text = render_tables([line("photo", "dsgrl-feature", [91.0])])
    cells = cells_of(text, "Node classification", "GCA", "the paper's")
    assert cells[:4] == ["91.0 ± 0.4", "86.0 ± 1.1", "83.8 ± 0.2", "OOR"]


def test_table__every_recipe_has_its_row_the_default_first() -> None:
    lines = [
        line("photo", "dsgrl-feature", [90.0], recipe="paper"),
        line("photo", "dsgrl-feature", [92.0]),
        line("photo", "dsgrl-feature", [93.0], recipe="tuned"),
    ]
    whose = re.findall(r"ours \((\w+)\)", render_tables(lines))
    assert whose == ["default", "paper", "tuned"]


def test_table__controls_stand_below() -> None:
    lines = [
        line("photo", "dsgrl-feature", [91.0]),
        line("photo", "raw", [84.0, 85.0]),
    ]
    *_, last = rows_of(render_tables(lines), "Node classification")
    assert last[:3] == ["Controls and variants", "raw", "ours (default)"]
    assert last[4] == "84.5 ± 0.5"


def test_table__seeds_are_taken_together_and_the_last_of_a_seed_counts() -> None:
    lines = [
        line("photo", "raw", [10.0]),
        line("photo", "raw", [80.0]),
        line("photo", "raw", [90.0], seed=1),
    ]
    assert "85.0 ± 5.0" in render_tables(lines)


def test_table__heterogeneous_systems_stand_side_by_side() -> None:
    lines = [
        line(
            "imdb",
            "dsgrl-feature",
            [54.0],
            suite="hetero",
            protocol="imdb-20",
            metric="macro_f1",
        )
    ]
    text = render_tables(lines)
    title = "Node classification, heterogeneous graph (IMDB)"
    _, systems, whose, *rows = rows_of(text, title)
    place = systems.index("DSGRL-F")
    assert whose[place] == "ours (default)"
    assert rows[0][0] == "Macro-F1, 20 %"
    assert rows[0][place] == "54.0 ± 0.0 (paper 53.1, +0.9)"
    assert len(rows) == 8


def test_table__seconds_per_epoch_come_from_the_same_lines() -> None:
    lines = [line("photo", "dsgrl-feature", [91.0], seconds_per_epoch=0.05)]
    cells = cells_of(
        render_tables(lines), "Seconds per epoch", "DSGRL-F", "ours (default)"
    )
    assert cells[0] == "0.05 (paper 0.03, +0.02)"


def test_table__datasets_the_paper_lacks_have_a_table_of_their_own() -> None:
    lines = [
        line("cora", "dsgrl-feature", [81.0]),
        line("cora", "raw", [60.0]),
        line("photo", "raw", [60.0], protocol="10/10/80"),
    ]
    text = render_tables(lines)
    head, *rows = rows_of(text, "Suite nodes: not in the paper")
    assert head[2:] == ["cora (5/15/80, accuracy)", "photo (10/10/80, accuracy)"]
    assert [row[0] for row in rows] == ["dsgrl-feature", "raw"]
    assert "### Node classification" not in text


def test_table__other_kinds_of_lines_are_passed_over() -> None:
    assert render_tables([{"suite": "speed", "case": "photo"}]) == "no results\n"


@pytest.mark.parametrize("method", ["dsgrl-feature", "raw"])
def test_table__is_a_table(method: str) -> None:
    """Every row has as many cells as its head."""
    lines = [line(name, method, [70.0]) for name in ("photo", "cora", "cs")]
    for part in render_tables(lines).split("\n\n")[1::2]:
        assert len({row.count("|") for row in part.strip().splitlines()}) == 1


def test_best__is_chosen_by_validation_rows_among_ours_alone() -> None:
    lines = [
        line("photo", "dsgrl-feature", [94.0], recipe="tuned", val_mean=90.0),
        line("photo", "dsgrl-topology", [91.0], recipe="tuned", val_mean=89.0),
        line("photo", "dsgrl-topology", [92.0], recipe="tuned", val_mean=93.0, seed=1),
        line("photo", "cca-ssg", [99.0], recipe="tuned", val_mean=99.0),
        line("photo", "dsgrl-both", [89.0], recipe="tuned, out_channels=64"),
        line("photo", "dsgrl-feature", [95.0], val_mean=99.0),
        line("photo", "dsgrl", [93.0]),
    ]
    *_, row = render_best(lines).splitlines()
    assert row[2:-2].split(" | ") == [
        "photo",
        "90.6",
        "91.5 ± 0.5 (topology, 2 seeds)",
        "89.0 ± 0.0 (both)",
        "93.0 ± 0.0 (beside the floor)",
        "",
    ]


def test_best__has_no_row_where_nothing_was_tuned() -> None:
    text = render_best([line("photo", "dsgrl-feature", [91.0])])
    assert "photo" not in text


@pytest.mark.parametrize("level", ["node", "graph", "hetero"])
def test_best__names_what_the_package_takes_by_itself(level: Any) -> None:
    spec = typical_spec(level)
    named = SYSTEMS[BY_ITSELF].configure({}, level).resolved(spec)
    assert named == METHODS["dsgrl"].Config().resolved(spec)
