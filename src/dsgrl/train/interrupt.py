"""SIGINT and SIGTERM: stop at once, or at the end of the running epoch."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal has stopped the program.

    Args:
        message: what was stopped.
        signal_number: the signal.
    """

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


class StopRequest:
    """Whether a signal has asked to stop.

    Attributes:
        signal_number: the signal; None while there was none.
    """

    def __init__(self) -> None:
        self.signal_number: int | None = None

    def __bool__(self) -> bool:
        return self.signal_number is not None


@contextmanager
def deferred_signals(*, active: bool = True) -> Iterator[StopRequest]:
    """Note the first signal instead of stopping; a second one stops at once.

    Args:
        active: if not, signals do what they always do. The same holds outside of the
            main thread, where Python allows no handlers.

    Raises:
        Interrupted: at the second signal; or in the end, if nobody has reacted to the
            first.
    """
    request = StopRequest()

    def note(number: int, frame: FrameType | None) -> None:
        if request:
            raise Interrupted("stopped", number)
        request.signal_number = number

    with handled(note, *(SIGNALS if active else ())):
        yield request
    if request.signal_number is not None:
        raise Interrupted("stopped", request.signal_number)


@contextmanager
def immediate_signals() -> Iterator[None]:
    """Let SIGTERM stop the program with an exception, as SIGINT does.

    Raises:
        Interrupted: at a signal.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Interrupted("stopped", number)

    with handled(stop, *SIGNALS):
        yield


@contextmanager
def handled(
    handler: Callable[[int, FrameType | None], None], *signals: signal.Signals
) -> Iterator[None]:
    """Handle some signals inside the block, if it runs in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        signals = ()
    before: dict[signal.Signals, Any] = {}
    try:
        for each in signals:
            before[each] = signal.signal(each, handler)
        yield
    finally:
        for each, earlier in before.items():
            # None: a handler that was not set by Python and cannot be set again.
            signal.signal(each, signal.SIG_DFL if earlier is None else earlier)
