"""Short text as numbers: hashed words and groups of letters, without a vocabulary.

Every word, and every group of three or four letters of a word, has one of a fixed
number of columns, by a hash. Columns that many rows have count less (inverse document
frequency, kept with the model). A row has length 1.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

WORDS, LETTERS = 1024, 1024
# Of longer text, words tell more than letters, and there are many groups of letters.
LETTERS_UP_TO = 64
# Characters of a value that are read.
MOST_CHARACTERS = 2000
ROWS_AT_ONCE = 50_000
DIGITS = 4


def hash_text(text: pa.ChunkedArray, words: int, letters: int) -> Any:
    """Hash text to a sparse matrix of ones [N, words + letters].

    Args:
        text: one value per row; null gives a row of zeros.
        words: columns for words.
        letters: columns for groups of letters, may be 0.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    options = {"norm": None, "binary": True, "alternate_sign": False}
    parts = [
        HashingVectorizer(
            n_features=words,
            analyzer="word",
            token_pattern=r"(?u)\b\w+\b",
            dtype=np.float32,
            **options,
        )
    ]
    if letters:
        parts.append(
            HashingVectorizer(
                n_features=letters,
                analyzer="char_wb",
                ngram_range=(3, 4),
                dtype=np.float32,
                **options,
            )
        )
    blocks = [
        sp.hstack([part.transform(rows) for part in parts], format="csr")
        for rows in _in_parts(text)
    ]
    if not blocks:
        return sp.csr_matrix((0, words + letters), dtype=np.float32)
    return sp.vstack(blocks, format="csr")


def weigh_columns(hashed: Any) -> list[float]:
    """Return the weight of every column: less for those that many rows have."""
    rows = hashed.shape[0]
    counts = np.bincount(hashed.indices, minlength=hashed.shape[1])
    weights = np.log((1 + rows) / (1 + counts)) + 1
    return [round(float(weight), DIGITS) for weight in weights]


def scale_rows(hashed: Any, weights: list[float], words: int) -> Any:
    """Weigh the columns; words and letters get the same length, together 1 [N, F]."""
    table = hashed.multiply(np.array(weights, dtype=np.float32)).tocsr()
    parts = [p for p in (table[:, :words], table[:, words:]) if p.shape[1]]
    lengths = [_lengths(part) for part in parts]
    present = sum((length > 0).astype(np.float32) for length in lengths)
    scaled = [
        sp.diags(_inverse(length * np.sqrt(present))) @ part
        for part, length in zip(parts, lengths, strict=True)
    ]
    return sp.hstack(scaled, format="csr").astype(np.float32)


def wants_letters(text: pa.ChunkedArray) -> bool:
    """Whether values are short enough for groups of letters."""
    import pyarrow.compute as pc

    mean = pc.mean(pc.utf8_length(text)).as_py()
    return mean is not None and math.isfinite(mean) and mean <= LETTERS_UP_TO


def _in_parts(text: pa.ChunkedArray) -> Iterator[list[str]]:
    for start in range(0, len(text), ROWS_AT_ONCE):
        values = text.slice(start, ROWS_AT_ONCE).to_pylist()
        yield [(value or "")[:MOST_CHARACTERS] for value in values]


def _lengths(part: Any) -> npt.NDArray[np.float32]:
    squared = np.asarray(part.multiply(part).sum(axis=1)).reshape(-1)
    lengths: npt.NDArray[np.float32] = np.sqrt(squared)
    return lengths


def _inverse(values: Any) -> Any:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
