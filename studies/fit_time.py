"""Time from a graph to vectors: the default on the floor against the one before it.

`python -m studies.fit_time` fits both, one after the other, on every graph and writes
one line per graph. Seconds of the processor are compared, which other programs on the
machine hardly change; run it with one thread (OMP_NUM_THREADS=1).
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.bench.systems import unlabelled
from dsgrl.datasets.table import load_dataset
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import fit_graph
from studies.joining import NODES

RESULTS = Path(__file__).parent / "results" / "fit_time.jsonl"
# The default before there was a floor.
BEFORE: Mapping[str, Any] = {"views": "node_alone", "floor": False}


def run_times(datasets: Sequence[str], results: Path = RESULTS) -> Iterator[Line]:
    """Time both defaults on every dataset that has no line; yield the new lines."""
    known = {line["dataset"] for line in open_results(results)}
    for name in datasets:
        if name not in known:
            data = unlabelled(load_dataset(name))
            line = {
                "suite": "fit_time",
                "dataset": name,
                "now_cpu_s": _time(data, {}),
                "before_cpu_s": _time(data, BEFORE),
                "threads": torch.get_num_threads(),
                "seed": 0,
                "git": git_revision(),
            }
            append_line(results, line)
            yield line


def _time(data: Any, changes: Mapping[str, Any]) -> float:
    start = time.process_time()
    fitted, graph = fit_graph("dsgrl", data, DSGRLConfig(**changes))
    fitted.embed_graph(graph)
    return round(time.process_time() - start, 2)


def table() -> str:
    """Return the seconds of every dataset and of all."""
    lines = open_results(RESULTS)
    if not lines:
        return "Not recorded yet.\n"
    rows = [
        (line["dataset"], line["before_cpu_s"], line["now_cpu_s"]) for line in lines
    ]
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    head = ["dataset", "before, s", "now, s", "now / before"]
    body = [[n, f"{b:.1f}", f"{now:.1f}", f"{now / b:.2f}"] for n, b, now in rows]
    return "".join(f"| {' | '.join(r)} |\n" for r in [head, ["---"] * 4, *body])


if __name__ == "__main__":
    for made in run_times(sys.argv[1:] or NODES):
        sys.stderr.write(f"{made}\n")
