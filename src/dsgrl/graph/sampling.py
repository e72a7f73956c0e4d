r"""Parts of one graph to train on: sampled neighbourhoods and induced subgraphs.

=====================  ===========================================================
`NeighborSampler`      some nodes (targets) and, for each, at most k neighbours, k
                       neighbours of those, and so on
`induced_subgraph`     some nodes with all edges between them
`bare_rows`            some nodes without edges
=====================  ===========================================================

All give a `Graph` on local numbers; nodes of a type stay together, targets first. All
is done by array operations on compressed rows, for one type of nodes or several.

A sampled sum stands for the whole one: with k of d neighbours drawn, each entry has d/k
times its weight, so that the expected sum is that of all neighbours. Degrees in the
normalisation of the GCN are those of the whole graph (`SampledAdjacency`).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency, add_missing_self_loops
from dsgrl.graph.graph import Graph, ranges, select_rows
from dsgrl.graph.kernels import Pattern
from dsgrl.graph.relations import Relations
from dsgrl.graph.sampled import SampledAdjacency


class Drawn(NamedTuple):
    """Entries drawn from the rows of a matrix.

    Attributes:
        row: row of each [E].
        entry: its position in the matrix [E].
        scale: what its weight is multiplied by [E].
    """

    row: Tensor
    entry: Tensor
    scale: Tensor


def draw_entries(pattern: Pattern, rows: Tensor, count: int) -> Drawn:
    """Draw at most `count` entries of each row, evenly over the row.

    A row of d > count entries is cut into `count` equal stretches and one entry is
    drawn from each: every entry is as likely, and hardly one is drawn twice.

    Args:
        pattern: the matrix [R, C].
        rows: the rows to draw from [n].
        count: the most entries of a row.
    """
    begin = pattern.rowptr[rows].long()
    degree = pattern.rowptr[rows + 1].long() - begin
    taken = degree.clamp_max(count)
    ends = taken.cumsum(0)
    total = int(ends[-1]) if ends.numel() else 0
    owner = torch.arange(rows.numel(), device=rows.device).repeat_interleave(taken)
    slot = torch.arange(total, device=rows.device) - (ends - taken)[owner]
    stretch = (degree.double() / taken.clamp_min(1))[owner]
    # A stretch of 1 is one entry: the draw has no effect.
    place = ((slot + torch.rand(total).to(rows.device)) * stretch).long()
    place = torch.minimum(place, degree[owner] - 1)
    return Drawn(rows[owner], begin[owner] + place, stretch.float())


class Numbering:
    """Local numbers of some nodes; a type's are together, targets first.

    Args:
        bounds: first node of each type in the whole graph, then N.
        nodes: the nodes, targets first, none twice [n].
        num_targets: how many of them are targets.
    """

    def __init__(self, bounds: list[int], nodes: Tensor, num_targets: int) -> None:
        ends = torch.tensor(bounds[1:], device=nodes.device)
        kind = torch.bucketize(nodes, ends, right=True)
        types = len(bounds) - 1
        order = torch.argsort(kind, stable=True)
        #: the nodes in their local order [n]
        self.nodes = nodes[order]
        #: number of nodes, and of targets, of each type
        self.sizes: list[int] = torch.bincount(kind, minlength=types).tolist()
        targets = torch.bincount(kind[:num_targets], minlength=types)
        self.targets: tuple[int, ...] = tuple(targets.tolist())

    def split(self) -> list[Tensor]:
        """Return the nodes of every type, in their local order."""
        return list(self.nodes.split(self.sizes))


class NeighborSampler:
    """Draws the neighbourhoods of some nodes.

    Args:
        graph: one graph, of one or several types of nodes.
        num_neighbors: the most neighbours of a node, along each relation.
        depth: steps from a target.
    """

    def __init__(self, graph: Graph, num_neighbors: int, depth: int) -> None:
        self.graph, self.num_neighbors, self.depth = graph, num_neighbors, depth
        self.parts = graph.adjacency.parts()
        self.degrees = [_degrees(part) for part, _, _ in self.parts]
        self.loops = [_self_loops(part) for part, _, _ in self.parts]
        # The local number of a node in the sample at hand; -1 if it is not in it.
        self.local = torch.full((graph.num_nodes,), -1, device=graph.adjacency.device)

    def sample(self, targets: Tensor) -> Graph:
        """Return the targets with a sample of what is around them.

        Args:
            targets: their numbers, none twice [n].
        """
        found: list[list[Drawn]] = [[] for _ in self.parts]
        nodes, frontier = [targets], targets
        self.local[targets] = 0
        for _ in range(self.depth):
            reached = []
            for drawn, (part, source, target) in zip(found, self.parts, strict=True):
                inside = (frontier >= target) & (frontier < target + part.shape[0])
                rows = frontier[inside] - target
                drawn.append(draw_entries(part.pattern, rows, self.num_neighbors))
                reached.append(part.pattern.col[drawn[-1].entry].long() + source)
            frontier = torch.unique(torch.cat(reached))
            frontier = frontier[self.local[frontier] < 0]
            self.local[frontier] = 0
            nodes.append(frontier)
        numbering = Numbering(_types(self.graph), torch.cat(nodes), len(targets))
        self._number(numbering)
        parts = [
            self._part(number, drawn, numbering) for number, drawn in enumerate(found)
        ]
        self.local[numbering.nodes] = -1
        return make_batch(self.graph, numbering, parts)

    def _number(self, numbering: Numbering) -> None:
        """Number the nodes of every type from 0."""
        for nodes in numbering.split():
            self.local[nodes] = torch.arange(len(nodes), device=nodes.device)

    def _part(self, number: int, hops: list[Drawn], numbering: Numbering) -> Adjacency:
        """Return the entries drawn from one relation, in local numbers."""
        part, source, target = self.parts[number]
        row, entry, scale = (torch.cat(values) for values in zip(*hops, strict=True))
        loops = self.loops[number]
        if loops.numel():
            # A node's own loop is never left out: the GCN would add another.
            is_other = part.pattern.col[entry] != row
            own = loops[self.local[part.pattern.row[loops].long() + target] >= 0]
            row = torch.cat([row[is_other], part.pattern.row[own].long()])
            entry = torch.cat([entry[is_other], own])
            scale = torch.cat([scale[is_other], scale.new_ones(own.numel())])
        ends = _ends(self.graph)[number]
        sources, targets = (numbering.sizes[end] for end in ends)
        made = Adjacency.from_edge_index(
            torch.stack(
                [
                    self.local[part.pattern.col[entry].long() + source],
                    self.local[row + target],
                ]
            ),
            part.value[entry] * scale,
            num_nodes=(sources, targets) if part.bipartite else targets,
            edge_attr=None if part.attr is None else part.attr[entry],
        )
        of_sources, of_targets = (numbering.split()[end] for end in ends)
        into, outof = self.degrees[number]
        return SampledAdjacency(
            made.pattern,
            made.value,
            into[of_targets - target],
            None if outof is None else outof[of_sources - source],
            made.attr,
        )


def induced_subgraph(graph: Graph, nodes: Tensor) -> Graph:
    """Return some nodes with all edges between them; every node is a target.

    Args:
        graph: one graph, of one or several types of nodes.
        nodes: their numbers, none twice [n].
    """
    # In order, so that the columns of every row are, too.
    nodes = nodes.sort().values
    numbering = Numbering(_types(graph), nodes, len(nodes))
    split = numbering.split()
    local = torch.full((graph.num_nodes,), -1, device=nodes.device)
    for some in split:
        local[some] = torch.arange(len(some), device=nodes.device)
    parts = [
        take_square(part, split[target], split[source], local, (source_at, target_at))
        for (part, source_at, target_at), (source, target) in zip(
            graph.adjacency.parts(), _ends(graph), strict=True
        )
    ]
    return make_batch(graph, numbering, parts)


def bare_rows(graph: Graph, nodes: Tensor) -> Graph:
    """Return some nodes without edges; every node is a target.

    Args:
        graph: one graph of one type of nodes.
        nodes: their numbers, none twice [n].
    """
    held_as = graph.adjacency.pattern.col.dtype
    rowptr = torch.zeros(len(nodes) + 1, dtype=held_as, device=nodes.device)
    pattern = Pattern(rowptr, rowptr[:0], len(nodes))
    none = Adjacency(pattern, graph.adjacency.value[:0])
    numbering = Numbering(_types(graph), nodes, len(nodes))
    return make_batch(graph, numbering, [none])


def take_square(
    part: Adjacency,
    rows: Tensor,
    cols: Tensor,
    local: Tensor,
    offsets: tuple[int, int],
) -> Adjacency:
    """Take some rows and columns of a matrix.

    Args:
        part: the matrix [R, C].
        rows: nodes of the rows to take, in the numbers of the whole graph [r].
        cols: those of the columns [c].
        local: local number of every node, -1 if it is not taken [N].
        offsets: first node of the columns and of the rows.
    """
    source, target = offsets
    pattern = part.pattern
    begin = pattern.rowptr[rows - target].long()
    sizes = pattern.rowptr[rows - target + 1].long() - begin
    pointer = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
    entries = ranges(begin, sizes, pointer)
    col = local[pattern.col[entries].long() + source]
    keep = col >= 0
    row = torch.arange(len(rows), device=rows.device).repeat_interleave(sizes)[keep]
    counts = torch.bincount(row, minlength=len(rows))
    rowptr = torch.nn.functional.pad(counts.cumsum(0), (1, 0))
    entries, held_as = entries[keep], pattern.col.dtype
    return Adjacency(
        Pattern(rowptr.to(held_as), col[keep].to(held_as), len(cols)),
        part.value[entries],
        bipartite=part.bipartite,
        attr=None if part.attr is None else part.attr[entries],
    )


def make_batch(graph: Graph, numbering: Numbering, parts: list[Adjacency]) -> Graph:
    """Put a part of a graph together: its edges, features, labels and extras."""
    nodes = numbering.nodes
    adjacency: Any = parts[0]
    x: Any = graph.x
    if isinstance(graph.adjacency, Relations):
        names = zip(graph.adjacency.adjacencies, parts, strict=True)
        sizes = dict(zip(graph.adjacency.sizes, numbering.sizes, strict=True))
        adjacency = Relations(sizes, dict(names))
        starts = zip(graph.x, numbering.split(), graph.bounds, strict=False)
        x = tuple(select_rows(table, some - low) for table, some, low in starts)
    else:
        x = select_rows(x, nodes)
    return replace(
        graph,
        x=x,
        adjacency=adjacency,
        make_features=None,
        labels=None if graph.labels is None else graph.labels[nodes],
        extras={name: _take(value, nodes) for name, value in graph.extras.items()},
        origin=None,
        targets=numbering.targets,
    )


def _take(value: Any, nodes: Tensor) -> Any:
    """Take the nodes of what a method computed for every node, or pair."""
    if not isinstance(value, Adjacency):
        return value[nodes]
    local = torch.full((value.shape[0],), -1, device=nodes.device)
    local[nodes] = torch.arange(len(nodes), device=nodes.device)
    return take_square(value, nodes, nodes, local, (0, 0))


def _types(graph: Graph) -> list[int]:
    """Return the first node of each type, then N."""
    relations = isinstance(graph.adjacency, Relations)
    return graph.bounds if relations else [0, graph.num_nodes]


def _ends(graph: Graph) -> list[tuple[int, int]]:
    """Return the source and target type of every part of the edges."""
    if isinstance(graph.adjacency, Relations):
        return graph.adjacency.schema.ends()
    return [(0, 0)]


def _self_loops(part: Adjacency) -> Tensor:
    """Return the entries that join a node to itself."""
    if part.bipartite:
        return torch.empty(0, dtype=torch.long, device=part.device)
    return (part.pattern.row == part.pattern.col).nonzero().flatten()


def _degrees(part: Adjacency) -> tuple[Tensor, Tensor | None]:
    """Return the sums of rows, self-loops included, and of columns if bipartite."""
    normal = part if part.bipartite else add_missing_self_loops(part)
    rows, cols = normal.shape
    into = normal.value.new_zeros(rows).index_add(0, normal.pattern.row, normal.value)
    if not part.bipartite:
        return into, None
    return into, normal.value.new_zeros(cols).index_add(
        0, normal.pattern.col, normal.value
    )
