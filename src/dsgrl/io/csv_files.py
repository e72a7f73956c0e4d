"""Files of comma, tab or semicolon separated values, read in bounded memory.

The header is read first: which columns hold ids decides how they are read ('007' is an
id, not the number 7), and columns nobody asked for are not kept.
"""

import codecs
import csv
import io
import mmap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dsgrl.io.values import MISSING
from dsgrl.typing import InputError

SEPARATORS = (",", "\t", ";", "|")
NAMED = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "'|'"}
# With pyarrow's own block of 1 MB a wide row does not fit, and 10^7 edges take longer.
BLOCK_BYTES = 1 << 24
# A header is looked for in so many bytes: first in few, then in more.
HEAD_BYTES = (1 << 16, 1 << 26)
# What pyarrow itself takes for a number that is missing, beside `MISSING`.
ALSO_MISSING = ("#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN", "-NaN")
WHOLE_NUMBER = "^(0|-?[1-9][0-9]{0,17})$"
UTF_8, UTF_16, WINDOWS = "utf-8", "utf-16", "windows-1252"


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file whose header was read.

    Attributes:
        path: the file.
        separator: what stands between two columns.
        columns: their names.
        has_header: whether the names are in the file.
        has_quotes: whether a value may hold a line end.
        encoding: of its text.
    """

    path: Path
    separator: str
    columns: list[str]
    has_header: bool
    has_quotes: bool
    encoding: str

    def read(self, columns: Sequence[str], text: Collection[str]) -> pa.Table:
        """Read some columns; those in `text` as they are written."""
        types = {name: pa.string() for name in columns if name in text}
        try:
            table = self._parse(columns, types)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            # The first block looked like numbers, a later one does not.
            table = self._parse(columns, dict.fromkeys(columns, pa.string()))
        return table

    def stream(
        self, columns: Sequence[str], text: Collection[str]
    ) -> Iterator[pa.RecordBatch]:
        """Read some columns block by block; those in `text` as they are written.

        The types of the others are those of the first block. A later block that does
        not fit them raises `ArrowInvalid` ("conversion error").
        """
        types = {name: pa.string() for name in columns if name in text}
        with pyarrow.csv.open_csv(self.path, **self._options(columns, types)) as found:
            yield from found

    def _parse(self, columns: Sequence[str], types: dict[str, pa.DataType]) -> pa.Table:
        return pyarrow.csv.read_csv(self.path, **self._options(columns, types))

    def _options(
        self, columns: Sequence[str], types: dict[str, pa.DataType]
    ) -> dict[str, Any]:
        return {
            "read_options": pyarrow.csv.ReadOptions(
                block_size=BLOCK_BYTES,
                encoding=self.encoding,
                column_names=None if self.has_header else self.columns,
            ),
            "parse_options": pyarrow.csv.ParseOptions(
                delimiter=self.separator, newlines_in_values=self.has_quotes
            ),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types=types,
                include_columns=list(columns),
                null_values=[*MISSING, *ALSO_MISSING],
                # Where semicolons separate, a comma is a decimal point.
                decimal_point="," if self.separator == ";" else ".",
            ),
        }


def open_csv(path: Path, *, needs_header: bool = True) -> CsvFile:
    """Read the header of a file.

    Args:
        path: a csv or tsv file.
        needs_header: whether a first row of numbers is a header, as any other.

    Raises:
        InputError: if there is no header that can be read.
    """
    head, size = _read_head(path)
    encoding = _find_encoding(path, head)
    try:
        # The end of the bytes may cut a character in two.
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: cannot be read ({error.reason}): is it UTF-8?"
        ) from error
    text = text.removeprefix("\ufeff")
    line = text.lstrip("\r\n").partition("\n")[0]
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    separator = _find_separator(line, usual)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        columns = next((row for row in rows if row), [])
    except csv.Error as error:
        raise InputError(f"{path}: the header cannot be read ({error})") from error
    has_header = needs_header or not _are_numbers(columns)
    if not has_header:
        columns = [f"column {i + 1}" for i in range(len(columns))]
    has_quotes = b'"' in head if len(head) == size else _has_quotes(path)
    return CsvFile(path, separator, columns, has_header, has_quotes, encoding)


def narrow_ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Make ids that are all plain whole numbers integers."""
    if len(column) and pc.all(pc.match_substring_regex(column, WHOLE_NUMBER)).as_py():
        return column.cast(pa.int64())
    return column


def _read_head(path: Path) -> tuple[bytes, int]:
    """Return the first bytes of a file, a whole line at least, and its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for count in HEAD_BYTES:
            head = file.read(count)
            file.seek(0)
            if len(head) == size or b"\n" in head or b"\r" in head:
                break
        else:
            raise InputError(
                f"{path}: no line end in the first {HEAD_BYTES[-1] >> 20} MB, expected "
                f"a table of lines"
            )
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError(f"{path}: is empty, expected a header and rows")
    return head, size


def _find_encoding(path: Path, head: bytes) -> str:
    """Return the encoding of a file: what spreadsheets write if it is not UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF_16
    decoder = codecs.getincrementaldecoder(UTF_8)()
    with path.open("rb") as file:
        try:
            while block := file.read(BLOCK_BYTES):
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            # Zeros are in no text.
            return UTF_8 if b"\x00" in head else WINDOWS
    return UTF_8


def _find_separator(line: str, usual: str) -> str:
    """Return what separates the columns of a header: the usual, if it is there."""
    if usual in line:
        return usual
    counts = {other: line.count(other) for other in SEPARATORS}
    best = max(counts, key=lambda other: counts[other])
    return best if counts[best] else usual


def _are_numbers(columns: Sequence[str]) -> bool:
    return len(columns) > 1 and all(
        c.strip().removeprefix("-").isascii() and c.strip().removeprefix("-").isdigit()
        for c in columns
    )


def _has_quotes(path: Path) -> bool:
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(b'"') >= 0
