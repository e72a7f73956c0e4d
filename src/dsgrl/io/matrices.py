"""A SciPy sparse matrix as a graph: entry (i, j) is an edge from node i to node j."""

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.grouping import DEFAULT_TYPE, number_groups
from dsgrl.io.node_table import Plans, read_nodes
from dsgrl.io.roles import find_id
from dsgrl.io.table_graph import NamedTable, TableGraph, columns_by_type
from dsgrl.io.tables import OpenTable
from dsgrl.typing import InputError


def read_matrix(
    matrix: Any,
    nodes: OpenTable | None,
    choices: Choices,
    notes: Notes,
    plans: Plans | None = None,
) -> TableGraph:
    """Convert a square matrix; values that are not all 1 are weights.

    Args:
        matrix: a SciPy sparse matrix or array [N, N].
        nodes: a table whose row i is node i, if any.
        choices: what the user chose.
        notes: takes what was assumed.
        plans: features of a trained model.

    Raises:
        InputError: if it is not square, or the rows do not match.
    """
    name = "the matrix"
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{name} has shape {list(matrix.shape)}, expected as many columns as rows"
        )
    if matrix.dtype.kind not in "iufb":
        raise InputError(f"{name} holds {matrix.dtype}, expected real numbers")
    entries = sp.coo_matrix(matrix)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    count = int(matrix.shape[0])
    edges = np.stack([entries.row, entries.col]).astype(np.int64)
    values = entries.data.astype(np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"{name} has negative or infinite values, expected >= 0")
    weight = None if (values == 1).all() else values.astype(np.float32)
    if nodes is None:
        ids = pa.array(np.arange(count))
        return TableGraph(name=name, ids=ids, edges=edges, weight=weight, columns={})
    choices.check_nodes({nodes.name: nodes.columns})
    if "id" not in choices.columns and find_id(nodes.columns) is None:
        nodes = _with_row_numbers(nodes)
    table = read_nodes(nodes, choices, notes, plans)
    if len(table) != count:
        raise InputError(
            f"{table.name}: has {len(table)} rows for a matrix of {count}, expected "
            f"one for each row of the matrix"
        )
    kinds = None if table.types is None else number_groups(table.types)
    columns = {DEFAULT_TYPE: NamedTable(table.name, table.columns)}
    if kinds is not None:
        columns = columns_by_type(table.name, table.columns, kinds)
    return TableGraph(
        name=name,
        ids=table.ids,
        edges=edges,
        weight=weight,
        kinds=kinds,
        graphs=None if table.graphs is None else number_groups(table.graphs),
        labels=table.labels,
        columns=columns,
    )


def _with_row_numbers(nodes: OpenTable) -> OpenTable:
    """Add a column of ids that numbers the rows."""
    table = nodes.read()
    table = table.append_column("id", pa.array(np.arange(table.num_rows)))
    return nodes._replace(
        columns=table.column_names,
        reader=lambda columns, _: table.select(columns),
        is_written=False,
    )
