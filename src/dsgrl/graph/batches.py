"""Mini-batches of graphs; a single graph is one batch."""

from collections.abc import Iterator

import torch

from dsgrl.graph.graph import Graph


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
