"""One command in several processes of torchrun: one voice, one exit."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from dsgrl.cli.options import console
from dsgrl.typing import InputError

# The commands that several processes can run together.
SHARED = ("embed",)


@contextmanager
def run_together(words: Sequence[str]) -> Iterator[None]:
    """Join the other processes of torchrun; all but the first one are silent.

    Without torchrun nothing happens, and torch is not loaded.

    Args:
        words: the command and its arguments.

    Raises:
        InputError: if several processes cannot run this command.
        LostProcessError: if the others cannot be reached.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    command = next((word for word in words if not word.startswith("-")), "--help")
    if command not in SHARED:
        raise InputError(
            f"torchrun: 'dsgrl {command}' runs in one process, several can run "
            f"{' and '.join(SHARED)} only: start it without torchrun"
        )
    from dsgrl.train.distributed import processes

    with processes() as ranks:
        if not ranks.is_first:
            console.quiet = True
            logging.disable(logging.WARNING)
        yield


def leave(status: int) -> NoReturn:
    """End the process with an exit code.

    One of several processes ends at once, after its files and messages are written:
    while Python winds up, a thread of gloo that still runs may abort the process, and
    torchrun takes a finished run for a failed one.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        sys.exit(status)
    logging.shutdown()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def is_said_here(message: str) -> bool:
    """Whether this process is the one that prints a message of all of them."""
    module = sys.modules.get("dsgrl.train.distributed")
    ranks = None if module is None else module.current_ranks()
    if ranks is not None and ranks.count > 1:
        return bool(ranks.is_first_to_say(message))
    return os.environ.get("LOCAL_RANK", "0") == "0"
