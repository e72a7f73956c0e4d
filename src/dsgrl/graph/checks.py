"""What edges, weights and features must be; one line on what is wrong if not."""

from typing import Any

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.graph import Features
from dsgrl.typing import InputError

# Below this share of non-zeros the sparse product is taken (measured on Coauthor CS,
# 0.9 % filled: 20 times faster; if its cost grows evenly, they meet near 18 %).
SPARSE_BELOW = 0.1


def edges_of(
    data: Any, num_nodes: int | tuple[int, int]
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the checked edges [2, E], their weights [E] and attributes [E, K]."""
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None and getattr(data, "adj_t", None) is not None:
        raise InputError(
            "the edges are in adj_t, expected edge_index: leave out ToSparseTensor"
        )
    if edge_index is None:
        edge_index = torch.empty(2, 0, dtype=torch.long)
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(
            f"edge_index has shape {list(edge_index.shape)}, expected [2, edges]"
        )
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise InputError(f"edge_index holds {edge_index.dtype}, expected whole numbers")
    counts = (num_nodes, num_nodes) if isinstance(num_nodes, int) else num_nodes
    for end, count in zip(edge_index, counts, strict=True):
        if end.numel():
            low, high = int(end.min()), int(end.max())
            if low < 0 or high >= count:
                raise InputError(
                    f"edge_index names node {low if low < 0 else high}, expected "
                    f"numbers from 0 to {count - 1}"
                )
    num_edges = edge_index.size(1)
    return edge_index, _weights_of(data, num_edges), _attributes_of(data, num_edges)


def _attributes_of(data: Any, num_edges: int) -> Tensor | None:
    given = getattr(data, "edge_attr", None)
    if given is None:
        return None
    attr: Tensor = given.detach().float()
    if attr.dim() == 0 or attr.size(0) != num_edges:
        raise InputError(
            f"edge_attr has shape {list(attr.shape)} for {num_edges} edges, expected "
            f"one row each"
        )
    return attr[:, None] if attr.dim() == 1 else attr.flatten(1)


def _weights_of(data: Any, num_edges: int) -> Tensor | None:
    weight = getattr(data, "edge_weight", None)
    if weight is None:
        return None
    weight = weight.detach().reshape(-1).float()
    if weight.numel() != num_edges:
        raise InputError(
            f"edge_weight has {weight.numel()} values for {num_edges} edges, expected "
            f"one each"
        )
    if not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
        raise InputError(
            "edge_weight has negative or non-finite values, expected numbers >= 0"
        )
    return weight  # type: ignore[no-any-return]


def check_features(x: Tensor, num_nodes: int) -> Features:
    """Return checked features [N, F], held sparse if most of them are zero."""
    x = x.detach()
    if x.dim() != 2 or x.size(1) == 0:
        raise InputError(f"x has shape {list(x.shape)}, expected [nodes, columns >= 1]")
    if x.is_sparse or x.layout == torch.sparse_csr:
        coo = x.to_sparse_coo().coalesce()
        row, col = coo.indices()
        _check_finite(coo.values())
        return Adjacency.from_edge_index(
            torch.stack([col, row]),
            coo.values().float(),
            num_nodes=(x.size(1), num_nodes),
        )
    x = x.float()
    _check_finite(x)
    if torch.count_nonzero(x).item() < SPARSE_BELOW * x.numel():
        return Adjacency.from_dense(x)
    return x.contiguous()


def _check_finite(values: Tensor) -> None:
    if not bool(torch.isfinite(values).all()):
        raise InputError(
            "the features contain NaN or infinite values: fill or drop them first"
        )
