"""Reads a graph of any source as PyG data; ids come back unchanged."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from dsgrl.datasets.conversion import as_pyg
from dsgrl.datasets.describing import describe_data
from dsgrl.datasets.known import plans_of, roles_of
from dsgrl.datasets.table import DATASETS, load_dataset, suggest
from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.store import StoredGraph
from dsgrl.io.arrays import FlatArrays, GraphArrays
from dsgrl.io.choices import Choices, Notes, UnknownName
from dsgrl.io.folders import read_folder
from dsgrl.io.graph_tables import read_graph_tables
from dsgrl.io.matrices import read_matrix
from dsgrl.io.networks import (
    NETWORK_SUFFIXES,
    is_network,
    read_network,
    read_network_file,
)
from dsgrl.io.node_table import Plans
from dsgrl.io.npz import read_npz
from dsgrl.io.summary import Understood
from dsgrl.io.table_graph import Arrays, TableGraph, as_arrays
from dsgrl.io.tables import OpenTable, is_table, open_table
from dsgrl.io.tu import find_tu, read_tu
from dsgrl.store.manifest import looks_stored
from dsgrl.typing import InputError

logger = logging.getLogger(__name__)


def read_graph(
    source: Any,
    nodes: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    unknown: UnknownName = "error",
    directed: bool = False,
    like: Any = None,
    data_folder: Path | None = None,
) -> Any:
    """Read a graph as PyG `Data`, a `HeteroData` or a sequence of `Data`.

    Args:
        source: a dataset's name; a table of edges (a csv, tsv or parquet file, or a
            table of pandas, Polars or Arrow) with columns `source, target[, weight][,
            type]` or other common names (`from, to`; `src, dst`; `u, v`); several of
            them, one for each relation, as a list of files or {name: table}; a file of
            a whole graph (npz, graphml, gml); a folder (see `dsgrl.io.folders`), also
            that of a stored graph, which becomes a `StoredGraph`; a graph of NetworkX;
            a SciPy sparse matrix. PyG objects are returned as they are.
        nodes: a table of nodes with column `id` (or `node`, `name`, `node_id`),
            optionally `label`, `type` or `graph`; all other columns may be features.
            Several tables, one for each type of nodes, as a list of files or {name:
            table}.
        columns: names of columns by role: source, target, weight, type, id, label,
            graph. What is left out is found by common names.
        features: the columns of nodes to use as features.
        ignore: columns of nodes that are no features.
        kinds: kind of a column, where the inferred one is wrong: number, boolean,
            category, text, date, list or ignore.
        unknown: what to do with edges to nodes that the table of nodes lacks: "error",
            "add" the nodes, or "drop" the edges.
        directed: keep the direction of the edges; by default they go both ways.
            Relations of a graph with types keep theirs, and are seen from both ends.
        like: a fitted model, or data that was read before: features are made in the
            same way.
        data_folder: the data folder.

    Returns:
        `Data` with `edge_index`, `ids` and, where given, `x`, `edge_weight`, `y`,
        `feature_names`, `label_names` and `column_plan`, how columns became features;
        `x` is a sparse tensor where most of it is zero. A `HeteroData` of the same if a
        table has a column `type` or there are several tables; `FlatGraphs`, a sequence
        of `Data` with an `id` each, for many graphs. `understood` is a summary of what
        was read.

    Raises:
        InputError: one line on what is wrong with the source.
    """
    # Checked first: asking a stored graph for its edges makes them.
    if isinstance(source, FlatGraphs | StoredGraph):
        return source
    if hasattr(source, "edge_index") or hasattr(source, "edge_types"):
        return source
    choices = Choices(
        columns=columns or {},
        features=None if features is None else tuple(features),
        ignore=tuple(ignore),
        kinds=kinds or {},
        unknown=unknown,
        remembered=roles_of(like),
    )
    if _is_name(source):
        _refuse_options(str(source), nodes, choices, directed=directed)
        data = load_dataset(str(source), data_folder)
        return _with_summary(data, [str(source)], Notes(), directed=True)
    if _is_stored(source):
        _refuse_stored_options(Path(source), nodes, choices, directed=directed)
        stored = StoredGraph.open(Path(source))
        _log_summary(stored.understood)
        return stored
    notes = Notes()
    plans = plans_of(like)
    if plans is not None and (choices.features or choices.ignore or choices.kinds):
        raise InputError(
            "features, ignore and kinds are those of the model: leave them out"
        )
    found = _read(source, nodes, choices, notes, plans, directed)
    arrays: Arrays
    if isinstance(found, TableGraph):
        arrays = as_arrays(found, choices, notes, plans)
    else:
        arrays = found
    data = as_pyg(arrays, directed=directed)
    return _with_summary(
        data,
        _names(source) + _names(nodes),
        notes,
        directed=directed,
        roles={**choices.remembered, **choices.columns},
        given=arrays.edges.shape[1] if isinstance(arrays, GraphArrays) else None,
    )


def _read(
    source: Any,
    nodes: Any,
    choices: Choices,
    notes: Notes,
    plans: Plans | None,
    directed: bool,
) -> TableGraph | GraphArrays | FlatArrays:
    """Read whatever the source is."""
    if sp.issparse(source):
        tables = _open(nodes, "nodes", notes)
        if len(tables) > 1:
            raise InputError("a matrix goes with one table of nodes")
        return read_matrix(source, tables[0] if tables else None, choices, notes, plans)
    path = Path(source) if isinstance(source, str | Path) else None
    is_whole = is_network(source) or (
        path is not None
        and (path.is_dir() or path.suffix.lower() in (".npz", *NETWORK_SUFFIXES))
    )
    if not is_whole:
        edges, known = _open(source, "edges", notes), _open(nodes, "nodes", notes)
        return read_graph_tables(edges, known, choices, notes, plans)
    if nodes is not None:
        raise InputError(
            f"{_names(source)[0]} has its own nodes: a table of nodes goes with a "
            f"table of edges only"
        )
    if path is None:
        name = "the graph of NetworkX"
        return read_network(source, name, choices, notes, directed=directed)
    if path.is_dir():
        if find_tu(path):
            return read_tu(path, keeps=False)
        return read_folder(path, choices, notes, plans, directed=directed)
    if path.suffix.lower() == ".npz":
        return read_npz(path)
    graph = read_network_file(path)
    return read_network(graph, str(path), choices, notes, directed=directed)


def _open(source: Any, what: str, notes: Notes) -> list[OpenTable]:
    """Open one table or several: of a list, or by name."""
    if source is None:
        return []
    if isinstance(source, Mapping):
        named = [
            open_table(table, what=what, notes=notes)._replace(
                stem=str(name), name=_label(name, table)
            )
            for name, table in source.items()
        ]
        if named:
            return named
    elif isinstance(source, Sequence) and not isinstance(source, str):
        if source:
            return [open_table(each, what=what, notes=notes) for each in source]
    else:
        return [open_table(source, what=what, notes=notes)]
    raise InputError(f"no table of {what} in an empty {type(source).__name__}")


def _label(name: Any, table: Any) -> str:
    return str(table) if isinstance(table, str | Path) else f"table '{name}'"


def _is_name(source: Any) -> bool:
    """Whether this is the name of a dataset, and not a file or folder.

    Raises:
        InputError: if it is no name either.
    """
    if not isinstance(source, str | Path):
        return False
    path, name = Path(source), str(source)
    if name.lower() in DATASETS:
        return not path.is_file()
    if path.exists() or path.suffix:
        return False
    raise InputError(f"'{name}' is neither a file nor a dataset{suggest(name)}")


def _refuse_options(name: str, nodes: Any, choices: Choices, *, directed: bool) -> None:
    """Refuse what has no meaning for a dataset."""
    if nodes is not None:
        raise InputError(
            f"'{name}' has its own nodes: a table of nodes ({nodes}) goes with a "
            f"table of edges only"
        )
    if directed:
        raise InputError(
            f"'{name}': a dataset's edges are taken as they are: leave out directed"
        )
    if choices != Choices(remembered=choices.remembered):
        raise InputError(
            f"'{name}': a dataset's columns are taken as they are: leave out columns, "
            f"features, ignore, kinds and unknown"
        )


def _is_stored(source: Any) -> bool:
    """Whether this is the folder of a stored graph, finished or not."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return False
    return looks_stored(Path(source))


