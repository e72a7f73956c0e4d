"""Markdown tables of the anchors: scores and seconds, without and with features."""

import statistics
from collections.abc import Iterable, Sequence

from dsgrl.bench.anchors import ANCHORS
from dsgrl.bench.lines import Line
from dsgrl.bench.tables import NOTHING, markdown

TITLES = {False: "Edges only", True: "With features"}

# The score in percent and the seconds of the fit.
Result = tuple[float, float]


def render_anchors(lines: Iterable[Line]) -> str:
    """Compare the anchors, one table without features and one with.

    Args:
        lines: result lines; those of other suites are left out. The last line of a
            cell and seed counts; seeds are averaged.

    Returns:
        Markdown: one row per dataset, one column per method. A cell is "score (seconds
        s)" and the best score of a row is bold. The last row is the mean over the
        datasets that all methods have.
    """
    seeds: dict[tuple[bool, str, str], dict[int, Result]] = {}
    for line in lines:
        if line["suite"] == "anchors":
            cell = (line["features"], line["dataset"], line["method"])
            result = (statistics.fmean(line["scores"]), line["fit_seconds"])
            seeds.setdefault(cell, {})[line["seed"]] = result
    parts = []
    for features, title in TITLES.items():
        rows: dict[str, dict[str, Result]] = {}
        for (used, dataset, method), found in seeds.items():
            if used == features:
                rows.setdefault(dataset, {})[method] = _mean(list(found.values()))
        if rows:
            parts.append(f"### {title}\n\n{_table(rows, list(ANCHORS[features]))}")
    return "\n\n".join(parts) + "\n" if parts else "no results\n"


def _table(rows: dict[str, dict[str, Result]], order: Sequence[str]) -> str:
    """Format a table from the results by dataset and method."""
    used = dict.fromkeys(method for row in rows.values() for method in row)
    # Methods of older lines that are no longer anchors come last.
    methods = [name for name in order if name in used]
    methods += [name for name in used if name not in order]
    body = [[dataset, *_cells(row, methods)] for dataset, row in rows.items()]
    shared = [row for row in rows.values() if len(row) == len(methods)]
    if shared:
        means = {name: _mean([row[name] for row in shared]) for name in methods}
        body.append([f"mean of {len(shared)}", *_cells(means, methods)])
    return markdown(["dataset", *methods], body)


def _cells(row: dict[str, Result], methods: Sequence[str]) -> list[str]:
    best = max(round(score, 1) for score, _ in row.values())
    cells = []
    for method in methods:
        if method not in row:
            cells.append(NOTHING)
            continue
        score, seconds = row[method]
        text = f"{score:.1f}"
        shown = f"**{text}**" if round(score, 1) == best else text
        cells.append(f"{shown} ({seconds:.{1 if seconds < 9.95 else 0}f} s)")
    return cells


def _mean(results: Sequence[Result]) -> Result:
    scores, seconds = zip(*results, strict=True)
    return statistics.fmean(scores), statistics.fmean(seconds)
