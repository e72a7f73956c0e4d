"""How much weight the learned part gets beside the floor, chosen without its own graph.

`python -m studies.joining` fits the default once per dataset and seed, joins it with
the floor in several ways, and writes one line per way with validation and test scores.
The page compares the way that the other datasets would have chosen, by validation rows,
with the way that was chosen on all.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.bench.suites import SUITES
from dsgrl.bench.systems import labels_of, unlabelled
from dsgrl.datasets.table import DATASETS, load_dataset
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.floor import HopsFloor
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import fit_graph

RESULTS = Path(__file__).parent / "results" / "joining.jsonl"
NODES = (
    *("cora", "citeseer", "debian", "chameleon", "photo", "blogcatalog"),
    *("twitch-engb", "dblp", "cs", "computers", "facebook", "deezer"),
    *("github", "physics"),
)
GRAPHS = ("enzymes", "proteins", "nci1", "imdb-b", "imdb-m", "dd", "reddit-b")
# Weight of the learned part, and whether a node's own features are weighed.
Way = tuple[float, bool]
NODE_WAYS: tuple[Way, ...] = tuple(
    (weight, own) for weight in (1.0, 2.0, 3.0) for own in (False, True)
)
GRAPH_WAYS: tuple[Way, ...] = tuple((weight, False) for weight in (0.5, 1.0, 2.0, 3.0))
CHOSEN: dict[str, Way] = {"node": (2.0, True), "graph": (1.0, False)}


def run_joining(
    datasets: Sequence[str], *, seed: int = 0, results: Path = RESULTS
) -> Iterator[Line]:
    """Fit every dataset once and score every way to join; yield the new lines."""
    known = {(line["dataset"], line["seed"]) for line in open_results(results)}
    for name in datasets:
        if (name, seed) not in known:
            for line in _join(name, seed):
                append_line(results, line)
                yield line


def _join(name: str, seed: int) -> Iterator[Line]:
    data, level = load_dataset(name), DATASETS[name].level
    y = labels_of(data, None)
    suite = next(suite for suite in SUITES.values() if suite.level == level)
    ((protocol, metric),) = suite.cases
    splits = protocol_splits(protocol, y, dataset=name)
    start = time.perf_counter()
    fitted, graph = fit_graph("dsgrl", unlabelled(data), DSGRLConfig(random_state=seed))
    seconds = time.perf_counter() - start
    method: Any = fitted.method
    ways = NODE_WAYS if level == "node" else GRAPH_WAYS
    for weight, own in ((0.0, False), *ways):
        method.joined.weight = weight
        if isinstance(method.joined.floor, HopsFloor):
            method.joined.floor.weighs_own = own
            method.joined.floor.own.fill_(1.0)
        method.finish(graph, fitted.epoch)
        z: Any = fitted.embed_graph(graph)
        score = evaluate(z, y, splits=splits, protocol=protocol, metric=metric)
        yield {
            "suite": "joining",
            "dataset": name,
            "level": level,
            "weight": weight,
            "own": own,
            "mean": round(score.mean, 4),
            "val_mean": round(float(np.mean(score.validation)), 4),
            "epochs": fitted.epoch,
            "fit_seconds": round(seconds, 2),
            "seed": seed,
            "git": git_revision(),
        }


def leave_one_out(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """For every dataset: the way the others choose by validation rows, and its score.

    Args:
        lines: of one level and seed.
    """
    table: dict[str, dict[Way, Line]] = {}
    for line in lines:
        if line["weight"]:
            ways = table.setdefault(line["dataset"], {})
            ways[line["weight"], line["own"]] = line
    floor = {line["dataset"]: line for line in lines if not line["weight"]}
    # A dataset that is being recorded waits until it is complete.
    most = max(map(len, table.values()))
    table = {name: ways for name, ways in table.items() if len(ways) == most}
    rows = []
    for name, scores in table.items():
        others = [found for other, found in table.items() if other != name]
        chosen = best_choice(others)
        rows.append(
            {
                "dataset": name,
                "floor": floor[name]["mean"],
                "way": chosen,
                "left_out": scores[chosen]["mean"],
                "all": scores[best_choice(list(table.values()))]["mean"],
                "default": scores[CHOSEN[scores[chosen]["level"]]]["mean"],
            }
        )
    return rows


def tables() -> dict[str, str]:
    """Return the tables of the page, from the recorded lines."""
    lines = [line for line in open_results(RESULTS) if line["seed"] == 0]
    return {
        level: _render([line for line in lines if line["level"] == level])
        for level in ("node", "graph")
    }


def _render(lines: list[Line]) -> str:
    if len({line["dataset"] for line in lines}) < 2:
        return "Not recorded yet.\n"
    head = ["dataset", "floor", "chosen by the others", "score", "chosen on all"]
    body = [
        [
            row["dataset"],
            f"{row['floor']:.1f}",
            _name(row["way"]),
            f"{row['left_out']:.1f}",
            f"{row['all']:.1f}",
            f"{row['default']:.1f}",
        ]
        for row in leave_one_out(lines)
    ]
    found = leave_one_out(lines)
    means = [np.mean([row[k] for row in found]) for k in ("floor", "left_out", "all")]
    default = np.mean([row["default"] for row in found])
    floor, left_out, chosen = (f"{mean:.2f}" for mean in means)
    body.append(["mean", floor, "", left_out, chosen, f"{default:.2f}"])
    rows = [[*head, "default"], ["---"] * 6, *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _name(way: Way) -> str:
    return f"weight {way[0]:g}" + (", own features weighed" if way[1] else "")


def best_choice(tables: Sequence[Mapping[Any, Line]]) -> Any:
    """Return the choice with the best mean score on validation rows.

    Args:
        tables: the lines of each dataset by choice.
    """
    return max(tables[0], key=lambda way: np.mean([t[way]["val_mean"] for t in tables]))


if __name__ == "__main__":
    for made in run_joining(sys.argv[1:] or [*NODES, *GRAPHS]):
        sys.stderr.write(f"{made}\n")
