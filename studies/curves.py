"""`dsgrl bench curves`: what happens while a model learns, epoch by epoch.

Every setting is trained on the graph without its hidden links, as under
`epochs="auto"`, but never stopped. At some epochs the loss terms, the signals of the
graph itself and a probe of the embedding are recorded, one line per training.
docs/CHOOSING.md and docs/LEARNING.md are made from such lines.
"""

import importlib.metadata
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from dsgrl.allocator import retain_heap
from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.bench.recipes import default_parameters, merge
from dsgrl.bench.suites import CASES, SUITES, datasets_of, is_at_hand
from dsgrl.bench.systems import labels_of, masks_of, unlabelled
from dsgrl.datasets.table import DATASETS, load_dataset, suggest
from dsgrl.estimator import TRAINING
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.graph import Graph
from dsgrl.graph.prepare import Preparation
from dsgrl.io.atomic import check_writable
from dsgrl.methods import PLAIN, build_for, check_parameters
from dsgrl.methods.base import Method
from dsgrl.train import TrainConfig, seeded, train
from dsgrl.train.batches import embed_all
from dsgrl.train.links import HeldOutLinks
from dsgrl.train.loop import DivergenceError
from studies.signals import Signals
from dsgrl.typing import InputError, IntArray, Split

# What is looked at: the epochs, and how many splits judge (the first ones).
EPOCHS = {
    "node": (0, 5, 10, 20, 30, 40, 60, 80, 100, 130, 160, 200, 250, 300),
    "graph": (0, 1, 2, 3, 5, 7, 10, 15, 20),
}
EPOCHS["hetero"] = EPOCHS["node"]
NUM_SPLITS = {"node": 3, "graph": 10, "hetero": 3}
# What is tried: learned features at every level, and one change each. For nodes the
# base is plain: no edges dropped, no decay, short rows as they are, no smaller start.
# The last setting is today's default, nodes alone in the second view.
ALONE = {
    "augment": "topology",
    "topology": "none",
    "gain": 0.7,
    "dropout": 0.6,
    "feature_drop": 0.4,
}
SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "node": (
        {"gain": 1.0},
        {"gain": 1.0, "covariance_weight": 0.1},
        {"gain": 1.0, "covariance_weight": 4.0},
        {"gain": 1.0, "lr": 0.005},
        {"gain": 1.0, "out_channels": 64},
        {"gain": 1.0, "edge_drop": 0.5},
        {"gain": 1.0, "weight_decay": 0.0001},
        {"gain": 0.7},
        ALONE,
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
    """Name a setting by what it changes."""
    return ", ".join(f"{k}={v}" for k, v in changes.items()) or "default"


def run_curves(
    datasets: Sequence[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (0,),
    results: Path | None = None,
    folder: Path | None = None,
    on_start: Callable[[str], None] | None = None,
) -> Iterator[Line]:
    """Record curves; those already in the results file are not made again.

    Args:
        datasets: names; all that are at hand by default.
        settings: one setting to record in place of `SETTINGS`.
        seeds: of the models.
        results: file to append the lines to.
        folder: where datasets live.
        on_start: told what is being trained.

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
                if on_start:
                    on_start(f"{name} ({start['setting']}), seed {seed}")
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
    """Train one setting on one dataset and return what was seen on the way."""
    data = load_dataset(dataset, folder)
    level = DATASETS[dataset].level
    parameters = merge(default_parameters(), {"augment": "feature", **PLAIN, **changes})
    check_parameters(parameters)
    probe = _Probe(data, dataset, folder)
    last = EPOCHS[level][-1]
    rows: list[dict[str, float]] = []
    start = time.perf_counter()
    with seeded(seed), retain_heap():
        preparation, graph = Preparation.fit(
            unlabelled(data), parameters["scaling"], parameters["structural_columns"]
        )
        method = build_for(parameters, preparation)
        links = HeldOutLinks(graph.adjacency) if graph.ptr is None else None
        batch = graph if links is None else graph.with_adjacency(links.training)
        # In a block of its own: looking must not change what is drawn in training.
        with seeded(0):
            signals = Signals(batch, links)

        def look(row: Mapping[str, float]) -> None:
            if row["epoch"] in EPOCHS[level]:
                with seeded(0):
                    found = signals.measure(method)
                    found |= probe.judge(method, graph)
                rows.append({k: round(v, 5) for k, v in {**row, **found}.items()})

        look({"epoch": 0})
        options = {k: parameters[k] for k in TRAINING} | {"epochs": last}
        diverged = False
        try:
            train(method, batch, TrainConfig(**options), look)
        except DivergenceError:
            diverged = True
    return {
        "level": level,
        "hidden": None if links is None else links.edges.size(1),
        "rows": rows,
        "diverged": diverged,
        "seconds": round(time.perf_counter() - start, 1),
        "config": parameters | {"random_state": seed},
    }


class _Probe:
    """Judges an embedding on validation and on test rows of a few splits."""

    def __init__(self, data: Any, dataset: str, folder: Path | None) -> None:
        row = DATASETS[dataset]
        suite = next(suite for suite in SUITES.values() if suite.level == row.level)
        self.protocol, self.metric = CASES.get(dataset, suite.cases)[0]
        self.target, self.y = row.target, labels_of(data, row.target)
        masks = masks_of(data, row.target)
        self.splits: list[Split] = protocol_splits(
            self.protocol, self.y, masks=masks, dataset=dataset, folder=folder
        )[: NUM_SPLITS[row.level]]
        types = data.node_types if row.target is not None else []
        self.kind = types.index(row.target) if types else 0

    @torch.no_grad()
    def judge(self, method: Method, graph: Graph) -> dict[str, float]:
        """Probe the embedding of the whole graph, hidden links included."""
        z = graph.split(embed_all(method, graph))[self.kind].cpu().numpy()
        y: IntArray = self.y
        score = evaluate(
            z, y, splits=self.splits, protocol=self.protocol, metric=self.metric
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
