"""Checks of edges, weights and features; an error is one line."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.graph import Features
from dsgrl.typing import InputError

# Below this share of non-zeros the sparse product is used. On Coauthor CS (0.9 %
# non-zeros) it is 20 times faster; by extrapolation both are equal near 18 %.
SPARSE_BELOW = 0.1


def features_as_tensor(x: Any) -> Tensor:
    """Convert an array or a SciPy matrix; a sparse one stays sparse [N, F]."""
    if not sp.issparse(x):
        return torch.from_numpy(x)
    rows = sp.csr_matrix(x)
    rows.sum_duplicates()
    entries = rows.tocoo()
    # Rows are in order, and the columns of each: there is nothing to sort or add up.
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64)),
        torch.from_numpy(entries.data),
        size=x.shape,
        is_coalesced=True,
        check_invariants=False,
    )


def as_tensor(name: str, value: Any) -> Tensor:
    """Convert a NumPy array or nested list to a tensor; a tensor is detached.

    Args:
        name: the name for the error message.
        value: numbers of any shape.

    Raises:
        InputError: if it does not hold real numbers.
    """
    if sp.issparse(value):
        value = features_as_tensor(value)
    if not isinstance(value, Tensor):
        try:
            # Torch accepts neither negative strides nor read-only memory.
            value = torch.as_tensor(np.require(value, requirements=("C", "W")))
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"{name} is a {type(value).__name__}, expected a tensor or an array of "
                f"numbers"
            ) from error
    if value.is_complex():
        raise InputError(f"{name} holds {value.dtype}, expected real numbers")
    tensor: Tensor = value.detach()
    return tensor


def edges_of(
    data: Any, num_nodes: int | tuple[int, int]
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the checked edges [2, E], their weights [E] and attributes [E, K].

    The edges are int64 for any input type, because offsets are added to them.
    """
    given = getattr(data, "edge_index", None)
    if given is None and getattr(data, "adj_t", None) is not None:
        raise InputError(
            "the edges are in adj_t, expected edge_index: leave out ToSparseTensor"
        )
    if given is None:
        given = torch.empty(2, 0, dtype=torch.long)
    edge_index = as_tensor("edge_index", given)
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(
            f"edge_index has shape {list(edge_index.shape)}, expected [2, edges]"
        )
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise InputError(f"edge_index holds {edge_index.dtype}, expected whole numbers")
    edge_index = edge_index.long()
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
    attr = as_tensor("edge_attr", given).float()
    if attr.dim() == 0 or attr.size(0) != num_edges:
        raise InputError(
            f"edge_attr has shape {list(attr.shape)} for {num_edges} edges, expected "
            f"one row each"
        )
    return attr[:, None] if attr.dim() == 1 else attr.flatten(1)


def _weights_of(data: Any, num_edges: int) -> Tensor | None:
    given = getattr(data, "edge_weight", None)
    if given is None:
        return None
    weight = as_tensor("edge_weight", given).reshape(-1).float()
    if weight.numel() != num_edges:
        raise InputError(
            f"edge_weight has {weight.numel()} values for {num_edges} edges, expected "
            f"one each"
        )
    if not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
        raise InputError(
            "edge_weight has negative or non-finite values, expected numbers >= 0"
        )
    return weight


def check_features(given: Any, num_nodes: int) -> Features:
    """Return checked features [N, F], as a sparse matrix if most are zero."""
    x = as_tensor("x", given)
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
