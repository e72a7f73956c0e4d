"""Fill the README's tables from recorded results: `make readme`."""

import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = {
    "raw": "raw features (words)",
    "floor": "smoothed words, no training (`hops`)",
    "trained": "the default",
}


def demo_table() -> str:
    """Return the demo's accuracies as Markdown."""
    summary = json.loads((ROOT / "results/demo.json").read_text())
    rows = [
        f"| {label} | {summary[key]['mean']:.1f} | {summary[key]['std']:.1f} |"
        for key, label in NAMES.items()
    ]
    return "\n".join(
        ["| section predicted from | accuracy, % | std |", "|---|---|---|", *rows]
    )


def speed_table() -> str:
    """Return the speed benchmark as Markdown."""
    lines = (ROOT / "results/speed.jsonl").read_text().splitlines()
    titles = ("shape", "dsgrl, s", "PyG, s", "products, s", "faster", "over products")
    head = f"| {' | '.join(titles)} |"
    rows = [
        f"| {r['case']} | {r['ours_s']:.3f} | {r['pyg_s']:.3f} | {r['floor_s']:.3f} "
        f"| {r['speedup']:.1f} x | {r['over_floor']:.2f} x |"
        for r in map(json.loads, lines)
    ]
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def scale_table() -> str:
    """Return the growth of learned topology as Markdown."""
    lines = (ROOT / "results/scale.jsonl").read_text().splitlines()
    rows = [
        f"| {r['nodes']:,} | {r['seconds']:.2f} | {r.get('doubling', '')} "
        f"| {r['recall']:.3f} | {r['peak_rss_mb']:,} |"
        for r in map(json.loads, lines)
        if r["case"] == "topology" and r["numbering"] == "communities"
    ]
    head = "| nodes | s per step | times the half | recall | peak memory, MB |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def large_table() -> str:
    """Return the runs on large graphs as Markdown."""
    lines = (ROOT / "results/large.jsonl").read_text().splitlines()
    rows = [
        f"| {r['dataset']} | {r['method']} | {r['metric']} | {r['mean']:.1f} "
        f"| {r['fit_seconds']:.0f} | {r['probe_seconds']:.0f} | {r['peak_rss_mb']:,} |"
        for r in map(json.loads, lines)
    ]
    titles = "graph | method | metric | score, % | fit, s | probe, s | peak memory, MB"
    return "\n".join([f"| {titles} |", "|---" * 7 + "|", *rows])


# Columns of the table of anchors: whether features are used, and a method.
ANCHORS = {
    (True, "raw"): "raw",
    (True, "hops"): "hops",
    (True, "cca-ssg"): "CCA-SSG",
    (True, "dsgrl"): "**default**",
    (False, "node2vec"): "node2vec",
    (False, "spectral"): "spectral",
    (False, "fastrp"): "FastRP",
    (False, "cleora"): "Cleora",
    (False, "dsgrl"): "**default, edges only**",
}


def anchors_table() -> str:
    """Return scores and seconds of all anchors as Markdown, with features first."""
    lines = (ROOT / "results/anchors.jsonl").read_text().splitlines()
    found: dict[str, dict[tuple[bool, str], dict[str, float]]] = {}
    for row in map(json.loads, lines):
        if row["seed"] == 0:
            cell = (row["features"], row["method"])
            found.setdefault(row["dataset"], {})[cell] = row
    found = {
        name: cells for name, cells in found.items() if ANCHORS.keys() <= cells.keys()
    }
    scores = {
        name: [cells[key]["mean"] for key in ANCHORS] for name, cells in found.items()
    }
    rows = [_row(name, values, 1) for name, values in scores.items()]
    means = map(statistics.fmean, zip(*scores.values(), strict=True))
    rows.append(_row(f"mean of {len(scores)}", means, 2))
    seconds = (
        sum(cells[key]["fit_seconds"] for cells in found.values()) for key in ANCHORS
    )
    rows.append(_row(f"seconds of {len(scores)} fits", seconds, 0))
    head = f"| dataset | {' | '.join(ANCHORS.values())} |"
    return "\n".join([head, "|---" * (len(ANCHORS) + 1) + "|", *rows])


def _row(name: str, values: Iterable[float], digits: int) -> str:
    return f"| {name} | {' | '.join(f'{value:.{digits}f}' for value in values)} |"


def fill(text: str) -> str:
    """Put the tables between their marks."""
    tables = {
        "demo": demo_table(),
        "anchors": anchors_table(),
        "speed": speed_table(),
        "scale": scale_table(),
        "large": large_table(),
    }
    for mark, table in tables.items():
        block = f"<!-- {mark} -->\n\n{table}\n\n<!-- end {mark} -->"
        text = re.sub(
            rf"<!-- {mark} -->.*?<!-- end {mark} -->", block, text, flags=re.DOTALL
        )
    return text


if __name__ == "__main__":
    for page in (
        ROOT / "README.md",
        ROOT / "docs/ARCHITECTURE.md",
        ROOT / "docs/SCALING.md",
    ):
        page.write_text(fill(page.read_text()))
