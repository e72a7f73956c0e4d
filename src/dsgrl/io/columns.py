"""The columns of a table of nodes as features: a plan, fitted once and kept in a model.

`infer_columns` decides on the kind of every column and fits an encoder for each;
`ColumnPlan.apply` gives the features of any table with these columns. The plan is plain
JSON in the model folder.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from dsgrl.io.arrays import FeatureTable
from dsgrl.io.choices import Choices, Notes, count_of, shorten
from dsgrl.io.encoders import (
    ENCODERS,
    CategoryColumn,
    Encoder,
    ListColumn,
    NumberColumn,
    TextColumn,
)
from dsgrl.io.kinds import CONSTANT, IDENTIFIER, Inferred, infer_kind
from dsgrl.io.values import clean
from dsgrl.typing import FloatArray, InputError

# A table with fewer filled cells is sparse; as `dsgrl.graph.checks.SPARSE_BELOW`.
SPARSE_BELOW = 0.1


@dataclass(frozen=True, slots=True, repr=False)
class ColumnPlan:
    """How the columns of a table become features.

    Attributes:
        columns: an encoder per column, in the order of the features.
    """

    columns: tuple[Encoder, ...]

    def __repr__(self) -> str:
        return f"ColumnPlan({len(self.columns)} columns)"

    @property
    def in_proportion(self) -> bool:
        """Whether the features can be compared: numbers have deviation 1.

        So it is if there are categories or text, whose rows have length 1.
        """
        return any(encoder.kind in ("category", "text") for encoder in self.columns)

    @property
    def num_features(self) -> int:
        """Number of features of all columns."""
        return sum(len(encoder.names) for encoder in self.columns)

    @property
    def names(self) -> list[str] | None:
        """Name of every feature; None for a single column of lists."""
        if len(self.columns) == 1 and isinstance(self.columns[0], ListColumn):
            return None
        return [name for encoder in self.columns for name in encoder.names]

    def by_kind(self) -> dict[str, dict[str, int]]:
        """Return the number of features of every column, by kind and name."""
        found: dict[str, dict[str, int]] = {}
        for encoder in self.columns:
            found.setdefault(encoder.kind, {})[encoder.name] = len(encoder.names)
        return found

    def apply(
        self, table: pa.Table, notes: Notes | None = None, name: str = "nodes"
    ) -> FeatureTable:
        """Return the features of a table, sparse where most are zero.

        Args:
            table: has at least the columns of training, in any order.
            notes: takes what was filled and what was not known in training.
            name: of the table, for messages.

        Raises:
            InputError: if a column is missing or holds something else.
        """
        self.check_columns(table.column_names, name)
        blocks, counts = self.encode(table, name)
        self.note_counts(counts, Notes() if notes is None else notes, name)
        return FeatureTable(_join(blocks, table.num_rows), self.names, self)

    def check_columns(self, given: Iterable[str], name: str = "nodes") -> None:
        """Fail if a table lacks a column of training."""
        present = set(given)
        missing = [c.name for c in self.columns if c.name not in present]
        if missing:
            raise InputError(
                f"{name}: has no column {shorten(missing)}, which the model was "
                f"trained on: add it, its cells may be empty"
            )

    def encode(
        self, table: pa.Table, name: str = "nodes"
    ) -> tuple[list[Any], dict[str, int]]:
        """Return the features of every column, and how many values were filled or new.

        Rows do not depend on each other: a table may be encoded part by part.

        Args:
            table: see `apply`.
            name: of the table, for messages.

        Returns:
            By column an array or a SciPy matrix [N, f]; and the counts by column.
        """
        blocks, counts = [], {}
        for encoder in self.columns:
            column = clean(table.column(encoder.name))
            try:
                block, count = encoder.encode(column)
            except (InputError, pa.ArrowException) as error:
                raise InputError(
                    f"{name}: column '{encoder.name}' {error}; leave it out with "
                    f"--ignore if it is no feature"
                ) from error
            blocks.append(block)
            counts[encoder.name] = count
        return blocks, counts

    def note_counts(self, counts: Mapping[str, int], notes: Notes, name: str) -> None:
        """Note values that were filled in or are not known; see `encode`."""
        filled, new = {}, {}
        for encoder in self.columns:
            count = counts[encoder.name]
            if count and isinstance(encoder, CategoryColumn):
                new[encoder.name] = (count, encoder.other)
            elif count and isinstance(encoder, NumberColumn | ListColumn):
                filled[encoder.name] = (count, encoder.filling)
        _note_filled(notes, name, filled)
        _note_new(notes, name, new)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the plan as plain values, without those that are defaults."""
        return [
            {
                "kind": each.kind,
                **{
                    entry.name: value
                    for entry in fields(each)
                    if (value := getattr(each, entry.name)) != entry.default
                },
            }
            for each in self.columns
        ]

    @classmethod
    def from_json(cls, saved: Sequence[Mapping[str, Any]]) -> "ColumnPlan":
        """Rebuild a plan from the result of `to_json`."""
        columns = []
        for values in saved:
            kind, rest = values["kind"], dict(values)
            if ENCODERS[kind] is not NumberColumn:
                del rest["kind"]
            columns.append(ENCODERS[kind](**rest))
        return cls(tuple(columns))


