"""From tables to the folder of a stored graph."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dsgrl.io.atomic import atomic_write
from dsgrl.io.choices import Choices, Notes, count_of
from dsgrl.io.columns import ColumnPlan
from dsgrl.io.graph_tables import SAMPLE
from dsgrl.io.summary import COUNT_UP_TO, Understood
from dsgrl.store.database import Database, import_duckdb
from dsgrl.store.edges import (
    StreamedEdges,
    load_edges,
    note_header,
    number_ends,
    number_from_edges,
    open_edges,
    some_ids,
)
from dsgrl.store.features import fit_plan, write_features
from dsgrl.store.manifest import (
    COL,
    IDS,
    LABELS,
    ROWPTR,
    Manifest,
    check_store_path,
    describe_files,
)
from dsgrl.store.matrix import MOST_NODES, Written, write_matrix
from dsgrl.store.nodes import (
    StreamedNodes,
    load_nodes,
    open_nodes,
    write_ids,
    write_labels,
)
from dsgrl.store.npy import map_array
from dsgrl.typing import InputError

GIGABYTE = 10**9
LEAST_MEMORY = 10**8


def default_memory() -> int:
    """Return how much memory DuckDB may use: 2 GB, or a quarter of what there is."""
    return min(2 * GIGABYTE, int(psutil.virtual_memory().total) // 4)


def build_store(
    edges: Path,
    nodes: Path | None,
    out: Path,
    *,
    version: str,
    choices: Choices | None = None,
    directed: bool = False,
    memory: int | None = None,
    plan: ColumnPlan | None = None,
    report: Callable[[str], None] | None = None,
) -> Manifest:
    """Store a graph; the folder appears when it is complete.

    Args:
        edges: table of edges, a csv, tsv or parquet file.
        nodes: table of nodes, if there is one.
        out: the folder. A stored graph there is replaced.
        version: of the package, for the manifest.
        choices: what the user chose.
        directed: whether edges keep their direction.
        memory: bytes that DuckDB may use; `default_memory()` by default.
        plan: features of a trained model; inferred if left out.
        report: called with a line on what is done next.

    Raises:
        InputError: one line on what is wrong with the tables or the folder.
    """
    check_store_path(out)
    import_duckdb()
    choices = Choices() if choices is None else choices
    memory = default_memory() if memory is None else memory
    if memory < LEAST_MEMORY:
        raise InputError(f"memory of {memory:,} bytes: expected 100 MB or more")
    with atomic_write(out) as part:
        work = part.parent / "work"
        work.mkdir()
        part.mkdir()
        database = Database(work, memory)
        try:
            builder = Builder(
                database, part, work, choices, directed, report or (lambda _: None)
            )
            manifest = builder.build(edges, nodes, plan, version)
        finally:
            database.close()
        manifest.write(part)
    return manifest


class Builder:
    """The steps of a build.

    Args:
        database: sorts and joins.
        folder: for the files of the graph.
        work: for files that are removed in the end.
        choices: what the user chose.
        directed: whether edges keep their direction.
        report: takes a line on what is done next.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        work: Path,
        choices: Choices,
        directed: bool,
        report: Callable[[str], None],
    ) -> None:
        self.database = database
        self.folder = folder
        self.staged = work / "staged"
        self.staged.mkdir()
        self.choices = choices
        self.directed = directed
        self.report = report
        self.notes = Notes()

    def build(
        self, edges: Path, nodes: Path | None, plan: ColumnPlan | None, version: str
    ) -> Manifest:
        """Write all files, and return the manifest."""
        self.report("reading")
        found, known = self._open(edges, nodes, plan)
        kind, num_nodes, known = self._number(found, known)
        self.report("writing ids")
        write_ids(self.database, kind, self.folder / IDS)
        self.report("sorting edges")
        written = write_matrix(
            self.database,
            self.folder,
            num_nodes,
            directed=self.directed,
            with_weight=found.roles.weight is not None,
        )
        label_names, labelled = None, 0
        if known is not None:
            if known.roles.label is not None:
                label_names, labelled = write_labels(known, self.folder / LABELS)
            self.report("writing features")
            plan = self._write_features(known, num_nodes, plan)
        sources = [str(path) for path in (edges, nodes) if path is not None]
        summary = self._summarize(written, num_nodes, sources, found, plan, labelled)
        self.report("computing checksums")
        return Manifest(
            num_nodes=num_nodes,
            num_edges=written.num_edges,
            num_features=0 if plan is None else plan.num_features,
            directed=self.directed,
            roles=_roles(found, known),
            plan=None if plan is None else plan.to_json(),
            label_names=label_names,
            understood=summary.to_json(),
            files=describe_files(self.folder),
            version=version,
        )

    def _open(
        self, edges: Path, nodes: Path | None, plan: ColumnPlan | None
    ) -> tuple[StreamedEdges, StreamedNodes | None]:
        choices, notes = self.choices, self.notes
        if nodes is None:
            choices.check_nodes({})
        found = open_edges(edges, choices, notes, self.staged)
        if nodes is None:
            if plan is not None:
                plan.check_columns([], "no table of nodes")
            return found, None
        named = some_ids(found, SAMPLE)
        known = open_nodes(nodes, choices, notes, self.staged, named, plan)
        if plan is not None:
            plan.check_columns(known.wanted, known.stream.name)
        return found, known

    def _number(
        self, edges: StreamedEdges, nodes: StreamedNodes | None
    ) -> tuple[pa.DataType, int, StreamedNodes | None]:
        """Number the nodes; return the type of their ids, their number and table."""
        database, notes = self.database, self.notes
        kind = edges.kind
        if nodes is not None and nodes.kind != kind:
            kind = pa.string()
        load_edges(database, edges, kind, notes)
        self.report("numbering nodes")
        if nodes is None:
            number_from_edges(database, kind)
        else:
            load_nodes(database, nodes, kind)
        added = number_ends(
            database,
            edges.stream.name,
            None if nodes is None else nodes.roles,
            self.choices,
            notes,
            with_weight=edges.roles.weight is not None,
        )
        # They hold as much as the tables.
        database.run("DROP TABLE edges")
        count = int(database.one("SELECT count(*) FROM nodes")[0])
        if not count or count > MOST_NODES:
            raise InputError(
                f"{edges.stream.name}: {count_of(count, 'node')}, expected between 1 "
                f"and {MOST_NODES:,}"
            )
        if nodes is not None:
            if added:
                notes.change(
                    f"{nodes.stream.name}: added {count_of(added, 'node')} that only "
                    f"{edges.stream.name} names; their features are filled in"
                )
            nodes = replace(nodes, added=added)
            kind = kind if added else nodes.kind
        note_header(database, edges.stream.name, edges.roles, kind, notes)
        return kind, count, nodes

    def _write_features(
        self, nodes: StreamedNodes, num_nodes: int, plan: ColumnPlan | None
    ) -> ColumnPlan | None:
        if plan is None:
            plan = fit_plan(nodes, num_nodes, self.choices, self.notes)
        if plan is not None:
            write_features(nodes, plan, num_nodes, self.folder, self.notes)
        return plan

    def _summarize(
        self,
        written: Written,
        num_nodes: int,
        sources: list[str],
        edges: StreamedEdges,
        plan: ColumnPlan | None,
        labelled: int,
    ) -> Understood:
        count = written.num_edges
        different = count if self.directed else (count + written.loops) // 2
        return Understood(
            sources=sources,
            level="node",
            num_nodes=num_nodes,
            num_edges=different,
            loops=written.loops,
            merged=written.given - different,
            directed=self.directed,
            weighted=edges.roles.weight is not None,
            isolated=written.isolated,
            components=_count_components(self.folder, count),
            features={} if plan is None else {"": plan.by_kind()},
            labelled=labelled,
            roles={**self.choices.remembered, **self.choices.columns},
            assumed=self.notes.assumed,
            changed=self.notes.changed,
        )


def _roles(edges: StreamedEdges, nodes: StreamedNodes | None) -> dict[str, str]:
    """Return the columns that were used, by role."""
    found = {"source": edges.roles.source, "target": edges.roles.target}
    if edges.roles.weight is not None:
        found["weight"] = edges.roles.weight
    if nodes is not None:
        found["id"] = nodes.roles.id
        if nodes.roles.label is not None:
            found["label"] = nodes.roles.label
    return found


def _count_components(folder: Path, num_edges: int) -> int | None:
    """Return the connected parts; None where it would take long, as in memory."""
    if num_edges > COUNT_UP_TO:
        return None
    rowptr, col = map_array(folder / ROWPTR), map_array(folder / COL)
    ones = np.ones(len(col), dtype=bool)
    size = len(rowptr) - 1
    matrix = sp.csr_matrix((ones, col, rowptr), shape=(size, size))
    return int(connected_components(matrix, directed=False)[0])
