"""What is lost by choosing without labels: from curves to the page CHOOSING.md.

A candidate is one setting at one epoch. Validation labels choose the candidate of the
highest validation score; a criterion chooses the one with the highest value of its own.
What is lost is the difference of their TEST scores, in points: it can be negative.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import spearmanr

from dsgrl.bench.lines import Line, read_lines
from dsgrl.methods import StopByLinks
from dsgrl.train.watch import Selection
from studies import RESULTS
from studies.curves import NODE_DEFAULT, base_setting, is_curve, name_setting

EpochRow = Mapping[str, float]
# From the rows of a training and the number of hidden links to a value for each row;
# the highest is chosen.
EpochCriterion = Callable[[Sequence[EpochRow], int], list[float]]


@dataclass(frozen=True, slots=True)
class HiddenLinks:
    """What is left of hidden links in a recorded curve: how many there were."""

    count: int

    def standard_error(self, score: float) -> float:
        """Return the error of an AUC, as `HeldOutLinks.standard_error`."""
        return math.sqrt(score * (1 - score) / max(self.count, 1))


def _highest(name: str) -> EpochCriterion:
    return lambda rows, _: [row[name] for row in rows]


def _nearest(name: str, wanted: float) -> EpochCriterion:
    return lambda rows, _: [-abs(row[name] - wanted) for row in rows]


def _lowest_loss(rows: Sequence[EpochRow], _: int) -> list[float]:
    return [-row.get("loss", math.inf) for row in rows]


def _at(epoch: int) -> EpochCriterion:
    def criterion(rows: Sequence[EpochRow], _: int) -> list[float]:
        if not any(row["epoch"] == epoch for row in rows):
            raise KeyError(epoch)
        return [-abs(row["epoch"] - epoch) for row in rows]

    return criterion


def _only(chosen: int, seen: int, rows: Sequence[EpochRow]) -> list[float]:
    """Give one row the best AUC seen, to compare settings by, and exclude the rest."""
    best = max(row["link_auc"] for row in rows[:seen])
    return [best if i == chosen else -math.inf for i in range(len(rows))]


def choose_by_links(
    rows: Sequence[EpochRow], hidden: int, tolerance: float = 1.0
) -> tuple[int, int]:
    """Apply the rule of `epochs="auto"` to a recorded curve.

    Args:
        rows: of a training that was not stopped; the first is the untrained model.
        hidden: number of hidden links.
        tolerance: standard errors an epoch may be behind the best.

    Returns:
        The row that is kept, and how many are seen until the rule stops.
    """
    rule = StopByLinks(tolerance=tolerance)
    selection = Selection(HiddenLinks(hidden), rule, rows[0]["link_auc"])
    seen = 1
    for row in rows[1:]:
        seen += 1
        epoch = int(row["epoch"])
        selection.add(epoch, row["link_auc"])
        if selection.should_stop(epoch):
            break
    return [int(row["epoch"]) for row in rows].index(selection.kept), seen


def _links(rows: Sequence[EpochRow], hidden: int) -> list[float]:
    return _only(*choose_by_links(rows, hidden), rows)


def _links_or_spectrum(rows: Sequence[EpochRow], hidden: int) -> list[float]:
    turn = max(range(len(rows)), key=lambda i: rows[i]["slope"])
    kept, seen = choose_by_links(rows, hidden)
    return _only(min(turn, kept), seen, rows)


LEVELS = {
    "node": "Nodes",
    "hetero": "Several types of nodes",
    "graph": "Whole graphs",
}
# The rule of `epochs="auto"`.
LINKS = "held-out links, earliest near the best"
CRITERIA: dict[str, EpochCriterion] = {
    "held-out links or steepest spectrum, the earlier": _links_or_spectrum,
    LINKS: _links,
    "held-out links, the best": _highest("link_auc"),
    "smoothness over edges": _highest("smoothness"),
    "neighbours' features predicted": _highest("near_features"),
    "own features predicted": _highest("own_features"),
    "effective rank": _highest("effective_rank"),
    "steepest spectrum": _highest("slope"),
    "spectrum slope nearest 1": _nearest("slope", 1.0),
    "agreement of the views": _highest("agreement"),
    "matching of the views": _highest("matching"),
    "stability under lost edges": _highest("stability"),
    "lowest loss": _lowest_loss,
    "always epoch 5": _at(5),
    "always epoch 10": _at(10),
    "always epoch 20": _at(20),
    "always epoch 100": _at(100),
    "never trained": _at(0),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What a criterion is worth.

    Attributes:
        epochs: per dataset, points lost by choosing the epoch of the base setting.
        everything: per dataset with several settings, points lost by choosing setting
            and epoch.
        correlation: for the same, rank correlation with the validation score over all
            settings and epochs.
    """

    epochs: dict[str, float]
    everything: dict[str, float]
    correlation: dict[str, float]


def judge_criterion(name: str, lines: Sequence[Line]) -> Judged | None:
    """Judge a criterion on the curves of one level.

    Returns:
        None if a curve lacks the signal or the epoch that the criterion needs.
    """
    epochs: dict[str, list[float]] = {}
    pools: dict[str, list[tuple[float, EpochRow]]] = {}
    for line in lines:
        rows = _finite_rows(line)
        try:
            values = CRITERIA[name](rows, line["hidden"] or 0)
        except KeyError:
            return None
        candidates = list(zip(values, rows, strict=True))
        if line["setting"] == base_setting(line["level"]):
            lost = points_lost(candidates)
            epochs.setdefault(line["dataset"], []).append(lost)
        pools.setdefault(line["dataset"], []).extend(candidates)
    several = _with_settings(lines)
    return Judged(
        {dataset: statistics.fmean(lost) for dataset, lost in epochs.items()},
        {dataset: points_lost(pools[dataset]) for dataset in several},
        {dataset: _rank_correlation(pools[dataset]) for dataset in several},
    )


