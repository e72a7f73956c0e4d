"""`manifest.json`, the last file of a stored graph to be written, and its checks."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.typing import InputError

MANIFEST = "manifest.json"
FORMAT, VERSION = "dsgrl-store", 1
ROWPTR, COL, WEIGHT = "rowptr.npy", "col.npy", "weight.npy"
DENSE = "features.npy"
SPARSE = ("features_rowptr.npy", "features_col.npy", "features_value.npy")
LABELS, SPLIT, IDS = "labels.npy", "split.npy", "ids.arrow"
FILES = {MANIFEST, ROWPTR, COL, WEIGHT, DENSE, *SPARSE, LABELS, SPLIT, IDS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What a stored graph holds.

    Attributes:
        num_nodes: N.
        num_edges: entries of the matrix E; an edge that goes both ways has two.
        num_features: F; 0 if there are no features.
        directed: whether edges keep their direction.
        roles: columns of the tables by what they are.
        plan: how columns became features, see `ColumnPlan.to_json`.
        label_names: name of every label.
        understood: summary of the tables, see `Understood.to_json`.
        files: by name, `bytes` and `sha256`; of arrays also `dtype` and `shape`.
        version: of the package that wrote it.
    """

    num_nodes: int
    num_edges: int
    num_features: int
    directed: bool
    roles: dict[str, str]
    plan: list[dict[str, Any]] | None
    label_names: list[str] | None
    understood: dict[str, Any]
    files: dict[str, dict[str, Any]]
    version: str

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder."""
        content = {"format": FORMAT, "format_version": VERSION, **asdict(self)}
        (folder / MANIFEST).write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read a manifest and check that every file is there with its size.

        Raises:
            InputError: if the graph is unfinished, damaged or of a newer version.
        """
        found = _read_json(folder)
        if found.get("format") != FORMAT:
            raise InputError(
                f"{folder}: {MANIFEST} is not that of a stored graph (dsgrl store)"
            )
        if found.get("format_version") != VERSION:
            raise InputError(
                f"{folder}: stored by another version (format "
                f"{found.get('format_version')}, this one reads {VERSION}): store it "
                f"again"
            )
        try:
            manifest = cls(**{each.name: found[each.name] for each in fields(cls)})
            manifest._check_sizes(folder)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{folder}: {MANIFEST} is damaged ({error!r}): store the graph again"
            ) from error
        return manifest

    def _check_sizes(self, folder: Path) -> None:
        for name, entry in self.files.items():
            if name not in FILES:
                raise InputError(f"{folder}: {MANIFEST} names a file '{name}'")
            path = folder / name
            size = path.stat().st_size if path.is_file() else None
            if size != entry["bytes"]:
                given = "is missing" if size is None else f"has {size:,} bytes"
                raise InputError(
                    f"{folder}: {name} {given}, expected {entry['bytes']:,} bytes: "
                    f"store the graph again"
                )

    def verify(self, folder: Path) -> None:
        """Compare the checksum of every file.

        Raises:
            InputError: naming the first file that differs.
        """
        for name, entry in self.files.items():
            if _checksum(folder / name) != entry["sha256"]:
                raise InputError(
                    f"{folder}: {name} is damaged (its checksum differs): store the "
                    f"graph again"
                )


def _read_json(folder: Path) -> Mapping[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"{folder}: no {MANIFEST}: this is no stored graph, or an unfinished one: "
            f"run 'dsgrl store' again"
        )
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read ({str(error).splitlines()[0]}): store the graph "
            f"again"
        ) from error
    return found if isinstance(found, dict) else {}


def looks_stored(folder: Path) -> bool:
    """Whether a folder is a stored graph, finished or not, and no other graph."""
    if (folder / MANIFEST).is_file():
        return _read_json(folder).get("format") == FORMAT
    return (folder / ROWPTR).is_file() and (folder / COL).is_file()


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return size, checksum and, for arrays, type and shape of every file."""
    found = {}
    for path in sorted(folder.iterdir()):
        entry: dict[str, Any] = {
            "bytes": path.stat().st_size,
            "sha256": _checksum(path),
        }
        if path.suffix == ".npy":
            with path.open("rb") as file:
                np.lib.format.read_magic(file)
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            entry |= {"dtype": str(dtype), "shape": list(shape)}
        found[path.name] = entry
    return found


def check_store_path(folder: Path) -> None:
    """Refuse to write a stored graph over something that is not one."""
    if not folder.name:
        raise InputError(f"{folder}: expected the name of a folder")
    if folder.is_file():
        raise InputError(f"{folder}: is a file, expected a folder for the graph")
    if folder.is_dir() and {path.name for path in folder.iterdir()} - FILES:
        raise InputError(
            f"{folder}: holds other files; expected a new or empty folder, or nothing "
            f"but a stored graph to replace"
        )


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
