"""Files of embeddings and of labels, written by any tool."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dsgrl.io.tables import (
    flatten_lists,
    is_numeric,
    read_table,
)
from dsgrl.typing import FloatArray, InputError

# Columns and arrays of these names are not part of an embedding.
ID_NAMES = ("id", "ids")
RESERVED = (*ID_NAMES, "type", "label")


class Rows(NamedTuple):
    """Contents of a file, one entry per row; None for what the file does not have.

    Attributes:
        ids: int64 or text.
        types: type of the node, as text.
        labels: None for rows without one [N]; or 0 and 1 [N, C].
        z: embeddings [N, D]; of no columns in a file of labels.
    """

    ids: pa.Array | None
    types: pa.Array | None
    labels: npt.NDArray[Any] | None
    z: FloatArray


def read_embeddings(path: Path) -> Rows:
    """Read a file of embeddings: parquet, csv, tsv, npz or npy."""
    columns: dict[str, Any] = {}
    if path.suffix == ".npy":
        z = _floats(path, _load(path))
    elif path.suffix == ".npz":
        columns, z = _read_npz(path)
    else:
        columns = _read_columns(path)
        rest = {name: c for name, c in columns.items() if name not in RESERVED}
        z = _matrix(path, rest)
    if z.size == 0:
        raise InputError(
            f"{path}: embeddings of shape {list(z.shape)}, expected [rows, columns], "
            f"at least one of each"
        )
    return _rows(path, columns, z)


def read_labels(path: Path) -> Rows:
    """Read a file of labels: a table with a column `label`, or npy."""
    if path.suffix == ".npy":
        labels = _load(path)
        if labels.ndim == 1:
            labels = _labels(path, pa.array(labels))
        return Rows(None, None, labels, _no_columns(len(labels)))
    columns = _read_columns(path)
    if "label" not in columns:
        raise InputError(
            f"{path}: no column 'label'; it has {', '.join(list(columns)[:8])}; "
            f"expected id and label"
        )
    return _rows(path, columns, _no_columns(len(columns["label"])))


def _no_columns(num_rows: int) -> FloatArray:
    return np.empty((num_rows, 0), dtype=np.float32)


def _rows(path: Path, columns: dict[str, Any], z: FloatArray) -> Rows:
    ids, types, label = None, None, columns.get("label")
    for name in ID_NAMES:
        if name in columns:
            ids = _keys(path, columns[name], name)
            break
    if "type" in columns:
        types = _keys(path, columns["type"], "type")
    if isinstance(label, pa.Array):
        label = _labels(path, label)
    return Rows(ids, types, label, z)


def _load(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _unreadable(path, error) from error


def _read_columns(path: Path) -> dict[str, pa.Array]:
    table = read_table(path)
    # A table without rows has no chunks to join.
    return {
        name: pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _read_npz(path: Path) -> tuple[dict[str, Any], FloatArray]:
    try:
        with _load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise _unreadable(path, error) from error
    matrices = [n for n, a in arrays.items() if a.ndim == 2 and n not in RESERVED]
    if len(matrices) != 1:
        raise InputError(
            f"{path}: {len(matrices)} matrices ({', '.join(matrices) or 'none'}), "
            f"expected one, the embedding"
        )
    z = _floats(path, arrays[matrices[0]])
    columns = {name: arrays[name] for name in RESERVED if name in arrays}
    for name, array in columns.items():
        if array.shape[:1] != z.shape[:1]:
            raise InputError(
                f"{path}: array '{name}' of shape {list(array.shape)} for {len(z)} "
                f"rows, expected one entry each"
            )
        if array.ndim == 1:
            columns[name] = pa.array(array)
    return columns, z


def _matrix(path: Path, columns: dict[str, pa.Array]) -> FloatArray:
    """Stack one column of lists, or all columns of numbers."""
    lists = [n for n, c in columns.items() if pa.types.is_nested(c.type)]
    if len(lists) > 1 or not columns:
        raise InputError(
            f"{path}: {len(lists)} columns of lists ({', '.join(lists) or 'none'}) and "
            f"{len(columns) - len(lists)} others, expected one list column or numeric "
            f"columns: the embedding"
        )
    if not any(map(len, columns.values())):
        return np.empty((0, len(columns)), dtype=np.float32)
    if lists:
        return _stack(path, lists[0], columns[lists[0]])
    for name, column in columns.items():
        if not is_numeric(column.type):
            raise InputError(
                f"{path}: column '{name}' holds {column.type}, expected numbers: leave "
                f"it out"
            )
    cast = [c.cast(pa.float32(), safe=False) for c in columns.values()]
    stacked: FloatArray = np.stack([_nan_for_null(c) for c in cast], axis=1)
    return stacked


def _stack(path: Path, name: str, lists: pa.Array) -> FloatArray:
    values, width = flatten_lists(str(path), name, lists)
    if not len(lists) or not is_numeric(values.type):
        raise InputError(
            f"{path}: column '{name}' holds {len(lists)} rows of {lists.type}, "
            f"expected lists of numbers"
        )
    flat = _nan_for_null(values.cast(pa.float32(), safe=False))
    return flat.reshape(len(lists), width)


def _nan_for_null(column: pa.Array) -> FloatArray:
    array: FloatArray = column.to_numpy(zero_copy_only=False)
    return array.astype(np.float32, copy=False)


def _floats(path: Path, array: npt.NDArray[Any]) -> FloatArray:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(
            f"{path}: an array of {array.dtype} and shape {list(array.shape)}, "
            f"expected numbers [rows, columns]"
        )
    return array.astype(np.float32, copy=False)


def _keys(path: Path, column: Any, name: str) -> pa.Array:
    """Return ids as int64 or text."""
    if not isinstance(column, pa.Array) or pa.types.is_nested(column.type):
        raise InputError(f"{path}: '{name}' holds lists, expected one entry per row")
    if column.null_count:
        row = int(np.asarray(column.is_null()).argmax())
        raise InputError(f"{path}: row {row + 1} has no {name}, expected one")
    is_number = name in ID_NAMES and pa.types.is_integer(column.type)
    return column.cast(pa.int64() if is_number else pa.string())


def _labels(path: Path, column: pa.Array) -> npt.NDArray[Any]:
    """Return text or numbers; None for rows without a label.

    Whole numbers are read as such, and negative ones mean no label, as in
    `evaluate`.
    """
    if pa.types.is_nested(column.type):
        raise InputError(f"{path}: column 'label' holds lists, expected one label each")
    values = column.to_pylist()
    values = [None if v in ("", None) or v != v else v for v in values]
    if not any(isinstance(v, float) and v % 1 for v in values):
        # Names stay text.
        with suppress(ValueError, OverflowError):
            numbers = [-1 if v is None else int(v) for v in values]
            values = [None if number < 0 else number for number in numbers]
    known = np.empty(len(values), dtype=object)
    known[:] = values
    return known


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(
        f"{path}: cannot be read as arrays of numbers and text ({reason})"
    )
