"""Embeddings from a file, in the order of the graph they belong to."""

from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.datasets.rows import EmbeddedRows, collect_rows
from dsgrl.graph.inputs import level_of
from dsgrl.io.reading import read_embeddings
from dsgrl.typing import InputError

Key = tuple[str, str]


def read_rows(path: Path) -> EmbeddedRows:
    """Read embeddings with their ids, labels and types; rows of a type come together.

    Raises:
        InputError: if the file cannot be read, or has numbers that are not finite.
    """
    found = read_embeddings(path)
    finite = np.isfinite(found.z).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{path}: {(~finite).sum()} embeddings with empty, NaN or infinite "
            f"numbers, the first in row {int(finite.argmin()) + 1}: leave them out"
        )
    count = len(found.z)
    ids = list(range(count)) if found.ids is None else found.ids.to_pylist()
    types = None if found.types is None else found.types.to_pylist()
    labels: list[str | None] | None = None
    if found.labels is not None and found.labels.ndim == 1:
        labels = [None if label is None else str(label) for label in found.labels]
        labels = labels if any(label is not None for label in labels) else None
    rows = EmbeddedRows(ids, found.z, labels, types)
    if types is None:
        return rows
    first = {kind: i for i, kind in reversed(list(enumerate(types)))}
    return take_rows(rows, sorted(range(count), key=lambda i: first[types[i]]))


def take_rows(rows: EmbeddedRows, order: list[int]) -> EmbeddedRows:
    """Return some rows, in the given order."""
    return EmbeddedRows(
        [rows.ids[i] for i in order],
        rows.z[order],
        None if rows.labels is None else [rows.labels[i] for i in order],
        None if rows.types is None else [rows.types[i] for i in order],
    )


def match_rows(path: Path, rows: EmbeddedRows, data: Any) -> EmbeddedRows:
    """Put embeddings in the order of a graph's nodes, or of many graphs.

    Args:
        path: of the embeddings, for messages.
        rows: as read.
        data: the graph; its labels are used if the rows have none.

    Raises:
        InputError: if nodes lack an embedding.
    """
    wanted = rows_of_graph(data)
    place = {key: i for i, key in enumerate(row_keys(rows))}
    if len(place) < len(rows.ids):
        raise InputError(f"{path}: some ids appear twice, expected each id once")
    keys = row_keys(wanted if rows.types is not None else wanted._replace(types=None))
    missing = [key[1] for key in keys if key not in place]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {len(keys)} rows of the graph have no "
            f"embedding, the first '{missing[0]}': give the graph that was embedded"
        )
    matched = take_rows(rows, [place[key] for key in keys])
    # Ids come back as the graph has them.
    return matched._replace(
        ids=wanted.ids, types=wanted.types, labels=matched.labels or wanted.labels
    )


def rows_of_graph(data: Any) -> EmbeddedRows:
    """Return ids, types and labels of the rows that an embedding of data has."""
    level = level_of(data)
    if level == "hetero":
        sizes = {kind: int(data[kind].num_nodes) for kind in data.node_types}
        return collect_rows(data, {kind: _empty(n) for kind, n in sizes.items()})
    count = len(data) if level == "graph" else int(data.num_nodes)
    return collect_rows(data, _empty(count))


def group_bounds(types: list[str] | None, num_rows: int) -> list[int]:
    """Return the first row of every node type, then the number of rows."""
    if types is None:
        return [0, num_rows]
    starts = [i for i in range(num_rows) if i == 0 or types[i] != types[i - 1]]
    return [*starts, num_rows]


def row_keys(rows: EmbeddedRows) -> list[Key]:
    """Return type and id of every row, as text."""
    types = rows.types or [""] * len(rows.ids)
    return [(kind, str(i)) for kind, i in zip(types, rows.ids, strict=True)]


def _empty(num_rows: int) -> Any:
    return np.empty((num_rows, 0), dtype=np.float32)
