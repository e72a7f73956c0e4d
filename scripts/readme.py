"""Fill the README's tables from recorded results: `make readme`."""

import json
import re
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
    ]
    head = "| nodes | s per step | times the half | recall | peak memory, MB |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


# Columns of the table of defaults: a method and its title.
SYSTEMS = {
    "raw": "raw features",
    "hops": "hops",
    "dsgrl": "default",
    "topology-none": "learned only",
    "dsgrl-feature": "learned features",
    "dsgrl-topology": "learned topology",
    "cca-ssg": "CCA-SSG (tuned)",
}


def default_table() -> str:
    """Return the default against the untrained model, per dataset, as Markdown."""
    lines = (ROOT / "results/nodes.jsonl").read_text().splitlines()
    scores: dict[str, dict[str, str]] = {}
    for row in map(json.loads, lines):
        recipe = "tuned" if row["method"] == "cca-ssg" else "default"
        if row["recipe"] == recipe and row["seed"] == 0:
            cell = f"{row['mean']:.1f}"
            scores.setdefault(row["dataset"], {})[row["method"]] = cell
    rows = [
        f"| {name} | {' | '.join(found.get(system, '') for system in SYSTEMS)} |"
        for name, found in scores.items()
        if "dsgrl" in found
    ]
    head = f"| dataset | {' | '.join(SYSTEMS.values())} |"
    return "\n".join([head, "|---" * (len(SYSTEMS) + 1) + "|", *rows])


def fill(text: str) -> str:
    """Put the tables between their marks."""
    tables = {
        "demo": demo_table(),
        "default": default_table(),
        "speed": speed_table(),
        "scale": scale_table(),
    }
    for mark, table in tables.items():
        block = f"<!-- {mark} -->\n\n{table}\n\n<!-- end {mark} -->"
        text = re.sub(
            rf"<!-- {mark} -->.*?<!-- end {mark} -->", block, text, flags=re.DOTALL
        )
    return text


if __name__ == "__main__":
    for page in (ROOT / "README.md", ROOT / "docs/ARCHITECTURE.md"):
        page.write_text(fill(page.read_text()))
