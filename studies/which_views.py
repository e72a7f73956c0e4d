"""Which views to learn from, per graph or for all: every kind of views on the floor.

`python -m studies.which_views` fits the default with each kind of views and writes one
line per dataset and kind. The page compares four ways to choose: the node alone for
all, by held-out links per graph, by the validation rows of the other graphs, and the
best of the graph itself by its test rows, which nobody can know.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.bench.suites import NODE_CASES
from dsgrl.bench.systems import labels_of, unlabelled
from dsgrl.datasets.table import load_dataset
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import fit_graph
from studies.joining import NODES, best_choice

RESULTS = Path(__file__).parent / "results" / "which_views.jsonl"
DEFAULT = "node_alone"
KINDS = (DEFAULT, "learned_features", "learned_graph", "learned_both", "two_steps")

# The lines of one dataset by kind of views.
Row = Mapping[str, Line]


def run_views(
    datasets: Sequence[str], *, seed: int = 0, results: Path = RESULTS
) -> Iterator[Line]:
    """Fit every dataset with every kind of views; yield the new lines."""
    lines = open_results(results)
    known = {(line["dataset"], line["views"], line["seed"]) for line in lines}
    for name in datasets:
        for kind in KINDS:
            if (name, kind, seed) not in known:
                line = _measure(name, kind, seed)
                append_line(results, line)
                yield line


def _measure(name: str, kind: str, seed: int) -> Line:
    data = load_dataset(name)
    y = labels_of(data, None)
    ((protocol, metric),) = NODE_CASES
    splits = protocol_splits(protocol, y, dataset=name)
    config = DSGRLConfig(views=kind, random_state=seed)
    start = time.perf_counter()
    fitted, graph = fit_graph("dsgrl", unlabelled(data), config)
    seconds = time.perf_counter() - start
    z: Any = fitted.embed_graph(graph)
    score = evaluate(z, y, splits=splits, protocol=protocol, metric=metric)
    kept = [row for row in fitted.history if row["epoch"] == fitted.epoch]
    return {
        "suite": "which_views",
        "dataset": name,
        "views": kind,
        "mean": round(score.mean, 4),
        "val_mean": round(float(np.mean(score.validation)), 4),
        "link_auc": round(kept[0]["link_auc"], 4),
        "epochs": fitted.epoch,
        "fit_seconds": round(seconds, 2),
        "seed": seed,
        "git": git_revision(),
    }


def complete_rows(lines: Sequence[Line]) -> dict[str, Row]:
    """Return the lines by dataset and kind; datasets with all kinds only."""
    rows: dict[str, dict[str, Line]] = {}
    for line in lines:
        rows.setdefault(line["dataset"], {})[line["views"]] = line
    return {name: row for name, row in rows.items() if set(KINDS) <= row.keys()}


def choose(rows: Mapping[str, Row], name: str) -> dict[str, str]:
    """Return the kind that each way to choose takes for one dataset."""
    row = rows[name]
    others = [found for other, found in rows.items() if other != name]
    return {
        "node alone": DEFAULT,
        "by held-out links": max(KINDS, key=lambda kind: row[kind]["link_auc"]),
        "by the other graphs": best_choice(others) if others else DEFAULT,
        "best in hindsight": max(KINDS, key=lambda kind: row[kind]["mean"]),
    }


def tables() -> dict[str, str]:
    """Return the table of the page, from the recorded lines."""
    rows = complete_rows(open_results(RESULTS))
    if not rows:
        return {"views": "Not recorded yet.\n"}
    chosen = {name: choose(rows, name) for name in rows}
    ways = list(next(iter(chosen.values())))
    head = ["dataset", *(kind.replace("_", " ") for kind in KINDS), *ways[1:]]
    body = []
    scores: list[list[float]] = []
    for name, row in rows.items():
        kinds = [row[kind]["mean"] for kind in KINDS]
        taken = [row[chosen[name][way]]["mean"] for way in ways[1:]]
        scores.append([*kinds, *taken])
        body.append([name, *(f"{score:.1f}" for score in scores[-1])])
    body.append(["mean", *(f"{score:.2f}" for score in np.mean(scores, axis=0))])
    table = [head, ["---"] * len(head), *body]
    return {"views": "".join(f"| {' | '.join(row)} |\n" for row in table)}


if __name__ == "__main__":
    for made in run_views(sys.argv[1:] or NODES):
        sys.stderr.write(f"{made}\n")
