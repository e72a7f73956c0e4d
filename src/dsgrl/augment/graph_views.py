"""Random views of whole graphs (GraphCL), drawn for all graphs of a batch at once.

==========  =====================================================================
name        what is changed in a graph
==========  =====================================================================
`nodes`     a share of the nodes is dropped, with their edges
`edges`     a share of the edges is dropped, others may be added at random
`subgraph`  a share of the nodes is kept: those around a random one
`mask`      the features of a share of the nodes are set to zero
`same`      nothing
==========  =====================================================================

Every graph has its own augmentation; there is no loop over graphs. A share of a number
is rounded down. No edge leaves its graph, and every graph keeps a node.
"""

from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from dsgrl.augment.perturb import scatter_number
from dsgrl.graph import Adjacency, Features, Graph, Pattern
from dsgrl.graph.graph import rows_of, select_rows, take_blocks

AugmentationName = Literal["nodes", "edges", "subgraph", "mask", "same"]
AUGMENTATIONS: tuple[AugmentationName, ...] = get_args(AugmentationName)
NODES, EDGES, SUBGRAPH, MASK, SAME = range(len(AUGMENTATIONS))


def names_of(text: str) -> list[int]:
    """Return the numbers of names joined by plus signs; empty if one is unknown."""
    names = text.split("+")
    if not {*names} <= {*AUGMENTATIONS} or len({*names}) < len(names):
        return []
    return [AUGMENTATIONS.index(name) for name in names]


class GraphAugmentation(NamedTuple):
    """Draws views of graphs.

    Attributes:
        share: share of the nodes that `nodes` drops or `mask` masks, and of the edges
            that `edges` drops.
        edge_add: share of random edges that `edges` adds, both directions together.
        subgraph_share: share of the nodes that `subgraph` keeps.
    """

    share: float
    edge_add: float
    subgraph_share: float

    def __call__(self, batch: Graph, choice: Tensor) -> Graph:
        """Draw a view from torch's global generator.

        Args:
            batch: many graphs.
            choice: number of the augmentation of every graph [B], see `AUGMENTATIONS`.
        """
        assert batch.ptr is not None
        sizes = batch.ptr.diff()
        few = (self.share * sizes).long()
        view = batch
        if (choice == MASK).any():
            masked = pick_nodes(batch.ptr, few * (choice == MASK))
            view = replace(view, x=mask_rows(view.x, masked))
        keep = torch.ones(batch.num_nodes, dtype=torch.bool, device=batch.ptr.device)
        if (choice == NODES).any():
            keep &= ~pick_nodes(batch.ptr, few * (choice == NODES))
        if (choice == SUBGRAPH).any():
            wanted = (self.subgraph_share * sizes).long() + 1
            keep &= grow_subgraphs(batch, wanted, choice == SUBGRAPH)
        entries = None
        if (choice == EDGES).any():
            entries = keep_entries(batch, self.share, choice == EDGES)
        if entries is not None or not bool(keep.all()):
            view = select_nodes(view, keep, entries)
        if self.edge_add and (choice == EDGES).any():
            number = self.edge_add * entries_per_graph(batch) / 2
            view = add_edges(view, number.long() * (choice == EDGES))
        return view


def pick_nodes(ptr: Tensor, counts: Tensor) -> Tensor:
    """Pick some nodes of every graph at random.

    Args:
        ptr: first node of every graph, then N [B + 1].
        counts: how many to pick of every graph [B].

    Returns:
        Whether a node was picked [N].
    """
    draw = torch.rand(int(ptr[-1]), dtype=torch.float64).to(ptr.device)
    return first_of_each(draw, ptr, counts)


def first_of_each(key: Tensor, ptr: Tensor, counts: Tensor) -> Tensor:
    """Tell which nodes have one of the lowest keys of their graph.

    Args:
        key: a number per node [N].
        ptr: first node of every graph, then N [B + 1].
        counts: how many of every graph [B].
    """
    graph = graph_of(ptr)
    order = torch.argsort(key)
    order = order[torch.argsort(graph[order], stable=True)]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - ptr[graph]
    return rank < counts[graph]


def grow_subgraphs(batch: Graph, counts: Tensor, is_grown: Tensor) -> Tensor:
    """Pick a random node of a graph and, again and again, a random neighbour.

    Every node waits for an exponential time from when its first neighbour is picked.
    Such times have no memory: the next to be picked is any of the neighbours with the
    same chance. When a node is picked is thus the length of a shortest path, which is
    found for all graphs in one call.

    Args:
        batch: many graphs.
        counts: how many nodes to pick of every graph [B]; fewer if no more can be
            reached.
        is_grown: the graphs to do it in [B].

    Returns:
        Whether a node was picked [N]; all nodes of other graphs are.
    """
    assert batch.ptr is not None
    numbers = (is_grown & (batch.ptr.diff() > 0)).nonzero().flatten()
    rows, _, ptr = rows_of(batch.ptr, numbers)
    block = take_blocks(batch.adjacency, batch.ptr, numbers)
    start = ptr[:-1] + (torch.rand(len(numbers)).to(ptr.device) * ptr.diff()).long()
    wait = torch.empty(len(rows), dtype=torch.float64).exponential_().to(ptr.device)
    steps = wait[block.pattern.col.long()].masked_fill(block.value == 0, torch.inf)
    arrays = (t.cpu().numpy() for t in (steps, block.pattern.col, block.pattern.rowptr))
    paths = sp.csr_matrix(tuple(arrays), shape=block.shape)
    time = torch.from_numpy(
        dijkstra(paths, indices=start.cpu().numpy(), min_only=True)
    ).to(ptr.device)
    picked = first_of_each(time, ptr, counts[numbers]) & time.isfinite()
    result = torch.ones(batch.num_nodes, dtype=torch.bool, device=ptr.device)
    result[rows] = picked
    return result


