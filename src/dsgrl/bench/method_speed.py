"""Time and memory of one training epoch, method by method.

Every method runs in its own process with its default setting. Peak memory is that of
the set-up and of the first epoch, all of the process, without the reading of the data.
"""

import importlib.metadata
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from dsgrl.bench.cells import git_revision
from dsgrl.bench.isolation import run_isolated
from dsgrl.bench.lines import Line
from dsgrl.bench.recipes import DEFAULT
from dsgrl.bench.runner import EXPECTED_ERRORS, one_line
from dsgrl.bench.speed import PeakMemory, resident_mb
from dsgrl.bench.suites import SUITES, known_name, make_request
from dsgrl.bench.systems import SYSTEMS, System, unlabelled
from dsgrl.datasets.table import DATASETS, known_dataset, load_dataset
from dsgrl.methods import FitConfig
from dsgrl.train import Training, begin
from dsgrl.typing import Level

ALL = "all"
CASE = "methods"
TIMED_DATASETS = ("photo", "dd")
SUITE_OF: dict[Level, str] = {"node": "nodes", "graph": "graphs", "hetero": "hetero"}
# A method whose epochs are long is measured on fewer of them, at least on one.
MOST_SECONDS = 30.0


def run_method_speed(
    methods: Sequence[str],
    datasets: Sequence[str] = TIMED_DATASETS,
    *,
    repeats: int = 9,
    folder: Path | None = None,
) -> Iterator[Line]:
    """Time every method on every dataset of its level; yields one line each.

    Args:
        methods: keys of `SYSTEMS`, or "all": those that embed without labels.
        datasets: keys of `DATASETS`.
        repeats: measured epochs at most, after a first one.
        folder: folder of the datasets.

    Raises:
        InputError: if a name is unknown.
    """
    for name in map(known_dataset, datasets):
        for method in methods_for(methods, DATASETS[name].level):
            try:
                yield run_isolated(measure_method, method, name, repeats, folder)
            except EXPECTED_ERRORS as error:
                yield _name_line(method, name) | {"error": one_line(error)}


def methods_for(methods: Sequence[str], level: Level) -> list[str]:
    """Select the methods that can embed data of a level.

    Args:
        methods: keys of `SYSTEMS`, or "all". Of the forms of DSGRL, "all" has those of
            the suites; the others are controls of its parts.
        level: of the data.

    Raises:
        InputError: if a name is unknown.
    """
    if ALL not in methods:
        names = [known_name(name, (*SYSTEMS, ALL), "method") for name in methods]
    else:
        own = SUITES[SUITE_OF[level]].methods
        names = [*own, *(n for n, s in SYSTEMS.items() if _is_baseline(s))]
    return [name for name in names if level in SYSTEMS[name].levels]


def _is_baseline(system: System) -> bool:
    fits = system.is_trained or system.is_training_free
    return fits and system.method != "dsgrl" and not system.needs_labels


def measure_method(
    method: str, dataset: str, repeats: int, folder: Path | None = None
) -> Line:
    """Time one method in this process.

    Args:
        method: a key of `SYSTEMS`.
        dataset: a key of `DATASETS`.
        repeats: measured epochs at most, after a first one.
        folder: folder of the datasets.
    """
    system, level = SYSTEMS[method], DATASETS[dataset].level
    request = make_request(
        SUITE_OF[level], [dataset], [method], DEFAULT, {}, None, folder
    )
    cell = request.plan(dataset, method, 0)
    data = unlabelled(load_dataset(dataset, folder))
    config = system.restore(cell.config, level) if system.method else None
    loaded_mb = resident_mb()
    measured = (
        _time_epochs(system, data, config, repeats)
        if system.is_trained
        else _time_fit(system, data, config, DATASETS[dataset].target)
    )
    return {
        **_name_line(method, dataset),
        "config": cell.config,
        **measured,
        "loaded_rss_mb": round(loaded_mb),
        "threads": torch.get_num_threads(),
        "version": importlib.metadata.version("dsgrl"),
        "git": git_revision(),
    }


def _name_line(method: str, dataset: str) -> Line:
    return {"suite": "speed", "case": CASE, "dataset": dataset, "method": method}


def _time_fit(
    system: System, data: Any, config: FitConfig | None, target: str | None
) -> Line:
    """Time the whole fit of a method without training."""
    start = time.perf_counter()
    with PeakMemory() as peak:
        system.embed(data, config, target)
    seconds = round(time.perf_counter() - start, 4)
    return {"setup_seconds": seconds, "peak_rss_mb": round(peak.mb)}


def _time_epochs(
    system: System, data: Any, config: FitConfig | None, repeats: int
) -> Line:
    """Time the set-up and some epochs."""
    start = time.perf_counter()
    with PeakMemory() as peak, begin(system.method, data, config) as begun:
        setup = time.perf_counter() - start
        training = begun.training
        # Scores of held-out links are not part of an epoch.
        training.watch = None
        # The first epoch allocates memory and fills caches.
        seconds = [_time_epoch(training)]
        most = training.epochs
    later: list[float] = []
    while len(later) < repeats and len(later) + 1 < most and sum(later) < MOST_SECONDS:
        later.append(_time_epoch(training))
    return {
        "setup_seconds": round(setup, 4),
        "seconds_per_epoch": round(statistics.median(later or seconds), 5),
        "epochs_measured": len(later or seconds),
        "peak_rss_mb": round(peak.mb),
    }


def _time_epoch(training: Training) -> float:
    start = time.perf_counter()
    training.run_epoch()
    return time.perf_counter() - start
