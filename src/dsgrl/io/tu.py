"""Sets of small graphs in the text format of TU Dortmund, read fast and kept small.

A set NAME is a handful of files in `NAME/raw`: `NAME_A.txt` (one edge "i, j" a line,
nodes counted from 1 through the whole set), `NAME_graph_indicator.txt` (the graph of
every node), `NAME_graph_labels.txt` and, for some, labels and attributes of the nodes
and edges (`NAME_node_labels.txt`, `NAME_edge_attributes.txt`, ...). What comes out is
what PyG's `TUDataset(use_node_attr=True, use_edge_attr=True)` gives: no loops, every
edge once (the attributes of a repeated edge are summed), features = attributes, then
labels one-hot. What was read is kept in `NAME/dsgrl` for the next time.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from dsgrl.io.arrays import FeatureTable, FlatArrays
from dsgrl.io.tu_kept import keep, read_kept, stamp_of
from dsgrl.typing import FloatArray, InputError

Array = npt.NDArray[Any]

REQUIRED = ("A", "graph_indicator", "graph_labels")
OPTIONAL = ("node_labels", "node_attributes", "edge_labels", "edge_attributes")
# With pyarrow's own block of 1 MB, COLLAB's edges take 1.6 times as long.
BLOCK_BYTES = 1 << 24
# A wrong number must not claim all memory.
MOST_LABELS, MOST_GRAPHS = 100_000, 10_000_000


def has_raw_files(folder: Path) -> bool:
    """Whether `folder`/raw has the files that every set needs."""
    return all(_raw_file(folder, part).is_file() for part in REQUIRED)


def find_tu(folder: Path) -> bool:
    """Whether a folder, or its folder `raw`, has the edges of such a set."""
    return any(any(place.glob("*_A.txt")) for place in (folder, folder / "raw"))


def read_tu(folder: Path, *, keeps: bool = True) -> FlatArrays:
    """Read a set of graphs.

    Args:
        folder: the set's own folder, called as the set; its files are in `raw`, or in
            the folder itself.
        keeps: whether what was read is kept for the next time.

    Raises:
        InputError: one line on which file is wrong, and how.
    """
    kept = folder / "dsgrl" / "graphs.npz"
    stamp = stamp_of([_raw_file(folder, part) for part in REQUIRED + OPTIONAL])
    arrays = read_kept(kept, stamp)
    if arrays is None:
        arrays = _parse(folder)
        if keeps:
            keep(kept, stamp, arrays)
    x = _features(arrays["attributes"], arrays["labels"])
    edge_attr = arrays["edge_attr"].astype(np.float32, copy=False)
    return FlatArrays(
        node_ptr=arrays["node_offsets"],
        edge_ptr=arrays["edge_offsets"],
        edges=arrays["edges"],
        y=arrays["y"] if (arrays["y"] >= 0).any() else None,
        features=FeatureTable(x) if x.shape[1] else None,
        edge_attr=edge_attr if edge_attr.shape[1] else None,
    )


def _raw_file(folder: Path, part: str) -> Path:
    has_own = not (folder / "raw").is_dir() and any(folder.glob("*_A.txt"))
    place = folder if has_own else folder / "raw"
    name = folder.resolve().name
    if not (place / f"{name}_A.txt").is_file():
        # The folder may have another name than the set.
        found = sorted(file.name for file in place.glob("*_A.txt"))
        name = found[0].removesuffix("_A.txt") if found else name
    return place / f"{name}_{part}.txt"


def _parse(folder: Path) -> dict[str, Array]:
    """Read the text files.

    Returns:
        `tu_kept.ARRAYS`: y [B], node_offsets and edge_offsets [B + 1], edges [2, E]
        (nodes counted from 0 in every graph), labels and attributes [N, columns, if
        any], edge_attr [E, columns, if any].
    """
    path = _raw_file(folder, "graph_indicator")
    (graph,) = _read_columns(path, 1)
    if not len(graph):
        raise InputError(f"{path}: is empty, expected the graph of every node")
    label = _parse_graph_labels(folder, int(graph.max()))
    if (graph[1:] < graph[:-1]).any():
        raise InputError(
            f"{path}: goes back to an earlier graph, expected the nodes of every graph "
            f"one after another"
        )
    if graph[0] < 1 or graph[-1] > len(label):
        raise InputError(
            f"{path}: names graphs {graph[0]} to {graph[-1]}, expected some of 1 to "
            f"{len(label)}, the number of graph labels"
        )
    graph -= 1
    node_offsets = _offsets(np.bincount(graph, minlength=len(label)))
    edges, edge_offsets, edge_attr = _parse_edges(folder, graph, node_offsets)
    return {
        "y": label,
        "node_offsets": node_offsets,
        "edge_offsets": edge_offsets,
        "edges": edges,
        "labels": _parse_labels(folder, "node", len(graph)),
        "attributes": _parse_attributes(folder, "node", len(graph)),
        "edge_attr": edge_attr,
    }


def _parse_graph_labels(folder: Path, highest: int) -> Array:
    """Read the label of every graph, counted from 0; -1 if there is no file [B]."""
    path = _raw_file(folder, "graph_labels")
    if not path.is_file():
        if highest > MOST_GRAPHS:
            raise InputError(
                f"{_raw_file(folder, 'graph_indicator')}: names graph {highest}, "
                f"expected at most {MOST_GRAPHS} without labels of graphs"
            )
        return np.full(max(highest, 0), -1, dtype=np.int64)
    (label,) = _read_columns(path, 1)
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def _parse_edges(
    folder: Path, graph: Array, node_offsets: Array
) -> tuple[Array, Array, Array]:
    """Read the edges, sorted, each once, without loops.

    Args:
        folder: the set's own.
        graph: the graph of every node [N].
        node_offsets: the first node of every graph, and N [B + 1].

    Returns:
        The edges [2, E], the first edge of every graph, and E [B + 1], and the
        attributes of the edges [E, columns, if any].
    """
    path = _raw_file(folder, "A")
    num_nodes = len(graph)
    source, target = _read_columns(path, 2)
    for end in (source, target):
        if len(end) and (end.min() < 1 or end.max() > num_nodes):
            raise InputError(
                f"{path}: names nodes {end.min()} to {end.max()}, expected 1 to "
                f"{num_nodes}, the nodes of the graph indicator"
            )
        end -= 1
    if not np.array_equal(graph[source], graph[target]):
        raise InputError(f"{path}: an edge leads from one graph to another")
    attr = _parse_edge_attr(folder, len(source))
    key = source.astype(np.int64) * num_nodes + target
    is_edge = source != target
    key = key[is_edge]
    if attr is not None:
        order = np.argsort(key, kind="stable")
        key, attr = key[order], attr[is_edge][order]
    # np.unique takes most of a minute for COLLAB; many files are in order already.
    elif (key[1:] < key[:-1]).any():
        key.sort()
    first = np.diff(key, prepend=-1) > 0
    key = key[first]
    source, target = (end.astype(np.int32) for end in np.divmod(key, num_nodes))
    graph_of_edge = graph[source]
    start = node_offsets.astype(np.int32)[graph_of_edge]
    small = np.min_scalar_type(int(np.diff(node_offsets).max()))
    edges = np.stack([(source - start).astype(small), (target - start).astype(small)])
    counts = np.bincount(graph_of_edge, minlength=len(node_offsets) - 1)
    if attr is None:
        attr = np.empty((len(key), 0), np.float32)
    elif len(key) < len(attr):
        attr = np.add.reduceat(attr, np.flatnonzero(first), axis=0)
    return edges, _offsets(counts), attr


def _parse_edge_attr(folder: Path, num_edges: int) -> FloatArray | None:
    """Read what the lines of edges have: attributes, then labels one-hot [lines, K]."""
    attributes = _parse_attributes(folder, "edge", num_edges)
    labels = _parse_labels(folder, "edge", num_edges)
    attr = _features(attributes, labels)
    return attr if attr.shape[1] else None


def _parse_labels(folder: Path, what: str, count: int) -> Array:
    """Read the labels of the nodes or edges, every column counted from 0 [N, ...]."""
    path = _raw_file(folder, f"{what}_labels")
    if not path.is_file():
        return np.empty((count, 0), np.uint8)
    labels = np.stack(_read_columns(path, rows=count, what=what), axis=1)
    if not count:
        return labels[:, :0]
    # As 64 bits: a difference may be too large for 32.
    labels = labels.astype(np.int64)
    labels -= labels.min(axis=0)
    if labels.max() >= MOST_LABELS:
        raise InputError(
            f"{path}: labels differ by {labels.max()}, expected less than "
            f"{MOST_LABELS}: each becomes a column"
        )
    narrow: npt.NDArray[Any] = labels.astype(np.min_scalar_type(int(labels.max())))
    return narrow


def _parse_attributes(folder: Path, what: str, count: int) -> Array:
    """Read the attributes of the nodes or edges [N, ...]."""
    path = _raw_file(folder, f"{what}_attributes")
    if not path.is_file():
        return np.empty((count, 0), np.float32)
    columns = _read_columns(path, rows=count, what=what, kind=pa.float64())
    return np.stack(columns, axis=1).astype(np.float32)


def _offsets(counts: Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts)])


def _read_columns(
    path: Path,
    num_columns: int | None = None,
    *,
    rows: int | None = None,
    what: str = "node",
    kind: pa.DataType | None = None,
) -> list[Array]:
    """Read lines of numbers separated by commas, one array per column."""
    try:
        with path.open() as file:
            found = file.readline().count(",") + 1
        if not path.stat().st_size:
            found = num_columns or 1
            columns = [np.empty(0, np.int32) for _ in range(found)]
        else:
            columns = _parse_lines(path, found, kind or pa.int32())
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: cannot be read ({reason}): is the file truncated?"
        ) from error
    if num_columns is not None and found != num_columns:
        raise InputError(f"{path}: has {found} columns, expected {num_columns}")
    if rows is not None and len(columns[0]) != rows:
        raise InputError(
            f"{path}: has {len(columns[0])} lines, expected {rows}, one for every "
            f"{what}"
        )
    return columns


def _parse_lines(path: Path, num_columns: int, kind: pa.DataType) -> list[Array]:
    names = [str(i) for i in range(num_columns)]
    table = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, block_size=BLOCK_BYTES
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, kind), null_values=[]
        ),
    )
    # The table's memory is read-only: these are copies.
    return [np.concatenate([c.to_numpy() for c in table[n].chunks]) for n in names]


def _features(attributes: Array, labels: Array) -> FloatArray:
    """Put attributes and one-hot labels side by side [N, F]."""
    counts = [int(column.max()) + 1 for column in labels.T]
    start = attributes.shape[1]
    x = np.zeros((len(labels), start + sum(counts)), dtype=np.float32)
    x[:, :start] = attributes
    for column, count in zip(labels.T, counts, strict=True):
        x[np.arange(len(x)), start + column.astype(np.int64)] = 1
        start += count
    return x
