"""Nested state in one safetensors file, with a JSON header and a checksum; no pickle.

The metadata of the file has three entries:

==========  ====================================================================
header      what the file is, as JSON
state       the nested state as JSON; a tensor is given by its name in the file
checksum    SHA-256 of the whole file, computed with zeros in its own place
==========  ====================================================================
"""

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from dsgrl.io.atomic import atomic_write

# As safetensors writes it. Inside the other entries the quotes are escaped, so that
# these bytes are found once in a file.
FIELD = b'"checksum":"'
DIGITS = 64
UNSIGNED = "0" * DIGITS
CHUNK = 1 << 20


class DamagedError(ValueError):
    """The file is not as it was written."""


class StateFile(NamedTuple):
    """Contents of a file.

    Attributes:
        header: what the file is.
        state: nested dicts, lists and tuples of tensors and plain values.
    """

    header: dict[str, Any]
    state: Any


def write_state(path: Path, content: StateFile) -> None:
    """Write a file; it appears complete under its name, or not at all.

    Raises:
        InputError: if it cannot be written, or the disk is full.
    """
    tensors: dict[str, Tensor] = {}
    tree = _encode(content.state, "", tensors)
    metadata = {
        "checksum": UNSIGNED,
        "header": json.dumps(content.header, allow_nan=False),
        "state": json.dumps(tree, allow_nan=False),
    }
    with atomic_write(path) as part:
        save_tensors(part, _separate(tensors), metadata)
        with part.open("r+b") as file:
            signed = _compute_checksum(file)
            assert signed.found == UNSIGNED, "the place of the checksum is not found"
            file.seek(signed.place)
            file.write(signed.expected.encode())


def save_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write tensors with safetensors; errors and the file's mode as of any file.

    Raises:
        OSError: if it cannot be written.
    """
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file(tensors, path, metadata)
    except SafetensorError as error:
        raise OSError(str(error)) from error
    # safetensors writes a temporary file, which nobody else may read, and renames it.
    path.chmod(stat.S_IMODE(mode))


def read_state(path: Path) -> StateFile:
    """Read a file and check every byte of it.

    Raises:
        DamagedError: if it is not as it was written.
    """
    try:
        with path.open("rb") as file:
            signed = _compute_checksum(file)
        if signed.found != signed.expected:
            raise DamagedError("its checksum is another")
        with safe_open(path, "pt") as opened:
            metadata = opened.metadata()
            # Copies: otherwise the memory is that of the file, which may be removed.
            state = _decode(
                json.loads(metadata["state"]),
                lambda name: opened.get_tensor(name).clone(),
            )
            return StateFile(json.loads(metadata["header"]), state)
    except (OSError, KeyError, TypeError, SafetensorError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise DamagedError(reason) from error


class _Checksum(NamedTuple):
    """The checksum found in a file, where it is, and what it should be."""

    found: str
    place: int
    expected: str


def _compute_checksum(file: BinaryIO) -> _Checksum:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if length > os.fstat(file.fileno()).st_size:
        raise DamagedError("it has no safetensors header")
    header = file.read(length)
    place = header.find(FIELD) + len(FIELD)
    if header.count(FIELD) != 1 or place + DIGITS > len(header):
        raise DamagedError("it has no checksum")
    found = header[place : place + DIGITS].decode("ascii", "replace")
    digest = hashlib.sha256(start + header[:place] + UNSIGNED.encode())
    digest.update(header[place + DIGITS :])
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return _Checksum(found, len(start) + place, digest.hexdigest())


def _encode(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Turn nested state into JSON; its tensors are put into `tensors`."""
    if isinstance(value, Tensor):
        while name in tensors:
            name += "'"
        tensors[name] = value.detach().cpu().contiguous()
        return {"tensor": name}
    if isinstance(value, Mapping):
        # As pairs: keys of JSON are strings only, those of an optimiser are numbers.
        pairs = [
            [_key(key, name), _encode(part, _join(name, key), tensors)]
            for key, part in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, list | tuple):
        items = [_encode(v, _join(name, i), tensors) for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name}: a {type(value).__name__} cannot be part of a state")


def _key(key: Any, name: str) -> int | str:
    if isinstance(key, int | str) and not isinstance(key, bool):
        return key
    raise TypeError(f"{name}: the key {key!r} cannot be part of a state")


def _join(name: str, key: object) -> str:
    return f"{name}/{key}" if name else str(key)


def _decode(tree: Any, tensor: Callable[[str], Tensor]) -> Any:
    """Turn JSON of `_encode` back into nested state."""
    if isinstance(tree, list):
        return [_decode(part, tensor) for part in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, value),) = tree.items()
    if kind == "tensor":
        return tensor(value)
    if kind == "dict":
        return {key: _decode(part, tensor) for key, part in value}
    if kind == "tuple":
        return tuple(_decode(part, tensor) for part in value)
    if kind == "float":
        return float(value)
    raise ValueError(f"unknown kind of value '{kind}'")


def _separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that share memory: safetensors refuses them."""
    seen: set[int] = set()
    found = {}
    for name, value in tensors.items():
        place = value.untyped_storage().data_ptr()
        found[name] = value.clone() if place in seen else value
        seen.add(place)
    return found
