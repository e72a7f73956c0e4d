"""Write docs/FIDELITY.md: our runs of the baselines beside published figures."""

import statistics
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dsgrl.bench.lines import Line, read_lines
from dsgrl.bench.tables import load_paper

ROOT = Path(__file__).parent.parent
# Why a figure is missed: a text per method and dataset.
NOTES = ROOT / "scripts" / "fidelity.toml"
# Figures of the papers, or of independent reruns, by protocol, method and dataset.
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "public": {
        "dgi": {"cora": 82.3, "citeseer": 71.8},
        "mvgrl": {"cora": 83.5, "citeseer": 73.3},
        "cca-ssg": {"cora": 84.0, "citeseer": 73.1},
        "graphmae": {"cora": 84.2, "citeseer": 73.4},
        "ggd": {"cora": 83.9, "citeseer": 73.0},
    },
    "10/10/80": {
        "gca": {"photo": 92.5, "computers": 87.9, "cs": 93.1},
        "bgrl": {"photo": 93.2, "computers": 90.3, "cs": 93.3},
        "cca-ssg": {"photo": 93.1, "computers": 88.7, "cs": 93.3},
        "ggd": {"photo": 92.5},
    },
    "10-fold-svm": {
        "mvgrl": {"imdb-b": 74.2},
        "graphmae": {"proteins": 75.3, "nci1": 80.4, "imdb-b": 75.5, "collab": 80.3},
        "infograph": {
            "imdb-b": 73.0,
            "imdb-m": 49.7,
            "reddit-b": 82.5,
            "proteins": 74.4,
        },
        "graphcl": {
            "nci1": 77.9,
            "proteins": 74.4,
            "dd": 78.6,
            "reddit-b": 89.5,
            "imdb-b": 71.1,
        },
        "joao": {"nci1": 78.1, "proteins": 74.6, "imdb-b": 70.2},
        "ad-gcl": {
            "proteins": 73.6,
            "dd": 74.5,
            "imdb-b": 71.6,
            "imdb-m": 49.0,
            "reddit-b": 85.5,
        },
        "simgrace": {"proteins": 75.4, "collab": 71.7, "imdb-b": 71.3},
    },
}
INTRODUCTION = """# Fidelity of the baselines

Each baseline beside a figure that its paper or an independent rerun reports, under the
same kind of split. "Ours" is one recorded run with the published settings (`--recipe
published`, else the defaults of the method) and one seed
([`results/fidelity.jsonl`](../results/fidelity.jsonl)); an empty cell has not been run.
"Untrained" is the same model before training. Sets without features have columns of
degrees here, and other columns in the papers.

{summary}

| protocol | method | dataset | published | ours | difference | untrained |
|---|---|---|---|---|---|---|
{rows}"""
DIFFERENCES = """
## Where we differ by more than {tolerance} points

| method | dataset | difference | also tried | what is known |
|---|---|---|---|---|
{rows}"""
PROBES = """
## What the classifier changes

The same embeddings, judged in two ways. Ours is a logistic regression that is trained
to the end; validation rows choose its penalty and the scaling. The authors' program
trains a linear layer by Adam and looks at every epoch. "Stopped" is its test score at
the first epoch of the highest validation score. "Highest" is what the program prints:
the highest test score of all epochs at which the validation score was the highest so
far, so test labels take part in the choice. Seeds {seeds}
([`results/fidelity_probes.jsonl`](../results/fidelity_probes.jsonl),
`scripts/fidelity_probes.py`).

| method | dataset | published | our probe | stopped | highest |
|---|---|---|---|---|---|
{rows}"""
WALKS = """
## Walks on IMDB

The figures are those of the paper's table for IMDB, which are from MAGNN's comparison.

| method | metric | {titles} |
|---|---|{bars}|
{rows}"""
TOLERANCE = 1.5
WALK_METHODS = ("node2vec", "esim", "metapath2vec", "herec")
UNTUNED = ("published", "default")

Place = tuple[str, str, str]


def render() -> str:
    """Return the page."""
    lines = read_lines([ROOT / "results" / "fidelity.jsonl"])
    figures = {
        (protocol, method, dataset): figure
        for protocol, methods in PUBLISHED.items()
        for method, datasets in methods.items()
        for dataset, figure in datasets.items()
    }
    scores = {_place(line): line["mean"] for line in lines if line["recipe"] in UNTUNED}
    page = INTRODUCTION.format(
        summary=summarize(figures, scores), rows=_figure_rows(figures, scores)
    )
    far = {
        place: scores[place] - figure
        for place, figure in figures.items()
        if place in scores and not is_near(scores[place], figure)
    }
    if far:
        with NOTES.open("rb") as file:
            notes = tomllib.load(file)
        rows = _difference_rows(far, _tried(lines), notes)
        page += DIFFERENCES.format(tolerance=TOLERANCE, rows=rows)
    probes = ROOT / "results" / "fidelity_probes.jsonl"
    if probes.exists():
        page += render_probes(read_lines([probes]))
    return page + render_walks(read_lines([ROOT / "results" / "hetero.jsonl"]))


