"""Values of a column as numbers, days or text; what is missing or wrong is NaN or null.

The same rules hold for every source: text in a csv file, a string of a parquet file and
a number in a data frame give the same values.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.typing import InputError

Doubles = npt.NDArray[np.float64]

# Text that means "no value"; the most of what pyarrow, pandas and spreadsheets write.
MISSING = (
    *("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A"),
    *("-", "--", "?"),
)
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
LARGEST = float(np.finfo(np.float32).max)
SECONDS_PER_DAY = 86_400.0
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# Dates in text, one value as the other or mixed.
ISO_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")
# Others. Month first comes before day first: it is noted if both would do.
MONTH_FIRST, DAY_FIRST = "%m/%d/%Y", "%d/%m/%Y"
DATE_FORMATS = (
    "%Y/%m/%d",
    "%d.%m.%Y",
    MONTH_FIRST,
    DAY_FIRST,
    "%d %b %Y",
    "%b %d, %Y",
)
# Without this, a version such as 1.2.3 would be a date.
HAS_YEAR = r"(^|\D)\d{4}(\D|$)"
# The longest form above; a zone and fractions of a second follow.
ISO_LENGTH = 19


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    )


def is_date(kind: pa.DataType) -> bool:
    """Whether a column of this type holds dates or times."""
    return bool(pa.types.is_temporal(kind))


def clean(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return plain values: categories decoded, text without spaces at its ends.

    Text that means "no value" becomes null.
    """
    column = decoded(column)
    if pa.types.is_string_view(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        return column
    column = pc.utf8_trim_whitespace(column)
    is_missing = pc.is_in(column, value_set=pa.array(MISSING))
    return pc.if_else(is_missing, None, column)


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return plain values where there are categories of a library."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    if not pa.types.is_string_view(kind.value_type):
        return column.cast(kind.value_type)
    # Arrow cannot decode these.
    chunks = [c.dictionary.cast(pa.string()).take(c.indices) for c in column.chunks]
    return pa.chunked_array(chunks, pa.string())


def as_numbers(column: pa.ChunkedArray) -> Doubles:
    """Return numbers, NaN where there is none that float32 can hold [N]."""
    kind = column.type
    if is_text(kind):
        column = pc.if_else(pc.match_substring_regex(column, NUMBER), column, None)
        values = _doubles(column)
    elif is_date(kind):
        values = as_days(column)
    elif pa.types.is_boolean(kind):
        values = _doubles(column.cast(pa.int8()))
    elif is_number(kind) or pa.types.is_null(kind):
        values = _doubles(column)
    else:
        raise InputError(f"holds {kind}, expected numbers")
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values) <= LARGEST, values, np.nan)


def as_truth(column: pa.ChunkedArray) -> Doubles:
    """Return 1 for true and 0 for false, NaN where there is neither [N]."""
    if not is_text(column.type):
        return as_numbers(column)
    words = pc.utf8_lower(column)
    is_true = pc.fill_null(pc.equal(words, "true"), False)
    is_false = pc.fill_null(pc.equal(words, "false"), False)
    numbers = pc.if_else(is_true, "1", pc.if_else(is_false, "0", words))
    return as_numbers(numbers)


def as_days(column: pa.ChunkedArray, form: str | None = None) -> Doubles:
    """Return days since 1970, NaN where there is no date [N].

    Args:
        column: dates, times, durations or text.
        form: how text may be written besides 2020-01-31 and 2020-01-31 08:00:00, one
            of `DATE_FORMATS`.
    """
    kind = column.type
    if is_text(kind):
        seconds = _parse_iso(column)
        if form is not None:
            seconds = pc.coalesce(seconds, _parse(column, form))
        return _doubles(seconds) / SECONDS_PER_DAY
    if pa.types.is_date32(kind):
        return _doubles(column.cast(pa.int32()))
    if pa.types.is_date64(kind):
        return _doubles(column.cast(pa.int64())) / (SECONDS_PER_DAY * 1e3)
    if pa.types.is_time32(kind) or pa.types.is_time64(kind):
        whole = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())
        return _doubles(whole) / (SECONDS_PER_DAY * PER_SECOND[kind.unit])
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        whole = column.cast(pa.int64())
        return _doubles(whole) / (SECONDS_PER_DAY * PER_SECOND[kind.unit])
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    raise InputError(f"holds {kind}, expected dates")


def find_date_forms(column: pa.ChunkedArray) -> list[str | None]:
    """Return the forms with which all text of a column is a date; see `as_days`."""
    known = column.drop_null()
    forms: list[str | None] = []
    # Most columns are no dates, which a few values show.
    for part in (known.slice(0, 100), known):
        if not pc.all(pc.match_substring_regex(part, HAS_YEAR)).as_py():
            return []
        tried = (None, *DATE_FORMATS)
        forms = [form for form in tried if not np.isnan(as_days(part, form)).any()]
        if not forms:
            return []
    return forms


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as text; whole numbers without a decimal point."""
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise InputError(f"holds {kind}, expected text")
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
        if is_whole(column):
            column = column.cast(pa.int64())
    return column if is_text(kind) else column.cast(pa.string())


def is_whole(column: pa.ChunkedArray) -> bool:
    """Whether all numbers of a column are whole and fit into 64 bits."""
    values = _doubles(column.drop_null())
    return bool((np.isfinite(values) & (values % 1 == 0)).all()) and bool(
        (np.abs(values) < 2.0**53).all()
    )


def _parse_iso(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return seconds since 1970 of 2020-01-31T08:00:00.5Z, or less of it."""
    shorter = pc.utf8_slice_codeunits(column, 0, ISO_LENGTH)
    plain = pc.replace_substring_regex(
        shorter, pattern=r"^(\d{4}-\d{2}-\d{2})T", replacement=r"\1 "
    )
    return pc.coalesce(*(_parse(plain, form) for form in ISO_FORMATS))


def _parse(column: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """Return seconds since 1970, null where text has another form."""
    parsed = pc.strptime(column, format=form, unit="s", error_is_null=True)
    return parsed.cast(pa.int64())


def _doubles(column: pa.ChunkedArray) -> Doubles:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    # A copy: Arrow's memory is read-only.
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
