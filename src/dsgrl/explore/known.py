"""The properties of the rows of an embedding, from the graph and its table of nodes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.explore.columns import (
    Column,
    Known,
    dense_rows,
    features_of,
    read_known,
)
from dsgrl.graph.inputs import level_of
from dsgrl.io.tables import TABLE_SUFFIXES, read_table
from dsgrl.typing import Level

# Columns of a table of nodes that are not properties of a node.
RESERVED = ("id", "label", "type", "graph", "embedding", "features")
# Up to this many feature columns are properties one by one.
FEW_COLUMNS = 32


def read_node_table(paths: Path | Sequence[Path] | None) -> pa.Table | None:
    """Read a table of nodes for its columns, if there is exactly one."""
    given = [paths] if isinstance(paths, Path) else list(paths or ())
    if len(given) != 1 or given[0].suffix not in TABLE_SUFFIXES:
        return None
    return read_table(given[0])


def known_of(rows: EmbeddedRows, data: Any, table: pa.Table | None = None) -> Known:
    """Return what is known of the rows besides their vectors.

    Args:
        rows: embeddings in the order of the data.
        data: what was embedded; None if it is not known.
        table: the table of nodes, whose columns are used before the features.

    Raises:
        InputError: if the table does not have the ids of the rows.
    """
    if data is not None and level_of(data) == "graph":
        return _of_graphs(data)
    if table is not None and len(set(rows.ids)) == len(rows.ids):
        known = read_known(table, rows.ids, RESERVED)
        if known.columns or known.texts:
            return known
    return Known() if data is None else _of_features(data, level_of(data))


def _of_features(data: Any, level: Level) -> Known:
    """Return the feature columns of the nodes, those of each type beside each other."""
    if level == "node":
        x = dense_rows(getattr(data, "x", None))
        if x is None:
            return Known()
        matrix, names = features_of(x, getattr(data, "feature_names", None))
        if x.shape[1] <= FEW_COLUMNS:
            columns = [Column(names[i], x[:, i]) for i in range(x.shape[1])]
            return Known(columns=columns)
        return Known(features=matrix, feature_names=names)
    tables = {
        kind: dense_rows(getattr(data[kind], "x", None)) for kind in data.node_types
    }
    is_shared = sum(table is not None for table in tables.values()) > 1
    blocks, names = [], []
    for kind, x in tables.items():
        if x is None:
            x = np.empty((int(data[kind].num_nodes), 0), dtype=np.float32)
        matrix, own = features_of(x, getattr(data[kind], "feature_names", None))
        blocks.append(matrix)
        names += [f"{kind}: {name}" if is_shared else name for name in own]
    if not names:
        return Known()
    return Known(features=sp.block_diag(blocks, "csr"), feature_names=names)


def _of_graphs(graphs: Any) -> Known:
    """Return the sizes of graphs and the means of their features."""
    sizes = [(int(g.num_nodes), int(g.num_edges)) for g in graphs]
    counts = np.array(sizes, dtype=np.float32)
    columns = [Column("nodes", counts[:, 0]), Column("edges", counts[:, 1])]
    tables = [dense_rows(getattr(graph, "x", None)) for graph in graphs]
    widths = {0 if table is None else table.shape[1] for table in tables}
    if len(widths) == 1 and 0 < max(widths) <= FEW_COLUMNS:
        names = getattr(graphs[0], "feature_names", None)
        names = names or [f"column {i}" for i in range(max(widths))]
        means = np.stack(
            [
                t.mean(axis=0) if len(t) else t.sum(axis=0)
                for t in tables
                if t is not None
            ]
        )
        columns += [Column(f"mean {n}", means[:, i]) for i, n in enumerate(names)]
    return Known(columns=columns)