def summarize(figures: Mapping[Place, float], scores: Mapping[Place, float]) -> str:
    """Say how many rows were run, and how many of them are near the figure."""
    run = [place for place in figures if place in scores]
    near = sum(is_near(scores[place], figures[place]) for place in run)
    above = sum(scores[place] > figures[place] + TOLERANCE for place in run)
    return (
        f"{len(run)} of {len(figures)} rows have been run: {near} are within "
        f"{TOLERANCE} points of the figure, {above} above it by more, "
        f"{len(run) - near - above} below."
    )


def is_near(score: float, figure: float) -> bool:
    """Whether a score is within the tolerance of a figure, as both are printed."""
    return round(abs(round(score, 1) - figure), 6) <= TOLERANCE


def render_probes(lines: Sequence[Line]) -> str:
    """Return the section on classifiers, the means of all seeds.

    Args:
        lines: those of `scripts/fidelity_probes.py`.
    """
    found: dict[Place, dict[int, Line]] = {}
    for line in lines:
        found.setdefault(_place(line), {})[line["seed"]] = line
    rows = ""
    for (protocol, method, dataset), by_seed in found.items():
        means = [
            f"{statistics.fmean(line[name] for line in by_seed.values()):.1f}"
            for name in ("ours", "stopped", "highest")
        ]
        figure = f"{PUBLISHED[protocol][method][dataset]:.1f}"
        rows += f"| {' | '.join([method, dataset, figure, *means])} |\n"
    seeds = ", ".join(map(str, sorted({line["seed"] for line in lines})))
    return PROBES.format(seeds=seeds, rows=rows)


def render_walks(lines: Sequence[Line]) -> str:
    """Return the section on walks; nothing where none of the methods has been run.

    Args:
        lines: those of the suite hetero.
    """
    table = load_paper()["hetero"]
    ours = {
        (line["method"], line["protocol"], line["metric"]): line["mean"]
        for line in lines
        if line["dataset"] == "imdb" and line["recipe"] == "published"
    }
    protocols = list(dict.fromkeys(c["protocol"] for c in table["columns"]))
    rows = ""
    for row in table["rows"]:
        if row["method"] not in WALK_METHODS:
            continue
        theirs = {
            (column["metric"], column["protocol"]): mean
            for column, mean in zip(table["columns"], row["mean"], strict=True)
        }
        for metric in dict.fromkeys(metric for metric, _ in theirs):
            cells = [
                _beside(ours.get((row["method"], name, metric)), theirs[metric, name])
                for name in protocols
            ]
            rows += f"| {' | '.join([row['method'], metric, *cells])} |\n"
    if not any(method in WALK_METHODS for method, _, _ in ours):
        return ""
    titles = " | ".join(f"{name.removeprefix('imdb-')} %" for name in protocols)
    return WALKS.format(
        titles=titles, bars="|".join("---" for _ in protocols), rows=rows
    )


def _place(line: Line) -> Place:
    return line["protocol"], line["method"], line["dataset"]


def _figure_rows(figures: Mapping[Place, float], scores: Mapping[Place, float]) -> str:
    rows = ""
    for (protocol, method, dataset), figure in figures.items():
        ours = scores.get((protocol, method, dataset))
        untrained = scores.get((protocol, f"random-{method}", dataset))
        cells = [protocol, method, dataset, f"{figure:.1f}", _show(ours)]
        cells.append("" if ours is None else f"{ours - figure:+.1f}")
        rows += f"| {' | '.join([*cells, _show(untrained)])} |\n"
    return rows


def _tried(lines: Sequence[Line]) -> dict[Place, dict[str, float]]:
    """Return the scores of the other settings of each place."""
    tried: dict[Place, dict[str, float]] = {}
    for line in lines:
        if line["recipe"] not in UNTUNED:
            setting = line["recipe"].partition(", ")[2]
            tried.setdefault(_place(line), {})[setting] = line["mean"]
    return tried


def _difference_rows(
    far: Mapping[Place, float],
    tried: Mapping[Place, Mapping[str, float]],
    notes: Mapping[str, Mapping[str, str]],
) -> str:
    rows = ""
    for place, difference in far.items():
        _, method, dataset = place
        note = notes.get(method, {}).get(dataset, "not looked into yet")
        others = tried.get(place, {})
        also = "; ".join(f"{name}: {score:.1f}" for name, score in others.items())
        cells = [method, dataset, f"{difference:+.1f}", also, note]
        rows += f"| {' | '.join(cells)} |\n"
    return rows


def _beside(ours: float | None, figure: float) -> str:
    if ours is None:
        return f"(paper {figure:.1f})"
    return f"{ours:.1f} (paper {figure:.1f}, {ours - figure:+.1f})"


def _show(score: float | None) -> str:
    return "" if score is None else f"{score:.1f}"


if __name__ == "__main__":
    (ROOT / "docs" / "FIDELITY.md").write_text(render())
