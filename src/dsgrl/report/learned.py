"""What was learned for the two views: features they stress, edges that are new."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from dsgrl.augment import FeatureAugmenter, PerTypeAugmenter
from dsgrl.graph import Adjacency
from dsgrl.report.contents import LearnedEdges, LearnedViews, StressedFeatures
from dsgrl.typing import FloatArray, HeteroView, IntArray, View

KINDS = {
    "learned_features": "Both views have the edges of the graph. The features of each "
    "view are learned by a network of its own.",
    "learned_graph": "The first view is the graph as it is. The second has the same "
    "features on a learned graph, whose edges join nodes that became similar.",
    "learned_both": "The features of each view are learned by a network of its own, "
    "and the second view has learned edges.",
    "node_alone": "The first view is the graph as it is. The second has every node "
    "without its neighbours.",
    "two_steps": "The first view is the graph as it is. The second joins the nodes "
    "that most walks of two steps lead to.",
    "nearest": "The first view is the graph as it is. The second joins the nodes with "
    "the most similar features.",
    "random_graph": "The first view is the graph as it is. The second has random "
    "edges.",
}
COLUMNS_SHOWN, EXAMPLES_SHOWN = 8, 12
# Rows from which the alikeness of two views is computed.
MOST_ROWS = 5000


def describe_views(
    model: Any, data: Any, ids: list[str], codes: IntArray | None
) -> LearnedViews:
    """Describe what an estimator has learned for its views.

    Args:
        model: a fitted estimator of any method.
        data: what it embeds.
        ids: of the nodes, in the order of the views' rows.
        codes: class of every node, -1 where unknown; None without labels [N].
    """
    method = model.method_
    if not hasattr(model, "views"):
        return LearnedViews(
            f"Method '{model.fitted_.name}' has no learned views: nothing to show."
        )
    name = model.fitted_.config.views.name
    learns_features = getattr(method, "features", None) is not None
    learns_edges = name in ("learned_graph", "learned_both")
    if not learns_features and not learns_edges:
        return LearnedViews(KINDS[name])
    one, two = model.views(data)
    return LearnedViews(
        KINDS[name],
        alikeness=dict(_alikeness(one, two)) if learns_features else {},
        features=_stressed(model, data) if learns_features else [],
        edges=_edges(one, two, ids, codes) if learns_edges else None,
    )


def _tables(view: Any) -> dict[str, FloatArray]:
    """Return the features of a view by node type."""
    if isinstance(view, HeteroView):
        return {kind: x.numpy() for kind, x in view.x.items()}
    if isinstance(view, View):
        return {"": view.x.numpy()}
    return {"": np.concatenate([each.x.numpy() for each in view])}


def _alikeness(one: Any, two: Any) -> Iterator[tuple[str, float]]:
    """Return linear CKA of the two views' features by type: 1 for a rotation."""
    second = _tables(two)
    for kind, rows in _tables(one).items():
        step = -(-len(rows) // MOST_ROWS)
        if len(rows) > 2:
            yield kind, linear_cka(rows[::step], second[kind][::step])


def linear_cka(x: FloatArray, y: FloatArray) -> float:
    """Return how alike two descriptions of the same rows are [N, D1], [N, D2].

    1 if one is a rotation and scaling of the other, near 0 if they have nothing in
    common (Kornblith et al. 2019).
    """
    x, y = ((rows - rows.mean(axis=0)).astype(np.float64) for rows in (x, y))
    both = float(np.linalg.norm(x.T @ y) ** 2)
    own = float(np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    return both / max(own, 1e-300)


def _stressed(model: Any, data: Any) -> list[StressedFeatures]:
    """Compare how much every input column weighs in the two views, by type.

    The weight of a column is the length of its weights in the first layer times the
    deviation of the column.
    """
    graph = model.fitted_.prepare(data)
    augmenters = model.method_.features
    tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
    kinds = [""]
    if isinstance(augmenters, PerTypeAugmenter):
        kinds = list(graph.adjacency.schema.types)
        augmenters = list(augmenters.augmenters)
    else:
        augmenters = [augmenters]
    found = []
    parts = zip(kinds, augmenters, tables, model.preparation_.columns, strict=True)
    for kind, augmenter, table, known in parts:
        assert isinstance(augmenter, FeatureAugmenter)
        length = augmenter.weights[0].detach().norm(dim=2).cpu().numpy()  # [F, V]
        weight = length * _deviation(table)[:, None]
        share = weight / np.maximum(weight.sum(axis=0), 1e-30)
        what = "structural column" if known.made else "column"
        names = known.names or [f"{what} {i}" for i in range(len(share))]
        found.append(_ranked(kind, names, share))
    return found


def _ranked(kind: str, names: list[str], share: FloatArray) -> StressedFeatures:
    lead = share[:, 0] - share[:, 1]
    sides = []
    for sign in (-1, 1):
        order = np.argsort(sign * lead, kind="stable")[:COLUMNS_SHOWN]
        sides.append(
            [
                (names[i], float(share[i, 0]), float(share[i, 1]))
                for i in order
                if sign * lead[i] < 0
            ]
        )
    return StressedFeatures(kind, *sides)


def _deviation(table: Any) -> FloatArray:
    dense = table.to_dense() if isinstance(table, Adjacency) else table
    deviation: FloatArray = dense.std(dim=0, correction=0).cpu().numpy()
    return deviation


def _edges(
    one: Any, two: Any, ids: list[str], codes: IntArray | None
) -> LearnedEdges | None:
    learned, weight = _pairs(two, len(ids))
    own, _ = _pairs(one, len(ids))
    is_new = ~np.isin(learned, own)
    order = np.flatnonzero(is_new)[np.argsort(-weight[is_new], kind="stable")]
    examples = [
        (ids[pair // len(ids)], ids[pair % len(ids)], float(value))
        for pair, value in zip(learned[order], weight[order], strict=True)
    ]
    agreement = {}
    if codes is not None:
        agreement = _agreement(codes, learned, is_new, own)
    return LearnedEdges(
        count=len(learned),
        new=int(is_new.sum()),
        own=len(own),
        weights=weight,
        agreement=agreement,
        examples=examples[:EXAMPLES_SHOWN],
    )


def _pairs(view: Any, num_nodes: int) -> tuple[IntArray, FloatArray]:
    """Return the edges of a view inside a type or graph, one number per pair.

    Returns:
        Numbers low * N + high, in order [P], and their mean weight [P].
    """
    numbers, weights = [np.empty(0, np.int64)], [np.empty(0)]
    for first, edge_index, weight in _blocks(view):
        low, high = np.sort(edge_index.numpy() + first, axis=0)
        joins_two = low != high
        numbers.append((low * num_nodes + high)[joins_two])
        weights.append(weight.numpy().astype(np.float64)[joins_two])
    pair, place = np.unique(np.concatenate(numbers), return_inverse=True)
    total = np.bincount(place, np.concatenate(weights), len(pair))
    mean = total / np.maximum(np.bincount(place, minlength=len(pair)), 1)
    return pair, mean.astype(np.float32)


def _blocks(view: Any) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
    """Yield the first node, the edges and the weights of every graph or type."""
    if isinstance(view, View):
        yield 0, view.edge_index, view.edge_weight
    elif isinstance(view, HeteroView):
        sizes = itertools.accumulate((len(x) for x in view.x.values()), initial=0)
        first = dict(zip(view.x, sizes, strict=False))
        for (source, name, target), edges in view.edge_index.items():
            if source == target:
                yield first[source], edges, view.edge_weight[source, name, target]
    else:
        start = 0
        for each in view:
            yield start, each.edge_index, each.edge_weight
            start += len(each.x)


def _agreement(
    codes: IntArray, learned: IntArray, is_new: npt.NDArray[np.bool_], own: IntArray
) -> dict[str, float]:
    """Return the share of edges between equal labels, by kind of edge."""
    counts = np.bincount(codes[codes >= 0])
    shares = counts / max(counts.sum(), 1)
    kinds = {
        "learned, new": learned[is_new],
        "learned, also in the graph": learned[~is_new],
        "the graph's own": own,
    }
    found = {}
    for kind, pairs in kinds.items():
        one, other = codes[pairs // len(codes)], codes[pairs % len(codes)]
        known = (one >= 0) & (other >= 0)
        if known.any():
            found[kind] = float((one == other)[known].mean())
    return {**found, "random pairs": float((shares**2).sum())}
