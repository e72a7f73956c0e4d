"""Time of an epoch by number of edges, at a fixed degree: one line per size.

Full-batch training with learned features on the generated communities of `scale`, each
size in its own process.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from dsgrl.allocator import retain_heap
from dsgrl.bench.cells import git_revision, peak_memory_mb
from dsgrl.bench.scale import make_communities
from dsgrl.methods import configure
from dsgrl.train import begin, seeded

MILLION = 1_000_000
EDGES = tuple(2**power * MILLION for power in range(7))
# Neighbours of a node on average, both directions counted, and all widths.
DEGREE, WIDTH = 64, 32
REPEATS = 3


def run_edges(sizes: tuple[int, ...] = EDGES) -> Iterator[dict[str, Any]]:
    """Measure every size; yields one result line each.

    Args:
        sizes: numbers of edges, both directions counted, in ascending order.
    """
    before: dict[str, Any] | None = None
    for size in sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            line = pool.submit(measure_edges, size).result()
        if before is not None:
            line["doubling"] = round(line["seconds"] / before["seconds"], 3)
        before = line
        yield line


def measure_edges(num_edges: int) -> dict[str, Any]:
    """Time epochs on one generated graph; `seconds` is that of the fastest."""
    num_nodes = num_edges // DEGREE
    with seeded(0):
        data = make_communities(num_nodes, degree=DEGREE, columns=WIDTH)
    settings = {
        "views": "learned_features",
        "views__augment_channels": WIDTH,
        "views__edge_drop": 0.0,
        "out_channels": WIDTH,
        "batch_size": None,
        "epochs": 1,
        "floor": False,
        "scaling": "none",
    }
    retain_heap()
    seconds = []
    with begin("dsgrl", data, configure("dsgrl", settings)) as begun:
        del data
        training = begun.training
        # The first one warms up.
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            training.run_epoch()
            seconds.append(time.perf_counter() - start)
    return {
        "suite": "scale",
        "case": "edges",
        "edges": num_edges,
        "nodes": num_nodes,
        "columns": WIDTH,
        "seconds": round(min(seconds[1:]), 4),
        "peak_rss_mb": round(peak_memory_mb()),
        "threads": torch.get_num_threads(),
        "git": git_revision(),
    }
