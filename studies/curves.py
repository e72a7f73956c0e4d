"""What happens while a model learns, epoch by epoch.

Every setting is trained on the graph without its hidden links, as under
`epochs="auto"`, but never stopped. At some epochs the loss terms, the signals of the
graph itself and a probe of the embedding are recorded, one line per training. The
pages CHOOSING.md and LEARNING.md are computed from such lines.

example: python -m studies.curves cora citeseer --seeds 0,1
"""

import argparse
import importlib.metadata
import logging
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from dsgrl.allocator import retain_heap
from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.bench.recipes import merge, parse_settings
from dsgrl.bench.suites import CASES, SUITES, datasets_of, is_at_hand
from dsgrl.bench.systems import SYSTEMS, labels_of, masks_of, unlabelled
from dsgrl.datasets.table import DATASETS, load_dataset, suggest
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.graph import Graph
from dsgrl.io.atomic import check_writable
from dsgrl.methods import Method, StopByLinks
from dsgrl.train import begin, seeded
from dsgrl.train.batches import embed_all
from dsgrl.typing import DivergenceError, InputError, IntArray, Split
from studies import RESULTS
from studies.signals import Signals

logger = logging.getLogger(__name__)

# What is measured: the epochs, and how many splits judge (the first ones).
RECORDED_EPOCHS = {
    "node": (0, 5, 10, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 300),
    "graph": (0, 1, 2, 3, 5, 7, 10, 15, 20),
}
RECORDED_EPOCHS["hetero"] = RECORDED_EPOCHS["node"]
PROBE_SPLITS = {"node": 3, "graph": 10, "hetero": 3}
# Learned features without what "auto" adds to them on one graph.
PLAIN_FEATURES: dict[str, Any] = {
    "augment": "feature",
    "views__edge_drop": 0.0,
    "covariance_weight": 1.0,
    "weight_decay": 0.0,
    "scaling": "columns",
}
# The default for nodes that have features; nothing is set but the views.
NODE_DEFAULT: dict[str, Any] = {"views": "node_alone"}
# The studies are of what is learned.
LEARNED_ONLY = {"floor": False}
# Changes of `PLAIN_FEATURES`; the first is what the others differ from. A setting that
# names its views is a setting by itself.
SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "node": (
        {"gain": 1.0},
        {"gain": 1.0, "covariance_weight": 0.1},
        {"gain": 1.0, "covariance_weight": 4.0},
        {"gain": 1.0, "lr": 0.005},
        {"gain": 1.0, "out_channels": 64},
        {"gain": 1.0, "views__edge_drop": 0.5},
        {"gain": 1.0, "weight_decay": 0.0001},
        {"gain": 0.7},
        NODE_DEFAULT,
    ),
    "graph": (
        {},
        {"covariance_weight": 0.1},
        {"lr": 0.01},
        {"standardize": False},
        {"num_layers": 1},
        {"readout": "mean"},
    ),
    "hetero": (
        {},
        {"covariance_weight": 0.1},
        {"covariance_weight": 4.0},
        {"lr": 0.005},
        {"dropout": 0.2},
    ),
}


def base_setting(level: str) -> str:
    """Name the setting that the others differ from."""
    return name_setting(SETTINGS[level][0])


def name_setting(changes: Mapping[str, Any]) -> str:
    """Name a setting by what it changes; components are not named."""
    named = (f"{key.rpartition('__')[2]}={value}" for key, value in changes.items())
    return ", ".join(named) or "default"


