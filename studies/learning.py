"""The tables and pictures of LEARNING.md, from recorded curves."""

import io
import re
import statistics

import matplotlib as mpl
from matplotlib.figure import Figure

from dsgrl.bench.lines import Line, read_lines
from studies import RESULTS
from studies.curves import NODE_DEFAULT, base_setting, is_curve, name_setting

# Columns of the picture: a title and the signals drawn in it.
PANELS: dict[str, tuple[str, ...]] = {
    "probe, %": ("val", "test"),
    "held-out links, AUC": ("link_auc",),
    "loss terms": ("invariance", "variance", "covariance"),
    "effective rank": ("effective_rank", "augmented_rank"),
    "slope of the spectrum": ("slope", "augmented_slope"),
    "views: cosine": ("agreement",),
    "smoothness over edges": ("smoothness",),
    "features known, R2": ("own_features", "near_features"),
    "deviation": ("deviation", "augmented"),
}


def draw(lines: list[Line]) -> str:
    """Draw one row per dataset, one column per panel; return the SVG."""
    mpl.rcParams["svg.hashsalt"] = "dsgrl"
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.size"] = 7
    there = {
        title: signals
        for title, signals in PANELS.items()
        if any(s in row for line in lines for row in line["rows"] for s in signals)
    }
    figure = Figure(figsize=(2.0 * len(there), 1.35 * len(lines)), layout="constrained")
    axes = figure.subplots(len(lines), len(there), squeeze=False)
    for line, across in zip(lines, axes, strict=True):
        for (title, signals), axis in zip(there.items(), across, strict=True):
            for signal in signals:
                rows = [row for row in line["rows"] if signal in row]
                axis.plot(
                    [row["epoch"] for row in rows],
                    [row[signal] for row in rows],
                    label=signal,
                    linewidth=1,
                )
            if line is lines[0]:
                axis.set_title(title)
            if len(signals) > 1 and line is lines[0]:
                axis.legend(frameon=False, fontsize=5)
            axis.tick_params(length=2, pad=1)
        across[0].set_ylabel(line["dataset"])
    for axis in axes[-1]:
        axis.set_xlabel("epoch")
    picture = io.StringIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


def moments(line: Line) -> dict[str, dict[str, float]]:
    """Return the untrained row, the one of the best validation score and the last."""
    rows = line["rows"]
    best = max(rows, key=lambda row: row["val"])
    return {"untrained": rows[0], "best": best, "last": rows[-1]}


def score_table(lines: list[Line]) -> str:
    """Return what training gains and loses again, per dataset."""
    out = [
        "| dataset | untrained | best (epoch) | at the end | gained | lost again |",
        "|---|---|---|---|---|---|",
    ]
    for line in lines:
        found = moments(line)
        start, best, last = (found[k]["test"] for k in ("untrained", "best", "last"))
        out.append(
            f"| {line['dataset']} | {start:.1f} | {best:.1f} "
            f"({found['best']['epoch']:.0f}) | {last:.1f} | {best - start:+.1f} "
            f"| {last - best:+.1f} |"
        )
    return "\n".join(out)


CHANGES = {
    "loss": "loss",
    "link_auc": "held-out AUC",
    "effective_rank": "effective rank",
    "slope": "slope of the spectrum",
    "augmented_rank": "effective rank of augmented features",
    "agreement": "agreement of views",
    "smoothness": "smoothness",
    "own_features": "own features, R2",
    "near_features": "neighbours' features, R2",
}


