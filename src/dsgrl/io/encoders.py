"""One column of a table as columns of numbers, by its kind; fitted once, then fixed.

An encoder is plain data: it is kept with the model as JSON and encodes unseen rows as
those of training.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from dsgrl.io.tables import is_numeric
from dsgrl.io.text import (
    LETTERS,
    WORDS,
    hash_text,
    scale_rows,
    wants_letters,
    weigh_columns,
)
from dsgrl.io.values import Doubles, as_days, as_numbers, as_text, as_truth
from dsgrl.typing import FloatArray, InputError

# More values than these are counted together, as are values that few rows have.
MOST_CATEGORIES = 100
LEAST_ROWS = 2
# Rows of text by which columns are weighed: more take minutes and change little.
MOST_ROWS = 50_000
OTHER, MISSING = "(other)", "(missing)"


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A number, truth value or date as one number.

    Attributes:
        name: of the column.
        kind: "number", "boolean" or "date" (days since 1970).
        fill: number where there is none.
        center: is subtracted.
        scale: divides.
        form: how a date is written in text.
    """

    name: str
    kind: str
    fill: float
    center: float = 0.0
    scale: float = 1.0
    form: str | None = None

    @classmethod
    def fit(
        cls, name: str, kind: str, column: pa.ChunkedArray, form: str | None = None
    ) -> "NumberColumn":
        """Take the median as the number to fill in."""
        bare = cls(name, kind, 0.0, form=form)
        known = bare.values(column)
        known = known[~np.isnan(known)]
        return replace(bare, fill=float(np.median(known)) if len(known) else 0.0)

    def standardized(self, column: pa.ChunkedArray) -> "NumberColumn":
        """Return the same column with mean 0 and standard deviation 1."""
        values = self.values(column)
        values[np.isnan(values)] = self.fill
        if self.kind == "boolean" or not len(values):
            return self
        center, scale = float(values.mean()), float(values.std())
        is_constant = scale <= 1e-9 * max(abs(center), 1e-300)
        return replace(self, center=center, scale=1.0 if is_constant else scale)

    @property
    def names(self) -> list[str]:
        """Name of the one column."""
        return [self.name]

    def values(self, column: pa.ChunkedArray) -> Doubles:
        """Return the values as they are, NaN where there is none [N]."""
        if self.kind == "date":
            return as_days(column, self.form)
        return as_truth(column) if self.kind == "boolean" else as_numbers(column)

    @property
    def filling(self) -> str:
        """What is filled in, for messages."""
        if self.kind == "date":
            return str(np.datetime64(int(self.fill), "D"))
        return f"{self.fill:.6g}"

    def encode(self, column: pa.ChunkedArray) -> tuple[FloatArray, int]:
        """Return the scaled values [N, 1], and how many were filled in."""
        values = self.values(column)
        is_missing = np.isnan(values)
        values[is_missing] = self.fill
        with np.errstate(over="ignore"):
            scaled = ((values - self.center) / self.scale).astype(np.float32)
        largest = np.finfo(np.float32).max
        return np.clip(scaled, -largest, largest)[:, None], int(is_missing.sum())


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A name out of a few: one column for each of those seen in training.

    Attributes:
        name: of the column.
        values: the names that have a column of their own.
        other: whether there is a column for all other names.
        missing: whether there is a column for rows without a name.
    """

    kind: ClassVar[str] = "category"
    name: str
    values: list[str]
    other: bool
    missing: bool

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "CategoryColumn":
        """Keep the most frequent names; of those as frequent, the first by name."""
        text = as_text(column)
        counted = pc.value_counts(text.drop_null())
        counts = Counter(
            dict(
                zip(
                    counted.field("values").to_pylist(),
                    counted.field("counts").to_pylist(),
                    strict=True,
                )
            )
        )
        ranked = sorted(counts, key=lambda value: (-counts[value], value))
        kept = [v for v in ranked[:MOST_CATEGORIES] if counts[v] >= LEAST_ROWS]
        return cls(name, sorted(kept), len(kept) < len(counts), text.null_count > 0)

    @property
    def names(self) -> list[str]:
        """Name of every column."""
        extra = [OTHER] * self.other + [MISSING] * self.missing
        return [f"{self.name}={value}" for value in (*self.values, *extra)]

    def encode(self, column: pa.ChunkedArray) -> tuple[Any, int]:
        """Return a sparse matrix of ones [N, F], and how many names are not known."""
        text = as_text(column)
        found = pc.index_in(text, value_set=pa.array(self.values, pa.string()))
        number = np.asarray(pc.fill_null(found, -1), dtype=np.int64)
        is_missing = np.asarray(text.is_null())
        is_other = (number < 0) & ~is_missing
        if self.other:
            number[is_other] = len(self.values)
        if self.missing:
            number[is_missing] = len(self.values) + self.other
        rows = np.flatnonzero(number >= 0)
        ones = np.ones(len(rows), dtype=np.float32)
        shape = (len(number), len(self.names))
        matrix = sp.csr_matrix((ones, (rows, number[rows])), shape=shape)
        return matrix, int(is_other.sum())


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Short text as hashed words and groups of letters; see `dsgrl.io.text`.

    Attributes:
        name: of the column.
        words: number of columns for words.
        letters: number of columns for groups of letters.
        weights: weight of every column.
    """

    kind: ClassVar[str] = "text"
    name: str
    words: int
    letters: int
    weights: list[float]

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "TextColumn":
        """Weigh the columns by how many rows have them, at most `MOST_ROWS`."""
        text = as_text(column)
        if len(text) > MOST_ROWS:
            text = text.take(np.linspace(0, len(text) - 1, MOST_ROWS, dtype=np.int64))
        letters = LETTERS if wants_letters(text) else 0
        hashed = hash_text(text, WORDS, letters)
        return cls(name, WORDS, letters, weigh_columns(hashed))

    @property
    def names(self) -> list[str]:
        """Name of every column."""
        parts = (("word", self.words), ("letters", self.letters))
        return [f"{self.name}:{part}{i}" for part, count in parts for i in range(count)]

    def encode(self, column: pa.ChunkedArray) -> tuple[Any, int]:
        """Return a sparse matrix of unit rows [N, F], and how many have no text."""
        text = as_text(column)
        hashed = hash_text(text, self.words, self.letters)
        return scale_rows(hashed, self.weights, self.words), text.null_count


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A list of numbers per row, all of one length.

    Attributes:
        name: of the column.
        width: length of the lists.
        fill: numbers for a row without a list: the means.
    """

    kind: ClassVar[str] = "list"
    name: str
    width: int
    fill: list[float]

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "ListColumn":
        """Take the length of the lists, and the mean of each position."""
        values, is_missing, width = _read_lists(column)
        known = values[~is_missing] if is_missing.any() else values
        fill = known.mean(axis=0, dtype=np.float64) if len(known) else np.zeros(width)
        return cls(name, width, fill.tolist())

    @property
    def names(self) -> list[str]:
        """Name of every column."""
        return [f"{self.name}[{i}]" for i in range(self.width)]

    @property
    def filling(self) -> str:
        """What is filled in, for messages."""
        return "the mean"

    def encode(self, column: pa.ChunkedArray) -> tuple[FloatArray, int]:
        """Return the lists [N, width], and how many rows had none."""
        values, is_missing, width = _read_lists(column)
        if not is_missing.all() and width != self.width:
            raise InputError(f"holds lists of {width} numbers, expected {self.width}")
        if is_missing.all():
            values = np.empty((len(column), self.width), dtype=np.float32)
        values[is_missing] = np.array(self.fill, dtype=np.float32)
        return values, int(is_missing.sum())


def _read_lists(column: pa.ChunkedArray) -> tuple[FloatArray, Any, int]:
    """Return the lists [N, width], which rows have none [N], and the width."""
    kind = column.type
    is_missing = np.asarray(column.is_null())
    if not (
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    ):
        if pa.types.is_null(kind):
            return np.empty((len(column), 0), np.float32), is_missing, 0
        raise InputError(f"holds {kind}, expected lists of numbers")
    known = column.drop_null().combine_chunks()
    widths = pc.unique(pc.list_value_length(known)).to_pylist()
    if len(widths) > 1:
        raise InputError(
            f"holds {kind} of {len(widths)} lengths, expected lists of numbers of one "
            f"length"
        )
    width = int(widths[0]) if widths else 0
    flat = pc.list_flatten(known)
    if not width or not is_numeric(flat.type):
        raise InputError(f"holds {kind}, expected lists of at least one number")
    numbers = flat.cast(pa.float32(), safe=False).to_numpy(zero_copy_only=False)
    is_bad = ~np.isfinite(numbers)
    if is_bad.any():
        row = int(np.flatnonzero(~is_missing)[is_bad.argmax() // width])
        raise InputError(
            f"row {row + 1} has a number that is empty, NaN or infinite: fill or drop "
            f"it first"
        )
    values = np.empty((len(column), width), dtype=np.float32)
    values[~is_missing] = numbers.reshape(-1, width)
    return values, is_missing, width


Encoder = NumberColumn | CategoryColumn | TextColumn | ListColumn
ENCODERS: dict[str, type[Encoder]] = {
    "number": NumberColumn,
    "boolean": NumberColumn,
    "date": NumberColumn,
    "category": CategoryColumn,
    "text": TextColumn,
    "list": ListColumn,
}
