"""Atomic writing: a file or folder appears complete under its name, or not at all.

Contents reach the disk before the name does (fsync of the files, rename, fsync of the
folder): neither a killed process nor a machine that loses power leaves a half-written
or empty file.
"""

import ctypes
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dsgrl.typing import InputError

# Arguments of Linux's renameat2.
AT_CURRENT_FOLDER, RENAME_EXCHANGE = -100, 2
# What a folder answers to fsync where it cannot be opened, or the system has no such.
UNSUPPORTED = (errno.EINVAL, errno.EACCES, errno.EPERM, errno.ENOTSUP)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a path to write a file or folder to; rename it on success.

    A killed or failed run leaves what was at `path` as it was. What a killed one has
    left beside it is removed by the next that writes to `path`. The yielded path is in
    a hidden folder of its own: some libraries put temporary files beside what they
    write.

    Raises:
        InputError: if the folder cannot be written to or the disk is full.
    """
    with _scratch_folder(path) as scratch:
        part = scratch / path.name
        yield part
        _flush(part)
        _move(part, path)
        _flush_folder(path.parent)


@contextmanager
def _scratch_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `path` that is removed in the end."""
    if not path.name:
        raise InputError(f"{path}: expected the name of a file or folder")
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _make_folder(path.parent)
        remove_leftovers(path.parent, re.escape(path.name))
        scratch.mkdir()
        yield scratch
        _remove(scratch)
    except OSError as error:
        reason = describe_os_error(error)
        raise InputError(f"{path}: cannot be written ({reason})") from error
    finally:
        with suppress(OSError):
            _remove(scratch)


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents, and make their names last."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        _flush_folder(each.parent)


def remove_leftovers(folder: Path, names: str) -> None:
    """Remove what killed processes left of files that they were writing.

    Args:
        folder: where to look.
        names: names of the files, a regular expression.
    """
    pattern = re.compile(rf"\.(?P<of>{names})\.(?P<by>\d+)\.(?P<kind>part|old)")
    for path in folder.iterdir():
        match = pattern.fullmatch(path.name)
        if match is None or _is_other_process(int(match["by"])):
            continue
        target = path.with_name(match["of"])
        # What cannot be removed is in nobody's way.
        with suppress(OSError):
            if match["kind"] == "old" and not target.exists():
                # Killed between the two renames of `_move`.
                path.rename(target)
            else:
                _remove(path)


def _is_other_process(number: int) -> bool:
    """Whether another process of this number runs; assumed where it cannot be asked."""
    # On Windows `os.kill` would end the process.
    if os.name != "posix":
        return number != os.getpid()
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return number != os.getpid()


def _move(part: Path, path: Path) -> None:
    """Rename into place; an existing folder is exchanged, or moved aside first."""
    if not path.is_dir():
        part.replace(path)
        return
    if _exchange(part, path):
        return
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    path.rename(old)
    try:
        part.rename(path)
    except OSError:
        old.rename(path)
        raise
    _remove(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; return False where the system cannot."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "renameat2"):
        return False
    failed = library.renameat2(
        AT_CURRENT_FOLDER,
        os.fsencode(one),
        AT_CURRENT_FOLDER,
        os.fsencode(other),
        RENAME_EXCHANGE,
    )
    return not failed


def _flush(path: Path) -> None:
    """Make the contents of a file, or of a folder and all in it, last."""
    if not path.is_dir():
        _synchronize(path)
        return
    for folder, _, files in os.walk(path):
        for name in files:
            _synchronize(Path(folder, name))
        _flush_folder(Path(folder))


def _flush_folder(folder: Path) -> None:
    """Make the names in a folder last, where the system can."""
    try:
        _synchronize(folder)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def _synchronize(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    with _scratch_folder(folder / "dsgrl-write-test"):
        pass
