"""Tables: files (csv, tsv, parquet) and what other libraries hold in memory.

A table is opened first, which gives its columns, and read when it is known which of
them are needed. Tables of pandas, Polars and others come in by the Arrow interface
(`__arrow_c_stream__`); none of these libraries is imported.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from dsgrl.io.choices import Notes
from dsgrl.io.csv_files import NAMED, UTF_8, narrow_ids, open_csv
from dsgrl.typing import FloatArray, InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
ID_COLUMNS = ("source", "target", "id", "graph")
NAME_COLUMNS = ("label", "type")
PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".tar", ".tgz")
# A list column of a parquet file holds wider tables; 10^6 columns of a csv file take
# gigabytes.
MOST_COLUMNS = 50_000

# Rows of a parquet file that are read at once by `OpenTable.stream`.
ROWS_AT_ONCE = 1 << 18

Reader = Callable[[Sequence[str], Collection[str]], pa.Table]
Streamer = Callable[[Sequence[str], Collection[str]], Iterator[pa.RecordBatch]]


class OpenTable(NamedTuple):
    """A table that was opened and not read.

    Attributes:
        name: for messages: the file, or what it is.
        stem: a short name: that of the file without its suffix.
        columns: names of its columns, each once.
        reader: reads some columns, those of a second list as text.
        is_written: whether the file is text, so that numbers are written as such.
        streamer: reads as `reader`, block by block; only files have it.
    """

    name: str
    stem: str
    columns: list[str]
    reader: Reader
    is_written: bool = False
    streamer: Streamer | None = None

    def read(
        self,
        columns: Sequence[str | None] | None = None,
        *,
        ids: Collection[str | None] = (),
        names: Collection[str | None] = (),
    ) -> pa.Table:
        """Read some columns.

        Args:
            columns: the columns to read; all if left out.
            ids: those that hold ids. Text in a csv file stays text, unless all of them
                are whole numbers.
            names: those that hold names, which stay text.
        """
        wanted = (
            self.columns if columns is None else [c for c in columns if c is not None]
        )
        text = {c for c in (*ids, *names) if c is not None}
        with explained(self.name):
            # A column may be asked for twice.
            table = self.reader(list(dict.fromkeys(wanted)), text)
            for i, (column, kind) in enumerate(
                zip(table.column_names, table.schema.types, strict=True)
            ):
                values = table.column(i)
                if self.is_written and column in text:
                    values = pc.if_else(pc.equal(values, ""), None, values)
                    values = narrow_ids(values) if column in ids else values
                elif pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
                    values = values.cast(pa.string())
                else:
                    continue
                table = table.set_column(i, column, values)
        return table


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what libraries raise for a broken file into one line that names it."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{name}: does not fit into memory") from error
    # Each library has errors of its own, and a broken file may raise any of them.
    except Exception as error:
        reason = first_line(error)
        raise InputError(
            f"{name}: cannot be read ({reason}): {_hint(reason)}"
        ) from error


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its kind."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _hint(reason: str) -> str:
    if "UTF8" in reason or "utf-8" in reason:
        return "is it UTF-8?"
    if "columns, got" in reason:
        return "expected as many cells in every row as in the header"
    return "is the file truncated?"


def open_table(
    source: Any, *, what: str = "nodes", notes: Notes | None = None
) -> OpenTable:
    """Open a file or a table of another library.

    Args:
        source: a csv, tsv or parquet file, or a table of pandas, Polars or Arrow.
        what: what its rows are, for messages. A table of "edges" without a header, but
            numbers, is read.
        notes: takes what was assumed.

    Raises:
        InputError: if it is neither, has too many columns, or two of one name.
    """
    if isinstance(source, str | Path):
        opened = _open_file(Path(source), what, notes)
    else:
        opened = _open_memory(source, f"the table of {what}")
    if len(opened.columns) > MOST_COLUMNS:
        raise InputError(
            f"{opened.name}: has {len(opened.columns):,} columns, expected at most "
            f"{MOST_COLUMNS:,}: put wide features into one list column of a parquet "
            f"file, or into an npz file"
        )
    _refuse_repeated(opened.name, opened.columns)
    return opened


def _open_file(path: Path, what: str, notes: Notes | None) -> OpenTable:
    check_suffix(path)
    name, suffix = str(path), path.suffix.lower()
    with explained(name):
        if suffix == ".parquet":
            file = pyarrow.parquet.ParquetFile(path)
            return OpenTable(
                name,
                path.stem,
                file.schema_arrow.names,
                lambda columns, _: file.read(columns=list(columns)),
                streamer=lambda columns, _: stream_parquet(path, columns),
            )
        opened = open_csv(path, needs_header=what != "edges")
    usual = "\t" if suffix == ".tsv" else ","
    if notes is not None and opened.separator != usual:
        notes.assume(f"{path}: columns are separated by {NAMED[opened.separator]}")
    if notes is not None and opened.encoding != UTF_8:
        notes.assume(
            f"{path}: is not UTF-8, read as {opened.encoding}; save it as UTF-8 if "
            f"names look wrong"
        )
    if notes is not None and not opened.has_header:
        notes.assume(f"{path}: has no header, only numbers")

    def read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
        if not columns:
            return pa.table({})
        return opened.read(columns, text)

    return OpenTable(name, path.stem, opened.columns, read, True, opened.stream)


def stream_parquet(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read some columns of a parquet file in batches of bounded size."""
    # A buffer: without it a whole group of rows, which may be the file, is in memory.
    with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20) as file:
        yield from file.iter_batches(ROWS_AT_ONCE, columns=list(columns))


