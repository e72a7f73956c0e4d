"""The command line: `dsgrl`, also `python -m dsgrl`."""

import logging
import os
import sys
from contextlib import ExitStack
from typing import Annotated

import typer

import dsgrl
from dsgrl.allocator import retain_heap
from dsgrl.cli import (
    demoing,
    embedding,
    exploring,
    listing,
    measuring,
    reading,
    reporting,
    storing,
)
from dsgrl.cli.options import console
from dsgrl.cli.together import is_said_here, leave, run_together
from dsgrl.typing import DivergenceError, InputError, LostProcessError

app = typer.Typer(
    name="dsgrl",
    help="Embeddings for any graph, learned without labels.",
    epilog="Example: dsgrl embed edges.csv --nodes nodes.csv -o z.parquet",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# In the order `dsgrl --help` shows them, each with an example.
COMMANDS = (
    ("demo", demoing.demo, "dsgrl demo --out demo"),
    (
        "embed",
        embedding.embed,
        "dsgrl embed edges.csv --nodes nodes.csv -o z.parquet",
    ),
    (
        "transform",
        embedding.transform,
        "dsgrl transform new.csv --nodes new_nodes.csv --model model -o z.parquet",
    ),
    (
        "store",
        storing.store,
        "dsgrl store edges.parquet --nodes nodes.parquet -o graph",
    ),
    (
        "evaluate",
        measuring.evaluate,
        "dsgrl evaluate z.parquet --labels labels.csv",
    ),
    ("report", reporting.report, "dsgrl report demo -o report.html"),
    (
        "neighbors",
        exploring.neighbors,
        "dsgrl neighbors z.parquet vim -k 10 --graph debian --why",
    ),
    ("cluster", exploring.cluster, "dsgrl cluster z.parquet -o clusters.parquet"),
    (
        "classify",
        exploring.classify,
        "dsgrl classify z.parquet --labels few.csv -o predictions.parquet",
    ),
    (
        "check",
        exploring.check,
        "dsgrl check z.parquet edges.csv --nodes nodes.csv --model model",
    ),
    (
        "bench",
        measuring.bench,
        "dsgrl bench nodes --datasets photo,cs --recipe paper --results nodes.jsonl",
    ),
    (
        "tables",
        measuring.tables,
        "dsgrl tables nodes.jsonl graphs.jsonl > tables.md",
    ),
    (
        "tune",
        measuring.tune,
        "dsgrl tune photo --method dsgrl-topology --trials 50",
    ),
    ("list", listing.list_names, "dsgrl list"),
)
for _name, _function, _example in COMMANDS:
    app.command(_name, epilog=f"Example: {_example}")(_function)


def _show_version(value: bool) -> None:
    if value:
        console.print(f"dsgrl {dsgrl.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Take the options before the command."""


class Once(logging.Filter):
    """Passes every message once: a search fits the same data many times."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether this message is new."""
        text = record.getMessage()
        is_new = text not in self.seen
        self.seen.add(text)
        return is_new


def main() -> None:
    """Run a command; a user's mistake is one line and exit 2, never a traceback."""
    logging.basicConfig(format="dsgrl: %(message)s", level=logging.WARNING)
    for handler in logging.getLogger().handlers:
        # Not those of a program that calls this one, e.g. of a test.
        if type(handler) is logging.StreamHandler:
            handler.filters[:] = [Once()]
            handler.setLevel(logging.NOTSET)
    # The summary of what was read.
    logging.getLogger(reading.__name__).setLevel(logging.INFO)
    retain_heap()
    with ExitStack() as joined:
        status = _run(joined)
    leave(status)


def _run(joined: ExitStack) -> int:
    """Run a command and return the exit code.

    Args:
        joined: what to leave in the end: the other processes of torchrun.
    """
    try:
        joined.enter_context(run_together(sys.argv[1:]))
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except InputError as error:
        status = _fail(str(error), 2)
    except typer.TyperException as error:
        status = _fail(f"{error.format_message()} (see 'dsgrl --help')", 2)
    except (typer.Abort, KeyboardInterrupt):
        status = _fail("stopped", 130)
    except BrokenPipeError:
        # The reader of our output has closed the pipe: print nothing, also at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except RuntimeError as error:
        if not isinstance(error, DivergenceError | LostProcessError):
            raise
        status = _fail(str(error), 1)
    return status if isinstance(status, int) else 0


def _fail(message: str, status: int) -> int:
    if is_said_here(message):
        print(f"dsgrl: error: {' '.join(message.split())}", file=sys.stderr)
    return status
