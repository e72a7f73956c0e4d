"""Memory that training needs, estimated before it starts, and memory that is used."""

from pathlib import Path

import psutil

from dsgrl.allocator import release_heap
from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.typing import InputError

MEGABYTE, GIGABYTE = 1e6, 1e9


def in_words(size: float) -> str:
    """Write a number of bytes as "12 MB" or "3.4 GB"."""
    if size < GIGABYTE / 10:
        return f"{size / MEGABYTE:.0f} MB"
    return f"{size / GIGABYTE:.1f} GB"


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
        f"once takes about {in_words(needed)}, {in_words(available)} are free"
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
    size = f"embedding {graph.num_nodes} nodes takes about {in_words(needed)}"
    free = f"{in_words(available)} are free"
    if floor <= available and floor < needed:
        raise InputError(
            f"{size}, {free}: only what needs no training fits, in about "
            f"{in_words(floor)}: set epochs=0 (--epochs 0), or lower out_channels "
            f"(--dim)"
        )
    raise InputError(
        f"{size}, {free}, and without training {in_words(floor)}: lower out_channels "
        f"(--dim), or use a machine with more memory"
    )
