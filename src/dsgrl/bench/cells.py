"""A cell: one fit of one system on one dataset, and one line per evaluation."""

import importlib.metadata
import resource
import statistics
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dsgrl.bench.lines import Key, Line, line_key
from dsgrl.bench.supervised import score_supervised
from dsgrl.bench.systems import (
    SYSTEMS,
    Embedded,
    labels_of,
    masks_of,
    unlabelled,
)
from dsgrl.datasets.table import DATASETS, load_dataset
from dsgrl.evaluation import evaluate, manifest_hash, protocol_splits
from dsgrl.methods import FitConfig
from dsgrl.typing import InputError, Score

# A protocol and a metric.
Case = tuple[str, str]


class MissingDataError(InputError):
    """The dataset of a cell is not available."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """What is fitted and how it is evaluated.

    Attributes:
        suite: the suite it belongs to.
        dataset: a key of `DATASETS`.
        method: a key of `SYSTEMS`.
        recipe: name of the source of the parameters, shown in tables.
        seed: seed of the model.
        config: all parameters.
        cases: protocols and metrics, one line each.
    """

    suite: str
    dataset: str
    method: str
    recipe: str
    seed: int
    config: dict[str, Any]
    cases: tuple[Case, ...]

    def lines(self) -> dict[Key, Case]:
        """Return the case of each line, by the key of the line."""
        same = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            line_key({**same, "protocol": case[0], "metric": case[1]}): case
            for case in self.cases
        }


def run_cell(
    cell: Cell, cases: tuple[Case, ...], folder: Path | None, own_process: bool
) -> list[Line]:
    """Fit once and evaluate every case.

    Args:
        cell: what to fit.
        cases: the cases of the cell to evaluate.
        folder: folder of the datasets.
        own_process: whether this process runs the cell only, so that its peak memory
            is the cell's.

    Raises:
        MissingDataError: if the dataset is not available.
    """
    try:
        data = load_dataset(cell.dataset, folder)
    except InputError as error:
        raise MissingDataError(str(error)) from error
    system, row = SYSTEMS[cell.method], DATASETS[cell.dataset]
    config = system.restore(cell.config, row.level) if system.method else None
    start = time.perf_counter()
    embedded = None
    if not system.needs_labels:
        embedded = system.embed(unlabelled(data), config, row.target)
    fit_seconds = time.perf_counter() - start
    revision, lines = git_revision(), []
    for protocol, metric in cases:
        start = time.perf_counter()
        score, epoch = _judge(cell, embedded, config, data, (protocol, metric), folder)
        seconds = time.perf_counter() - start
        if embedded is None:
            # A supervised system is fitted during the evaluation.
            fit_seconds, seconds = seconds, 0.0
        epochs_run = 0 if embedded is None else embedded.epochs_run
        lines.append(
            {
                "suite": cell.suite,
                "dataset": cell.dataset,
                "method": cell.method,
                "protocol": protocol,
                "metric": metric,
                "mean": round(score.mean, 4),
                "std": round(score.std, 4),
                "n": len(score.scores),
                "scores": [round(value, 4) for value in score.scores],
                "val_mean": round(statistics.fmean(score.validation), 4),
                "epochs": epoch,
                "seconds_per_epoch": _per_epoch(fit_seconds, epochs_run),
                "fit_seconds": round(fit_seconds, 3),
                "probe_seconds": round(seconds, 3),
                "peak_rss_mb": round(peak_memory_mb()) if own_process else None,
                "config": cell.config,
                "recipe": cell.recipe,
                "seed": cell.seed,
                "splits": score.manifest,
                "version": importlib.metadata.version("dsgrl"),
                "git": revision,
            }
        )
    return lines


def _judge(
    cell: Cell,
    embedded: Embedded | None,
    config: FitConfig | None,
    data: Any,
    case: Case,
    folder: Path | None,
) -> tuple[Score, int | None]:
    """Score an embedding or a supervised system; also return the kept epoch."""
    (protocol, metric), target = case, DATASETS[cell.dataset].target
    y = labels_of(data, target)
    # The same splits for every method and seed, so that scores can be paired.
    splits = protocol_splits(
        protocol, y, masks=masks_of(data, target), dataset=cell.dataset, folder=folder
    )
    if embedded is not None:
        score = evaluate(embedded.z, y, splits=splits, protocol=protocol, metric=metric)
        return score, embedded.epoch
    assert config is not None
    score, epoch = score_supervised(
        SYSTEMS[cell.method],
        config,
        unlabelled(data),
        y,
        splits,
        metric=metric,
        protocol=protocol,
        target=target,
    )
    return replace(score, manifest=manifest_hash(splits, protocol)), epoch


def _per_epoch(seconds: float, epochs: int) -> float | None:
    return round(seconds / epochs, 5) if epochs else None


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process.

    On Linux from /proc, which psutil does not read: `getrusage` of a spawned process
    starts at the memory of its parent.
    """
    try:
        status = Path("/proc/self/status").read_text()
        (kilobytes,) = (
            line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")
        )
        return int(kilobytes) * 1024 / 1e6
    except (OSError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def git_revision() -> str | None:
    """Return the commit of the package; None outside a checkout of it."""
    here = Path(__file__).parent
    for command in (
        ["ls-files", "--error-unmatch", "../__init__.py"],
        ["describe", "--always", "--dirty", "--exclude=*"],
    ):
        try:
            done = subprocess.run(
                ["git", *command], cwd=here, capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            return None
    return done.stdout.strip()
