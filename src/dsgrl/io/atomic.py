"""Atomic writing: a file or folder appears complete under its name, or not at all."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dsgrl.typing import InputError


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a path to write a file or folder to; rename it on success.

    A killed or failed run leaves what was at `path` as it was.

    Raises:
        InputError: if the folder cannot be written to or the disk is full.
    """
    if not path.name:
        raise InputError(f"{path}: expected the name of a file or folder")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        _move(part, path)
    except OSError as error:
        reason = describe_os_error(error)
        raise InputError(f"{path}: cannot be written ({reason})") from error
    finally:
        _remove(part)


def _move(part: Path, path: Path) -> None:
    """Rename into place; an existing folder is moved aside first."""
    if not path.is_dir():
        part.replace(path)
        return
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    path.rename(old)
    try:
        part.rename(path)
    except OSError:
        old.rename(path)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def describe_os_error(error: OSError) -> str:
    """Describe why a file could not be written."""
    # NumPy and safetensors give no error number: "8 requested and 0 written".
    said = str(error)
    short = error.errno is None and (
        "written" in said or "File too large" in said or "No space" in said
    )
    if short or error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return "the disk is full or the file too large: free space, then run again"
    return (error.strerror or str(error)).splitlines()[0]


def check_writable(folder: Path) -> None:
    """Fail if a folder is not writable."""
    with atomic_write(folder / ".dsgrl-write-test") as part:
        part.touch()
    (folder / ".dsgrl-write-test").unlink(missing_ok=True)
