"""Which column of a table is what: found by common names, in any case.

What was chosen comes first, then what a model remembers of its training, then the
names below. A choice that was made for the user is noted.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dsgrl.io.choices import Choices, Notes, shorten
from dsgrl.typing import InputError

# The first pair that a table has is taken.
EDGE_NAMES = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("u", "v"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("src", "dest"),
    ("head", "tail"),
    ("node1", "node2"),
)
ID_NAMES = ("id", "node_id", "node", "name")
# The index of a pandas table: never a feature.
INDEX = re.compile(r"^__index_level_\d+__$")


class EdgeRoles(NamedTuple):
    """Columns of a table of edges.

    Attributes:
        source: ids the edges lead from.
        target: ids the edges lead to.
        weight: weights, if any.
        type: names of relations, if any.
        guessed: whether source and target are just the first two columns.
    """

    source: str
    target: str
    weight: str | None = None
    type: str | None = None
    guessed: bool = False


class NodeRoles(NamedTuple):
    """Columns of a table of nodes.

    Attributes:
        id: ids.
        label: labels, if any.
        type: node types, if any.
        graph: ids of graphs, if there are many.
        others: all other columns, in the order of the table.
        guessed: whether the id is just the first column.
    """

    id: str
    label: str | None
    type: str | None
    graph: str | None
    others: list[str]
    guessed: bool = False


def find_column(columns: Sequence[str], name: str) -> str | None:
    """Return the column of this name, in any case; an exact match comes first."""
    if name in columns:
        return name
    wanted = name.casefold()
    return next((c for c in columns if c.strip().casefold() == wanted), None)


def find_pair(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of source and target that have common names."""
    for first, second in EDGE_NAMES:
        source, target = find_column(columns, first), find_column(columns, second)
        if source is not None and target is not None:
            return source, target
    return None


def find_id(columns: Sequence[str]) -> str | None:
    """Return the column of ids that has a common name."""
    found = (find_column(columns, name) for name in ID_NAMES)
    return next((name for name in found if name is not None), None)


def _chosen(
    role: str, columns: Sequence[str], choices: Choices, *, by_name: bool = True
) -> str | None:
    """Return the column of a role: chosen, remembered, or of the role's own name."""
    for known in (choices.columns, choices.remembered):
        if role in known and known[role] in columns:
            return known[role]
    if role in choices.columns or not by_name:
        return None
    return find_column(columns, role)


def find_edge_roles(
    table: str, columns: Sequence[str], choices: Choices, notes: Notes
) -> EdgeRoles:
    """Find the columns of a table of edges.

    Args:
        table: its name, for messages.
        columns: its columns.
        choices: what the user chose.
        notes: takes what was assumed.

    Raises:
        InputError: if source and target are not found.
    """
    weight = _chosen("weight", columns, choices)
    kind = _chosen("type", columns, choices)
    source = _chosen("source", columns, choices, by_name=False)
    target = _chosen("target", columns, choices, by_name=False)
    if source is not None and target is not None:
        return EdgeRoles(source, target, weight, kind)
    rest = [c for c in columns if c not in (weight, kind, source, target)]
    if source is None and target is None:
        pair = find_pair(columns)
        if pair is not None:
            if pair != ("source", "target"):
                notes.assume(f"{table}: edges lead from '{pair[0]}' to '{pair[1]}'")
            return EdgeRoles(*pair, weight, kind)
        if len(rest) == 2:
            notes.assume(
                f"{table}: no common names for source and target: edges lead from "
                f"'{rest[0]}' to '{rest[1]}', the first two columns"
            )
            return EdgeRoles(rest[0], rest[1], weight, kind, guessed=True)
    else:
        role = "target" if target is None else "source"
        partner = _partner(role, rest)
        if partner is not None:
            notes.assume(f"{table}: {role} is '{partner}'")
            ends = (source or partner, target or partner)
            return EdgeRoles(*ends, weight, kind)
    missing = [
        name
        for name, found in (("source", source), ("target", target))
        if found is None and (name in choices.columns or name not in columns)
    ]
    raise InputError(
        f"{table}: the table of edges has no column {', '.join(missing)} (nor from, "
        f"to; src, dst; u, v); it has {shorten(columns)}: say which with --source and "
        f"--target, in Python columns={{'source': ...}}"
    )


def _partner(role: str, columns: Sequence[str]) -> str | None:
    """Return the other end by name, or the only column that is left."""
    side = 1 if role == "target" else 0
    found = (find_column(columns, pair[side]) for pair in EDGE_NAMES)
    by_name = next((name for name in found if name is not None), None)
    return columns[0] if by_name is None and len(columns) == 1 else by_name


def find_node_roles(
    table: str,
    columns: Sequence[str],
    choices: Choices,
    notes: Notes,
    better_id: Callable[[str], str | None] | None = None,
) -> NodeRoles:
    """Find the columns of a table of nodes; see `find_edge_roles`.

    Args:
        table: its name, for messages.
        columns: its columns.
        choices: what the user chose.
        notes: takes what was assumed.
        better_id: gives the column that has the ids of the edges, if the one that it is
            called with has none of them.
    """
    if not columns:
        raise InputError(f"{table}: has no columns, expected id and features")
    name = _chosen("id", columns, choices, by_name=False)
    guessed = False
    if name is None:
        name, guessed = _find_id(table, columns, notes, better_id)
    label = _chosen("label", columns, choices)
    kind = _chosen("type", columns, choices)
    graph = _chosen("graph", columns, choices)
    label, kind, graph = (None if c == name else c for c in (label, kind, graph))
    taken = {name, label, kind, graph}
    others = [c for c in columns if c not in taken and not INDEX.match(c)]
    return NodeRoles(name, label, kind, graph, others, guessed)


def _find_id(
    table: str,
    columns: Sequence[str],
    notes: Notes,
    better_id: Callable[[str], str | None] | None,
) -> tuple[str, bool]:
    """Return the column of ids, and whether it is just the first column."""
    by_name = find_id(columns)
    index = next((c for c in columns if INDEX.match(c)), None)
    name = by_name or index or columns[0]
    better = None if better_id is None else better_id(name)
    if better is not None:
        notes.assume(f"{table}: ids are in '{better}', which has the ids of the edges")
        return better, False
    if by_name is None:
        what = "the first column" if index is None else "the index"
        notes.assume(
            f"{table}: no column is called id, node or name: ids are in '{name}', "
            f"{what}"
        )
    elif name != "id":
        notes.assume(f"{table}: ids are in '{name}'")
    return name, by_name is None and index is None
