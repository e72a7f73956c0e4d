"""Nodes of the same part of a graph, for batches with most edges inside.

METIS cuts a graph into small pieces with few edges between them (Karypis and Kumar,
1998). A batch is the union of some pieces, drawn anew in every epoch, as in Cluster-GCN
(https://arxiv.org/abs/1905.07953).
"""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.relations import Relations
from dsgrl.graph.structural import to_scipy
from dsgrl.typing import InputError

PIECES_PER_BATCH = 16

# The piece of every node: found once per graph, it takes longer than an epoch.
_known: "WeakKeyDictionary[Any, tuple[int, Tensor]]" = WeakKeyDictionary()


def shuffled_clusters(
    adjacency: Adjacency | Relations,
    num_batches: int,
    generator: torch.Generator | None = None,
) -> Iterator[Tensor]:
    """Yield the nodes of every batch; all nodes in all, in ascending order each.

    Args:
        adjacency: the graph [N, N], or its relations.
        num_batches: number of batches, of nearly the same size.
        generator: of the random numbers; torch's own if left out.
    """
    wanted = min(num_batches * PIECES_PER_BATCH, adjacency.shape[0])
    if adjacency not in _known or _known[adjacency][0] != wanted:
        _known[adjacency] = (wanted, cut(adjacency, wanted))
    piece = _known[adjacency][1]
    order = torch.randperm(wanted, generator=generator)
    batch_of = torch.empty_like(order)
    batch_of[order] = torch.arange(wanted) * num_batches // wanted
    of_node = batch_of[piece]
    for number in range(num_batches):
        nodes = (of_node == number).nonzero().flatten()
        if nodes.numel():
            yield nodes.to(adjacency.device)


def cut(adjacency: Adjacency | Relations, count: int) -> Tensor:
    """Return the piece of every node [N], the same for the same graph.

    Raises:
        InputError: if pymetis is not installed.
    """
    try:
        import pymetis
    except ImportError as error:
        raise InputError(
            "sampling='clusters' needs pymetis, which is not installed: pip install "
            "'dsgrl[scale]', or use sampling='neighbors'"
        ) from error
    whole = adjacency.as_one() if isinstance(adjacency, Relations) else adjacency
    edges = to_scipy(whole)
    # METIS takes undirected graphs without self-loops.
    both = (edges != 0).maximum((edges != 0).T).tocsr()
    both.setdiag(False)
    both.eliminate_zeros()
    _, membership = pymetis.part_graph(
        count,
        pymetis.CSRAdjacency(
            adj_starts=both.indptr.astype(np.int64),
            adjacent=both.indices.astype(np.int64),
        ),
        options=pymetis.Options(seed=0),
    )
    return torch.from_numpy(np.asarray(membership, dtype=np.int64))
