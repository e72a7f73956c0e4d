"""Changes of the method that were tried and are not in the package.

Each is made on learned features from outside, through `fit_graph(..., change=...)`, and
judged as the suites do. The page CURES.md is computed from the lines.

example: python -m studies.cures cora enzymes --seeds 0,1 --cures rising,gated
"""

import argparse
import importlib.metadata
import logging
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results, read_lines
from dsgrl.bench.suites import SUITES
from dsgrl.bench.systems import labels_of, unlabelled
from dsgrl.datasets.table import DATASETS, load_dataset
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import fit_graph
from studies import RESULTS
from studies.cure_changes import CURES

logger = logging.getLogger(__name__)

FILE = RESULTS / "cures.jsonl"


def run_cures(
    name: str, cures: Sequence[str], seeds: Sequence[int], *, results: Path
) -> Iterator[Line]:
    """Judge the changes on one dataset; lines in the results file are not made again.

    Args:
        name: of a dataset of nodes of one type, or of graphs.
        cures: keys of `CURES`.
        seeds: of the models.
        results: file to append the lines to.
    """
    data = load_dataset(name)
    level, y = DATASETS[name].level, labels_of(data, None)
    suite = next(suite for suite in SUITES.values() if suite.level == level)
    ((protocol, metric),) = suite.cases
    splits = protocol_splits(protocol, y, dataset=name)
    known = {_key(line) for line in open_results(results)}
    for seed in seeds:
        for cure in cures:
            start: Line = {"suite": "cures", "dataset": name, "cure": cure}
            start |= {"seed": seed, "protocol": protocol}
            if _key(start) in known:
                continue
            config = DSGRLConfig(augment="feature", floor=False, random_state=seed)
            change = CURES[cure].change
            fitted, graph = fit_graph("dsgrl", unlabelled(data), config, change=change)
            z: Any = fitted.embed_graph(graph)
            score = evaluate(z, y, splits=splits, protocol=protocol, metric=metric)
            line = {
                **start,
                "mean": round(score.mean, 4),
                "std": round(score.std, 4),
                "val_mean": round(statistics.mean(score.validation), 4),
                "epoch": fitted.epoch,
                "version": importlib.metadata.version("dsgrl"),
                "git": git_revision(),
            }
            append_line(results, line)
            yield line


def _key(line: Mapping[str, Any]) -> tuple[object, ...]:
    return line["dataset"], line["cure"], line["seed"]


def render_cures(lines: Sequence[Line]) -> str:
    """Return the table: changes against the default of the same seed."""
    scores = {_key(line): line["mean"] for line in lines}
    names = list(dict.fromkeys(line["dataset"] for line in lines))
    table = ["| | " + " | ".join([*names, "mean change"]) + " |"]
    table.append("| --- " * (len(names) + 2) + "|")
    for cure, (words, _) in CURES.items():
        cells, means = [], []
        for name in names:
            seeds = [s for d, c, s in scores if (d, c) == (name, cure)]
            if cure == "default":
                mean = statistics.mean(scores[name, cure, seed] for seed in seeds)
                cells.append(f"{mean:.1f}")
            elif seeds:
                changes = [
                    scores[name, cure, seed] - scores[name, "default", seed]
                    for seed in seeds
                ]
                means.append(statistics.mean(changes))
                cells.append(f"{means[-1]:+.1f}")
            else:
                cells.append("")
        cells.append(f"{statistics.mean(means):+.1f}" if means else "")
        table.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(table)


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    return {"tables": render_cures(read_lines([FILE]))}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.cures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", default="0,1", help="e.g. 0,1,2")
    parser.add_argument("--cures", default=",".join(CURES), help=", ".join(CURES))
    parser.add_argument("--results", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    cures = options.cures.split(",")
    unknown = [cure for cure in cures if cure not in CURES]
    if unknown:
        parser.error(f"unknown cure '{unknown[0]}', expected one of {', '.join(CURES)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for name in options.datasets:
        for line in run_cures(name, cures, seeds, results=options.results):
            logger.info("%s %s, seed %d: %.1f", *_key(line), line["mean"])


if __name__ == "__main__":
    main()
