"""Columns of a table of nodes as features in files, block by block.

The plan is fitted with one column in memory at a time: on all rows up to `FIT_ROWS`,
and there it is the plan of the reader in memory; of more rows, on evenly spaced ones.
Every row is then encoded by this plan.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.columns import SPARSE_BELOW, ColumnPlan, join_dense, plan_columns
from dsgrl.store.manifest import DENSE, SPARSE
from dsgrl.store.nodes import StreamedNodes
from dsgrl.store.npy import NpyWriter, blocks_of, convert_file, index_type, map_array

FIT_ROWS = 2_000_000
# Numbers of lists that a plan is fitted on, at most.
FIT_CELLS = 1 << 26
# Numbers of a block of encoded rows.
BLOCK_CELLS = 1 << 24


def fit_plan(
    nodes: StreamedNodes, num_nodes: int, choices: Choices, notes: Notes
) -> ColumnPlan | None:
    """Decide how the columns become features; None if none of them does."""
    if not num_nodes or not nodes.wanted:
        return None
    name = nodes.stream.name
    if num_nodes > FIT_ROWS:
        notes.assume(
            f"{name}: kinds of columns, medians and means are those of {FIT_ROWS:,} "
            f"evenly spaced rows"
        )

    def read(column: str) -> pa.ChunkedArray:
        return _read_column(nodes, column, num_nodes)

    return plan_columns(nodes.wanted, read, choices, notes, name)


def _read_column(nodes: StreamedNodes, column: str, num_nodes: int) -> pa.ChunkedArray:
    """Return the values of a column that its encoder is fitted on."""
    chunks: list[pa.Array] = []
    step, first = 0, 0
    kind: Any = pa.null()
    for table in nodes.batches([column]):
        values = table.column(column)
        kind = values.type
        step = step or -(-num_nodes // _rows_to_fit(values))
        if step > 1:
            values = values.take(np.arange(-first % step, len(values), step))
        first += len(table)
        chunks += values.chunks
    return pa.chunked_array(chunks, kind)


def _rows_to_fit(values: pa.ChunkedArray) -> int:
    if not pa.types.is_nested(values.type):
        return FIT_ROWS
    try:
        width = pc.max(pc.list_value_length(values)).as_py() or 1
    except pa.ArrowNotImplementedError:
        width = 1
    return max(1, min(FIT_ROWS, FIT_CELLS // max(width, 1)))


def write_features(
    nodes: StreamedNodes, plan: ColumnPlan, num_nodes: int, folder: Path, notes: Notes
) -> None:
    """Write the features of all nodes, sparse where most are zero."""
    width = plan.num_features
    is_sparse = plan.in_proportion
    write = _write_sparse if is_sparse else _write_dense
    counts: Counter[str] = Counter()
    filled = write(_encode(nodes, plan, counts), width, folder)
    plan.note_counts(counts, notes, nodes.stream.name)
    wants_sparse = filled < SPARSE_BELOW * num_nodes * width
    if is_sparse and not wants_sparse:
        _write_dense(_sparse_blocks(folder, width), width, folder)
        for name in SPARSE:
            (folder / name).unlink()
    elif wants_sparse and not is_sparse:
        rows = _rows_at_once(width)
        _write_sparse(iter(blocks_of(map_array(folder / DENSE), rows)), width, folder)
        (folder / DENSE).unlink()


def _rows_at_once(width: int) -> int:
    return max(1, BLOCK_CELLS // width)


def _encode(
    nodes: StreamedNodes, plan: ColumnPlan, counts: Counter[str]
) -> Iterator[Any]:
    """Return the features of some rows after the other, an array or a SciPy matrix."""
    names = [encoder.name for encoder in plan.columns]
    rows, first = _rows_at_once(plan.num_features), 0
    for table in nodes.batches(names):
        for start in range(0, len(table), rows):
            part = table.slice(start, rows)
            name = nodes.stream.name
            if first + start:
                name += f" (counted from row {first + start + 1})"
            blocks, found = plan.encode(part, name)
            counts.update(found)
            if plan.in_proportion:
                yield sp.hstack([sp.csr_matrix(block) for block in blocks], "csr")
            else:
                yield join_dense(blocks, len(part))
        first += len(table)


def _write_dense(blocks: Iterator[Any], width: int, folder: Path) -> int:
    """Write rows to one array; return the number of those that are not zero."""
    filled = 0
    with NpyWriter(folder / DENSE, np.float32, width) as writer:
        for block in blocks:
            dense = block.toarray() if sp.issparse(block) else block
            filled += int(np.count_nonzero(dense))
            writer.append(dense)
    return filled


def _write_sparse(blocks: Iterator[Any], width: int, folder: Path) -> int:
    """Write rows as compressed rows; return the number of entries."""
    rowptr, col, value = (folder / name for name in SPARSE)
    with (
        NpyWriter(rowptr, np.int64) as pointers,
        NpyWriter(col, np.int32) as columns,
        NpyWriter(value, np.float32) as values,
    ):
        pointers.append(np.zeros(1, dtype=np.int64))
        for block in blocks:
            rows = sp.csr_matrix(block)
            rows.sort_indices()
            pointers.append(rows.indptr[1:].astype(np.int64) + columns.rows)
            columns.append(rows.indices)
            values.append(rows.data)
        filled, num_rows = columns.rows, pointers.rows - 1
    # Both have one type, as the product of a sparse matrix needs it.
    dtype = index_type(max(filled, num_rows, width))
    convert_file(rowptr if dtype == np.int32 else col, dtype)
    return filled


def _sparse_blocks(folder: Path, width: int) -> Iterator[Any]:
    rowptr, col, value = (map_array(folder / name) for name in SPARSE)
    rows = _rows_at_once(width)
    for start in range(0, len(rowptr) - 1, rows):
        part = rowptr[start : start + rows + 1].astype(np.int64)
        low, high = int(part[0]), int(part[-1])
        yield sp.csr_matrix(
            (value[low:high], col[low:high], part - low), shape=(len(part) - 1, width)
        )