def check_suffix(path: Path) -> None:
    """Fail if this is no file of a table."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix.lower() in PACKED:
        raise InputError(
            f"{path}: packed files are not read: unpack it first (e.g. gunzip {path})"
        )
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of file '{path.suffix}', expected "
            f"{', '.join(TABLE_SUFFIXES)} (or .npz, .graphml, .gml for a whole graph)"
        )


def is_table(value: Any) -> bool:
    """Whether a value is a table of pandas, Polars, Arrow or a library like them."""
    if hasattr(value, "__arrow_c_stream__"):
        # A single column of such a library has the method as well.
        names = ("columns", "column_names", "schema")
        return any(hasattr(value, name) for name in names)
    return type(value).__module__.startswith("pandas.") and hasattr(value, "columns")


def _open_memory(value: Any, name: str) -> OpenTable:
    if not is_table(value):
        raise InputError(
            f"{name}: a {type(value).__name__}, expected a file or a table of pandas, "
            f"Polars or Arrow"
        )
    with explained(name):
        table = pa.table(value)
    return OpenTable(
        name, "table", table.column_names, lambda columns, _: table.select(columns)
    )


def _refuse_repeated(name: str, columns: Sequence[str]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise InputError(
                f"{name}: column '{column}' appears twice, expected each name once"
            )
        seen.add(column)


def read_table(path: Path) -> pa.Table:
    """Read a whole file; columns of ids, labels, types and graphs stay text."""
    return open_table(path).read(ids=ID_COLUMNS, names=NAME_COLUMNS)


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers (or truth values)."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
    )


def flatten_lists(name: str, column: str, lists: pa.Array) -> tuple[pa.Array, int]:
    """Return the values of lists of one length, one after the other, and the length.

    Args:
        name: the table, for messages.
        column: its column.
        lists: the values of the column.

    Raises:
        InputError: if these are no lists, or their lengths differ.
    """
    try:
        widths = pc.unique(pc.list_value_length(lists)).to_pylist()
        values = pc.list_flatten(lists)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError) as error:
        raise InputError(
            f"{name}: column '{column}' holds {lists.type}, expected lists of numbers"
        ) from error
    if len(widths) > 1 or None in widths:
        raise InputError(
            f"{name}: column '{column}' holds {lists.type} of {len(widths)} lengths, "
            f"expected lists of numbers of one length"
        )
    return values, widths[0] if widths else 0


def as_lists(matrix: FloatArray) -> pa.Array:
    """Hold a matrix [N, D] as one list of D numbers per row."""
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
