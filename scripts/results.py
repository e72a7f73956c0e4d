"""Write docs/RESULTS.md from the recorded result lines: `make readme`."""

import re
from pathlib import Path

from dsgrl.bench.lines import is_score, read_lines
from dsgrl.bench.recipes import FOLDER
from dsgrl.bench.tables import render_best, render_tables

ROOT = Path(__file__).parent.parent
# Result files that hold cells of `dsgrl bench nodes|graphs|hetero`.
FILES = ("nodes.jsonl", "graphs.jsonl", "hetero.jsonl")
TEMPLATE = ROOT / "scripts" / "results.md"


def render() -> str:
    """Return the page."""
    paths = [ROOT / "results" / name for name in FILES]
    there = [path for path in paths if path.exists()]
    lines = [line for line in read_lines(there) if is_score(line)]
    best = render_best(lines)
    parts = {
        "answer": answer(best),
        "files": ", ".join(f"`results/{path.name}`" for path in there),
        "best": best,
        "tables": render_tables(lines),
        "budget": render_budget(),
    }
    page = TEMPLATE.read_text()
    for name, text in parts.items():
        page = page.replace(f"{{{name}}}", text)
    return page


def answer(best: str) -> str:
    """Say in two lines how our best variant compares with the paper's best.

    Args:
        best: the table of `render_best`.
    """
    head, _, *rows = (line.strip("| ").split(" | ") for line in best.splitlines())
    sentences = []
    for recipe in ("tuned", "default"):
        column = head.index(recipe) + 1
        run = [row for row in rows if len(row) > column and row[column].strip()]
        below = [r[0] for r in run if float(r[column].split()[0]) < float(r[1])]
        exceptions = f", below it in {'; '.join(below)}" if below else ""
        sentences.append(
            f"* {recipe}: at or above the paper's best DSGRL in "
            f"{len(run) - len(below)} of {len(run)} rows{exceptions}"
        )
    return "\n".join(sentences)


def render_budget() -> str:
    """Return the number of trials of each tuned recipe, read from its first lines."""
    trials: dict[str, dict[str, str]] = {}
    for path in sorted((FOLDER / "tuned").glob("*/*.toml")):
        found = re.search(r"Best of (\d+) trials", path.read_text())
        assert found, path
        trials.setdefault(path.stem, {})[path.parent.name] = found[1]
    families = sorted({name for counts in trials.values() for name in counts})
    rows = [["dataset", *families], ["---"] * (len(families) + 1)]
    for dataset, counts in sorted(trials.items()):
        rows.append([dataset, *(counts.get(name, "") for name in families)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    (ROOT / "docs" / "RESULTS.md").write_text(render())