def _refuse_stored_options(
    folder: Path, nodes: Any, choices: Choices, *, directed: bool
) -> None:
    """Refuse what is decided when a graph is stored."""
    if (
        nodes is not None
        or directed
        or choices != Choices(remembered=choices.remembered)
    ):
        raise InputError(
            f"{folder}: is a stored graph with its own nodes, columns and directions: "
            f"give such options to 'dsgrl store'"
        )


def _names(source: Any) -> list[str]:
    """Name what was read, for the summary."""
    if source is None:
        return []
    if isinstance(source, str | Path):
        return [str(source)]
    if isinstance(source, Mapping):
        return [str(name) for name in source]
    if is_table(source) or sp.issparse(source) or is_network(source):
        return [f"a {type(source).__name__}"]
    return [name for each in source for name in _names(each)]


def _log_summary(understood: Understood) -> None:
    for line in (*understood.lines(), *understood.assumed):
        logger.info("%s", line)
    for line in understood.changed:
        logger.warning("%s", line)


def _with_summary(
    data: Any,
    sources: list[str],
    notes: Notes,
    *,
    directed: bool,
    roles: dict[str, str] | None = None,
    given: int | None = None,
) -> Any:
    """Attach a summary to data and log it; changes of the data are warnings."""
    understood = describe_data(
        data, sources, notes, directed=directed, roles=roles, given=given
    )
    _log_summary(understood)
    if isinstance(data, FlatGraphs):
        return replace(data, understood=understood)
    data.understood = understood
    return data
