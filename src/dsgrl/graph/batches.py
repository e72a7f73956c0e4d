"""Mini-batches: some of many graphs, or some nodes of one."""

from collections.abc import Iterator

import torch

from dsgrl.graph.clusters import shuffled_clusters
from dsgrl.graph.graph import Graph
from dsgrl.graph.sampling import NeighborSampler, bare_rows, induced_subgraph
from dsgrl.ranks import ALONE, Ranks
from dsgrl.typing import SamplingName

# Nodes and edges handled at once: a few hundred MB at the default widths.
PART_ELEMENTS = 1 << 18


def shuffled_batches(
    graph: Graph, size: int | None, ranks: Ranks = ALONE
) -> Iterator[Graph]:
    """Yield every graph once, in random order, in batches of nearly equal size.

    Args:
        graph: many graphs; a single one is yielded unchanged.
        size: largest number of graphs per batch; None for all at once.
        ranks: the processes that every batch is divided among; what is yielded is the
            share of this one.
    """
    if graph.ptr is None:
        yield graph
        return
    count = graph.num_graphs
    order = torch.randperm(count, generator=ranks.generator()).to(graph.ptr.device)
    # Equal sizes: a small last batch would have too few graphs to compare.
    for numbers in order.tensor_split(count_batches(count, size)):
        yield graph.take(ranks.share(numbers))


def count_batches(count: int, size: int | None) -> int:
    """Return the number of batches that `count` graphs or nodes are divided into."""
    return -(-count // (size or count))


def node_batches(
    graph: Graph,
    size: int,
    *,
    sampling: SamplingName,
    num_neighbors: int,
    depth: int,
    ranks: Ranks = ALONE,
) -> Iterator[Graph]:
    """Yield parts of one graph in which every node is a target once, in random order.

    Args:
        graph: one graph, of one or several types of nodes.
        size: largest number of targets per batch.
        sampling: "neighbors", "random", "clusters" or "rows"; see `NodeBatches`.
        num_neighbors: the most neighbours drawn per node, for "neighbors".
        depth: steps from a target to what it sees, for "neighbors".
        ranks: the processes that share every batch.
    """
    count, device = count_batches(graph.num_nodes, size), graph.adjacency.device
    if sampling == "clusters":
        drawn = shuffled_clusters(graph.adjacency, count, ranks.generator())
    else:
        order = torch.randperm(graph.num_nodes, generator=ranks.generator())
        drawn = iter(order.to(device).tensor_split(count))
    sampler = None
    if sampling == "neighbors":
        sampler = NeighborSampler(graph, num_neighbors, depth)
    for nodes in drawn:
        targets = ranks.share(nodes)
        if sampler is not None:
            yield sampler.sample(targets)
        elif sampling == "rows":
            yield bare_rows(graph, targets)
        else:
            yield induced_subgraph(graph, targets)


def graph_parts(graph: Graph) -> Iterator[Graph]:
    """Yield many graphs a few at a time, in their order; a single one as it is."""
    if graph.ptr is None:
        yield graph
        return
    rowptr = graph.adjacency.pattern.rowptr
    weight = (graph.ptr + rowptr[graph.ptr]).long()
    part = (weight[1:] - 1).clamp_min(0) // PART_ELEMENTS
    numbers = torch.arange(graph.num_graphs, device=graph.ptr.device)
    counts = torch.unique_consecutive(part, return_counts=True)[1]
    for some in numbers.split(counts.tolist()):
        yield graph.take(some)
