"""Result lines: append-only JSON; a partial line is never kept."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dsgrl.bench.legacy import (
    is_flat,
    upgrade,
    with_batch_size,
    with_floor_settings,
)
from dsgrl.bench.systems import SYSTEMS
from dsgrl.datasets import DATASETS
from dsgrl.io.atomic import describe_os_error
from dsgrl.typing import InputError

Line = dict[str, Any]
Key = tuple[object, ...]

# What identifies a result line besides its configuration.
_IDENTITY = ("suite", "dataset", "method", "recipe", "seed", "protocol", "metric")


def line_key(line: Line) -> Key:
    """Return what identifies a result: the cell and its configuration."""
    return (*(line[name] for name in _IDENTITY), config_hash(config_of(line)))


def config_of(line: Line) -> dict[str, Any]:
    """Return the parameters of a line, older or new, in today's names."""
    config: dict[str, Any] = line["config"]
    system = SYSTEMS.get(str(line["method"]))
    if system is None or not system.method or not config:
        return config
    config = with_batch_size(system.method, config)
    if system.method == "dsgrl":
        config = with_floor_settings(config)
    if not is_flat(system.method, config):
        return config
    level = DATASETS[line["dataset"]].level
    found = upgrade(system.method, config, level, is_complete=True)
    return system.complete(system.restore(found, level), level)


def is_score(line: Line) -> bool:
    """Whether a line is a score; suites like speed write other lines."""
    return {*_IDENTITY, "config", "scores"} <= line.keys()


def config_hash(config: dict[str, Any]) -> str:
    """Return a short hash of a configuration."""
    text = json.dumps(config, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_lines(paths: Iterable[Path]) -> list[Line]:
    """Read result lines; a partial line at the end, left by a kill, is skipped.

    Raises:
        InputError: if a file cannot be read or is not a results file.
    """
    lines = []
    for path in paths:
        try:
            text = path.read_bytes()
        except OSError as error:
            reason = describe_os_error(error)
            raise InputError(f"{path}: cannot be read ({reason})") from error
        whole, _ = _split(path, text)
        for number, raw in enumerate(whole.splitlines(), start=1):
            lines.append(_parse(path, number, raw))
    return lines


def open_results(path: Path) -> list[Line]:
    """Prepare a results file for appending; return its lines.

    A partial line left by a kill is removed, a missing line end is added.
    """
    if not path.exists():
        return []
    lines = read_lines([path])
    text = path.read_bytes()
    whole, half = _split(path, text)
    if half:
        os.truncate(path, len(text) - len(half))
    elif text and not text.endswith(b"\n"):
        _append(path, b"\n")
    assert len(lines) == len(whole.splitlines())
    return lines


def append_line(path: Path, line: Line) -> None:
    """Append one line in one write and flush it to disk.

    Raises:
        InputError: if it cannot be written.
    """
    _append(path, json.dumps(line).encode() + b"\n")


def _append(path: Path, text: bytes) -> None:
    try:
        with path.open("ab", buffering=0) as file:
            if file.write(text) != len(text):
                raise OSError("the line was only partly written: No space left")
            os.fsync(file.fileno())
    except OSError as error:
        reason = describe_os_error(error)
        raise InputError(f"{path}: cannot be written ({reason})") from error


def _split(path: Path, text: bytes) -> tuple[bytes, bytes]:
    """Separate complete lines from a partial line at the end."""
    head, newline, tail = text.rpartition(b"\n")
    if not tail:
        return text, b""
    try:
        json.loads(tail)
    except ValueError as error:
        # Remove only what looks like the start of a result line.
        if not tail.startswith(b'{"'):
            raise InputError(
                f"{path}: expected JSON lines, found {tail[:20]!r}"
            ) from error
        return head + newline, tail
    return text, b""


def _parse(path: Path, number: int, raw: bytes) -> Line:
    try:
        line = json.loads(raw)
    except ValueError:
        line = None
    if isinstance(line, dict) and "suite" in line:
        return line
    raise InputError(
        f"{path}:{number}: expected a result line of 'dsgrl bench', "
        f"found {raw[:40].decode(errors='replace')!r}"
    )
