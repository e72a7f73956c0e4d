"""A progress bar with the loss terms; silent when not on a terminal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.text import Text

# Short, so that a line of 80 columns holds them all.
SHOWN = {
    "loss": "loss",
    "invariance": "inv",
    "variance": "var",
    "covariance": "cov",
    "orthogonality": "orth",
    "decorrelation": "decorr",
    "link_auc": "links",
    "floor_auc": "floor",
    "effective_rank": "rank",
}


class RemainingTime(ProgressColumn):
    """The time that is left if all epochs are trained; early stopping takes less."""

    def render(self, task: Task) -> Text:
        """Return minutes and seconds; nothing as long as there is no estimate."""
        if task.time_remaining is None or task.finished:
            return Text("")
        minutes, seconds = divmod(int(task.time_remaining), 60)
        return Text(f"<{minutes}:{seconds:02d}")


@contextmanager
def progress_bar(
    total: int, first: Mapping[str, float], *, shown: bool, done: int = 0
) -> Iterator[Callable[[dict[str, float]], None] | None]:
    """Yield a function to call with every epoch's row, or None if nothing is shown.

    Args:
        total: the largest number of epochs.
        first: the row of epoch 0; its values are shown until an epoch has others.
        shown: whether a bar is wanted.
        done: epochs trained before, by a run that is resumed.
    """
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield None
        return
    columns = (
        BarColumn(bar_width=8),
        MofNCompleteColumn(),
        RemainingTime(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total, completed=done)
        last = dict(first)

        def report(row: dict[str, float]) -> None:
            last.update(row)
            shown = (
                f"{s} {last[name]:.2g}" for name, s in SHOWN.items() if name in last
            )
            progress.update(task, advance=1, description=" ".join(shown))

        yield report
