"""Tables of edges and nodes in the database, and ids as row numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import Choices, Notes, count_of, shorten
from dsgrl.io.edge_table import DIRECTIONS, read_names, read_weights
from dsgrl.io.roles import INDEX, EdgeRoles, NodeRoles, find_edge_roles
from dsgrl.store.database import Database
from dsgrl.store.streams import TableStream, open_file, stage
from dsgrl.typing import InputError

SQL_TYPES = {pa.int64(): "BIGINT", pa.string(): "VARCHAR"}


@dataclass(frozen=True, slots=True)
class StreamedEdges:
    """A table of edges that is ready to be read.

    Attributes:
        stream: the table.
        roles: its columns.
        kind: type of the ids.
    """

    stream: TableStream
    roles: EdgeRoles
    kind: pa.DataType


def open_edges(
    path: Path, choices: Choices, notes: Notes, folder: Path
) -> StreamedEdges:
    """Open a table of edges; see `dsgrl.io.edge_table.read_edges`.

    Raises:
        InputError: one line on what is wrong with the table.
    """
    opened = open_file(path, "edges", notes)
    choices.check_edges({opened.name: opened.columns})
    roles = find_edge_roles(opened.name, opened.columns, choices, notes)
    used = (roles.source, roles.target, roles.weight, roles.type)
    unused = [c for c in opened.columns if c not in used and not INDEX.match(c)]
    if unused:
        hint = "" if roles.weight else " (--weight names a column of weights)"
        notes.assume(f"{opened.name}: columns not used: {shorten(unused)}{hint}")
    ends = (roles.source, roles.target)
    stream = stage(opened, path, used, folder, ids=ends, names=(roles.type,))
    kinds = {stream.id_type(column) for column in ends}
    return StreamedEdges(stream, roles, kinds.pop() if len(kinds) == 1 else pa.string())


def some_ids(edges: StreamedEdges, count: int) -> pa.Array:
    """Return ids that the first rows name, to tell the column of ids by."""
    ends = (edges.roles.source, edges.roles.target)
    for first, table in edges.stream.batches(ends):
        few = table.slice(0, count)
        ids = [edges.stream.ids(few, column, edges.kind, first) for column in ends]
        return pc.unique(pa.chunked_array([c for each in ids for c in each.chunks]))
    return pa.array([], edges.kind)


def load_edges(
    database: Database, edges: StreamedEdges, kind: pa.DataType, notes: Notes
) -> None:
    """Fill the table `edges` (source, target[, weight]); row numbers are its rowid.

    Args:
        database: takes the table.
        edges: the table of edges.
        kind: type of ids to store.
        notes: takes what was assumed.

    Raises:
        InputError: if an id is missing, a weight is wrong, or edges have types.
    """
    stream, roles = edges.stream, edges.roles
    weight = "" if roles.weight is None else ", weight FLOAT"
    ids = SQL_TYPES[kind]
    database.run(f"CREATE TABLE edges (source {ids}, target {ids}{weight})")
    used = [c for c in (*roles[:4],) if isinstance(c, str)]
    words: set[str] = set()
    for first, table in stream.batches(used):
        columns: dict[str, Any] = {
            name: stream.ids(table, column, edges.kind, first).cast(kind)
            for name, column in (("source", roles.source), ("target", roles.target))
        }
        if roles.weight is not None:
            values = table.column(roles.weight)
            columns["weight"] = read_weights(stream.name, values, roles.weight, first)
        if roles.type is not None:
            words |= _directions(stream.name, table, roles.type)
        database.insert("edges", pa.table(columns))
    if words:
        notes.assume(
            f"{stream.name}: column '{roles.type}' says {', '.join(sorted(words))}, "
            f"which is no type of edges; --directed keeps directions"
        )


def _directions(name: str, table: pa.Table, column: str) -> set[str]:
    """Return the words of a column of types, if they are about directions."""
    types = read_names(name, table, column, "type")
    words = set(pc.unique(pc.utf8_lower(types)).to_pylist())
    if not words <= DIRECTIONS:
        raise InputError(
            f"{name}: column '{column}' gives types of edges, a stored graph has one "
            f"type only: drop the column, or embed the tables without storing them"
        )
    return words


def number_from_edges(database: Database, kind: pa.DataType) -> None:
    """Fill the table `nodes` (id) with the ids that the edges name, sorted."""
    database.run(f"CREATE TABLE nodes (id {SQL_TYPES[kind]})")
    database.run(
        "INSERT INTO nodes SELECT id FROM (SELECT source AS id FROM edges UNION "
        "SELECT target FROM edges) ORDER BY id"
    )


def refuse_repeated(database: Database, name: str, roles: NodeRoles) -> None:
    """Fail if two nodes have one id."""
    found = database.one(
        "SELECT id, count(*) FROM nodes GROUP BY id HAVING count(*) > 1 "
        "ORDER BY min(rowid) LIMIT 1"
    )
    if found is None:
        return
    which = "" if roles.id == "id" else f" (ids are read from '{roles.id}': --id)"
    raise InputError(
        f"{name}: node id '{found[0]}' appears {found[1]} times in the table of nodes, "
        f"expected each id once{which}"
    )


JOINED = (
    "FROM edges e LEFT JOIN nodes s ON e.source = s.id LEFT JOIN nodes t "
    "ON e.target = t.id"
)
UNKNOWN = "(s.id IS NULL OR t.id IS NULL)"


def number_ends(
    database: Database,
    name: str,
    known: NodeRoles | None,
    choices: Choices,
    notes: Notes,
    *,
    with_weight: bool,
) -> int:
    """Fill the table `pairs` (source, target[, weight], place) with row numbers.

    Args:
        database: has the tables `edges` and `nodes`.
        name: of the table of edges, for messages.
        known: the columns of the table of nodes, if there is one.
        choices: what to do with edges to unknown nodes.
        notes: takes what was changed.
        with_weight: whether edges have weights.

    Returns:
        How many nodes were added.
    """
    weight = ", e.weight AS weight" if with_weight else ""
    create = (
        f"CREATE OR REPLACE TABLE pairs AS SELECT s.rowid AS source, t.rowid AS "
        f"target{weight}, e.rowid AS place {JOINED}"
    )
    # Rows are sorted later: keeping their order here would cost memory.
    database.run("SET preserve_insertion_order = false")
    database.run(create)
    added = 0
    is_unknown = "source IS NULL OR target IS NULL"
    count = database.one(f"SELECT count(*) FROM pairs WHERE {is_unknown}")[0]
    if count and choices.unknown == "error":
        _refuse_unknown(database, name, known, count)
    elif count and choices.unknown == "drop":
        database.run(f"DELETE FROM pairs WHERE {is_unknown}")
        notes.change(
            f"{name}: dropped {count_of(count, 'edge')} to nodes that the table of "
            f"nodes lacks"
        )
    elif count:
        added = _add_unknown(database)
        database.run(create)
    database.run("SET preserve_insertion_order = true")
    return added


def _refuse_unknown(
    database: Database, name: str, known: NodeRoles | None, count: int
) -> None:
    row, end = database.one(
        f"SELECT e.rowid, CASE WHEN s.id IS NULL THEN e.source ELSE e.target END "
        f"{JOINED} WHERE {UNKNOWN} ORDER BY e.rowid LIMIT 1"
    )
    assert known is not None
    many = f" ({count:,} such edges)" if count > 1 else ""
    which = "" if known.id == "id" else f", whose ids are in '{known.id}'"
    raise InputError(
        f"{name}: row {row + 1} names node '{end}', which is not in the table of nodes"
        f"{which}{many}: add it there, or choose --unknown add or --unknown drop"
    )


def _add_unknown(database: Database) -> int:
    """Add the nodes that only edges name: first those that edges lead from."""
    before = database.one("SELECT count(*) FROM nodes")[0]
    database.run("SET preserve_insertion_order = true")
    database.run(
        f"INSERT INTO nodes SELECT id FROM ("
        f"SELECT e.source AS id, 0 AS side, e.rowid AS place {JOINED} "
        f"WHERE s.id IS NULL UNION ALL "
        f"SELECT e.target, 1, e.rowid {JOINED} WHERE t.id IS NULL) GROUP BY id "
        f"ORDER BY min(side), min(place) FILTER (WHERE side = 0), min(place)"
    )
    return int(database.one("SELECT count(*) FROM nodes")[0]) - int(before)


def note_header(
    database: Database, name: str, roles: EdgeRoles, kind: pa.DataType, notes: Notes
) -> None:
    """Note a first row that looks like an edge and was taken for a header."""
    if not roles.guessed or not pa.types.is_string(kind):
        return
    names = (roles.source, roles.target)
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    found = database.one(f"SELECT count(*) FROM nodes WHERE id IN ({listed})")[0]
    if found == len(set(names)):
        notes.change(
            f"{name}: the first row ({', '.join(names)}) was taken for a header, but "
            f"it names two nodes: add a header if it is an edge"
        )
