"""Memory that training needs, estimated before it starts."""

from pathlib import Path

import psutil

from dsgrl.graph import Graph
from dsgrl.methods.base import Method

GIGABYTE = 1e9


def available_bytes() -> float:
    """Memory available to this process, within the system's and its own limits."""
    free = float(psutil.virtual_memory().available)
    limit, used = (
        Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current")
    )
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        free = min(free, float(limit.read_text()) - float(used.read_text()))
    return free


def missing_bytes(graph: Graph, method: Method) -> str:
    """Say what training on all of a graph at once needs and what is free.

    Empty if it fits, if the need is unknown, or for many graphs: training on those
    uses one batch at a time.
    """
    needed = None if graph.ptr is not None else method.training_bytes(graph)
    available = available_bytes()
    if needed is None or needed <= available:
        return ""
    return (
        f"training on {graph.num_nodes} nodes and {graph.adjacency.num_edges} edges at "
        f"once takes about {needed / GIGABYTE:.1f} GB, {available / GIGABYTE:.1f} are "
        f"free"
    )
