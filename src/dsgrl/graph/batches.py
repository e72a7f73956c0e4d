"""Mini-batches: some of many graphs, or some nodes of one."""

from collections.abc import Iterator

import torch

from dsgrl.graph.clusters import shuffled_clusters
from dsgrl.graph.graph import Graph
from dsgrl.graph.sampling import NeighborSampler, induced_subgraph
from dsgrl.typing import SamplingName

# Nodes and edges handled at once: a few hundred MB at the default widths.
PART_ELEMENTS = 1 << 18


def shuffled_batches(graph: Graph, size: int | None) -> Iterator[Graph]:
    """Yield every graph once, in random order, in batches of nearly equal size.

    Args:
        graph: many graphs; a single one is yielded unchanged.
        size: largest number of graphs per batch; None for all at once.
    """
    if graph.ptr is None:
        yield graph
        return
    count = graph.num_graphs
    order = torch.randperm(count).to(graph.ptr.device)
    # Equal sizes: a small last batch would have too few graphs to compare.
    for numbers in order.tensor_split(-(-count // (size or count))):
        yield graph.take(numbers)


def node_batches(
    graph: Graph,
    size: int,
    *,
    sampling: SamplingName,
    num_neighbors: int,
    depth: int,
) -> Iterator[Graph]:
    """Yield parts of one graph in which every node is a target once, in random order.

    Args:
        graph: one graph, of one or several types of nodes.
        size: largest number of targets per batch.
        sampling: "neighbors", "random" or "clusters"; see `NodeBatches`.
        num_neighbors: the most neighbours drawn per node, for "neighbors".
        depth: steps from a target to what it sees, for "neighbors".
    """
    count = -(-graph.num_nodes // size)
    if sampling == "clusters":
        for nodes in shuffled_clusters(graph.adjacency, count):
            yield induced_subgraph(graph, nodes)
        return
    order = torch.randperm(graph.num_nodes).to(graph.adjacency.device)
    if sampling == "random":
        for nodes in order.tensor_split(count):
            yield induced_subgraph(graph, nodes)
        return
    sampler = NeighborSampler(graph, num_neighbors, depth)
    for nodes in order.tensor_split(count):
        yield sampler.sample(nodes)


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
