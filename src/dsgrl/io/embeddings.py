"""Files of embeddings and of views: parquet, npy, npz and csv."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dsgrl.io.atomic import atomic_write, check_writable
from dsgrl.io.tables import as_lists
from dsgrl.typing import FloatArray, InputError

EMBEDDING_SUFFIXES = (".parquet", ".npy", ".npz", ".csv")
VIEW_FILES = {f"{kind}{n}.parquet" for kind in ("edges", "features") for n in (1, 2)}


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
        folder: folder to write; replaced when all files are written.
        views: features and edges of each view, see `rows.tabulate_view`.
    """
    check_views_path(folder)
    with atomic_write(folder) as part:
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
        path: file to write; renamed into place when complete.
        ids: one id per row, kept as they are.
        z: embeddings [N, D].
        labels: one label per row, if known.
        types: the node type of every row, if there are several.
    """
    check_embeddings_path(path)
    with atomic_write(path) as part:
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
