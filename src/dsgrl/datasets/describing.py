"""The summary of a graph in PyG's form: counts, types, features by kind."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.inputs import level_of
from dsgrl.io.choices import Notes
from dsgrl.io.summary import Understood, count_parts


def describe_data(
    data: Any,
    sources: list[str],
    notes: Notes | None = None,
    *,
    directed: bool = True,
    roles: dict[str, str] | None = None,
    given: int | None = None,
) -> Understood:
    """Describe a graph, many graphs, or a graph of several types.

    Args:
        data: a `Data`, a `HeteroData`, or a sequence of `Data`.
        sources: the files it was read from.
        notes: what was assumed and changed.
        directed: False if every edge of one graph is there both ways.
        roles: columns of ids, labels and so on.
        given: number of edges in the files, before parallel ones were merged.
    """
    notes = Notes() if notes is None else notes
    level = level_of(data)
    shared: dict[str, Any] = {
        "sources": sources,
        "level": level,
        "roles": roles or {},
        "assumed": list(notes.assumed),
        "changed": list(notes.changed),
    }
    if level == "hetero":
        return Understood(**shared, **_describe_hetero(data))
    whole = _as_one(data) if level == "graph" else data
    edges = whole.edge_index
    nodes = int(whole.num_nodes)
    isolated, components = count_parts(nodes, edges.numpy())
    loops = int((edges[0] == edges[1]).sum())
    count = edges.size(1)
    different = count if directed else (count + loops) // 2
    stores = [data if level == "node" or isinstance(data, FlatGraphs) else data[0]]
    return Understood(
        **shared,
        num_nodes=nodes,
        num_edges=different,
        loops=loops,
        merged=0 if given is None else given - different,
        num_graphs=len(data) if level == "graph" else 1,
        directed=directed,
        weighted=getattr(whole, "edge_weight", None) is not None,
        isolated=isolated,
        components=components if level == "node" else None,
        labelled=_count_labels(whole),
        **_describe_features({"": stores[0]}),
    )


def _describe_hetero(data: Any) -> dict[str, Any]:
    types = {kind: int(data[kind].num_nodes) for kind in data.node_types}
    starts = dict(zip(types, np.cumsum([0, *types.values()]), strict=False))
    relations, parts = {}, []
    for source, name, target in data.edge_types:
        edges = data[source, name, target].edge_index.numpy()
        relations[f"{source} {name} {target}"] = edges.shape[1]
        parts.append(edges + np.array([[starts[source]], [starts[target]]]))
    nodes = sum(types.values())
    joined = np.concatenate(parts, axis=1) if parts else np.empty((2, 0), np.int64)
    isolated, components = count_parts(nodes, joined)
    return {
        "num_nodes": nodes,
        "num_edges": sum(relations.values()),
        "directed": True,
        "weighted": any("edge_weight" in store for store in data.edge_stores),
        "types": types,
        "relations": relations,
        "isolated": isolated,
        "components": components,
        "labelled": sum(_count_labels(data[kind]) for kind in types),
        **_describe_features({kind: data[kind] for kind in types}),
    }


def _describe_features(stores: dict[str, Any]) -> dict[str, Any]:
    features, unnamed = {}, 0
    for kind, store in stores.items():
        plan, x = getattr(store, "column_plan", None), getattr(store, "x", None)
        if plan is not None:
            features[kind] = plan.by_kind()
        elif x is not None:
            unnamed += int(x.shape[1]) if x.ndim == 2 else 1
    return {"features": features, "unnamed": unnamed}


def _as_one(graphs: Any) -> Any:
    """Return many graphs as one, their edges numbered through all of them."""
    from torch_geometric.data import Data

    if isinstance(graphs, FlatGraphs):
        edges = graphs.global_edge_index()
        found = Data(edge_index=edges, num_nodes=graphs.num_nodes, y=graphs.y)
        if graphs.edge_weight is not None:
            found.edge_weight = graphs.edge_weight
        return found
    sizes = [int(graph.num_nodes) for graph in graphs]
    starts = np.cumsum([0, *sizes])
    pairs = [g.edge_index + int(s) for g, s in zip(graphs, starts, strict=False)]
    labels = [g.y.reshape(-1)[:1] for g in graphs if isinstance(g.y, Tensor)]
    return Data(
        edge_index=torch.cat(pairs, dim=1),
        num_nodes=sum(sizes),
        y=torch.cat(labels) if labels else None,
    )


def _count_labels(store: Any) -> int:
    y = getattr(store, "y", None)
    if y is None:
        return 0
    return len(y) if y.dim() > 1 or y.is_floating_point() else int((y >= 0).sum())
