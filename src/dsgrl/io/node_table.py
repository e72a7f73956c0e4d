"""One table of nodes: ids, labels, types, graphs, and columns that may be features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import Choices, Notes, shorten
from dsgrl.io.columns import ColumnPlan
from dsgrl.io.edge_table import clean_names, read_ids, read_names
from dsgrl.io.roles import NodeRoles, find_node_roles
from dsgrl.io.tables import OpenTable
from dsgrl.typing import InputError, IntArray

# The features of every node type; the type of a graph without types is "node".
Plans = Mapping[str, ColumnPlan]


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """A table of nodes.

    Attributes:
        name: for messages.
        stem: short name: that of the type, if there are several tables.
        ids: ids, each once [N].
        labels: as text, null if unknown [N].
        types: node types [N].
        graphs: id of the graph [N].
        columns: what may be features.
        roles: the columns these come from.
    """

    name: str
    stem: str
    ids: pa.Array
    labels: pa.ChunkedArray | None
    types: pa.ChunkedArray | None
    graphs: pa.ChunkedArray | None
    columns: pa.Table
    roles: NodeRoles

    def __len__(self) -> int:
        return len(self.ids)


def read_nodes(
    table: OpenTable,
    choices: Choices,
    notes: Notes,
    plans: Plans | None = None,
    named: pa.Array | None = None,
) -> NodeTable:
    """Read the columns of nodes that are used.

    Args:
        table: the table.
        choices: what the user chose.
        notes: takes what was assumed.
        plans: features of a trained model: only their columns are read.
        named: some ids that the edges name, to tell the column of ids by.

    Raises:
        InputError: one line on what is wrong with the table.
    """

    def better_id(name: str) -> str | None:
        return None if named is None else _find_better_id(table, name, named)

    roles = find_node_roles(table.name, table.columns, choices, notes, better_id)
    wanted = wanted_columns(table, roles, choices, notes, plans)
    used = (roles.id, roles.label, roles.type, roles.graph)
    found = table.read(
        (*used, *wanted),
        ids=(roles.id, roles.graph),
        names=(roles.label, roles.type),
    )
    return split_columns(table, found, roles, wanted)


def _find_better_id(table: OpenTable, name: str, named: pa.Array) -> str | None:
    """Return the column that has most of some ids, if `name` has none of them."""
    if not len(named) or _share(table.read([name], ids=[name]), name, named):
        return None
    whole = table.read(ids=table.columns)
    shares = {c: _share(whole, c, named) for c in table.columns}
    best = max(shares, key=lambda column: shares[column])
    return best if shares[best] else None


def _share(table: pa.Table, column: str, named: pa.Array) -> float:
    """Return the share of some ids that a column of ids has; 0 if it has no ids."""
    try:
        ids = read_ids("", table, column, column)
    except InputError:
        return 0.0
    if pc.count_distinct(ids).as_py() < len(ids):
        return 0.0
    if ids.type != named.type:
        ids, named = ids.cast(pa.string()), named.cast(pa.string())
    found = pc.is_in(named, value_set=ids.combine_chunks())
    return float(np.asarray(found).mean())


def split_columns(
    table: OpenTable, found: pa.Table, roles: NodeRoles, wanted: list[str]
) -> NodeTable:
    """Split a table that was read into ids, labels, types, graphs and the rest."""
    name = table.name
    ids = read_ids(name, found, roles.id, roles.id).combine_chunks()
    refuse_repeated_ids(name, ids, roles)
    labels = types = graphs = None
    if roles.label is not None:
        labels = _read_labels(name, found, roles.label)
    if roles.type is not None:
        types = read_names(name, found, roles.type, roles.type)
    if roles.graph is not None:
        graphs = read_ids(name, found, roles.graph, roles.graph)
    columns = found.select(wanted)
    return NodeTable(name, table.stem, ids, labels, types, graphs, columns, roles)


def wanted_columns(
    table: OpenTable,
    roles: NodeRoles,
    choices: Choices,
    notes: Notes,
    plans: Plans | None,
) -> list[str]:
    """Return the columns that may be features; see `read_nodes`."""
    if plans is None and choices.features is not None:
        return [c for c in table.columns if c in choices.features]
    if plans is None:
        return [c for c in roles.others if c not in choices.ignore]
    known = {encoder.name for plan in plans.values() for encoder in plan.columns}
    new = [c for c in roles.others if c not in known]
    if new:
        notes.assume(
            f"{table.name}: left out {shorten(new)}: the model was trained without"
        )
    return [c for c in table.columns if c in known]


def refuse_repeated_ids(name: str, ids: pa.Array, roles: NodeRoles) -> None:
    """Fail if two nodes have one id."""
    counts = pc.value_counts(ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if not len(repeated):
        return
    first = repeated[0]
    which = "" if roles.id == "id" else f" (ids are read from '{roles.id}': --id)"
    raise InputError(
        f"{name}: node id '{first['values']}' appears {first['counts']} times in the "
        f"table of nodes, expected each id once{which}"
    )


def _read_labels(name: str, table: pa.Table, column: str) -> pa.ChunkedArray:
    if pa.types.is_nested(table.schema.field(column).type):
        raise InputError(f"{name}: column '{column}' holds lists, expected one label")
    try:
        return clean_names(table.column(column))
    except (InputError, pa.ArrowException) as error:
        raise InputError(f"{name}: column '{column}' has no usable labels") from error


def number_labels(labels: Any) -> tuple[IntArray, list[str]]:
    """Return the label of every node [N], -1 if it has none, and the labels' names."""
    encoded = pa.chunked_array(labels.chunks, pa.string()).combine_chunks()
    encoded = encoded.dictionary_encode()
    names = [str(value) for value in encoded.dictionary.to_pylist()]
    order = np.argsort(np.array(names, dtype=object), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64)
    return np.append(rank, -1)[codes], [names[i] for i in order]
