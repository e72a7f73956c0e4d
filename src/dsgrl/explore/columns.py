"""What is known of the rows of an embedding: columns to colour, name and explain by."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
import torch

from dsgrl.io.tables import is_numeric
from dsgrl.typing import FloatArray, InputError

# A text column with more different values than this, and this share of the rows, is
# read as words; below, its values are categories.
MOST_CATEGORIES, CATEGORY_SHARE = 50, 0.2
# Words that fewer rows have are left out, and beyond a number the rarest.
FEWEST_ROWS, MOST_WORDS = 5, 2000
SECONDS_PER_YEAR = 365.2425 * 24 * 3600
WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A property of the rows.

    Attributes:
        name: of the column.
        values: numbers, NaN where unknown [N]; or, with `names`, codes, -1 where
            unknown [N].
        names: of the categories that the codes stand for.
    """

    name: str
    values: npt.NDArray[Any]
    names: list[str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Properties as one matrix.

    Attributes:
        matrix: sparse numbers [N, T].
        names: of the columns of the matrix [T].
        is_number: whether a low value means something [T]; of a word or category only
            that a row has it.
    """

    matrix: Any
    names: list[str]
    is_number: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """All that is known of the rows besides their vectors.

    Attributes:
        columns: properties, one by one.
        texts: text columns, which are read as words, by name [N] each.
        features: sparse feature table [N, F], if the columns do not hold it.
        feature_names: of its columns [F].
    """

    columns: list[Column] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    features: Any = None
    feature_names: list[str] = field(default_factory=list)


def category_column(name: str, values: list[Any]) -> Column:
    """Encode values as categories, in the order of their names; None is unknown."""
    names = sorted({str(value) for value in values if value is not None})
    place = {value: code for code, value in enumerate(names)}
    codes = [-1 if value is None else place[str(value)] for value in values]
    return Column(name, np.array(codes, dtype=np.int64), names)


def read_known(table: pa.Table, ids: list[Any], reserved: tuple[str, ...]) -> Known:
    """Read the columns of a table of nodes, in the order of the ids.

    Args:
        table: one row per node, in any order; one of its columns holds the ids, at
            least half of them. Nothing is known of the others.
        ids: of the rows [N].
        reserved: names of columns that are not properties.

    Raises:
        InputError: if no column has the ids.
    """
    key, order = _find_key(table, ids)
    known = Known()
    for name in table.column_names:
        if name == key or name in reserved or pa.types.is_nested(table[name].type):
            continue
        column = table[name].take(order).combine_chunks()
        if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
            known.columns.append(Column(name, _years(column)))
            continue
        if is_numeric(column.type):
            numbers = np.asarray(column.cast(pa.float32(), safe=False), np.float32)
            # What float32 cannot hold is unknown, as in the features.
            numbers = np.where(np.isfinite(numbers), numbers, np.float32(np.nan))
            known.columns.append(Column(name, numbers))
            continue
        values: list[Any] = column.cast(pa.string()).to_pylist()
        different = len(set(values))
        if different <= max(MOST_CATEGORIES, CATEGORY_SHARE * len(values)):
            known.columns.append(category_column(name, values))
        else:
            known.texts[name] = [value or "" for value in values]
    return known


def holds_ids(table: pa.Table, ids: list[Any]) -> bool:
    """Whether a table of nodes has a column with the ids; see `read_known`."""
    return _search_key(table, ids) is not None


def _years(dates: pa.Array) -> FloatArray:
    """Return dates as years with a fraction, NaN where there is none [N]."""
    seconds = dates.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    found = np.asarray(seconds.cast(pa.float64()), np.float64)
    years: FloatArray = (1970 + found / SECONDS_PER_YEAR).astype(np.float32)
    return years


def _find_key(table: pa.Table, ids: list[Any]) -> tuple[str, pa.Array]:
    """Return the column that holds the ids, and the row of every id.

    Raises:
        InputError: if there is none.
    """
    found = _search_key(table, ids)
    if found is None:
        raise InputError(
            f"the table of nodes has no column with the {len(ids)} ids of the "
            f"embedding (the first is '{ids[0]}'): give the table the embedding was "
            f"made from"
        )
    return found


def _search_key(table: pa.Table, ids: list[Any]) -> tuple[str, pa.Array] | None:
    """Return the column that holds the ids, at least half of them, and their rows.

    Nodes that only edges name have no row.
    """
    wanted = pa.array([str(i) for i in ids])
    names = sorted(table.column_names, key=lambda name: name != "id")
    best: tuple[str, pa.Array] | None = None
    missing = len(ids) // 2 + 1
    for name in names:
        if pa.types.is_nested(table[name].type):
            continue
        held = table[name].combine_chunks().cast(pa.string())
        rows = pc.index_in(wanted, value_set=held)
        if rows.null_count < missing:
            best, missing = (name, rows), rows.null_count
    return best


def dense_rows(x: Any) -> FloatArray | None:
    """Return features, given as any kind of tensor or array, as an array [N, F]."""
    if x is None:
        return None
    if isinstance(x, torch.Tensor) and x.layout is not torch.strided:
        x = x.to_dense()
    return np.asarray(x, dtype=np.float32)


def features_of(x: FloatArray, names: list[str] | None) -> tuple[Any, list[str]]:
    """Return a feature table [N, F] as SciPy's compressed rows, and its names [F]."""
    matrix = sp.csr_matrix(x)
    return matrix, names or [f"column {i}" for i in range(matrix.shape[1])]


def make_terms(known: Known) -> Terms:
    """Turn everything known into one sparse matrix.

    Numbers stay, unknown ones become the mean; categories and words become columns of
    0 and 1. A column of features that has no other values than 0 and 1 is a word.
    """
    blocks, names, is_number = [], [], []
    for column in known.columns:
        if column.names is None:
            values = np.nan_to_num(column.values, nan=_mean(column.values))
            blocks.append(sp.csr_matrix(values[:, None]))
            names.append(column.name)
            is_number.append(not np.isin(values, (0, 1)).all())
        else:
            blocks.append(_one_hot(column.values, len(column.names)))
            names += [f"{column.name} {name}" for name in column.names]
            is_number += [False] * len(column.names)
    for text in known.texts.values():
        matrix, words = _count_words(text)
        blocks.append(matrix)
        names += words
        is_number += [False] * len(words)
    if known.features is not None:
        blocks.append(known.features)
        names += known.feature_names
        is_number += _has_numbers(known.features).tolist()
    matrix = sp.csr_matrix(sp.hstack(blocks)) if blocks else None
    return Terms(matrix, names, np.array(is_number, dtype=bool))


def _mean(values: FloatArray) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else 0.0


def _one_hot(codes: npt.NDArray[Any], number: int) -> Any:
    rows = np.flatnonzero(codes >= 0)
    ones = np.ones(len(rows), dtype=np.float32)
    return sp.csr_matrix((ones, (rows, codes[rows])), shape=(len(codes), number))


def _count_words(texts: list[str]) -> tuple[Any, list[str]]:
    """Return which row has which of the more common words [N, W], and the words."""
    found = [set(WORD.findall(text.lower())) for text in texts]
    counts: dict[str, int] = {}
    for words in found:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    common = [word for word, count in counts.items() if count >= FEWEST_ROWS]
    kept = sorted(common, key=lambda word: (-counts[word], word))[:MOST_WORDS]
    place = {word: i for i, word in enumerate(kept)}
    pairs = [
        (row, place[word])
        for row, words in enumerate(found)
        for word in words
        if word in place
    ]
    rows, columns = (np.array([pair[end] for pair in pairs], int) for end in (0, 1))
    ones = np.ones(len(pairs), dtype=np.float32)
    return sp.csr_matrix((ones, (rows, columns)), shape=(len(texts), len(kept))), kept


def _has_numbers(matrix: Any) -> npt.NDArray[np.bool_]:
    """Return which columns have other values than 0 and 1 [F]."""
    other = np.flatnonzero(matrix.data != 1)
    has = np.zeros(matrix.shape[1], dtype=bool)
    has[matrix.indices[other]] = True
    return has
