"""One table of edges: ids of both ends, weights and names of relations."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import Choices, Notes, shorten
from dsgrl.io.roles import INDEX, EdgeRoles, find_edge_roles
from dsgrl.io.tables import OpenTable, explained, first_line
from dsgrl.io.values import as_numbers, as_text, clean, decoded, is_whole
from dsgrl.typing import FloatArray, InputError

# Gephi writes these into a column called Type.
DIRECTIONS = {"directed", "undirected", "mixed"}


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTable:
    """A table of edges.

    Attributes:
        name: for messages.
        stem: short name: that of the relation, if there are several tables.
        source: ids [E].
        target: ids of the same type [E].
        weight: weights [E], if any.
        types: names of relations [E], if any.
        roles: the columns these come from.
    """

    name: str
    stem: str
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    weight: FloatArray | None
    types: pa.ChunkedArray | None
    roles: EdgeRoles

    def __len__(self) -> int:
        return len(self.source)

    def select(self, keep: Any) -> "EdgeTable":
        """Return some of the edges, given a truth value per edge [E]."""
        mask = pa.array(keep)
        return replace(
            self,
            source=self.source.filter(mask),
            target=self.target.filter(mask),
            weight=None if self.weight is None else self.weight[keep],
            types=None if self.types is None else self.types.filter(mask),
        )


def read_edges(table: OpenTable, choices: Choices, notes: Notes) -> EdgeTable:
    """Read the columns of edges that are used.

    Raises:
        InputError: one line on what is wrong with the table.
    """
    roles = find_edge_roles(table.name, table.columns, choices, notes)
    used = (roles.source, roles.target, roles.weight, roles.type)
    ends = (roles.source, roles.target)
    # A column of numbers may also be the type or weight.
    found = table.read(used, ids=ends, names=(roles.type,))
    unused = [c for c in table.columns if c not in used and not INDEX.match(c)]
    if unused:
        hint = "" if roles.weight else " (--weight names a column of weights)"
        notes.assume(f"{table.name}: columns not used: {shorten(unused)}{hint}")
    source, target = same_type(
        [read_ids(table.name, found, column, column) for column in ends]
    )
    weight = None
    if roles.weight is not None:
        weight = read_weights(table.name, found.column(roles.weight), roles.weight)
    types = None
    if roles.type is not None:
        types = _read_types(table.name, found, roles.type, notes)
    return EdgeTable(table.name, table.stem, source, target, weight, types, roles)


def read_ids(
    name: str, table: pa.Table, column: str, what: str, first: int = 0
) -> pa.ChunkedArray:
    """Return a column of ids as int64 or string.

    Args:
        name: of the table, for messages.
        table: the table.
        column: the column.
        what: what every row must have, for messages.
        first: number of its first row, for messages.
    """
    ids = decoded(table.column(column))
    if pa.types.is_nested(ids.type):
        raise InputError(f"{name}: column '{column}' holds {ids.type}, expected ids")
    if pa.types.is_floating(ids.type):
        ids = pc.if_else(pc.is_nan(ids), None, ids)
    if ids.null_count:
        row = first + int(np.asarray(ids.is_null()).argmax())
        raise InputError(f"{name}: row {row + 1} has no {what}, expected an id")
    is_integer = pa.types.is_integer(ids.type)
    if pa.types.is_floating(ids.type):
        # Whole numbers in a data frame become these where some value is missing.
        is_integer = is_whole(ids)
    try:
        return ids.cast(pa.int64() if is_integer else pa.string())
    except pa.ArrowException as error:
        raise InputError(
            f"{name}: column '{column}' has no usable ids ({first_line(error)})"
        ) from error


def same_type(columns: list[Any]) -> list[Any]:
    """Return columns of ids of one type: text, if any of them is text."""
    if len({column.type for column in columns}) <= 1:
        return columns
    return [column.cast(pa.string()) for column in columns]


def read_weights(
    name: str, column: pa.ChunkedArray, role: str, first: int = 0
) -> FloatArray:
    """Return weights, which are finite and not negative [E]; see `read_ids`."""
    try:
        values = as_numbers(clean(column))
    except (InputError, pa.ArrowException) as error:
        raise InputError(f"{name}: column '{role}' {error}") from error
    if np.isnan(values).any():
        row = int(np.isnan(values).argmax())
        raise InputError(
            f"{name}: column '{role}', row {first + row + 1} holds '{column[row]}', "
            f"expected a number: fill or drop it first"
        )
    if (values < 0).any():
        row = int((values < 0).argmax())
        raise InputError(
            f"{name}: row {first + row + 1} has the negative weight {values[row]:g}, "
            f"expected weights >= 0"
        )
    return values.astype(np.float32)


def _read_types(
    name: str, table: pa.Table, column: str, notes: Notes
) -> pa.ChunkedArray | None:
    types = read_names(name, table, column, "type")
    found = pc.unique(pc.utf8_lower(types)).to_pylist()
    if found and set(found) <= DIRECTIONS:
        notes.assume(
            f"{name}: column '{column}' says {', '.join(found)}, which is no type of "
            f"edges; --directed keeps directions"
        )
        return None
    return types


def read_names(name: str, table: pa.Table, column: str, what: str) -> pa.ChunkedArray:
    """Return a column of names as text; every row must have one."""
    with explained(name):
        values = clean_names(table.column(column))
    if values.null_count:
        row = int(np.asarray(values.is_null()).argmax())
        raise InputError(
            f"{name}: row {row + 1} has no {what}, expected one in every row"
        )
    return values


def clean_names(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return names as text; null where there is none."""
    text = as_text(decoded(column))
    return pc.if_else(pc.equal(text, ""), None, text)
