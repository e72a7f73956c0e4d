"""`Graph`, the one data structure for every input, and batches of graphs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.kernels import Pattern
from dsgrl.graph.relations import Relations
from dsgrl.typing import Level

# A graph with several node types has one such table per type.
Features = Tensor | Adjacency


class TableInfo(NamedTuple):
    """Metadata of a feature table.

    Attributes:
        made: whether the table was computed from the edges.
        names: name of every column, if known.
        plan: the `ColumnPlan` that made them of a table, if known.
    """

    made: bool
    names: list[str] | None = None
    plan: Any = None


class Origin(NamedTuple):
    """The origin of a batch.

    Attributes:
        whole: the set of graphs that the batch is taken from.
        numbers: the indices of its graphs, in order [B].
    """

    whole: "Graph"
    numbers: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A checked graph, ready for a method: one graph, many, or one of several types.

    Attributes:
        x: features, dense or (if mostly zeros) sparse [N, F]; one such table per node
            type if there are several.
        adjacency: row i lists the incoming edges of node i [N, N]; or the relations.
        make_features: computes `x` from the edges, if it was computed from them. It
            can be pickled, like everything here.
        ptr: for many graphs, the first node of each graph, then N [B + 1].
        tables: metadata of each feature table; empty if unknown.
        labels: class of every row, -1 where it is hidden; only for a method that
            needs labels [N] or [B].
        extras: what a method computed once for this graph, by name: tensors with a row
            per node [N, ...] or matrices [N, N].
        origin: for a batch, its graphs and the set they are from. A graph with changed
            edges has none. It is not pickled.
        targets: for a part of one graph, how many nodes of each type, the first ones,
            it is about; the others are there for their sake.
    """

    x: Any
    adjacency: Any
    make_features: Callable[[Any], Any] | None = None
    ptr: Tensor | None = None
    tables: tuple[TableInfo, ...] = ()
    labels: Tensor | None = None
    extras: Mapping[str, Features] = field(default_factory=dict)
    origin: Origin | None = None
    targets: tuple[int, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without `origin`."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return Graph, tuple({**values, "origin": None}.values())

    @property
    def level(self) -> Level:
        """One graph ("node"), many ("graph") or one of several types ("hetero")."""
        if isinstance(self.adjacency, Relations):
            return "hetero"
        return "node" if self.ptr is None else "graph"

    @property
    def num_nodes(self) -> int:
        """Number of nodes N, of all types."""
        return int(self.adjacency.shape[0])

    @property
    def num_features(self) -> int:
        """Number of feature columns F, of all types."""
        tables = self.x if isinstance(self.x, tuple) else (self.x,)
        return sum(table.shape[1] for table in tables)

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return 1 if self.ptr is None else self.ptr.numel() - 1

    @property
    def num_rows(self) -> int:
        """Number of rows of an embedding: one per node, or per graph of many."""
        return self.num_nodes if self.ptr is None else self.num_graphs

    @property
    def bounds(self) -> list[int]:
        """First node of each graph, or of each node type, then N.

        Learned edges stay inside such a range of nodes.
        """
        if self.ptr is not None:
            return self.ptr.tolist()
        if isinstance(self.adjacency, Relations):
            return self.adjacency.bounds
        return [0, self.num_nodes]

    def split(self, z: Tensor) -> tuple[Tensor, ...]:
        """Split embeddings by node type; rows of one type are compared."""
        if isinstance(self.adjacency, Relations):
            return tuple(self.adjacency.split_rows(z))
        return (z,)

    def target_rows(self, z: Tensor) -> tuple[Tensor, ...]:
        """Split embeddings by node type; rows of the targets only."""
        tables = self.split(z)
        if self.targets is None:
            return tables
        return tuple(t[:size] for t, size in zip(tables, self.targets, strict=True))

    def to(self, device: torch.device) -> "Graph":
        """Return the graph on another device."""
        x, adjacency = self.x, self.adjacency.to(device)
        return replace(
            self,
            x=tuple(t.to(device) for t in x) if isinstance(x, tuple) else x.to(device),
            adjacency=adjacency,
            ptr=None if self.ptr is None else self.ptr.to(device),
            labels=None if self.labels is None else self.labels.to(device),
            extras={name: value.to(device) for name, value in self.extras.items()},
            origin=self.origin if adjacency is self.adjacency else None,
        )

    def with_adjacency(self, adjacency: Adjacency | Relations) -> "Graph":
        """Return the same nodes with other edges; structural features are updated."""
        x = self.x
        if self.make_features is not None:
            x = self.make_features(adjacency)
        other = replace(self, x=x, adjacency=adjacency, extras={}, origin=None)
        return other.to(adjacency.device)

    def take(self, graphs: Tensor) -> "Graph":
        """Return a batch: some of many graphs, in the given order [B]."""
        assert self.ptr is not None
        rows, shift, ptr = rows_of(self.ptr, graphs)
        origin = Origin(self, graphs)
        if self.origin is not None:
            origin = Origin(self.origin.whole, self.origin.numbers[graphs])
        return Graph(
            select_rows(self.x, rows),
            _take_rows(self.adjacency, rows, shift),
            self.make_features,
            ptr,
            self.tables,
            None if self.labels is None else self.labels[graphs],
            {
                name: _take_rows(value, rows, shift)
                if isinstance(value, Adjacency)
                else value[rows]
                for name, value in self.extras.items()
            },
            origin,
        )


def select_rows(x: Features, rows: Tensor) -> Features:
    """Return some rows of a feature table, dense or sparse, in the given order."""
    return _take_rows(x, rows, None) if isinstance(x, Adjacency) else x[rows]


def take_blocks(adjacency: Adjacency, ptr: Tensor, graphs: Tensor) -> Adjacency:
    """Take diagonal blocks as `Graph.take` does.

    Args:
        adjacency: a block-diagonal matrix [N, N].
        ptr: first row of each block, then N.
        graphs: the indices of the blocks, in order [B].
    """
    rows, shift, _ = rows_of(ptr, graphs)
    return _take_rows(adjacency, rows, shift)


def rows_of(ptr: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of some graphs, the shift of each row [n], and the new ptr."""
    starts, sizes = ptr[graphs], ptr.diff()[graphs]
    taken = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
    # The new number of a node is its old number minus the shift of its graph.
    shift = (starts - taken[:-1]).repeat_interleave(sizes)
    return ranges(starts, sizes, taken), shift, taken


def ranges(starts: Tensor, sizes: Tensor, ptr: Tensor) -> Tensor:
    """Return start, start + 1, ... of every range, concatenated."""
    total = torch.arange(int(ptr[-1]), device=starts.device)
    return total + (starts - ptr[:-1]).repeat_interleave(sizes)


def _take_rows(matrix: Adjacency, rows: Tensor, shift: Tensor | None) -> Adjacency:
    """Take rows of a sparse matrix; with a shift per row, also its diagonal blocks."""
    pattern = matrix.pattern
    begin = pattern.rowptr[rows].long()
    sizes = pattern.rowptr[rows + 1].long() - begin
    rowptr = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
    entries = ranges(begin, sizes, rowptr)
    col = pattern.col[entries]
    num_cols = pattern.num_cols
    if shift is not None:
        col = col - shift.to(col.dtype).repeat_interleave(sizes)
        num_cols = rows.numel()
    return Adjacency(
        Pattern(rowptr.to(col.dtype), col, num_cols),
        matrix.value[entries],
        bipartite=matrix.bipartite,
        attr=None if matrix.attr is None else matrix.attr[entries],
    )
