"""Anything accepted becomes one checked `Graph`."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.typing import FloatArray, InputError

logger = logging.getLogger(__name__)

# Below this share of non-zeros the sparse product is taken (measured on Coauthor CS,
# 0.9 % filled: 20 times faster; if its cost grows evenly, they meet near 18 %).
SPARSE_BELOW = 0.1
STRUCTURAL_COLUMNS = 64
# Up to here the singular vectors are computed exactly, beyond by subspace iteration:
# Lanczos solvers fail on disconnected graphs and differ from run to run.
DENSE_UP_TO = 1000
DEGREE_COLUMNS = 5


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A checked graph, ready for a method.

    Attributes:
        x: features, dense or (mostly zeros) sparse [N, F].
        adjacency: row i lists what flows into node i [N, N].
        make_features: makes `x` from the edges, where it was made from them.
    """

    x: Tensor | Adjacency
    adjacency: Adjacency
    make_features: Callable[[Adjacency], Tensor] | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.adjacency.shape[0]

    @property
    def num_features(self) -> int:
        """Number of feature columns F."""
        return self.x.shape[1]

    def to(self, device: torch.device) -> "Graph":
        """Return the graph on another device."""
        return Graph(self.x.to(device), self.adjacency.to(device), self.make_features)

    def with_adjacency(self, adjacency: Adjacency) -> "Graph":
        """Return the same nodes with other edges; features made of edges follow."""
        x = self.x
        if self.make_features is not None:
            x = self.make_features(adjacency).to(adjacency.device)
        return Graph(x, adjacency, self.make_features)


def as_graph(data: Any, *, structural_columns: int | None = None) -> Graph:
    """Check PyG data and hold it as the engine wants it; labels are not read.

    Args:
        data: a `torch_geometric.data.Data` with `edge_index`, optionally `x` (dense
            or torch-sparse) and `edge_weight`.
        structural_columns: how many columns to make if there is no `x`.

    Raises:
        InputError: one line on what is wrong with it.
    """
    if not hasattr(data, "edge_index") or not hasattr(data, "num_nodes"):
        raise InputError(
            f"expected a torch_geometric.data.Data with x and edge_index, got "
            f"{type(data).__name__}"
        )
    num_nodes = _count_nodes(data)
    adjacency = _check_edges(data, num_nodes)
    x = getattr(data, "x", None)
    make_features = None
    if x is None:
        make_features = partial(structural_features, columns=structural_columns)
        x = make_features(adjacency)
        logger.warning(
            "the graph has no node features: using %d structural columns (degree "
            "profile and spectral coordinates)",
            x.size(1),
        )
    if adjacency.num_edges == 0 and num_nodes > 1:
        logger.warning(
            "the graph has no edges: only the features will tell nodes apart"
        )
    names = getattr(data, "feature_names", None)
    if names is not None and len(names) != x.shape[1]:
        raise InputError(
            f"feature_names has {len(names)} names for {x.shape[1]} columns of x, "
            f"expected one each"
        )
    return Graph(
        _check_features(torch.as_tensor(x), num_nodes), adjacency, make_features
    )


def reorder_columns(graph: Graph, names: list[str], wanted: list[str]) -> Graph:
    """Put feature columns called `names` into the order `wanted`.

    Raises:
        InputError: if they are not the same columns.
    """
    if names == wanted:
        return graph
    missing = [name for name in wanted if name not in set(names)]
    extra = [name for name in names if name not in set(wanted)]
    if missing or extra:
        wrong = f"lacks '{missing[0]}'" if missing else f"has '{extra[0]}' too much"
        raise InputError(
            f"the graph's columns differ from those of training: it {wrong} "
            f"({len(missing)} missing, {len(extra)} too many)"
        )
    x = graph.x.to_dense() if isinstance(graph.x, Adjacency) else graph.x
    position = {name: i for i, name in enumerate(names)}
    return Graph(x[:, [position[name] for name in wanted]], graph.adjacency)


def _count_nodes(data: Any) -> int:
    x = getattr(data, "x", None)
    num_nodes = len(x) if x is not None else data.num_nodes
    if not num_nodes:
        raise InputError("the graph is empty: expected at least one node")
    return int(num_nodes)


