"""A record of the rows of each split: a JSON file and a short hash."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsgrl.typing import InputError, Split


def manifest_hash(splits: Sequence[Split], protocol: str) -> str:
    """Return a hash of the row numbers and the protocol, twelve hex digits.

    The same on every machine: row numbers are put in order and hashed as
    little-endian 64-bit integers.
    """
    digest = hashlib.sha256(protocol.encode())
    for split in splits:
        for rows in split:
            digest.update(len(rows).to_bytes(8, "little"))
            digest.update(np.sort(rows).astype("<i8").tobytes())
    return digest.hexdigest()[:12]


def save_manifest(path: Path, splits: Sequence[Split], protocol: str = "given") -> str:
    """Write the splits as JSON; return their hash."""
    # This import loads torch, which a score does not need.
    from dsgrl.io.atomic import atomic_write

    name = manifest_hash(splits, protocol)
    parts = [
        {key: np.sort(rows).tolist() for key, rows in split._asdict().items()}
        for split in splits
    ]
    record = {"protocol": protocol, "manifest": name, "splits": parts}
    with atomic_write(path) as part:
        part.write_text(json.dumps(record) + "\n")
    return name


def load_manifest(path: Path) -> tuple[list[Split], str]:
    """Read splits and their protocol's name; refuse a file that was changed."""
    try:
        record = json.loads(path.read_text())
        splits = [
            Split(*(np.array(part[key], dtype=np.int64) for key in Split._fields))
            for part in record["splits"]
        ]
        protocol, name = str(record["protocol"]), record["manifest"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: no manifest of splits ({error!r}): write one with save_manifest"
        ) from error
    if manifest_hash(splits, protocol) != name:
        raise InputError(
            f"{path}: the splits were changed after they were saved (hash "
            f"{manifest_hash(splits, protocol)}, expected {name}): draw them again"
        )
    return splits, protocol
