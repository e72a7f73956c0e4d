"""`dsgrl embed --dry-run`: what the command would take, without doing it."""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    # Loads torch.
    from dsgrl.train.estimate import Cost, Estimate
    from dsgrl.train.rehearsal import Spent

WAYS = {
    "floor": "the floor alone (--epochs 0)",
    "full": "all nodes at once",
    "parts": "parts of the graph (--batch-size)",
}
MANY = "batches of graphs"
# Rows that are written to see how long it takes.
WRITTEN_ROWS = 2000

DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print the time and memory that this would take, measured on a part of "
        "the graph, and stop: nothing is written.",
    ),
]


def describe(estimate: "Estimate", level: str) -> list[str]:
    """Return the estimate in words, a line for every way."""
    free = f"{estimate.available / 1e9:.1f} GB"
    names = {**WAYS, "full": MANY} if level == "graph" else WAYS
    width = max(len(names[way]) for way in estimate.costs)
    lines = [
        f"{names[way]:<{width}}  {_words(cost)}{_remark(estimate, way)}"
        for way, cost in estimate.costs.items()
    ]
    return [*lines, f"{free} of memory can be used; nothing was trained or written"]


def _remark(estimate: "Estimate", way: str) -> str:
    remarks = ["chosen"] if way == estimate.chosen else []
    remarks += ["does not fit"] if estimate.fits(way) is False else []
    return f" ({', '.join(remarks)})" if remarks else ""


def _words(cost: "Cost") -> str:
    low, high = (_duration(seconds) for seconds in cost.seconds)
    took = low if low == high else f"{low} to {high}"
    fewest, most = cost.epochs
    epochs = str(most) if fewest == most else f"{fewest} to {most}"
    held = "memory unknown" if cost.bytes is None else f"{cost.bytes / 1e9:.2f} GB"
    return f"{held}, {took}" + (f", {epochs} epochs" if most else "")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def time_writing(suffix: str, ids: Any) -> "Any":
    """Return a function that measures writing embeddings, on some rows.

    Args:
        suffix: of the file to write.
        ids: one id like those to write.
    """
    from dsgrl.train.rehearsal import Meter, Spent

    def measure(rows: int, columns: int) -> "Spent":
        import numpy as np

        from dsgrl.io.embeddings import write_embeddings

        some = min(rows, WRITTEN_ROWS)
        table = np.random.default_rng(0).normal(size=(some, columns))
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / f"z{suffix}"
            # What the first call loads is held from then on.
            meter = Meter()
            write_embeddings(out, [ids] * some, table.astype(np.float32))
            loaded = meter.lap()
            began = time.perf_counter()
            write_embeddings(out, [ids] * some, table.astype(np.float32))
            seconds = time.perf_counter() - began
        return Spent(seconds * rows / some + loaded.seconds, loaded.bytes)

    return measure


@contextmanager
def announced(name: str) -> Iterator[None]:
    """Let a logger say on stderr what was chosen."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
