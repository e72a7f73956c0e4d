"""Scores of embeddings in a file from any tool, with labels joined by id."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.evaluation.protocols import evaluate
from dsgrl.io.reading import Rows, read_embeddings, read_labels
from dsgrl.typing import FloatArray, InputError, IntArray, Score


@dataclass(frozen=True, slots=True)
class FileScore:
    """A score, and the rows and columns it was computed from.

    Attributes:
        score: of the embeddings.
        num_rows: rows that have an embedding and a label.
        num_columns: width of the embeddings.
        num_classes: classes, or labels where a row may have several.
        left_out: rows of the embeddings without a label.
    """

    score: Score
    num_rows: int
    num_columns: int
    num_classes: int
    left_out: int

    def summary(self) -> dict[str, Any]:
        """Return all of it as plain values, for a line of JSON."""
        score = self.score
        return {
            "protocol": score.protocol,
            "metric": score.metric,
            "mean": round(score.mean, 4),
            "std": round(score.std, 4),
            "n": len(score.scores),
            "scores": [round(value, 4) for value in score.scores],
            "splits": score.manifest,
            "rows": self.num_rows,
            "columns": self.num_columns,
            "classes": self.num_classes,
            "left_out": self.left_out,
        }


def evaluate_files(
    embeddings: Path,
    labels: Path | None = None,
    *,
    protocol: str | None = None,
    probe: str | None = None,
    metric: str | None = None,
    num_splits: int | None = None,
    random_state: int = 0,
) -> FileScore:
    """Score the embeddings in a file.

    Rows are sorted by id first: the row order of the files changes no split and no
    score.

    Args:
        embeddings: parquet, csv or tsv with one list column or numeric columns, and
            optionally `id`, `type` and `label`; npz with one matrix, and optionally
            `ids`, `type` and `label`; or npy. Without ids, a row's id is its
            number, counted from 0.
        labels: csv, tsv or parquet with columns `id` and `label` (and `type`, where
            several types of nodes share ids); or npy, one entry per row of the
            embeddings, or 0 and 1 per row and label. If not given, the labels in the
            file of embeddings are used.
        protocol: how to split, as in `evaluate`.
        probe: as in `evaluate`.
        metric: as in `evaluate`.
        num_splits: as in `evaluate`.
        random_state: seed of the splits.

    Raises:
        InputError: one line on what is wrong with the files.
    """
    embedded = read_embeddings(embeddings)
    if labels is None:
        y = embedded.labels
    else:
        y = join_labels(embeddings, embedded, labels, read_labels(labels))
    if y is None:
        raise InputError(
            f"{embeddings}: no column 'label': give a table of labels with columns id "
            f"and label"
        )
    rows = _sorted(embeddings, embedded)
    rows = rows[_is_known(y[rows])]
    _refuse_nan(embeddings, embedded.z, rows)
    y = y[rows] if y.ndim == 2 else np.array(y[rows].tolist())
    num_classes = y.shape[1] if y.ndim == 2 else len(np.unique(y))
    if num_classes < 2:
        raise InputError(
            f"{labels or embeddings}: {num_classes} class in {len(rows)} labelled rows "
            f"({len(embedded.z)} embeddings), expected two or more"
        )
    score = evaluate(
        embedded.z[rows],
        y,
        protocol=protocol,
        probe=probe,
        metric=metric,
        num_splits=num_splits,
        random_state=random_state,
    )
    return FileScore(
        score,
        num_rows=len(rows),
        num_columns=embedded.z.shape[1],
        num_classes=num_classes,
        left_out=len(embedded.z) - len(rows),
    )


def join_labels(
    path: Path, embedded: Rows, labels_path: Path, labelled: Rows
) -> npt.NDArray[Any]:
    """Return a label for every row of the embeddings, None where there is none.

    Args:
        path: of the embeddings, for messages.
        embedded: what it holds.
        labels_path: of the labels, for messages.
        labelled: what it holds; joined by id, or row by row if it has none.
    """
    y, num_rows = labelled.labels, len(embedded.z)
    assert y is not None
    if labelled.ids is None:
        is_table = labels_path.suffix != ".npy"
        if is_table and embedded.ids is not None:
            raise InputError(f"{labels_path}: no column 'id', expected id and label")
        if len(y) != num_rows:
            raise InputError(
                f"{labels_path}: {len(y)} labels without ids for {num_rows} rows of "
                f"{path}, expected one each"
            )
        return y
    ids = pa.array(np.arange(num_rows)) if embedded.ids is None else embedded.ids
    wanted, known = _comparable(ids, embedded.types, labelled.ids, labelled.types)
    _refuse_duplicates(labels_path, known)
    _refuse_duplicates(path, wanted)
    is_strange = pc.invert(pc.is_in(known, value_set=wanted))
    strange = known.filter(pc.and_(is_strange, pa.array(_is_known(y))))
    if len(strange):
        raise InputError(
            f"{labels_path}: {len(strange)} of {len(known)} ids have no embedding in "
            f"{path}, the first '{_show(strange[0])}': leave them out, or check that "
            f"the two files belong together"
        )
    position = pc.fill_null(pc.index_in(wanted, value_set=known), len(known))
    joined: npt.NDArray[Any] = np.append(y, [None])[np.asarray(position)]
    return joined


def _comparable(
    ids: pa.Array,
    types: pa.Array | None,
    other_ids: pa.Array,
    other_types: pa.Array | None,
) -> tuple[pa.Array, pa.Array]:
    """Make ids of two files comparable; with types in both, a type and an id."""
    if types is not None and other_types is not None:
        return _with_type(ids, types), _with_type(other_ids, other_types)
    if ids.type != other_ids.type:
        return ids.cast(pa.string()), other_ids.cast(pa.string())
    return ids, other_ids


def _with_type(ids: pa.Array, types: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(types, ids.cast(pa.string()), "\t")


def _refuse_duplicates(path: Path, keys: pa.Array) -> None:
    counts = pc.value_counts(keys)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated[0]
        raise InputError(
            f"{path}: id '{_show(first['values'])}' appears {first['counts']} times, "
            f"expected each id once (ids of several types of nodes: a column 'type' in "
            f"both files)"
        )


def _show(key: Any) -> str:
    return str(key).replace("\t", " ")


def _sorted(path: Path, embedded: Rows) -> IntArray:
    """Return the numbers of the rows in the order of their ids."""
    if embedded.ids is None:
        return np.arange(len(embedded.z))
    keys = embedded.ids
    if embedded.types is not None:
        keys = _with_type(keys, embedded.types)
    _refuse_duplicates(path, keys)
    return np.asarray(pc.sort_indices(keys)).astype(np.int64)


def _is_known(y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if y.ndim == 2:
        return np.ones(len(y), dtype=bool)
    return np.array([label is not None for label in y], dtype=bool)


def _refuse_nan(path: Path, z: FloatArray, rows: IntArray) -> None:
    bad = rows[~np.isfinite(z[rows]).all(axis=1)]
    if len(bad):
        raise InputError(
            f"{path}: {len(bad)} embeddings with empty, NaN or infinite numbers, the "
            f"first in row {bad.min() + 1}: leave them out"
        )
