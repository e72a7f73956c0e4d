"""Batches of many graphs; a single graph is one batch."""

from collections.abc import Iterator

import torch

from dsgrl.graph.graph import Graph


def shuffled_batches(graph: Graph, size: int | None) -> Iterator[Graph]:
    """Yield every graph once, in random order, in batches of nearly one size.

    Args:
        graph: many graphs side by side; a single one is yielded as it is.
        size: the most graphs per batch; None for all at once.
    """
    if graph.ptr is None:
        yield graph
        return
    count = graph.num_graphs
    order = torch.randperm(count).to(graph.ptr.device)
    # Of one size, so that no batch is left with too few to compare.
    for numbers in order.tensor_split(-(-count // (size or count))):
        yield graph.take(numbers)