def infer_columns(
    table: pa.Table,
    choices: Choices | None = None,
    notes: Notes | None = None,
    name: str = "nodes",
) -> ColumnPlan | None:
    """Decide how the columns of a table become features, and fit the encoders.

    Args:
        table: the columns that may be features; ids and labels are not among them.
        choices: features, columns to ignore, and kinds that the user chose.
        notes: takes what was left out and why.
        name: of the table, for messages.

    Returns:
        The plan; None if no column is a feature.
    """
    if not table.num_rows:
        return None
    choices = Choices() if choices is None else choices
    notes = Notes() if notes is None else notes
    return plan_columns(table.column_names, table.column, choices, notes, name)


def plan_columns(
    columns: Sequence[str],
    read: Callable[[str], pa.ChunkedArray],
    choices: Choices,
    notes: Notes,
    name: str,
) -> ColumnPlan | None:
    """Decide as `infer_columns` does, with one column in memory at a time.

    Args:
        columns: names of the columns that may be features.
        read: gives the values of a column; a column of numbers may be read twice.
        choices: see `infer_columns`.
        notes: see `infer_columns`.
        name: see `infer_columns`.
    """
    left_out: dict[str, list[str]] = {}
    found: list[Encoder] = []
    for column_name in columns:
        if not _is_wanted(column_name, choices):
            continue
        raw = read(column_name)
        column = clean(raw)
        inferred = _decide(column_name, raw, column, choices)
        if inferred.doubt:
            notes.assume(f"{name}: dates of '{column_name}' are {inferred.doubt}")
        if inferred.kind == "ignore":
            if inferred.reason:
                left_out.setdefault(inferred.reason, []).append(column_name)
            continue
        try:
            found.append(_fit(column_name, column, inferred))
        except (InputError, pa.ArrowException) as error:
            raise InputError(
                f"{name}: column '{column_name}' {error}; leave it out with --ignore "
                f"if it is no feature"
            ) from error
    for reason, names in left_out.items():
        notes.change(f"{name}: left out {shorten(names)}: {reason}")
    plan = ColumnPlan(tuple(found))
    if plan.in_proportion:
        plan = ColumnPlan(
            tuple(
                e.standardized(clean(read(e.name)))
                if isinstance(e, NumberColumn)
                else e
                for e in found
            )
        )
    return plan if plan.columns else None


def _is_wanted(name: str, choices: Choices) -> bool:
    if choices.features is not None:
        return name in choices.features
    return name not in choices.ignore


def _decide(
    name: str, raw: pa.ChunkedArray, column: pa.ChunkedArray, choices: Choices
) -> Inferred:
    """Return the kind of a column: chosen, or inferred."""
    inferred = infer_kind(name, column)
    if name in choices.kinds:
        chosen: Any = choices.kinds[name]
        return Inferred(chosen, form=inferred.form if chosen == "date" else None)
    if pa.types.is_dictionary(raw.type) and inferred.kind != "ignore":
        # A library already calls it a category.
        return Inferred("category")
    asked = choices.features is not None
    if asked and inferred.kind == "ignore" and inferred.reason == IDENTIFIER:
        return Inferred("text")
    if asked and inferred.reason == CONSTANT:
        return Inferred("category")
    return inferred


def _fit(name: str, column: pa.ChunkedArray, inferred: Inferred) -> Encoder:
    kind = inferred.kind
    if kind == "category":
        return CategoryColumn.fit(name, column)
    if kind == "text":
        return TextColumn.fit(name, column)
    if kind == "list":
        return ListColumn.fit(name, column)
    fitted = NumberColumn.fit(name, kind, column, inferred.form)
    if len(column) and np.isnan(fitted.values(column)).all():
        raise InputError(f"has no {kind} that can be read, but kind {kind} was chosen")
    return fitted


def join_dense(blocks: list[Any], rows: int) -> FloatArray:
    """Put arrays side by side [N, F]."""
    width = sum(block.shape[1] for block in blocks)
    dense = np.empty((rows, width), dtype=np.float32)
    start = 0
    for block in blocks:
        dense[:, start : start + block.shape[1]] = block
        start += block.shape[1]
    return dense


def _join(blocks: list[Any], rows: int) -> Any:
    """Put blocks side by side [N, F], sparse where most cells are zero."""
    if not any(sp.issparse(block) for block in blocks):
        return join_dense(blocks, rows)
    width = sum(block.shape[1] for block in blocks)
    joined = sp.hstack([sp.csr_matrix(block) for block in blocks], format="csr")
    joined.sort_indices()
    is_sparse = joined.nnz < SPARSE_BELOW * rows * width
    return joined if is_sparse else joined.toarray()


def _note_filled(notes: Notes, name: str, filled: dict[str, tuple[int, str]]) -> None:
    if filled:
        parts = [f"{c} ({count:,} by {by})" for c, (count, by) in filled.items()]
        notes.change(f"{name}: missing values were filled: {shorten(parts)}")


def _note_new(notes: Notes, name: str, new: dict[str, tuple[int, bool]]) -> None:
    """Note names that have no column of their own."""
    for column, (count, has_other) in new.items():
        how = "taken together" if has_other else "not used"
        rows = count_of(count, "row")
        notes.assume(f"{name}: rare or new values of '{column}' in {rows}: {how}")
