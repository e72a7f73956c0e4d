"""A table of nodes in the database: ids, labels, and columns that may be features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.columns import ColumnPlan
from dsgrl.io.edge_table import clean_names, read_ids
from dsgrl.io.grouping import DEFAULT_TYPE
from dsgrl.io.node_table import wanted_columns
from dsgrl.io.roles import NodeRoles, find_node_roles
from dsgrl.io.tables import OpenTable, explained
from dsgrl.store.database import Database
from dsgrl.store.edges import SQL_TYPES, refuse_repeated
from dsgrl.store.npy import NpyWriter
from dsgrl.store.streams import TableStream, open_file, stage
from dsgrl.typing import InputError


@dataclass(frozen=True, slots=True)
class StreamedNodes:
    """A table of nodes that is ready to be read.

    Attributes:
        stream: the table.
        roles: its columns.
        kind: type of the ids.
        wanted: columns that may be features.
        added: nodes that only edges name; they follow the others.
    """

    stream: TableStream
    roles: NodeRoles
    kind: pa.DataType
    wanted: list[str]
    added: int = 0

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Return some columns of all nodes; they are null for those added."""
        schema = None
        for _, table in self.stream.batches(columns):
            schema = table.schema
            yield table
        if self.added and schema is not None:
            yield pa.table(
                {field.name: pa.nulls(self.added, field.type) for field in schema}
            )


def open_nodes(
    path: Path,
    choices: Choices,
    notes: Notes,
    folder: Path,
    named: pa.Array,
    plan: ColumnPlan | None,
) -> StreamedNodes:
    """Open a table of nodes; see `dsgrl.io.node_table.read_nodes`.

    Raises:
        InputError: one line on what is wrong with the table.
    """
    opened = open_file(path, "nodes", notes)
    choices.check_nodes({opened.name: opened.columns})
    roles = find_node_roles(
        opened.name,
        opened.columns,
        choices,
        notes,
        lambda name: _find_better_id(opened, name, named),
    )
    for column, what in ((roles.type, "types of nodes"), (roles.graph, "many graphs")):
        if column is not None:
            raise InputError(
                f"{opened.name}: column '{column}' gives {what}, a stored graph is one "
                f"graph of one type: drop the column, or embed the tables without "
                f"storing them"
            )
    plans = None if plan is None else {DEFAULT_TYPE: plan}
    wanted = wanted_columns(opened, roles, choices, notes, plans)
    used = (roles.id, roles.label, *wanted)
    stream = stage(opened, path, used, folder, ids=(roles.id,), names=(roles.label,))
    return StreamedNodes(stream, roles, stream.id_type(roles.id), wanted)


def _find_better_id(opened: OpenTable, name: str, named: pa.Array) -> str | None:
    """Return the column that has most of some ids, if `name` has none of them."""
    if not len(named) or _shares(opened, [name], named)[name]:
        return None
    shares = _shares(opened, opened.columns, named)
    best = max(shares, key=lambda column: shares[column])
    return best if shares[best] else None


def _shares(
    opened: OpenTable, columns: Sequence[str], named: pa.Array
) -> dict[str, float]:
    """Return the share of some ids that each column has; each of them at most once."""
    assert opened.streamer is not None
    wanted = named.cast(pa.string())
    counts = {column: np.zeros(len(wanted), dtype=np.int64) for column in columns}
    with explained(opened.name):
        for batch in opened.streamer(columns, columns):
            table = pa.Table.from_batches([batch])
            for column in list(counts):
                try:
                    ids = read_ids("", table, column, column).cast(pa.string())
                except InputError:
                    del counts[column]
                    continue
                place = pc.index_in(ids, value_set=wanted).drop_null()
                counts[column] += np.bincount(np.asarray(place), minlength=len(wanted))
    return {
        column: float((counts[column] > 0).mean())
        if column in counts and (counts[column] <= 1).all()
        else 0.0
        for column in columns
    }


def load_nodes(database: Database, nodes: StreamedNodes, kind: pa.DataType) -> None:
    """Fill the table `nodes` (id); row numbers are its rowid.

    Args:
        database: takes the table.
        nodes: the table of nodes.
        kind: type of ids to store.

    Raises:
        InputError: if an id is missing or repeated.
    """
    database.run(f"CREATE TABLE nodes (id {SQL_TYPES[kind]})")
    for first, table in nodes.stream.batches([nodes.roles.id]):
        ids = nodes.stream.ids(table, nodes.roles.id, nodes.kind, first)
        database.insert("nodes", pa.table({"id": ids.cast(kind)}))
    refuse_repeated(database, nodes.stream.name, nodes.roles)


def write_ids(database: Database, kind: pa.DataType, path: Path) -> None:
    """Write the ids of all nodes, in their order, as an Arrow file."""
    schema = pa.schema([("id", kind)])
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in database.stream("SELECT id FROM nodes"):
            table = pa.Table.from_batches([batch])
            writer.write_table(plain_ids(table, kind))


def plain_ids(table: pa.Table, kind: pa.DataType) -> pa.Table:
    """Return ids of a result as the type they have in the table of nodes."""
    return pa.table({"id": table.column("id").cast(kind)})


def write_labels(nodes: StreamedNodes, path: Path) -> tuple[list[str], int]:
    """Write the number of every node's label, -1 where it has none.

    Returns:
        The labels' names, sorted, and how many nodes have one.
    """
    column = nodes.roles.label
    assert column is not None
    found: set[str] = set()
    for table in nodes.batches([column]):
        found.update(pc.unique(_labels(nodes, table).drop_null()).to_pylist())
    names, labelled = sorted(found), 0
    known = pa.array(names, pa.string())
    with NpyWriter(path, np.int64) as writer:
        for table in nodes.batches([column]):
            number = pc.index_in(_labels(nodes, table), value_set=known)
            values = np.asarray(pc.fill_null(number, -1), dtype=np.int64)
            labelled += int((values >= 0).sum())
            writer.append(values)
    return names, labelled


def _labels(nodes: StreamedNodes, table: pa.Table) -> pa.ChunkedArray:
    name, column = nodes.stream.name, nodes.roles.label
    if pa.types.is_nested(table.schema.field(column).type):
        raise InputError(f"{name}: column '{column}' holds lists, expected one label")
    try:
        return clean_names(table.column(column))
    except (InputError, pa.ArrowException) as error:
        raise InputError(f"{name}: column '{column}' has no usable labels") from error
