"""A stored graph (`dsgrl store`) opened for the engine: tensors share the file's pages.

Nothing is read when a graph is opened. The system reads pages when they are used, drops
them when memory is short, and shares them among processes.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.graph import Features
from dsgrl.graph.kernels import Pattern
from dsgrl.io.columns import ColumnPlan
from dsgrl.io.summary import Understood
from dsgrl.store.manifest import (
    COL,
    DENSE,
    IDS,
    LABELS,
    ROWPTR,
    SPARSE,
    SPLIT,
    WEIGHT,
    Manifest,
)
from dsgrl.store.npy import map_array
from dsgrl.typing import InputError


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """One graph in a folder; it has the attributes of PyG's `Data` that are needed.

    The tensors are read-only maps of files: never change them in place.

    Attributes:
        folder: where it is.
        manifest: what it holds.
        understood: summary of what was read.
    """

    folder: Path
    manifest: Manifest
    understood: Understood

    @classmethod
    def open(cls, folder: Path) -> "StoredGraph":
        """Open a folder.

        Raises:
            InputError: if it is unfinished, or files differ in size.
        """
        manifest = Manifest.read(folder)
        stored = {**manifest.understood, "sources": [str(folder)]}
        try:
            graph = cls(folder, manifest, Understood(**stored))
            graph._check()
        except (TypeError, ValueError, KeyError, OSError, pa.ArrowException) as error:
            raise InputError(
                f"{folder}: cannot be opened ({str(error).splitlines()[0]}): store the "
                f"graph again"
            ) from error
        return graph

    def _check(self) -> None:
        """Compare shapes with the manifest; a wrong one would end in a crash."""
        pattern, edges = self.adjacency.pattern, self.manifest.num_edges
        found = [pattern.num_rows, pattern.col.numel(), len(self.id_column)]
        wanted = [self.num_nodes, edges, self.num_nodes]
        if self.features is not None:
            found += self.features.shape
            wanted += [self.num_nodes, self.manifest.num_features]
        first, last = (int(pattern.rowptr[i]) for i in (0, -1))
        if found != wanted or first != 0 or last != edges:
            raise ValueError("its arrays do not fit together")

    def __repr__(self) -> str:
        return f"StoredGraph({str(self.folder)!r}, {self.understood!r})"

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.manifest.num_nodes

    @property
    def num_edges(self) -> int:
        """Entries of the matrix E; an edge that goes both ways has two."""
        return self.manifest.num_edges

    @property
    def num_features(self) -> int:
        """Number of feature columns F."""
        return self.manifest.num_features

    @cached_property
    def adjacency(self) -> Adjacency:
        """Row i lists the incoming edges of node i [N, N]."""
        pattern = Pattern(self._tensor(ROWPTR), self._tensor(COL), self.num_nodes)
        return Adjacency(pattern, self._weight())

    def _weight(self) -> Tensor:
        if WEIGHT in self.manifest.files:
            return self._tensor(WEIGHT)
        # One number, as long as it is not multiplied by others.
        return torch.ones(1).expand(self.manifest.num_edges)

    @cached_property
    def features(self) -> Features | None:
        """Features [N, F], dense or sparse, None if there are none."""
        files = self.manifest.files
        if DENSE in files:
            return self._tensor(DENSE)
        if SPARSE[0] not in files:
            return None
        rowptr, col, value = (self._tensor(name) for name in SPARSE)
        pattern = Pattern(rowptr, col, self.manifest.num_features)
        return Adjacency(pattern, value, bipartite=True)

    @property
    def x(self) -> Tensor | None:
        """Features as a tensor [N, F], in compressed rows where most are zero."""
        table = self.features
        if not isinstance(table, Adjacency):
            return table
        with warnings.catch_warnings():
            # Torch calls this layout a beta.
            warnings.simplefilter("ignore")
            return torch.sparse_csr_tensor(
                table.pattern.rowptr,
                table.pattern.col,
                table.value,
                size=table.shape,
                check_invariants=False,
            )

    @property
    def edge_index(self) -> Tensor:
        """Source and target of every edge [2, E]: 16 bytes per edge, made anew."""
        pattern = self.adjacency.pattern
        # Not `pattern.row`, which would stay in memory.
        counts = pattern.rowptr.diff().long()
        target = torch.arange(self.num_nodes).repeat_interleave(counts)
        return torch.stack([pattern.col.long(), target])

    @property
    def edge_weight(self) -> Tensor | None:
        """Weight of every edge [E], None if all are 1."""
        return self.adjacency.value if WEIGHT in self.manifest.files else None

    @property
    def y(self) -> Tensor | None:
        """Label of every node, -1 if it has none [N]; several: 0 and 1 [N, C]."""
        return self._tensor(LABELS) if LABELS in self.manifest.files else None

    @property
    def split(self) -> Tensor | None:
        """The part of every node [N]: 0 training, 1 validation, 2 test; if any."""
        return self._tensor(SPLIT) if SPLIT in self.manifest.files else None

    @cached_property
    def id_column(self) -> pa.ChunkedArray:
        """Id of every node, mapped [N]."""
        with pa.memory_map(str(self.folder / IDS)) as file:
            return pa.ipc.open_file(file).read_all().column("id")

    @property
    def ids(self) -> list[Any]:
        """Id of every node as Python's values [N]; made anew."""
        found: list[Any] = self.id_column.to_pylist()
        return found

    @property
    def label_names(self) -> list[str] | None:
        """Name of every label."""
        return self.manifest.label_names

    @cached_property
    def column_plan(self) -> ColumnPlan | None:
        """How the columns of the table of nodes became features."""
        plan = self.manifest.plan
        return None if plan is None else ColumnPlan.from_json(plan)

    @property
    def feature_names(self) -> list[str] | None:
        """Name of every feature, if known."""
        return None if self.column_plan is None else self.column_plan.names

    def _tensor(self, name: str) -> Tensor:
        array = map_array(self.folder / name)
        entry = self.manifest.files[name]
        if str(array.dtype) != entry["dtype"] or list(array.shape) != entry["shape"]:
            raise ValueError(f"{name} holds another array than the manifest says")
        with warnings.catch_warnings():
            # The map is read-only, which torch cannot express.
            warnings.simplefilter("ignore")
            return torch.from_numpy(array)
