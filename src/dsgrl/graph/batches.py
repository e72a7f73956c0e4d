"""Mini-batches of graphs; a single graph is one batch."""

from collections.abc import Iterator

import torch

from dsgrl.graph.graph import Graph

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