def run_curves(
    datasets: Sequence[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (0,),
    results: Path | None = None,
    folder: Path | None = None,
) -> Iterator[Line]:
    """Record curves; those already in the results file are not made again.

    Args:
        datasets: names; all that are at hand by default.
        settings: one setting to record in place of `SETTINGS`.
        seeds: of the models.
        results: file to append the lines to.
        folder: where datasets live.

    Raises:
        InputError: if a name or a setting cannot work.
    """
    names = [name.lower() for name in datasets or _all_at_hand(folder)]
    for name in names:
        if name not in DATASETS:
            raise InputError(f"unknown dataset '{name}'{suggest(name)}")
    known = set()
    if results is not None:
        check_writable(results.parent)
        known = {_key(line) for line in open_results(results) if is_curve(line)}
    for name in names:
        tried = SETTINGS[DATASETS[name].level] if settings is None else (settings,)
        for changes in tried:
            for seed in seeds:
                start = {"dataset": name, "setting": name_setting(changes)}
                if _key({**start, "seed": seed}) in known:
                    continue
                logger.info("%s (%s), seed %d", name, start["setting"], seed)
                line = {
                    "suite": "curves",
                    **start,
                    "seed": seed,
                    **record_curve(name, changes, seed, folder),
                    "version": importlib.metadata.version("dsgrl"),
                    "git": git_revision(),
                }
                if results is not None:
                    append_line(results, line)
                yield line


def record_curve(
    dataset: str, changes: Mapping[str, Any], seed: int, folder: Path | None
) -> dict[str, Any]:
    """Train one setting on one dataset and return what was measured on the way."""
    level = DATASETS[dataset].level
    start = {} if {"views", "augment"} & changes.keys() else PLAIN_FEATURES
    system, last = SYSTEMS["dsgrl"], RECORDED_EPOCHS[level][-1]
    own = {**LEARNED_ONLY, "random_state": seed}
    settings = merge(start, system.known(changes, level), own)
    config = system.configure(settings, level)
    # Links are hidden as under "auto", but looked at here and not by the rule.
    stop = StopByLinks(max_epochs=last, check_every=last)
    config = config.replace(epochs=last if level == "graph" else stop)
    data = load_dataset(dataset, folder)
    probe = _Probe(data, dataset, folder)
    rows: list[dict[str, float]] = []
    diverged = False
    begun_at = time.perf_counter()
    with begin("dsgrl", unlabelled(data), config) as begun:
        training = begun.training
        links = None if training.watch is None else training.watch.links
        # In a block of its own: measuring must not change what is drawn in training.
        with seeded(0):
            signals = Signals(training.graph, links)
        row: dict[str, float] = {"epoch": 0}
        while True:
            if row["epoch"] in RECORDED_EPOCHS[level]:
                with seeded(0):
                    found = signals.measure(training.method)
                    found |= probe.judge(training.method, begun.graph)
                rows.append({k: round(v, 5) for k, v in {**row, **found}.items()})
            if training.epoch >= last:
                break
            try:
                row = training.run_epoch()
            except DivergenceError:
                diverged = True
                break
    return {
        "level": level,
        "hidden": None if links is None else links.edges.size(1),
        "rows": rows,
        "diverged": diverged,
        "seconds": round(time.perf_counter() - begun_at, 1),
        "config": begun.config.flat(),
    }


class _Probe:
    """Judges an embedding on validation and on test rows of a few splits."""

    def __init__(self, data: Any, dataset: str, folder: Path | None) -> None:
        row = DATASETS[dataset]
        suite = next(suite for suite in SUITES.values() if suite.level == row.level)
        self.protocol, self.metric = CASES.get(dataset, suite.cases)[0]
        self.y: IntArray = labels_of(data, row.target)
        masks = masks_of(data, row.target)
        self.splits: list[Split] = protocol_splits(
            self.protocol, self.y, masks=masks, dataset=dataset, folder=folder
        )[: PROBE_SPLITS[row.level]]
        self.kind = 0 if row.target is None else data.node_types.index(row.target)

    @torch.no_grad()
    def judge(self, method: Method, graph: Graph) -> dict[str, float]:
        """Probe the embedding of the whole graph, hidden links included."""
        z = graph.split(embed_all(method, method.prepare(graph)))[self.kind]
        score = evaluate(
            z.cpu().numpy(),
            self.y,
            splits=self.splits,
            protocol=self.protocol,
            metric=self.metric,
        )
        return {"val": statistics.fmean(score.validation), "test": score.mean}


def is_curve(line: Mapping[str, Any]) -> bool:
    """Whether a result line is a curve."""
    return line.get("suite") == "curves"


def _all_at_hand(folder: Path | None) -> list[str]:
    suites = (name for name in SUITES if name != "large")
    return [d for suite in suites for d in datasets_of(suite) if is_at_hand(d, folder)]


def _key(line: Mapping[str, Any]) -> tuple[object, ...]:
    return line["dataset"], line["setting"], line["seed"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Record what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.curves",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("datasets", nargs="*", help="all that are at hand by default")
    parser.add_argument("--seeds", default="0", help="e.g. 0,1,2")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting"
    )
    parser.add_argument("--results", type=Path, default=RESULTS / "curves.jsonl")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    retain_heap()
    lines = run_curves(
        options.datasets,
        settings=parse_settings(options.set) or None,
        seeds=[int(seed) for seed in options.seeds.split(",")],
        results=options.results,
    )
    for line in lines:
        logger.info("%.1f s, %d epochs measured", line["seconds"], len(line["rows"]))


if __name__ == "__main__":
    main()
