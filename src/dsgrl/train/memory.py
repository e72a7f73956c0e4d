"""Memory that training needs, estimated before it starts."""

import logging
from pathlib import Path

import psutil

from dsgrl.graph import Graph
from dsgrl.methods.base import Method

logger = logging.getLogger(__name__)

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


def warn_if_too_large(graph: Graph, method: Method) -> None:
    """Warn before a long run that may run out of memory."""
    # Training on many graphs uses one batch at a time.
    needed = None if graph.ptr is not None else method.training_bytes(graph)
    available = available_bytes()
    if needed is not None and needed > available:
        logger.warning(
            "training on %d nodes and %d edges at once takes about %.1f GB, %.1f are "
            "free: lower out_channels, augment_channels or feature_drop",
            graph.num_nodes,
            graph.adjacency.num_edges,
            needed / GIGABYTE,
            available / GIGABYTE,
        )