def _with_settings(lines: Sequence[Line]) -> list[str]:
    """Name the datasets of which several settings were recorded."""
    found: dict[str, set[str]] = {}
    for line in lines:
        found.setdefault(line["dataset"], set()).add(line["setting"])
    return [dataset for dataset, settings in found.items() if len(settings) > 1]


def _list_settings(lines: Sequence[Line]) -> str:
    settings = "; ".join(dict.fromkeys(line["setting"] for line in lines))
    several = ", ".join(_with_settings(lines))
    if several:
        return f"Several settings were recorded of {several}: {settings}."
    return f"One setting was recorded: {settings}."


def points_lost(candidates: Sequence[tuple[float, EpochRow]]) -> float:
    """Test score of what validation labels choose less that of the criterion's choice.

    The first of several equals is taken.

    Args:
        candidates: value of the criterion and row of each.
    """
    by_labels = max(candidates, key=lambda c: c[1]["val"])[1]
    by_criterion = max(candidates, key=lambda c: c[0])[1]
    return by_labels["test"] - by_criterion["test"]


def render_choosing(lines: Sequence[Line]) -> str:
    """Return the tables, one section per level."""
    parts = []
    for level, title in LEVELS.items():
        chosen = [line for line in lines if line.get("level") == level]
        if chosen:
            parts.append(_table(title, chosen))
    return "\n".join(parts)


def default_table(lines: Sequence[Line]) -> str:
    """Return what `epochs="auto"` loses with the default for nodes."""
    lost = {}
    for line in lines:
        if line["setting"] == name_setting(NODE_DEFAULT):
            rows = _finite_rows(line)
            tolerance = line["config"]["epochs__tolerance"]
            kept, seen = choose_by_links(rows, line["hidden"], tolerance)
            values = _only(kept, seen, rows)
            points = points_lost(list(zip(values, rows, strict=True)))
            lost[line["dataset"]] = (rows[kept]["epoch"], points)
    if not lost:
        return ""
    mean = statistics.fmean(points for _, points in lost.values())
    table = (
        ["", *lost, "mean"],
        ["---"] * (len(lost) + 2),
        ["epoch kept", *(f"{epoch:.0f}" for epoch, _ in lost.values()), ""],
        ["lost", *(f"{points:.2f}" for _, points in lost.values()), f"{mean:.2f}"],
    )
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


def answer_table(lines: Sequence[Line]) -> str:
    """Return the mean points lost with the rule of `epochs="auto"`, per level."""
    rows = ["| | epoch chosen | setting and epoch chosen |", "|---|---|---|"]
    for level, title in LEVELS.items():
        here = [line for line in lines if line["level"] == level]
        name = "always epoch 5" if level == "graph" else LINKS
        judged = judge_criterion(name, here) if here else None
        if judged is not None:
            found = (judged.epochs, judged.everything)
            cells = (f"{_mean(lost):.2f}" if lost else "" for lost in found)
            rows.append(f"| {title}: {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    lines = [line for line in read_lines([RESULTS / "curves.jsonl"]) if is_curve(line)]
    return {
        "answer": answer_table(lines),
        "default": default_table(lines),
        "tables": render_choosing(lines),
    }


def _table(title: str, lines: Sequence[Line]) -> str:
    datasets = list(dict.fromkeys(line["dataset"] for line in lines))
    judged = {name: judge_criterion(name, lines) for name in CRITERIA}
    there = {name: result for name, result in judged.items() if result is not None}
    out = [
        f"## {title}",
        "",
        f"Datasets: {', '.join(datasets)}. {_list_settings(lines)}",
        "",
        "| criterion | epoch: mean lost | worst | setting and epoch: mean lost | worst "
        "| rank correlation |",
        "|---|---|---|---|---|---|",
    ]
    ordered = sorted(there.items(), key=lambda item: _mean(item[1].epochs))
    for name, result in ordered:
        cells = [name]
        for lost in (result.epochs, result.everything):
            worst = max(lost, key=lambda dataset: lost[dataset], default="")
            cells += (
                [f"{_mean(lost):.2f}", f"{lost[worst]:.2f} ({worst})"]
                if lost
                else ["", ""]
            )
        cells.append(f"{_mean(result.correlation):.2f}" if result.correlation else "")
        out.append("| " + " | ".join(cells) + " |")
    base = base_setting(lines[0]["level"])
    out += ["", f"Points lost per dataset, choosing the epoch ({base}):", ""]
    out.append("| criterion | " + " | ".join(datasets) + " |")
    out.append("|---" * (len(datasets) + 1) + "|")
    for name, result in ordered:
        found = (
            f"{result.epochs[d]:.2f}" if d in result.epochs else "" for d in datasets
        )
        out.append(f"| {name} | " + " | ".join(found) + " |")
    return "\n".join([*out, ""])


def _mean(values: Mapping[str, float]) -> float:
    return statistics.fmean(values.values())


def _rank_correlation(pool: Sequence[tuple[float, EpochRow]]) -> float:
    found = [(value, row["val"]) for value, row in pool if value > -math.inf]
    values, scores = zip(*found, strict=True)
    if len(set(values)) < 2 or len(set(scores)) < 2:
        return 0.0
    return float(spearmanr(values, scores).statistic)


def _finite_rows(line: Line) -> list[EpochRow]:
    return [row for row in line["rows"] if not any(map(math.isnan, row.values()))]
