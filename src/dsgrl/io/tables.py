"""Tables on disk: csv, tsv and parquet, ids read as they are written."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from dsgrl.typing import FloatArray, InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
TEXT_COLUMNS = ("source", "target", "id", "label", "type", "graph")


def read_table(path: Path) -> pa.Table:
    """Read a csv, tsv or parquet file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix not in TABLE_SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of file '{path.suffix}', expected "
            f"{', '.join(TABLE_SUFFIXES)} (or .npz for a whole graph)"
        )
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path)
        delimiter = "\t" if path.suffix == ".tsv" else ","
        table = pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
            # Read as text: '007' is an id, not the number 7.
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(TEXT_COLUMNS, pa.string())
            ),
        )
        return _narrow_text(table)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        hint = "is it UTF-8?" if "UTF8" in reason else "is the file truncated?"
        raise InputError(f"{path}: cannot be read ({reason}): {hint}") from error


def _narrow_text(table: pa.Table) -> pa.Table:
    """Make empty text null, and ids that are all plain whole numbers integers."""
    for i, name in enumerate(table.column_names):
        if name not in TEXT_COLUMNS:
            continue
        column = pc.if_else(pc.equal(table.column(i), ""), None, table.column(i))
        plain = pc.match_substring_regex(column, "^(0|-?[1-9][0-9]{0,17})$")
        names_things = name in ("label", "type")
        if not names_things and len(column) and pc.all(plain).as_py():
            column = column.cast(pa.int64())
        table = table.set_column(i, name, column)
    return table


def refuse_repeated_columns(path: Path, table: pa.Table) -> None:
    """Fail if two columns of a table have one name."""
    names = table.column_names
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(
            f"{path}: column '{repeated[0]}' appears twice, expected each name once"
        )


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers (or truth values)."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
    )


def flatten_lists(path: Path, name: str, lists: pa.Array) -> tuple[pa.Array, int]:
    """Return the values of lists of one length, one after the other, and the length.

    Raises:
        InputError: if these are no lists, or their lengths differ.
    """
    try:
        widths = pc.unique(pc.list_value_length(lists)).to_pylist()
        values = pc.list_flatten(lists)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError) as error:
        raise InputError(
            f"{path}: column '{name}' holds {lists.type}, expected lists of numbers"
        ) from error
    if len(widths) > 1 or None in widths:
        raise InputError(
            f"{path}: column '{name}' holds {lists.type} of {len(widths)} lengths, "
            f"expected lists of numbers of one length"
        )
    return values, widths[0] if widths else 0


def as_lists(matrix: FloatArray) -> pa.Array:
    """Hold a matrix [N, D] as one list of D numbers per row."""
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1])
