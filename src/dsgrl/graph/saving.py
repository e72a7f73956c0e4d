"""What goes to disk: written beside and renamed, so that no half file is left."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dsgrl.graph.rows import as_lists
from dsgrl.typing import FloatArray, InputError

EMBEDDING_SUFFIXES = (".parquet", ".npy", ".npz", ".csv")
VIEW_FILES = {f"{kind}{n}.parquet" for kind in ("edges", "features") for n in (1, 2)}


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a path to write a file or folder to; rename it when all went well.

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
        raise InputError(f"{path}: cannot be written ({explain(error)})") from error
    finally:
        _remove(part)


def _move(part: Path, path: Path) -> None:
    """Rename into place; a folder that is there already steps aside first."""
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


def explain(error: OSError) -> str:
    """Say in words why a file could not be written."""
    # NumPy and safetensors give no error number: "8 requested and 0 written".
    said = str(error)
    short = error.errno is None and (
        "written" in said or "File too large" in said or "No space" in said
    )
    if short or error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return "the disk is full or the file too large: free space, then run again"
    return (error.strerror or str(error)).splitlines()[0]


def check_embeddings_path(path: Path) -> None:
    """Fail before any work is done if embeddings could not be written to `path`."""
    if path.suffix not in EMBEDDING_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of file '{path.suffix}', expected one of "
            f"{', '.join(EMBEDDING_SUFFIXES)}"
        )
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected a file name")
    check_writable(path.parent)


def check_writable(folder: Path) -> None:
    """Fail if a folder does not take files."""
    with written_beside(folder / ".dsgrl-write-test") as part:
        part.touch()
    (folder / ".dsgrl-write-test").unlink(missing_ok=True)


def check_views_path(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but written views."""
    if folder.is_file():
        raise InputError(f"{folder}: is a file, expected a folder for the views")
    if folder.is_dir() and {path.name for path in folder.iterdir()} - VIEW_FILES:
        raise InputError(
            f"{folder}: holds other files, expected a new or empty folder, or views "
            f"to replace"
        )
    check_writable(folder.parent)


def write_views(folder: Path, views: Sequence[tuple[pa.Table, pa.Table]]) -> None:
    """Write learned views as tables: `features1.parquet`, `edges1.parquet`, ...

    Args:
        folder: where to; replaced as a whole when all is written.
        views: features and edges of each view, see `rows.tabulate_view`.
    """
    check_views_path(folder)
    with written_beside(folder) as part:
        part.mkdir()
        for number, (features, edges) in enumerate(views, start=1):
            for name, table in (("features", features), ("edges", edges)):
                pyarrow.parquet.write_table(table, part / f"{name}{number}.parquet")


def write_embeddings(
    path: Path,
    ids: Sequence[Any],
    z: FloatArray,
    labels: Sequence[str | None] | None = None,
    types: Sequence[str] | None = None,
) -> None:
    """Write embeddings by the path's suffix: parquet, npy, npz or csv.

    Args:
        path: where to; renamed into place when whole.
        ids: one id per row, kept as they are.
        z: embeddings [N, D].
        labels: one label per row, if known.
        types: the node type of every row, if there are several.
    """
    check_embeddings_path(path)
    with written_beside(path) as part:
        if path.suffix == ".npy":
            with part.open("wb") as file:
                np.save(file, z)
        elif path.suffix == ".npz":
            arrays = {"ids": np.asarray(ids), "embedding": z}
            if types is not None:
                arrays["type"] = np.asarray(types)
            if labels is not None:
                arrays["label"] = np.asarray(["" if v is None else v for v in labels])
            with part.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
        else:
            columns: dict[str, Any] = {"id": pa.array(ids)}
            if types is not None:
                columns["type"] = pa.array(types)
            if labels is not None:
                columns["label"] = pa.array(labels)
            if path.suffix == ".csv":
                columns.update({f"z{i}": z[:, i] for i in range(z.shape[1])})
                pyarrow.csv.write_csv(pa.table(columns), part)
            else:
                columns["embedding"] = as_lists(z)
                pyarrow.parquet.write_table(pa.table(columns), part)
