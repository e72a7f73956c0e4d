"""Runs the anchors: datasets x anchors x seeds, one JSON line each, resumable.

`fit_seconds` is the time from edges (and features) to vectors. Loading the data is not
part of it, nor is importing and compiling the libraries of others: each of them first
embeds a small graph.
"""

import importlib.metadata
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from dsgrl.bench.anchors import ANCHORS, Anchor, check_libraries
from dsgrl.bench.cells import MissingDataError, git_revision, peak_memory_mb
from dsgrl.bench.isolation import run_isolated
from dsgrl.bench.lines import Key, Line, append_line, open_results
from dsgrl.bench.runner import EXPECTED_ERRORS, Failure, one_line, warn_of_failure
from dsgrl.bench.suites import NODE_CASES, datasets_of, is_at_hand, known_name
from dsgrl.bench.systems import labels_of, masks_of, unlabelled
from dsgrl.datasets.table import known_dataset, load_dataset
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.io.atomic import check_writable
from dsgrl.typing import InputError

logger = logging.getLogger(__name__)

SUITE = "anchors"
((PROTOCOL, METRIC),) = NODE_CASES
RING_NODES = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchorCell:
    """One embedding of one dataset; its fields identify the result line.

    Attributes:
        dataset: a key of `DATASETS`.
        features: whether the features are used.
        method: a key of `ANCHORS[features]`.
        seed: seed of the embedding; the splits are the same for all.
    """

    dataset: str
    features: bool
    method: str
    seed: int

    @property
    def anchor(self) -> Anchor:
        """What is run."""
        return ANCHORS[self.features][self.method]

    @property
    def key(self) -> Key:
        """What identifies the line."""
        return tuple(asdict(self).values())


def run_anchors(
    *,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    results: Path | None = None,
    folder: Path | None = None,
    in_process: bool = False,
    on_start: Callable[[AnchorCell, int, int], None] | None = None,
    on_failure: Callable[[Failure], None] | None = None,
) -> Iterator[Line]:
    """Run the cells that are not in the results file; yield every new line.

    Args:
        datasets: names; by default all available ones of the suite "nodes".
        methods: names of `ANCHORS`, by default all; a name that is in both tables is
            run with features and without.
        seeds: seeds of the embeddings.
        results: file to append the lines to.
        folder: folder of the datasets.
        in_process: run in this process instead of one process per cell; the peak
            memory of a cell is then unknown and None.
        on_start: called with each cell that is run, its number and the number of cells.
        on_failure: called with each cell without a result; the suite continues.

    Raises:
        InputError: if a name is unknown, a library is missing, or the results cannot
            be read or written.
    """
    cells = plan_anchors(datasets, methods, seeds, folder)
    finished: set[Key] = set()
    if results is not None:
        check_writable(results.parent)
        found = (line for line in open_results(results) if line["suite"] == SUITE)
        names = AnchorCell.__dataclass_fields__
        finished = {tuple(line[name] for name in names) for line in found}
    check_libraries([cell.anchor for cell in cells if cell.key not in finished])
    fail = on_failure or warn_of_failure
    absent: set[str] = set()
    for number, cell in enumerate(cells, start=1):
        if cell.key in finished or cell.dataset in absent:
            continue
        if on_start:
            on_start(cell, number, len(cells))
        try:
            line = _attempt(cell, folder, in_process)
        except MissingDataError as error:
            absent.add(cell.dataset)
            fail(Failure(cell.dataset, str(error)))
            continue
        except Exception as error:
            if not isinstance(error, EXPECTED_ERRORS):
                logger.exception("unexpected error")
            fail(Failure(f"{cell.dataset} {cell.method}", one_line(error)))
            continue
        if results is not None:
            append_line(results, line)
        yield line


def plan_anchors(
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    seeds: Sequence[int],
    folder: Path | None,
) -> list[AnchorCell]:
    """List the cells in order, without repeats.

    Raises:
        InputError: if a name is unknown, or a dataset is not of the suite "nodes".
    """
    known = list(dict.fromkeys(name for table in ANCHORS.values() for name in table))
    chosen = {known_name(method, known, "method") for method in methods or known}
    suitable = datasets_of("nodes")
    names = [known_dataset(name) for name in datasets or ()]
    for name in names:
        if name not in suitable:
            raise InputError(
                f"dataset '{name}' is not meant for suite '{SUITE}': expected some of "
                f"{', '.join(suitable)}"
            )
    cells = (
        AnchorCell(
            dataset=dataset,
            features=features,
            method=method,
            seed=seed if anchor.has_seed else 0,
        )
        for dataset in names or (n for n in suitable if is_at_hand(n, folder))
        for features, table in ANCHORS.items()
        for method, anchor in table.items()
        if method in chosen
        for seed in seeds
    )
    return list(dict.fromkeys(cells))


def _attempt(cell: AnchorCell, folder: Path | None, in_process: bool) -> Line:
    if in_process:
        return run_anchor(cell, folder, False)
    line: Line = run_isolated(run_anchor, cell, folder, True)
    return line


def run_anchor(cell: AnchorCell, folder: Path | None, own_process: bool) -> Line:
    """Embed a dataset once and score the embedding.

    Args:
        cell: what to run.
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
    threads = torch.get_num_threads()
    # As many threads for libraries in Rust as for torch.
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))
    graph, embed = visible(data, cell.features), cell.anchor.embed
    if cell.anchor.library:
        embed(_ring(), cell.seed)
    start = time.perf_counter()
    z = embed(graph, cell.seed)
    fit_seconds = time.perf_counter() - start
    y = labels_of(data, None)
    splits = protocol_splits(
        PROTOCOL, y, masks=masks_of(data, None), dataset=cell.dataset, folder=folder
    )
    start = time.perf_counter()
    score = evaluate(z, y, splits=splits, protocol=PROTOCOL, metric=METRIC)
    probe_seconds = time.perf_counter() - start
    return {
        "suite": SUITE,
        "dataset": cell.dataset,
        "features": cell.features,
        "method": cell.method,
        "columns": z.shape[1],
        "protocol": PROTOCOL,
        "metric": METRIC,
        "mean": round(score.mean, 4),
        "std": round(score.std, 4),
        "n": len(score.scores),
        "scores": [round(value, 4) for value in score.scores],
        "fit_seconds": round(fit_seconds, 3),
        "probe_seconds": round(probe_seconds, 3),
        "peak_rss_mb": round(peak_memory_mb()) if own_process else None,
        "threads": threads,
        "seed": cell.seed,
        "version": importlib.metadata.version("dsgrl"),
        "git": git_revision(),
    }


def visible(data: Any, features: bool) -> Data:
    """Return what an anchor may read: the edges and, if asked for, the features."""
    bare = unlabelled(data)
    x = {"x": bare.x} if features else {}
    return Data(edge_index=bare.edge_index, num_nodes=bare.num_nodes, **x)


def _ring() -> Data:
    nodes = torch.arange(RING_NODES)
    return Data(
        edge_index=torch.stack([nodes, nodes.roll(1)]),
        num_nodes=RING_NODES,
    )
