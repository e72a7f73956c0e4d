"""Memory that training needs, estimated before it starts, and memory that is used."""

from pathlib import Path

import psutil

from dsgrl.allocator import release_heap
from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.typing import InputError

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


def held_bytes() -> float:
    """Memory that this process holds, its imports included."""
    return float(psutil.Process().memory_info().rss)


def peak_bytes() -> float | None:
    """The most memory that this process held; None where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = [line.split() for line in status.splitlines() if line.startswith("VmHWM")]
    return 1024 * float(found[0][1]) if found else None


def reset_peak() -> bool:
    """Give freed memory back and begin to watch for the next peak.

    Returns:
        Whether the system can; `peak_bytes` then forgets earlier peaks.
    """
    try:
        if not release_heap():
            return False
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


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


def check_finish(graph: Graph, method: Method) -> None:
    """Refuse a graph that training in parts cannot help: embedding it does not fit.

    Raises:
        InputError: with what is needed, what is free and what to do.
    """
    needed, floor = (
        method.finishing_bytes(graph, learned=learned) for learned in (True, False)
    )
    available = available_bytes()
    if needed is None or floor is None or needed <= available:
        return
    size = f"embedding {graph.num_nodes} nodes takes about {needed / GIGABYTE:.1f} GB"
    free = f"{available / GIGABYTE:.1f} are free"
    if floor <= available and floor < needed:
        raise InputError(
            f"{size}, {free}: only what needs no training fits, in about "
            f"{floor / GIGABYTE:.1f} GB: set epochs=0 (--epochs 0), or lower "
            f"out_channels (--dim)"
        )
    raise InputError(
        f"{size}, {free}, and without training {floor / GIGABYTE:.1f} GB: lower "
        f"out_channels (--dim), or use a machine with more memory"
    )
