"""The paper's numbers as data: complete, and those of the paper."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

from dsgrl.bench.suites import CASES, SUITES
from dsgrl.bench.systems import SYSTEMS
from dsgrl.bench.tables import GROUPS, load_paper
from dsgrl.datasets.table import DATASETS

PAPER = load_paper()
TEX = Path(__file__).parents[3] / "shared" / "paper" / "dsgrl-paper.tex"
every_table = pytest.mark.parametrize("table", PAPER.values(), ids=PAPER.keys())
# Rows and columns as one counts them in the paper; the last is of its appendix.
SHAPES = {
    "nodes": (11, 6),
    "large": (5, 2),
    "hetero": (9, 8),
    "graphs": (12, 8),
    "seconds": (9, 2),
}


def value(table: str, system: str, title: str, kind: str = "mean") -> Any:
    columns = [column["title"] for column in PAPER[table]["columns"]]
    (row,) = (row for row in PAPER[table]["rows"] if row["system"] == system)
    return row[kind][columns.index(title)]


def test_paper__has_every_table_in_full() -> None:
    found = {
        name: (len(table["rows"]), len(table["columns"]))
        for name, table in PAPER.items()
    }
    assert found == SHAPES
    for table in PAPER.values():
        for row in table["rows"]:
            assert len(row["mean"]) == len(table["columns"])
            assert len(row.get("std", row["mean"])) == len(table["columns"])


def test_paper__values_one_can_look_up() -> None:
    assert value("nodes", "DSGRL-F", "AmazonPhoto") == 90.6
    assert value("nodes", "Random-F", "AmazonPhoto") == 82.33
    assert value("nodes", "DSGRL-T", "MAG-CS") == 92.9
    assert value("nodes", "DSGRL-F", "GitHub", "std") == 0.5
    assert value("nodes", "MVGRL", "Deezer") == "OOR"
    assert value("nodes", "GraphSAGE", "Deezer") == 61.9
    assert value("large", "DSGRL-F", "Reddit (accuracy)") == 89.3
    assert value("large", "Cluster-GCN", "Yelp (ROC-AUC)") == 78.2
    assert value("hetero", "DSGRL-F", "Macro-F1, 80 %") == 60.28
    assert value("hetero", "MAGNN", "Micro-F1, 20 %") == 59.60
    assert value("graphs", "DSGRL-F", "ENZYMES") == 54.0
    assert value("graphs", "AD-GCL", "PROTEINS", "std") == 2.28
    assert value("graphs", "DGCNN", "DD", "std") == 4.3
    assert value("graphs", "ECC", "COLLAB") == "OOR"
    assert value("seconds", "DSGRL-T", "AmazonPhoto") == 0.48


@every_table
def test_paper__speaks_of_datasets_and_methods_we_know(table: dict[str, Any]) -> None:
    for column in table["columns"]:
        assert column["dataset"] in DATASETS
        suite = SUITES.get(table.get("suite", ""))
        if suite is not None:
            case = (column["protocol"], column["metric"])
            assert case in CASES.get(column["dataset"], suite.cases)
    for row in table["rows"]:
        assert row["group"] in GROUPS
        assert row["group"] != "ours" or row["method"] in SYSTEMS


def printed_numbers(label: str) -> list[str]:
    """What every cell of a table says, in reading order."""
    text = TEX.read_text()
    start = text.index(r"\label{" + label + "}")
    body = text[start : text.index(r"\end{table", start)]
    body = re.sub(r"\\cite\{[^}]*\}", "", body)
    number = r"\d+\.\d+"
    content = re.compile(rf"{number}(?:(?:\$\\pm\$| -/\+ ){number})?|\\oor|OOR")
    found = (content.search(cell) for cell in body.split("&"))
    return [_plain(cell[0]) for cell in found if cell]


def _plain(cell: str) -> str:
    if "oor" in cell.lower():
        return "OOR"
    return "±".join(f"{float(part):.2f}" for part in re.findall(r"\d+\.\d+", cell))


def recorded_numbers(table: dict[str, Any]) -> list[str]:
    cells = [
        [
            _plain(str(mean) if math.isnan(std) else f"{mean} {std}")
            for mean, std in zip(
                row["mean"],
                row.get("std", [math.nan] * len(row["mean"])),
                strict=True,
            )
        ]
        for row in table["rows"]
    ]
    if table.get("systems_across"):
        cells = [list(column) for column in zip(*cells, strict=True)]
    return [cell for row in cells for cell in row]


@pytest.mark.skipif(not TEX.exists(), reason="the paper is not at hand")
@pytest.mark.parametrize("name", ["nodes", "large", "hetero", "graphs"])
def test_paper__every_number_is_the_printed_one(name: str) -> None:
    printed = printed_numbers(PAPER[name]["label"])
    assert recorded_numbers(PAPER[name]) == printed
