"""What to say and do where a dataset cannot be loaded; `row` is one of `DATASETS`."""

import contextlib
import io
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Timeout of a download, in seconds; PyG has none.
SILENCE_SECONDS = 30


def describe_failure(row: Any, place: Path, error: Exception) -> str:
    """Describe why a dataset could not be loaded, its folder and what to do."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    if row.built_in or any(path.is_file() for path in place.rglob("*")):
        return f"cannot be read ({reason}): {remedy(row, place)}"
    return (
        f"is not in {place} and could not be downloaded ({reason}): set DSGRL_DATA or "
        f"--data to the folder that has {row.place}, or get it by "
        f"torch_geometric.datasets.{row.source} where there is a network"
    )


def remedy(row: Any, place: Path) -> str:
    """Say how to get a dataset that is there but wrong."""
    if row.built_in:
        return "install dsgrl again"
    return (
        f"remove {place} and load it again, or set DSGRL_DATA or --data to the folder "
        f"that has a complete {row.place}"
    )


def remove_empty(folders: list[Path]) -> None:
    """Remove the folders a failed download has left behind, innermost first."""
    for folder in folders:
        for path in (*sorted(folder.rglob("*"), reverse=True), folder):
            with contextlib.suppress(OSError):
                path.rmdir()


@contextlib.contextmanager
def quiet_and_impatient() -> Iterator[None]:
    """Silence the output of PyG's classes and set a timeout for downloads."""
    seconds = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SILENCE_SECONDS)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        socket.setdefaulttimeout(seconds)
