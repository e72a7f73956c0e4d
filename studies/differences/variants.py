"""Measures what explains a gap: the paper's recipe again, one thing changed each time.

Nothing is chosen by these scores: they only say where a difference comes from.
"""

import importlib.metadata
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.bench.suites import SUITES, make_request
from dsgrl.bench.systems import SYSTEMS, labels_of, masks_of, unlabelled
from dsgrl.datasets.table import DATASETS, load_dataset
from dsgrl.evaluation import protocol_splits
from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.train import fit_graph, seeded
from dsgrl.typing import DivergenceError, FloatArray
from studies.differences.changes import (
    FIRST_SPLIT,
    FITS,
    PROGRAM_DATA,
    Config,
    Fit,
    Variant,
    affordable,
)
from studies.differences.gaps import RECIPE, SUITE, Gap
from studies.differences.judges import JUDGES
from studies.differences.program import graph_program

logger = logging.getLogger(__name__)


def measure(
    gaps: Sequence[Gap],
    *,
    results: Path,
    folder: Path | None = None,
    chosen: Callable[[Gap], Iterable[Variant]] = affordable,
) -> Iterator[Line]:
    """Measure the variants that are not in the results file yet, short fits first.

    Args:
        gaps: what to explain.
        results: file to append the lines to.
        folder: where datasets live.
        chosen: which variants to measure.
    """
    known = {_key(line) for line in open_results(results)}
    for (dataset, method), group in _by_model(gaps).items():
        data = None
        for fit, variants in _by_fit(chosen(group[0])).items():
            missing = [
                (gap, each)
                for gap in group
                for each in variants
                if (*gap.key, each.name) not in known
            ]
            if not missing:
                continue
            if data is None:
                data = load_dataset(dataset, folder)
            logger.info("%s %s: %s", dataset, method, fit)
            try:
                lines = _measure(missing, fit, data, folder)
            except DivergenceError as error:
                logger.warning("%s %s, %s: %s", dataset, method, fit, error)
                continue
            for line in lines:
                append_line(results, line)
                yield line


def _by_model(gaps: Sequence[Gap]) -> dict[tuple[str, str], list[Gap]]:
    groups: dict[tuple[str, str], list[Gap]] = {}
    for gap in sorted(gaps, key=lambda each: float(each.line["fit_seconds"])):
        groups.setdefault((gap.dataset, gap.method), []).append(gap)
    return groups


def _by_fit(variants: Iterable[Variant]) -> dict[str, list[Variant]]:
    groups: dict[str, list[Variant]] = {}
    for variant in variants:
        # What is in the recorded line already needs no fit.
        fit = "recorded" if variant.name == FIRST_SPLIT else variant.fit
        groups.setdefault(fit, []).append(variant)
    return groups


def _key(line: Line) -> tuple[str, ...]:
    names = ("dataset", "method", "beside", "metric", "variant")
    return tuple(str(line.get(name)) for name in names)


def _measure(
    missing: Sequence[tuple[Gap, Variant]], fit: str, data: Any, folder: Path | None
) -> list[Line]:
    if fit == "recorded":
        return [_first_split(gap, variant) for gap, variant in missing]
    gap = missing[0][0]
    start = time.perf_counter()
    z, config = embed(gap, FITS[fit], data, folder)
    seconds = time.perf_counter() - start
    target = DATASETS[gap.dataset].target
    y, masks = labels_of(data, target), masks_of(data, target)
    lines = []
    for gap, variant in missing:
        judge = JUDGES[variant.judge]
        protocol = judge.protocol or str(gap.line["protocol"])
        splits = protocol_splits(
            protocol, y, masks=masks, dataset=gap.dataset, folder=folder
        )
        start = time.perf_counter()
        judged = judge.score(z, y, splits, protocol, str(gap.line["metric"]))
        lines.append(
            {
                **_names(gap, variant),
                "protocol": protocol,
                **judged,
                "epochs": config["epochs"],
                "fit_seconds": round(seconds, 3),
                "probe_seconds": round(time.perf_counter() - start, 3),
                "seconds_per_epoch": None,
                "config": config,
                "seed": config["random_state"],
                "version": importlib.metadata.version("dsgrl"),
                "git": git_revision(),
            }
        )
    return lines


def _names(gap: Gap, variant: Variant) -> Line:
    """Return what identifies the line of a variant."""
    return {
        "suite": SUITE,
        "dataset": gap.dataset,
        "method": gap.method,
        "variant": variant.name,
        "beside": gap.line["protocol"],
        "metric": gap.line["metric"],
        "recipe": f"{RECIPE}, {variant.name}",
    }


def _first_split(gap: Gap, variant: Variant) -> Line:
    first = gap.line["scores"][:1]
    return {
        **gap.line,
        **_names(gap, variant),
        "mean": first[0],
        "std": 0.0,
        "n": 1,
        "scores": first,
    }


def embed(
    gap: Gap, fit: Fit, data: Any, folder: Path | None
) -> tuple[FloatArray, Config]:
    """Fit the paper's recipe with one change; return vectors and parameters."""
    request = make_request(
        gap.suite, [gap.dataset], [gap.method], RECIPE, {}, None, folder
    )
    flat = request.plan(gap.dataset, gap.method, 0).config
    # An untrained model stays untrained.
    own = {} if flat["epochs"] else {"epochs": 0}
    flat = {**flat, **fit.settings(flat), **own}
    config = SYSTEMS[gap.method].restore(flat, SUITES[gap.suite].level)
    data = unlabelled(data)
    is_program = fit.change is graph_program
    change_data = PROGRAM_DATA.get(gap.dataset) if is_program else fit.data
    if change_data is not None:
        data = change_data(data)
    fitted, graph = fit_graph("dsgrl", data, config, change=fit.change)
    if graph.ptr is not None:
        return _embed_shuffled(fitted.method, graph, flat["batch_size"]).numpy(), flat
    target = DATASETS[gap.dataset].target
    z: Any = fitted.embed_graph(graph)
    return z if target is None else z[target], flat


@torch.no_grad()
def _embed_shuffled(method: Method, graph: Graph, size: int) -> Tensor:
    """Embed as many graphs at a time as in training, in random order.

    Learned edges can join the graphs of a batch: they must not all be of one class.
    """
    with seeded(0):
        order = torch.randperm(graph.num_graphs)
    z = torch.cat([method.embed(graph.take(some)) for some in order.split(size)])
    return z[order.argsort()]