def _check_edges(data: Any, num_nodes: int) -> Adjacency:
    edge_index = data.edge_index
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
    if edge_index.numel():
        low, high = int(edge_index.min()), int(edge_index.max())
        if low < 0 or high >= num_nodes:
            raise InputError(
                f"edge_index names node {low if low < 0 else high}, expected numbers "
                f"from 0 to {num_nodes - 1}"
            )
    weight = getattr(data, "edge_weight", None)
    if weight is not None:
        weight = weight.detach().reshape(-1).float()
        if weight.numel() != edge_index.size(1):
            raise InputError(
                f"edge_weight has {weight.numel()} values for {edge_index.size(1)} "
                f"edges, expected one each"
            )
        if not bool(torch.isfinite(weight).all()) or bool((weight < 0).any()):
            raise InputError(
                "edge_weight has negative or non-finite values, expected numbers >= 0"
            )
    return Adjacency.from_edge_index(edge_index, weight, num_nodes=num_nodes)


def _check_features(x: Tensor, num_nodes: int) -> Tensor | Adjacency:
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


def structural_features(adjacency: Adjacency, columns: int | None = None) -> Tensor:
    """Describe every node by the edges alone.

    Five columns of the degree profile (own degree; minimum, maximum, mean and
    deviation of the neighbours' degrees, all as log(1 + d)), then the leading
    singular vectors of the normalised adjacency, scaled to unit deviation.

    Args:
        adjacency: the graph [N, N].
        columns: how many columns to fill; missing singular vectors are zeros. By
            default as many as the graph allows, at most 69.
    """
    num_nodes = adjacency.shape[0]
    matrix = _to_scipy(adjacency.normalized("gcn"))
    rank = max(0, min(STRUCTURAL_COLUMNS, num_nodes - 2))
    profile = _degree_profile(adjacency)
    spectral = _leading_vectors(matrix, rank)
    width = DEGREE_COLUMNS + rank if columns is None else columns
    x = np.zeros((num_nodes, width), dtype=np.float32)
    x[:, :DEGREE_COLUMNS] = profile
    kept = min(width - DEGREE_COLUMNS, rank)
    x[:, DEGREE_COLUMNS : DEGREE_COLUMNS + kept] = spectral[:, :kept]
    return torch.from_numpy(x)


def _to_scipy(adjacency: Adjacency) -> sp.csr_matrix:
    pattern = adjacency.pattern
    arrays = (t.cpu().numpy() for t in (adjacency.value, pattern.col, pattern.rowptr))
    return sp.csr_matrix(tuple(arrays), shape=adjacency.shape)


def _degree_profile(adjacency: Adjacency) -> FloatArray:
    pattern = adjacency.pattern
    row, col = pattern.row.long(), pattern.col.long()
    degree = torch.bincount(row, minlength=pattern.num_rows).double().log1p()
    neighbor = degree[col]
    columns = [degree]
    for reduce in ("amin", "amax", "mean"):
        zeros = torch.zeros_like(degree)
        columns.append(
            zeros.scatter_reduce(0, row, neighbor, reduce, include_self=False)
        )
    gap = (neighbor - columns[-1][row]).square()
    spread = torch.zeros_like(degree).scatter_reduce(
        0, row, gap, "mean", include_self=False
    )
    profile: FloatArray = (
        torch.stack([*columns, spread.sqrt()], dim=1).float().cpu().numpy()
    )
    return profile


def _leading_vectors(matrix: sp.csr_matrix, rank: int) -> FloatArray:
    """Leading left singular vectors [N, rank], largest first, always the same."""
    if rank == 0:
        return np.zeros((matrix.shape[0], 0), dtype=np.float32)
    if matrix.shape[0] <= DENSE_UP_TO:
        left = np.linalg.svd(matrix.toarray().astype(np.float64))[0][:, :rank]
    else:
        left = _subspace_iteration(matrix.astype(np.float64), rank)
    # A singular vector's sign is arbitrary: make its largest entry positive.
    largest = left[np.abs(left).argmax(axis=0), np.arange(rank)]
    scaled: FloatArray = left * np.sign(largest) * np.sqrt(matrix.shape[0])
    return scaled.astype(np.float32)


def _subspace_iteration(matrix: sp.csr_matrix, rank: int) -> FloatArray:
    """Leading left singular vectors by repeated products with a random block."""
    rng = np.random.default_rng(0)
    block = matrix @ rng.standard_normal((matrix.shape[1], rank + 16))
    for _ in range(20):
        block = np.linalg.qr(block)[0]
        block = matrix @ (matrix.T @ block)
    basis = np.linalg.qr(block)[0]
    small = np.linalg.svd((matrix.T @ basis).T, full_matrices=False)[0]
    leading: FloatArray = basis @ small[:, :rank]
    return leading
