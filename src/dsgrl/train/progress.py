"""A progress bar with the loss terms; silent when not on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

SHOWN = ("loss", "invariance", "variance", "covariance", "orthogonality", "link_auc")


@contextmanager
def progress_bar(
    total: int, *, shown: bool
) -> Iterator[Callable[[dict[str, float]], None] | None]:
    """Give a function that takes every epoch's row, or None if nothing is shown."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("training"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        last: dict[str, float] = {}

        def report(row: dict[str, float]) -> None:
            last.update(row)
            terms = (f"{name} {last[name]:.3g}" for name in SHOWN if name in last)
            rank = f"rank {row['effective_rank']:.1f}"
            progress.update(task, advance=1, description="  ".join([*terms, rank]))

        yield report
