"""Sorted pairs of nodes as compressed rows in files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dsgrl.store.database import Database
from dsgrl.store.manifest import COL, ROWPTR, WEIGHT
from dsgrl.store.npy import VALUES_AT_ONCE, NpyWriter, index_type
from dsgrl.typing import IntArray

# A pair is one number, target * N + source, in 64 bits.
MOST_NODES = 3_000_000_000


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        given: edges of the tables.
        num_edges: entries of the matrix.
        loops: entries that join a node to itself.
        isolated: nodes without an edge to another node.
    """

    given: int
    num_edges: int
    loops: int
    isolated: int


def write_matrix(
    database: Database,
    folder: Path,
    num_nodes: int,
    *,
    directed: bool,
    with_weight: bool,
) -> Written:
    """Sort the table `pairs` and write it: row i lists the edges that lead to node i.

    Edges that go both ways are merged, and the largest weight is kept; directed edges
    stay parallel, in the order of the table.

    Args:
        database: has the table `pairs`.
        folder: for the files.
        num_nodes: N.
        directed: whether edges keep their direction.
        with_weight: whether `pairs` has weights; they are written if one is not 1.
    """
    count = database.one("SELECT count(*) FROM pairs")[0]
    dtype = index_type(max(num_nodes, count if directed else 2 * count))
    is_linked = np.zeros(num_nodes, dtype=bool)
    loops, last, has_weights = 0, -1, False
    with (
        _PointerWriter(folder / ROWPTR, dtype, num_nodes) as pointer,
        NpyWriter(folder / COL, dtype) as columns,
        NpyWriter(folder / WEIGHT, np.float32) as weights,
    ):
        query = _sorted_pairs(num_nodes, directed=directed, with_weight=with_weight)
        for batch in database.stream(query):
            keys = _numbers(batch, "key")
            keep = slice(None)
            if not directed:
                is_first = np.diff(keys, prepend=last) != 0
                last = int(keys[-1]) if len(keys) else last
                keys, keep = keys[is_first], is_first
            row, col = np.divmod(keys, max(num_nodes, 1))
            pointer.append(row)
            columns.append(col.astype(dtype))
            if with_weight:
                value = _numbers(batch, "weight")[keep]
                weights.append(value)
                has_weights = has_weights or bool((value != 1).any())
            is_apart = row != col
            loops += int(len(row) - is_apart.sum())
            is_linked[row[is_apart]] = True
            is_linked[col[is_apart]] = True
        num_edges = columns.rows
    if not has_weights:
        (folder / WEIGHT).unlink()
    return Written(count, num_edges, loops, int(num_nodes - is_linked.sum()))


def _sorted_pairs(num_nodes: int, *, directed: bool, with_weight: bool) -> str:
    """Return the query for all entries of the matrix, in order."""
    weight = ", weight" if with_weight else ""
    forward = f"SELECT target * {num_nodes} + source AS key{weight}"
    if directed:
        # Parallel edges stay in the order of the table, which weights depend on.
        place = ", place" if with_weight else ""
        return f"{forward}{place} FROM pairs ORDER BY key{place}"
    largest_first = ", weight DESC" if with_weight else ""
    return (
        f"{forward} FROM pairs UNION ALL SELECT source * {num_nodes} + target AS key"
        f"{weight} FROM pairs WHERE source <> target ORDER BY key{largest_first}"
    )


def _numbers(batch: pa.RecordBatch, column: str) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = batch.column(column).to_numpy(zero_copy_only=False)
    return found


class _PointerWriter(NpyWriter):
    """Writes where each row of a matrix begins, while its sorted entries come in."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, num_rows: int) -> None:
        super().__init__(path, dtype)
        self._num_rows = num_rows
        self._entries = 0

    def append(self, values: IntArray) -> None:
        """Take the rows of the next entries, sorted [n]."""
        if len(values):
            self._write_up_to(int(values[-1]), values)
            self._entries += len(values)

    def _write_up_to(self, row: int, rows: IntArray) -> None:
        while self.rows <= row:
            end = min(row + 1, self.rows + VALUES_AT_ONCE)
            begins = np.searchsorted(rows, np.arange(self.rows, end))
            super().append(begins + self._entries)

    def close(self) -> None:
        """Write the pointers that are left; all entries are known."""
        self._write_up_to(self._num_rows, np.empty(0, dtype=np.int64))
        super().close()
