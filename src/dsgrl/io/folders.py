"""A folder as one graph or as many.

==========================================  ==========================================
NAME_A.txt, NAME_graph_indicator.txt, ...    many graphs in the text format of TU
                                             Dortmund, also in a folder `raw`
*.graphml, *.gml, *.npz                      one graph each
edges/*.csv and, optionally, nodes/*.csv     one graph for each table of edges; its
                                             table of nodes has the same name
*.csv, *.tsv, *.parquet                      the tables of one graph: those with columns
                                             source and target are edges
==========================================  ==========================================

Where there are many graphs, a table `labels` with columns `id` (the name of the file
without its suffix) and `label` gives their labels.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsgrl.io.arrays import GraphArrays
from dsgrl.io.choices import Choices, Notes
from dsgrl.io.graph_tables import read_graph_tables
from dsgrl.io.grouping import DEFAULT_TYPE
from dsgrl.io.networks import NETWORK_SUFFIXES, read_network, read_network_file
from dsgrl.io.node_table import Plans
from dsgrl.io.npz import read_npz
from dsgrl.io.reading import read_labels
from dsgrl.io.roles import find_pair
from dsgrl.io.table_graph import NamedTable, TableGraph, stack_graphs
from dsgrl.io.tables import TABLE_SUFFIXES, OpenTable, as_lists, open_table
from dsgrl.typing import InputError

GRAPH_SUFFIXES = (*NETWORK_SUFFIXES, ".npz")
LABELS = "labels"


def read_folder(
    folder: Path,
    choices: Choices,
    notes: Notes,
    plans: Plans | None = None,
    *,
    directed: bool = False,
) -> TableGraph:
    """Read a folder of graphs or of the tables of one graph.

    Args:
        folder: the folder.
        choices: what the user chose.
        notes: takes what was assumed.
        plans: features of a trained model.
        directed: whether directions are kept.

    Raises:
        InputError: if there is nothing to read.
    """
    tables = _files(folder, TABLE_SUFFIXES)
    labels = next((path for path in tables if path.stem == LABELS), None)
    graphs: list[tuple[Any, TableGraph]] = []
    # All files are alike: the notes on the first are enough.
    heard = notes
    if files := _files(folder, GRAPH_SUFFIXES):
        for path in files:
            graphs.append((path.stem, _read_file(path, choices, heard, directed)))
            heard = Notes()
    elif files := _files(folder / "edges", TABLE_SUFFIXES):
        of_nodes = {p.stem: p for p in _files(folder / "nodes", TABLE_SUFFIXES)}
        for path in files:
            own = of_nodes.get(path.stem)
            graphs.append((path.stem, _read_pair(path, own, choices, heard, plans)))
            heard = Notes()
    if graphs:
        notes.assume(f"{folder}: {len(graphs)} files are one graph each")
        return _with_labels(stack_graphs(graphs), labels)
    if not tables:
        raise InputError(
            f"{folder}: no graph in this folder, expected tables (csv, tsv, parquet), "
            f"files of graphs (graphml, gml, npz) or the text files of a TU set"
        )
    edges, nodes = _sort_tables(tables, notes)
    if not edges:
        raise InputError(
            f"{folder}: no table of edges, expected one with columns source and target "
            f"(or from, to; src, dst; u, v)"
        )
    return read_graph_tables(edges, nodes, choices, notes, plans)


def _files(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    known = set(suffixes)
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in known
        and path.is_file()
        and not path.name.startswith(".")
    )


def _sort_tables(
    paths: list[Path], notes: Notes
) -> tuple[list[OpenTable], list[OpenTable]]:
    """Return the tables of edges and those of nodes, by their columns."""
    edges, nodes = [], []
    for path in paths:
        opened = open_table(path, what="edges")
        if find_pair(opened.columns) is not None:
            edges.append(opened)
        else:
            nodes.append(open_table(path, notes=notes))
    notes.assume(
        f"{paths[0].parent}: edges are in {', '.join(Path(t.name).name for t in edges)}"
        + (f", nodes in {', '.join(Path(t.name).name for t in nodes)}" if nodes else "")
    )
    return edges, nodes


def _read_file(
    path: Path, choices: Choices, notes: Notes, directed: bool
) -> TableGraph:
    """Read one file that holds a graph."""
    if path.suffix.lower() == ".npz":
        return _from_arrays(str(path), read_npz(path))
    graph = read_network_file(path)
    found = read_network(graph, str(path), choices, notes, directed=directed)
    label = getattr(graph, "graph", {}).get("label")
    if label is None:
        return found
    # The label of the whole graph.
    labels = pa.chunked_array([pa.repeat(str(label), len(found.ids))])
    return replace(found, labels=labels)


def _read_pair(
    edges: Path, nodes: Path | None, choices: Choices, notes: Notes, plans: Plans | None
) -> TableGraph:
    """Read one graph in a table of edges and, if there is one, of nodes."""
    tables = [] if nodes is None else [open_table(nodes)]
    opened = open_table(edges, what="edges")
    return read_graph_tables([opened], tables, choices, notes, plans)


def _from_arrays(name: str, arrays: GraphArrays) -> TableGraph:
    """Hold arrays as a `TableGraph`, the features as lists."""
    columns = {}
    if arrays.features is not None:
        x = arrays.features.x
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        table = pa.table({"features": as_lists(dense)})
        columns = {DEFAULT_TYPE: NamedTable(name, table)}
    ids = pa.array(arrays.ids)
    return TableGraph(
        name=name,
        ids=ids if len(ids) else ids.cast(pa.int64()),
        edges=arrays.edges,
        weight=arrays.weight,
        columns=columns,
    )


def _with_labels(graph: TableGraph, path: Path | None) -> TableGraph:
    """Take the labels of many graphs from a table of them."""
    if path is None or graph.graphs is None:
        return graph
    rows = read_labels(path)
    if rows.ids is None or rows.labels is None:
        raise InputError(f"{path}: expected columns id and label")
    known = dict(zip(map(str, rows.ids.to_pylist()), rows.labels, strict=True))
    names = [known.get(str(name)) for name in graph.graphs.names]
    text = pa.array([None if v is None else str(v) for v in names], pa.string())
    labels = pa.chunked_array([text.take(pa.array(graph.graphs.number))])
    return replace(graph, labels=labels)
