"""Arrays in npy files, written from the first row to the last in bounded memory."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

# Values that are converted at once.
VALUES_AT_ONCE = 1 << 22


class NpyWriter:
    """Writes rows to a file whose number of rows is known at the end.

    NumPy reserves room for any number of rows in the header, which is written again
    when the file is closed.

    Args:
        path: the file.
        dtype: type of the values.
        width: numbers per row; None for one dimension.
    """

    def __init__(
        self, path: Path, dtype: npt.DTypeLike, width: int | None = None
    ) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.width = width
        self.rows = 0
        self._file = path.open("wb")
        self._start = self._write_header()

    def _write_header(self) -> int:
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": shape,
        }
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, header)
        return self._file.tell()

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write rows [n] or [n, width] behind the others."""
        assert values.shape[1:] == (() if self.width is None else (self.width,))
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.rows += len(values)

    def close(self) -> None:
        """Write the number of rows into the header."""
        if self._file.closed:
            return
        end = self._write_header()
        assert end == self._start
        self._file.close()

    def __enter__(self) -> "NpyWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()


def map_array(path: Path) -> npt.NDArray[Any]:
    """Map a file into memory; an empty array, which cannot be mapped, is read."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, _ = np.lib.format.read_array_header_1_0(file)
    mode: Any = "r" if np.prod(shape) else None
    mapped: npt.NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    return mapped


def blocks_of(array: npt.NDArray[Any], rows: int) -> Iterator[npt.NDArray[Any]]:
    """Return so many rows of an array after the other."""
    for start in range(0, len(array), rows):
        yield array[start : start + rows]


def convert_file(path: Path, dtype: npt.DTypeLike) -> None:
    """Write an array [n] of a file anew with values of another type."""
    part = path.with_suffix(".part")
    with NpyWriter(part, dtype) as writer:
        for block in blocks_of(map_array(path), VALUES_AT_ONCE):
            writer.append(block.astype(dtype))
    part.replace(path)


def index_type(largest: int) -> np.dtype[Any]:
    """Return int32 if it can hold numbers up to `largest`, else int64."""
    return np.dtype(np.int32 if largest < 2**31 else np.int64)
