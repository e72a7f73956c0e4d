"""Runs a function in a process of its own: its peak memory is its own, too."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from dsgrl.allocator import retain_heap


class ProcessLostError(RuntimeError):
    """The process ended before it had a result."""


def run_isolated(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a fresh process; what it raises is raised here.

    Args:
        function: of a module, so that the other process finds it.
        args: anything that can be pickled.

    Raises:
        ProcessLostError: if the process was killed, e.g. for want of memory.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(sender, function, args))
    process.start()
    sender.close()
    try:
        result, error = receiver.recv()
    except EOFError:
        process.join()
        raise ProcessLostError(_explain(process.exitcode)) from None
    finally:
        receiver.close()
        process.terminate()
        process.join()
    if error is not None:
        raise error
    return result


def _serve(sender: Connection, function: Callable[..., Any], args: Any) -> None:
    _end_with_parent()
    retain_heap()
    # Ctrl-C reaches the whole group; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        outcome: tuple[Any, Exception | None] = (function(*args), None)
    except Exception as error:
        # A traceback does not survive the way to the parent.
        error.add_note(traceback.format_exc())
        outcome = (None, error)
    sender.send(outcome)


def _end_with_parent() -> None:
    """Work for nobody if the parent is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _explain(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {exitcode}"
