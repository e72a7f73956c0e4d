"""Tables read in batches, any number of times, by the rules of `dsgrl.io`.

A parquet file is read as it is. A csv or tsv file is written to a parquet file first:
it is parsed once, and whether its ids are numbers is known at the end only.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from dsgrl.io.choices import Notes
from dsgrl.io.csv_files import WHOLE_NUMBER
from dsgrl.io.edge_table import read_ids
from dsgrl.io.tables import OpenTable, explained, open_table, stream_parquet
from dsgrl.io.values import is_whole
from dsgrl.typing import InputError


@dataclass(frozen=True, slots=True)
class TableStream:
    """A table that is read in batches.

    Attributes:
        name: for messages.
        path: parquet file to read.
        whole: columns of a text file that are plain whole numbers.
        is_written: whether the table is a text file.
        num_rows: number of rows.
    """

    name: str
    path: Path
    num_rows: int
    whole: frozenset[str] = field(default_factory=frozenset)
    is_written: bool = False

    def batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """Return the number of the first row and the rows of every batch."""
        first = 0
        with explained(self.name):
            for batch in stream_parquet(self.path, list(dict.fromkeys(columns))):
                yield first, plain(pa.Table.from_batches([batch]))
                first += batch.num_rows

    def id_type(self, column: str) -> pa.DataType:
        """Return int64 or string: what `read_ids` gives for the whole column."""
        if self.is_written:
            return pa.int64() if column in self.whole else pa.string()
        with explained(self.name):
            kind = pyarrow.parquet.read_schema(self.path).field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_floating(kind):
            numbers = all(
                is_whole(pc.if_else(pc.is_nan(ids), None, ids))
                for _, table in self.batches([column])
                for ids in [table.column(column)]
            )
            return pa.int64() if numbers else pa.string()
        return pa.int64() if pa.types.is_integer(kind) else pa.string()

    def ids(
        self, table: pa.Table, column: str, kind: pa.DataType, first: int
    ) -> pa.ChunkedArray:
        """Return the ids of a batch as a type that suits all batches."""
        return read_ids(self.name, table, column, column, first).cast(kind)


def plain(table: pa.Table) -> pa.Table:
    """Return text as Arrow's `string`, as `OpenTable.read` does."""
    for i, kind in enumerate(table.schema.types):
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            values = table.column(i).cast(pa.string())
            table = table.set_column(i, table.column_names[i], values)
    return table


def open_file(path: Path, what: str, notes: Notes) -> OpenTable:
    """Open a file of a table that can be read in batches."""
    if path.is_dir():
        raise InputError(
            f"{path}: is a folder, expected one table of {what} (csv, tsv, parquet)"
        )
    return open_table(path, what=what, notes=notes)


def stage(
    opened: OpenTable,
    source: Path,
    columns: Collection[str | None],
    folder: Path,
    *,
    ids: Collection[str | None],
    names: Collection[str | None] = (),
) -> TableStream:
    """Make a table readable in batches.

    Args:
        opened: the table.
        source: its file.
        columns: those to read.
        folder: for the parquet file of a text file.
        ids: columns of ids.
        names: columns of names, which stay text.
    """
    wanted = list(dict.fromkeys(c for c in columns if c is not None))
    if not opened.is_written:
        with explained(opened.name):
            rows = pyarrow.parquet.read_metadata(source).num_rows
        return TableStream(opened.name, source, rows)
    text = {c for c in (*ids, *names) if c is not None}
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    try:
        return _stage_text(opened, wanted, text, set(ids), path)
    except InputError as error:
        if "conversion error" not in str(error):
            raise
        # The first block looked like numbers, a later one does not.
        return _stage_text(opened, wanted, set(wanted), set(ids), path)


def _stage_text(
    opened: OpenTable,
    columns: Sequence[str],
    text: set[str],
    ids: set[str | None],
    path: Path,
) -> TableStream:
    whole, rows = {c for c in columns if c in ids}, 0
    writer = None
    try:
        for table in _read_text(opened, columns, text):
            for i, column in enumerate(columns):
                if column not in text:
                    continue
                values = table.column(i)
                values = pc.if_else(pc.equal(values, ""), None, values)
                table = table.set_column(i, column, values)
                if column in whole and not _are_whole(values):
                    whole.discard(column)
            writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
            rows += len(table)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        empty = pa.schema([(column, pa.string()) for column in columns])
        pyarrow.parquet.write_table(empty.empty_table(), path)
    is_known = frozenset(whole if rows else ())
    return TableStream(opened.name, path, rows, is_known, is_written=True)


def _read_text(
    opened: OpenTable, columns: Sequence[str], text: set[str]
) -> Iterator[pa.Table]:
    """Read a text file in batches; errors of writing are not those of reading."""
    assert opened.streamer is not None
    with explained(opened.name):
        for batch in opened.streamer(columns, text):
            yield pa.Table.from_batches([batch])


def _are_whole(values: pa.ChunkedArray) -> bool:
    found = pc.all(pc.match_substring_regex(values, WHOLE_NUMBER))
    # Null values are refused later, and a batch of them says nothing.
    return found.as_py() is not False
