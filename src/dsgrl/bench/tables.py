"""Markdown tables in the paper's layout: its number, ours and the difference.

Our numbers are computed from result lines, the paper's are read from `paper.toml`.
"""

import math
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dsgrl.bench.lines import Line, is_score
from dsgrl.bench.recipes import DEFAULT

PAPER = Path(__file__).parent / "paper.toml"
GROUPS = {
    "ours": "Ours",
    "baseline": "Self-supervised (baselines)",
    "reference": "Semi-supervised (references)",
}
CONTROLS = "Controls and variants"
THEIRS = "the paper's"
NOTHING = ""

# Short names of the DSGRL variants in tables, and the default variant of each suite.
VARIANT_TITLES = {
    "dsgrl": "beside the floor",
    "dsgrl-feature": "features",
    "dsgrl-topology": "topology",
    "dsgrl-both": "both",
    "topology-none": "node alone",
    "topology-two-hop": "two steps",
}
BY_ITSELF = "dsgrl"
TUNED, NARROW = "tuned", "out_channels=64"

# Dataset, protocol and metric.
Column = tuple[str, str, str]
Row = list[str]
Paper = dict[str, dict[str, Any]]


def load_paper() -> Paper:
    """Read the paper's numbers."""
    with PAPER.open("rb") as file:
        return tomllib.load(file)


def render_tables(lines: Iterable[Line], paper: Paper | None = None) -> str:
    """Compare results with the paper's.

    Args:
        lines: result lines. The last line of a cell and seed counts; scores of several
            seeds are pooled.
        paper: the paper's numbers; those of `paper.toml` by default.

    Returns:
        Markdown: one table per table of the paper for which there is a result, with
        one row per system and recipe, then one per suite for other datasets.
    """
    results = _Results(lines)
    paper = load_paper() if paper is None else paper
    shown: set[Column] = set()
    parts = []
    for table in paper.values():
        columns = [(c["dataset"], c["protocol"], c["metric"]) for c in table["columns"]]
        shown.update(columns)
        if any(results.has(column) for column in columns):
            parts.append(_paper_table(table, columns, results))
    parts += [
        _other_table(suite, [c for c in columns if c not in shown], results)
        for suite, columns in results.columns_by_suite.items()
        if not shown.issuperset(columns)
    ]
    return "\n\n".join(parts) + "\n" if parts else "no results\n"


def render_best(lines: Iterable[Line], paper: Paper | None = None) -> str:
    """Compare our best variant with the best DSGRL variant of the paper.

    Args:
        lines: as for `render_tables`.
        paper: as for `render_tables`.

    Returns:
        Markdown: one row per dataset with a tuned result. Validation rows choose the
        variant that is shown.
    """
    results = _Results(lines)
    paper = load_paper() if paper is None else paper
    recipes = (TUNED, f"{TUNED}, {NARROW}", DEFAULT, f"{DEFAULT}, {NARROW}")
    body = []
    for table in paper.values():
        own = [row for row in table["rows"] if row["method"] in VARIANT_TITLES]
        for number, described in enumerate(table["columns"]):
            column = (described["dataset"], described["protocol"], described["metric"])
            if described["metric"] == "seconds_per_epoch" or not _best(
                results, column, TUNED, VARIANT_TITLES
            ):
                continue
            theirs = max(row["mean"][number] for row in own)
            default = {BY_ITSELF: VARIANT_TITLES[BY_ITSELF]}
            cells = [
                _best(results, column, recipe, among)
                for recipe, among in zip(
                    recipes,
                    (VARIANT_TITLES, VARIANT_TITLES, default, default),
                    strict=True,
                )
            ]
            is_accuracy = described["metric"] == "accuracy"
            title = "" if is_accuracy else f", {described['title']}"
            body.append([described["dataset"] + title, f"{theirs:.1f}", *cells])
    head = ["", "the paper's best", "tuned", "tuned, 64 per view", "default"]
    return markdown([*head, "default, 64 per view"], body) + "\n"


def _best(
    results: "_Results", column: Column, recipe: str, among: Mapping[str, str]
) -> str:
    """Return score, name and seeds of the method that is best on validation rows."""
    found = {
        method: list(results.lines[column, method, recipe].values())
        for method in among
        if (column, method, recipe) in results.lines
    }
    if not found:
        return NOTHING
    best = max(
        found,
        key=lambda name: statistics.fmean(line["val_mean"] for line in found[name]),
    )
    seeds = len(found[best])
    several = f", {seeds} seeds" if seeds > 1 else ""
    number = results.number(column, best, recipe)
    return f"{number} ({among[best]}{several})"


@dataclass(frozen=True, slots=True)
class _Number:
    """A mean with its standard deviation, if known."""

    mean: float
    std: float = math.nan
    digits: int = 1

    def __str__(self) -> str:
        text = f"{self.mean:.{self.digits}f}"
        return text if math.isnan(self.std) else f"{text} ± {self.std:.{self.digits}f}"


