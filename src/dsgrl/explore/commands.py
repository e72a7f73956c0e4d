"""From files to files: what the commands on an embedding do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from dsgrl.datasets.files import read_graph
from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.estimator import load_model
from dsgrl.evaluation.files import join_labels
from dsgrl.explore.check import Check, check_embedding
from dsgrl.explore.classify import classify
from dsgrl.explore.clusters import ClusteringName, find_clusters
from dsgrl.explore.columns import make_terms
from dsgrl.explore.files import match_rows, read_rows
from dsgrl.explore.known import known_of, read_node_table
from dsgrl.explore.links import link_matrix
from dsgrl.explore.vectors import nearest_rows
from dsgrl.explore.why import explain, find_row
from dsgrl.graph.inputs import level_of
from dsgrl.io.atomic import atomic_write, check_writable
from dsgrl.io.reading import read_embeddings, read_labels
from dsgrl.typing import InputError

TABLES = (".parquet", ".csv")
# Up to this many classes every one has a column of its own.
MOST_CLASS_COLUMNS = 100


class Neighbor(NamedTuple):
    """A near row: its id, cosine similarity and, if asked for, what is shared."""

    id: Any
    similarity: float
    why: str = ""


def find_neighbors(
    path: Path,
    wanted: str,
    count: int,
    *,
    kind: str | None = None,
    graph: Any = None,
    nodes: Path | Sequence[Path] | None = None,
    model: Path | None = None,
    **options: Any,
) -> list[Neighbor]:
    """Return the nearest rows of an id in a file, of its own type if there are several.

    Args:
        path: of the embeddings.
        wanted: the id, as text.
        count: how many.
        kind: node type of the id.
        graph: what was embedded; with it every neighbour is explained.
        nodes: its tables of nodes.
        model: folder of the model, which knows how tables were read.
        options: further options of `read_graph`.
    """
    rows = read_rows(path)
    data = None
    if graph is not None:
        like = None if model is None else load_model(model)
        data = read_graph(graph, nodes, like=like, **options)
        rows = match_rows(path, rows, data)
    row = find_row(rows.ids, wanted, rows.types, kind)
    first, last = _type_range(rows, row)
    near, alike = nearest_rows(rows.z[first:last], count, [row - first])
    found = [
        Neighbor(rows.ids[j + first], round(float(value), 4))
        for j, value in zip(near[0], alike[0], strict=True)
    ]
    if data is None:
        return found
    if level_of(data) == "graph":
        raise InputError("--why: compares nodes of one graph, these are many graphs")
    links = link_matrix(data)
    terms = make_terms(known_of(rows, data, read_node_table(nodes)))
    return [
        line._replace(why=explain(row, int(j) + first, links, terms).in_words(rows.ids))
        for line, j in zip(found, near[0], strict=True)
    ]


def write_clusters(
    path: Path,
    out: Path,
    number: int | None = None,
    *,
    method: ClusteringName = "kmeans",
    random_state: int = 0,
) -> tuple[list[int], int]:
    """Cluster a file of embeddings and write `id, [type], cluster`.

    Returns:
        Size of every cluster, and the number of rows in none.

    Raises:
        InputError: if there are several node types, whose vectors cannot be compared.
    """
    check_table_path(out)
    rows = read_rows(path)
    if rows.types is not None and len(set(rows.types)) > 1:
        raise InputError(
            f"{path}: vectors of {len(set(rows.types))} node types, which cannot be "
            f"compared: give a file with one of them"
        )
    found = find_clusters(rows.z, number, method=method, random_state=random_state)
    values = [None if code < 0 else code for code in found.tolist()]
    write_table(out, {**_keys(rows), "cluster": pa.array(values, pa.int64())})
    sizes = np.bincount(found[found >= 0]).tolist()
    if not sizes:
        raise InputError(f"{path}: no clusters found in {len(found)} rows: use kmeans")
    return sizes, int((found < 0).sum())


def write_predictions(
    path: Path, labels: Path | None, out: Path, *, random_state: int = 0
) -> dict[str, Any]:
    """Predict labels and write `id, [type], prediction, probability` and more.

    Returns:
        The summary of `Predictions`.
    """
    check_table_path(out)
    embedded = read_embeddings(path)
    known = embedded.labels
    if labels is not None:
        known = join_labels(path, embedded, labels, read_labels(labels))
    if known is None or known.ndim != 1:
        raise InputError(
            f"{labels or path}: no column with one label a row: give a table of labels "
            f"with columns id and label"
        )
    rows = read_rows(path)
    by_row = dict(zip(_row_keys(embedded), known, strict=True))
    given = [by_row[key] for key in _row_keys(rows)]
    found = classify(
        rows.z, [None if v is None else str(v) for v in given], random_state
    )
    columns = {
        **_keys(rows),
        "prediction": pa.array([found.classes[code] for code in found.best]),
        "probability": pa.array(found.chance.max(axis=1).astype(np.float32)),
        "is_given": pa.array([value is not None for value in given]),
    }
    if len(found.classes) <= MOST_CLASS_COLUMNS:
        for code, name in enumerate(found.classes):
            columns[f"p {name}"] = pa.array(found.chance[:, code].astype(np.float32))
    write_table(out, columns)
    return found.summary()


def check_file(
    path: Path,
    graph: Any,
    *,
    nodes: Path | Sequence[Path] | None = None,
    model: Path | None = None,
    random_state: int = 0,
    **options: Any,
) -> Check:
    """Check a file of embeddings against its graph; see `check_embedding`.

    Args:
        path: of the embeddings.
        graph: what was embedded.
        nodes: its tables of nodes.
        model: folder of the model.
        random_state: seed of the links that are hidden.
        options: further options of `read_graph`.
    """
    estimator = None if model is None else load_model(model)
    data = read_graph(graph, nodes, like=estimator, **options)
    rows = match_rows(path, read_rows(path), data)
    return check_embedding(rows.z, data, estimator, random_state)


def check_table_path(path: Path) -> None:
    """Fail before any work is done if a table could not be written to `path`."""
    if path.suffix not in TABLES:
        raise InputError(
            f"{path}: unknown kind of file '{path.suffix}', expected one of "
            f"{', '.join(TABLES)}"
        )
    check_writable(path.parent)


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Write a table as parquet or csv, by the suffix; it appears when complete."""
    table = pa.table(columns)
    with atomic_write(path) as part:
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, part)
        else:
            pyarrow.parquet.write_table(table, part)


def _keys(rows: EmbeddedRows) -> dict[str, Any]:
    types = {} if rows.types is None else {"type": pa.array(rows.types)}
    return {"id": pa.array(rows.ids), **types}


def _row_keys(rows: Any) -> list[tuple[Any, Any]]:
    """Return type and id of every row of a file."""
    count = len(rows.z)
    ids = range(count) if rows.ids is None else rows.ids
    types = [None] * count if rows.types is None else rows.types
    return [(str(kind), str(i)) for kind, i in zip(types, ids, strict=True)]


def _type_range(rows: EmbeddedRows, row: int) -> tuple[int, int]:
    if rows.types is None:
        return 0, len(rows.ids)
    same = [i for i, kind in enumerate(rows.types) if kind == rows.types[row]]
    return same[0], same[-1] + 1
