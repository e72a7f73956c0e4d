"""What is lost by choosing without labels: from curves to docs/CHOOSING.md.

A candidate is one setting at one epoch. Validation labels would choose the candidate
of the highest validation score; a criterion chooses the one it likes best. What is
lost is the difference of their TEST scores, in points: it can be negative.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import spearmanr

from studies.curves import ALONE, base_setting, name_setting
from dsgrl.bench.lines import Line
from dsgrl.methods.build import ALONE as HELP_ALONE
from dsgrl.train import TrainConfig

Row = Mapping[str, float]
# From the rows of a training and the number of hidden links to the liking for each.
Liking = Callable[[Sequence[Row], int], list[float]]

PATIENCE = TrainConfig().patience


def _highest(name: str) -> Liking:
    return lambda rows, _: [row[name] for row in rows]


def _nearest(name: str, wanted: float) -> Liking:
    return lambda rows, _: [-abs(row[name] - wanted) for row in rows]


def _lowest_loss(rows: Sequence[Row], _: int) -> list[float]:
    return [-row.get("loss", math.inf) for row in rows]


def _at(epoch: int) -> Liking:
    def liking(rows: Sequence[Row], _: int) -> list[float]:
        if not any(row["epoch"] == epoch for row in rows):
            raise KeyError(epoch)
        return [-abs(row["epoch"] - epoch) for row in rows]

    return liking


def _only(chosen: int, seen: int, rows: Sequence[Row]) -> list[float]:
    """Like one row as much as the best seen, for comparing settings, and no other."""
    best = max(row["link_auc"] for row in rows[:seen])
    return [best if i == chosen else -math.inf for i in range(len(rows))]


def _watched(
    rows: Sequence[Row], hidden: int, tolerance: float = 1.0
) -> tuple[int, int]:
    """Return the row `dsgrl.train.watch` keeps, and how many it sees until it stops."""
    scores = [row["link_auc"] for row in rows]
    if len(scores) < 2:
        return 0, 1
    best = kept = seen = 1
    for i in range(1, len(rows)):
        seen = i + 1
        if scores[i] >= scores[best]:
            best = i
            kept = _first_near(scores, best, hidden, 1, tolerance)
        if rows[i]["epoch"] - rows[kept]["epoch"] >= PATIENCE:
            break
    return _first_near(scores, best, hidden, 0, tolerance), seen


def _first_near(
    scores: Sequence[float], best: int, hidden: int, start: int, tolerance: float
) -> int:
    """Return the earliest row within `tolerance` standard errors of the best."""
    top = scores[best]
    least = top - tolerance * math.sqrt(top * (1 - top) / max(hidden, 1))
    return next(i for i in range(start, best + 1) if scores[i] >= least)


def _links(rows: Sequence[Row], hidden: int) -> list[float]:
    return _only(*_watched(rows, hidden), rows)


def _links_or_spectrum(rows: Sequence[Row], hidden: int) -> list[float]:
    turn = max(range(len(rows)), key=lambda i: rows[i]["slope"])
    kept, seen = _watched(rows, hidden)
    return _only(min(turn, kept), seen, rows)


CRITERIA: dict[str, Liking] = {
    "held-out links or steepest spectrum, the earlier": _links_or_spectrum,
    "held-out links, earliest near the best": _links,
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
    """Judge a criterion on the curves of one level; None where it has no say."""
    liking = CRITERIA[name]
    epochs: dict[str, list[float]] = {}
    pools: dict[str, list[tuple[float, Row]]] = {}
    for line in lines:
        rows = [row for row in line["rows"] if not _is_broken(row)]
        try:
            likes = liking(rows, line["hidden"] or 0)
        except KeyError:
            return None
        if line["setting"] == base_setting(line["level"]):
            lost = points_lost(list(zip(likes, rows, strict=True)))
            epochs.setdefault(line["dataset"], []).append(lost)
        pools.setdefault(line["dataset"], []).extend(zip(likes, rows, strict=True))
    return Judged(
        {dataset: statistics.fmean(lost) for dataset, lost in epochs.items()},
        {dataset: points_lost(pools[dataset]) for dataset in _with_settings(lines)},
        {
            dataset: _rank_correlation(pools[dataset])
            for dataset in _with_settings(lines)
        },
    )


def _with_settings(lines: Sequence[Line]) -> list[str]:
    """Name the datasets of which several settings were recorded."""
    found: dict[str, set[str]] = {}
    for line in lines:
        found.setdefault(line["dataset"], set()).add(line["setting"])
    return [dataset for dataset, settings in found.items() if len(settings) > 1]


def _tell_settings(lines: Sequence[Line]) -> str:
    settings = "; ".join(dict.fromkeys(line["setting"] for line in lines))
    several = ", ".join(_with_settings(lines))
    if several:
        return f"Several settings were recorded of {several}: {settings}."
    return f"One setting was recorded: {settings}."


def points_lost(candidates: Sequence[tuple[float, Row]]) -> float:
    """Test score of what validation labels choose less that of what is liked best.

    The first of several equals is taken.
    """
    by_labels = max(candidates, key=lambda c: c[1]["val"])[1]
    liked = max(candidates, key=lambda c: c[0])[1]
    return by_labels["test"] - liked["test"]


def render_choosing(lines: Sequence[Line]) -> str:
    """Return the tables, one per level."""
    parts = []
    for level, title in (
        ("node", "Nodes"),
        ("hetero", "Several types of nodes"),
        ("graph", "Whole graphs"),
    ):
        chosen = [line for line in lines if line.get("level") == level]
        if chosen:
            parts.append(_table(title, chosen))
        if level == "node":
            parts.append(_default_table(chosen))
    return "\n".join(parts)


def _default_table(lines: Sequence[Line]) -> str:
    """Tell what `epochs="auto"` loses with today's default, nodes alone."""
    there = [line for line in lines if line["setting"] == name_setting(ALONE)]
    lost = {}
    for line in there:
        rows = [row for row in line["rows"] if not _is_broken(row)]
        kept, seen = _watched(rows, line["hidden"], HELP_ALONE["tolerance"])
        likes = _only(kept, seen, rows)
        lost[line["dataset"]] = points_lost(list(zip(likes, rows, strict=True)))
    if not lost:
        return ""
    rows_of_table = (
        ["", *lost, "mean"],
        ["---"] * (len(lost) + 2),
        ["lost", *(f"{points:.2f}" for points in lost.values()), f"{_mean(lost):.2f}"],
    )
    return "\n".join(
        [
            "Points lost by today's default, nodes alone in the second view, choosing "
            "the epoch by held-out links within half a standard error:",
            "",
            *(f"| {' | '.join(row)} |" for row in rows_of_table),
            "",
        ]
    )


def _table(title: str, lines: Sequence[Line]) -> str:
    datasets = list(dict.fromkeys(line["dataset"] for line in lines))
    judged = {name: judge_criterion(name, lines) for name in CRITERIA}
    there = {name: result for name, result in judged.items() if result is not None}
    out = [
        f"## {title}",
        "",
        f"Datasets: {', '.join(datasets)}. {_tell_settings(lines)}",
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


def _rank_correlation(pool: Sequence[tuple[float, Row]]) -> float:
    told = [(like, row) for like, row in pool if like > -math.inf]
    likes, scores = [like for like, _ in told], [row["val"] for _, row in told]
    if len(set(likes)) < 2 or len(set(scores)) < 2:
        return 0.0
    return float(spearmanr(likes, scores).statistic)


def _is_broken(row: Row) -> bool:
    return any(isinstance(v, float) and math.isnan(v) for v in row.values())