class _Results:
    """Result lines by column, method, recipe and seed."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines: dict[tuple[Column, str, str], dict[int, Line]] = {}
        self.columns_by_suite: dict[str, list[Column]] = {}
        for line in lines:
            if is_score(line):
                column = (line["dataset"], line["protocol"], line["metric"])
                where = (column, line["method"], line["recipe"])
                self.lines.setdefault(where, {})[line["seed"]] = line
                columns = self.columns_by_suite.setdefault(line["suite"], [])
                if column not in columns:
                    columns.append(column)

    @cached_property
    def recipes(self) -> dict[str, list[str]]:
        """The recipes of each method, the default first."""
        found: dict[str, list[str]] = {}
        for _, method, recipe in self.lines:
            if recipe not in found.setdefault(method, []):
                found[method].append(recipe)
        return {
            method: sorted(names, key=lambda name: name != DEFAULT)
            for method, names in found.items()
        }

    def has(self, column: Column) -> bool:
        """Whether any method has a result in this column."""
        return any(
            self.number(column, method, recipe)
            for method, recipes in self.recipes.items()
            for recipe in recipes
        )

    def number(self, column: Column, method: str, recipe: str) -> _Number | None:
        """Mean and standard deviation over all splits and seeds."""
        dataset, protocol, metric = column
        if metric == "seconds_per_epoch":
            return self._seconds(dataset, protocol, method, recipe)
        lines = self.lines.get((column, method, recipe))
        if not lines:
            return None
        scores = [score for line in lines.values() for score in line["scores"]]
        return _Number(statistics.fmean(scores), statistics.pstdev(scores))

    def _seconds(
        self, dataset: str, protocol: str, method: str, recipe: str
    ) -> _Number | None:
        seconds = [
            line["seconds_per_epoch"]
            for (column, name, used), lines in self.lines.items()
            if (column[0], column[1], name, used) == (dataset, protocol, method, recipe)
            for line in lines.values()
            if line["seconds_per_epoch"] is not None
        ]
        return _Number(statistics.fmean(seconds), digits=2) if seconds else None


def _paper_table(
    table: dict[str, Any], columns: Sequence[Column], results: _Results
) -> str:
    groups: dict[str, list[Row]] = {}
    for row in table["rows"]:
        rows = groups.setdefault(GROUPS[row["group"]], [])
        rows += _paper_rows(row, columns, results)
    known = {row["method"] for row in table["rows"]}
    groups[CONTROLS] = _own_rows(columns, results, without=known)
    body = [
        [group if number == 0 else NOTHING, *row]
        for group, rows in groups.items()
        for number, row in enumerate(rows)
    ]
    head = ["", "System", "Whose", *(column["title"] for column in table["columns"])]
    if table.get("systems_across"):
        head, *body = (list(row) for row in zip(head, *body, strict=True))
    return f"### {table['title']}\n\n{markdown(head, body)}"


def _other_table(suite: str, columns: Sequence[Column], results: _Results) -> str:
    titles = (
        f"{dataset} ({protocol}, {metric})" for dataset, protocol, metric in columns
    )
    body = _own_rows(columns, results, without=set())
    head = ["System", "Whose", *titles]
    return f"### Suite {suite}: not in the paper\n\n{markdown(head, body)}"


def _paper_rows(
    row: dict[str, Any], columns: Sequence[Column], results: _Results
) -> list[Row]:
    """Return one row per recipe, or the paper's row if we have not run the system."""
    theirs, method = _numbers(row, columns), row["method"]
    rows = []
    for recipe in _recipes_of(method, columns, results):
        ours = (results.number(column, method, recipe) for column in columns)
        cells = [_beside(paper, own) for paper, own in zip(theirs, ours, strict=True)]
        rows.append([row["system"], _ours(recipe), *cells])
    return rows or [[row["system"], THEIRS, *map(str, theirs)]]


def _own_rows(
    columns: Sequence[Column], results: _Results, without: set[str]
) -> list[Row]:
    """Return the rows of systems that are not in the paper."""
    rows = []
    for method in (name for name in results.recipes if name not in without):
        for recipe in _recipes_of(method, columns, results):
            numbers = (results.number(column, method, recipe) for column in columns)
            cells = [NOTHING if number is None else str(number) for number in numbers]
            rows.append([method, _ours(recipe), *cells])
    return rows


def _recipes_of(method: str, columns: Sequence[Column], results: _Results) -> list[str]:
    return [
        recipe
        for recipe in results.recipes.get(method, [])
        if any(results.number(column, method, recipe) for column in columns)
    ]


def _numbers(row: dict[str, Any], columns: Sequence[Column]) -> list[_Number | str]:
    stds = row.get("std", [math.nan] * len(columns))
    digits = [2 if column[2] == "seconds_per_epoch" else 1 for column in columns]
    return [
        mean if isinstance(mean, str) else _Number(mean, std, places)
        for mean, std, places in zip(row["mean"], stds, digits, strict=True)
    ]


def _beside(paper: _Number | str, ours: _Number | None) -> str:
    """Format our number, the paper's and the difference, if there are any."""
    if isinstance(paper, str):
        return f"(paper {paper})" if ours is None else f"{ours} (paper {paper})"
    theirs = f"paper {paper.mean:.{paper.digits}f}"
    if ours is None:
        return f"({theirs})"
    return f"{ours} ({theirs}, {ours.mean - paper.mean:+.{paper.digits}f})"


def _ours(recipe: str) -> str:
    return f"ours ({recipe})"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table: its head, then its rows."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