def change_table(lines: list[Line], start: str, end: str) -> str:
    """Return how every signal changes between two moments, per dataset."""
    signals = [
        name for name in CHANGES if any(name in moments(line)[start] for line in lines)
    ]
    out = ["| dataset | " + " | ".join(CHANGES[name] for name in signals) + " |"]
    out.append("|---" * (len(signals) + 1) + "|")
    for line in lines:
        found = moments(line)
        cells = [
            f"{found[start][name]:.3g} to {found[end][name]:.3g}"
            if name in found[start] and name in found[end]
            else ""
            for name in signals
        ]
        out.append(f"| {line['dataset']} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def setting_table(lines: list[Line]) -> str:
    """Return what every setting reaches at its best and at its end, on average.

    Of a curve recorded twice the first is taken: those of one time are compared.
    """
    first: dict[tuple[str, str], Line] = {}
    for line in lines:
        first.setdefault((line["dataset"], line["setting"]), line)
    lines = list(first.values())
    settings = list(dict.fromkeys(line["setting"] for line in lines))
    everywhere = set.intersection(
        *({line["dataset"] for line in lines if line["setting"] == s} for s in settings)
    )
    out = [
        "| setting | best | at the end | lost again |",
        "|---|---|---|---|",
    ]
    for setting in settings:
        found = [
            moments(line)
            for line in lines
            if line["setting"] == setting and line["dataset"] in everywhere
        ]
        best, last = (
            statistics.fmean(moment[name]["test"] for moment in found)
            for name in ("best", "last")
        )
        out.append(f"| {setting} | {best:.1f} | {last:.1f} | {last - best:+.1f} |")
    return "\n".join([f"Mean over {', '.join(sorted(everywhere))}.", "", *out])


def start_table(lines: list[Line]) -> str:
    """Compare the two starts wherever both were recorded."""
    out = [
        "| dataset | gain 1: best (epoch) | at the end | gain 0.7: best (epoch) "
        "| at the end |",
        "|---|---|---|---|---|",
    ]
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for line in lines:
        here = found.setdefault(line["dataset"], {})
        here.setdefault(line["setting"], moments(line))
    for dataset, settings in found.items():
        if "gain=0.7" in settings:
            cells = [dataset]
            for setting in (base_setting("node"), "gain=0.7"):
                best, last = settings[setting]["best"], settings[setting]["last"]
                cells.append(f"{best['test']:.1f} ({best['epoch']:.0f})")
                cells.append(f"{last['test']:.1f}")
            out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def gain_table() -> str:
    """Return what other starts reach, chosen without labels."""
    scores: dict[str, dict[str, str]] = {}
    for row in read_lines([RESULTS / "gain.jsonl"]):
        # A line without a gain was recorded when the default was 1.
        found = re.fullmatch(r"default(, gain=([0-9.]+))?", row["recipe"])
        if row["method"] == "dsgrl-feature" and row["seed"] == 0 and found:
            cell = f"{row['mean']:.1f} ({row['epochs']})"
            scores.setdefault(found[2] or "1", {})[row["dataset"]] = cell
    datasets = ("cora", "citeseer", "debian", "photo")
    out = ["| gain | " + " | ".join(datasets) + " |", "|---" * 5 + "|"]
    for label in sorted(scores, key=float):
        cells = (scores[label].get(dataset, "") for dataset in datasets)
        out.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def curves(level: str) -> list[Line]:
    """Return the recorded curves of a level."""
    lines = read_lines([RESULTS / "curves.jsonl"])
    return [line for line in lines if is_curve(line) and line["level"] == level]


def base_curves(level: str) -> list[Line]:
    """Return those of the setting that the others differ from, the newest of each."""
    lines = [line for line in curves(level) if line["setting"] == base_setting(level)]
    return list({line["dataset"]: line for line in lines}.values())


def pictures() -> dict[str, str]:
    """Return the pictures by name: the default setting at every level."""
    drawn = {}
    for level in ("node", "hetero", "graph"):
        lines = base_curves(level)
        if lines:
            drawn[f"learning-{level}.svg"] = draw(lines)
    return drawn


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    nodes, default = curves("node"), name_setting(NODE_DEFAULT)
    base = base_curves("node")
    return {
        "scores": score_table(base),
        "rising": change_table(base, "untrained", "best"),
        "falling": change_table(base, "best", "last"),
        "settings": setting_table(
            [line for line in nodes if line["setting"] not in ("gain=0.7", default)]
        ),
        "default": score_table([line for line in nodes if line["setting"] == default]),
        "start": start_table(nodes),
        "gains": gain_table(),
        "graph scores": score_table(base_curves("graph")),
    }
