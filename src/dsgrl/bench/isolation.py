"""Runs a function in a fresh process, so that its peak memory can be measured.

`ProcessPoolExecutor` was tried: it does not report the signal that killed a process,
and after Ctrl-C it waits until the running cell is finished. A call, with its imports,
takes 2.8 s with it and 2.1 s here; the peak memory is the same.
"""

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
    """The process ended without a result."""


def run_isolated(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a fresh process; its exceptions are raised here.

    Args:
        function: a function of a module, which the other process can import.
        args: anything that can be pickled.

    Raises:
        ProcessLostError: if the process was killed, e.g. because memory ran out.
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
        raise ProcessLostError(_describe_exit(process.exitcode)) from None
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
    # Ctrl-C reaches all processes of the group; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        outcome: tuple[Any, Exception | None] = (function(*args), None)
    except Exception as error:
        # Pickling drops the traceback: keep it as a note.
        error.add_note(traceback.format_exc())
        outcome = (None, error)
    sender.send(outcome)


def _end_with_parent() -> None:
    """End this process when its parent ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _describe_exit(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {exitcode}"