def keep_entries(batch: Graph, share: float, is_changed: Tensor) -> Tensor:
    """Drop a share of the edges of some graphs.

    All entries that join the same two nodes, in either direction, share their fate.
    Self-loops stay.

    Args:
        batch: many graphs.
        share: of the entries of a graph.
        is_changed: the graphs to do it in [B].

    Returns:
        Whether an entry stays [E].
    """
    assert batch.ptr is not None
    pattern = batch.adjacency.pattern
    row, col = pattern.row.long(), pattern.col.long()
    graph = graph_of(batch.ptr)[row]
    changed = (is_changed[graph] & (row != col)).nonzero().flatten()
    row, col, graph = row[changed], col[changed], graph[changed]
    pair = torch.minimum(row, col) * batch.num_nodes + torch.maximum(row, col)
    key = graph + scatter_number(pair, torch.randint(2**62, ()).to(pair.device))
    ordered = key.sort().values
    counts = torch.bincount(graph, minlength=batch.num_graphs)
    first = counts.cumsum(0) - counts
    # Of two directions at the border, neither is below it.
    border = ordered[(first + (share * counts).long())[graph]]
    keep = torch.ones(pattern.col.numel(), dtype=torch.bool, device=key.device)
    keep[changed] = key >= border
    return keep


def add_edges(batch: Graph, counts: Tensor) -> Graph:
    """Join random pairs of nodes inside each graph, in both directions.

    Args:
        batch: many graphs.
        counts: number of pairs of every graph [B]; none for a single node.
    """
    assert batch.ptr is not None
    device, sizes = batch.ptr.device, batch.ptr.diff()
    graph = torch.arange(len(sizes), device=device)
    graph = graph.repeat_interleave(counts * (sizes > 1))
    size = sizes[graph]
    draw = torch.rand(2, len(graph), dtype=torch.float64).to(device)
    one = (draw[0] * size).long()
    other = (one + 1 + (draw[1] * (size - 1)).long()) % size
    pairs = torch.stack([one, other]) + batch.ptr[graph]
    before = batch.adjacency
    edges = torch.cat([before.edge_index, pairs, pairs.flip(0)], dim=1)
    more = edges.size(1) - before.num_edges
    adjacency = Adjacency.from_edge_index(
        edges,
        F.pad(before.value, (0, more), value=1.0),
        num_nodes=batch.num_nodes,
        edge_attr=None if before.attr is None else F.pad(before.attr, (0, 0, 0, more)),
    )
    return replace(batch, adjacency=adjacency, extras={}, origin=None)


def select_nodes(batch: Graph, keep: Tensor, entries: Tensor | None = None) -> Graph:
    """Return the graphs with some of their nodes and edges only.

    Args:
        batch: many graphs.
        keep: whether a node stays [N].
        entries: whether an entry stays, if its nodes do [E].
    """
    assert batch.ptr is not None
    before = F.pad(keep.cumsum(0), (1, 0))
    pattern = batch.adjacency.pattern
    row, col = pattern.row.long(), pattern.col.long()
    stays = keep[row] & keep[col]
    if entries is not None:
        stays &= entries
    per_row = torch.bincount(row[stays], minlength=batch.num_nodes)[keep]
    rowptr = F.pad(per_row.cumsum(0), (1, 0)).to(pattern.rowptr.dtype)
    attr = batch.adjacency.attr
    adjacency = Adjacency(
        Pattern(rowptr, before[col[stays]].to(pattern.col.dtype), int(before[-1])),
        batch.adjacency.value[stays],
        attr=None if attr is None else attr[stays],
    )
    x = select_rows(batch.x, keep.nonzero().flatten())
    ptr = before[batch.ptr]
    return replace(batch, x=x, adjacency=adjacency, ptr=ptr, extras={}, origin=None)


def mask_rows(x: Features, masked: Tensor) -> Features:
    """Set the features of some nodes [N] to zero; sparse ones stay sparse."""
    if isinstance(x, Adjacency):
        return x.with_value(x.value * ~masked[x.pattern.row.long()])
    return x * ~masked[:, None]


def graph_of(ptr: Tensor) -> Tensor:
    """Return the number of every node's graph [N]."""
    graphs = torch.arange(ptr.numel() - 1, device=ptr.device)
    return graphs.repeat_interleave(ptr.diff())


def entries_per_graph(batch: Graph) -> Tensor:
    """Return how many entries of the matrix every graph has [B]."""
    assert batch.ptr is not None
    counts: Tensor = batch.adjacency.pattern.rowptr[batch.ptr].diff().long()
    return counts
