"""Tables with a column `type` or `graph`: several node types, or many graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from dsgrl.typing import InputError, IntArray

DEFAULT_TYPE, DEFAULT_RELATION = "node", "to"


def text_column(path: Path, table: pa.Table, column: str) -> list[str]:
    """Return a column of names; every row must have one."""
    values = table.column(column).cast(pa.string())
    if values.null_count:
        row = int(np.asarray(values.is_null()).argmax())
        raise InputError(
            f"{path}: row {row + 1} has no {column}, expected one in every row"
        )
    names: list[str] = values.to_pylist()
    return names


def number_groups(names: list[Any]) -> tuple[list[Any], IntArray]:
    """Number names in the order they first appear; say which each row has."""
    order = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return list(order), np.array([order[name] for name in names], dtype=np.int64)


def split_types(data: Any, kinds: list[str] | None, relations: list[str] | None) -> Any:
    """Turn one graph into a `HeteroData`, by the type of its nodes and edges.

    Args:
        data: `Data` with `edge_index`, `ids` and optionally `edge_weight`, `y`,
            `label_names`, and `tables`: per type its features and their names.
        kinds: type of every node; one type if left out.
        relations: name of every edge's relation; one name if left out.
    """
    from torch_geometric.data import HeteroData

    names, kind = number_groups(kinds or [DEFAULT_TYPE] * data.num_nodes)
    position = np.zeros(data.num_nodes, dtype=np.int64)
    result = HeteroData()
    ids = np.array(data.ids, dtype=object)
    for number, name in enumerate(names):
        rows = np.flatnonzero(kind == number)
        position[rows] = np.arange(len(rows))
        result[name].num_nodes = len(rows)
        result[name].ids = ids[rows].tolist()
        if (found := data.tables.get(name)) is not None:
            result[name].x, columns = found
            if columns is not None:
                result[name].feature_names = columns
        if data.y is not None and bool((data.y[rows] >= 0).any()):
            result[name].y = data.y[rows]
            result[name].label_names = data.label_names
    source, target = data.edge_index.numpy()
    links, link = number_groups(relations or [DEFAULT_RELATION] * len(source))
    # One number per (source type, relation, target type).
    number = (kind[source] * len(links) + link) * len(names) + kind[target]
    for value in np.unique(number):
        chosen = np.flatnonzero(number == value)
        triple = (
            names[value // (len(links) * len(names))],
            links[value // len(names) % len(links)],
            names[value % len(names)],
        )
        ends = np.stack([position[source[chosen]], position[target[chosen]]])
        result[triple].edge_index = torch.from_numpy(ends)
        if data.edge_weight is not None:
            result[triple].edge_weight = data.edge_weight[chosen]
    return result


def split_graphs(path: Path, data: Any, graphs: list[Any]) -> list[Any]:
    """Turn one graph into many, by the graph every node belongs to.

    Args:
        path: the table of edges, for messages.
        data: `Data` with `edge_index`, `ids` and what else it has.
        graphs: the id of every node's graph.
    """
    from torch_geometric.data import Data

    if not graphs:
        raise InputError("the table of nodes is empty: expected at least one node")
    names, member = number_groups(graphs)
    source, target = data.edge_index.numpy()
    across = member[source] != member[target]
    if across.any():
        row = int(across.argmax())
        raise InputError(
            f"{path}: row {row + 1} joins graph '{graphs[source[row]]}' and graph "
            f"'{graphs[target[row]]}', expected both ends in one graph"
        )
    ids = np.array(data.ids, dtype=object)
    node_order = np.argsort(member, kind="stable")
    edge_order = np.argsort(member[source], kind="stable")
    node_ends = np.cumsum(np.bincount(member, minlength=len(names)))
    edge_ends = np.cumsum(np.bincount(member[source], minlength=len(names)))
    position = np.empty(len(member), dtype=np.int64)
    found = []
    for number, name in enumerate(names):
        rows = node_order[node_ends[number - 1] if number else 0 : node_ends[number]]
        edges = edge_order[edge_ends[number - 1] if number else 0 : edge_ends[number]]
        position[rows] = np.arange(len(rows))
        ends = np.stack([position[source[edges]], position[target[edges]]])
        graph = Data(edge_index=torch.from_numpy(ends), num_nodes=len(rows))
        graph.id, graph.ids = name, ids[rows].tolist()
        if data.x is not None:
            graph.x = data.x[rows]
            if (columns := getattr(data, "feature_names", None)) is not None:
                graph.feature_names = columns
        if data.edge_weight is not None:
            graph.edge_weight = data.edge_weight[edges]
        if data.y is not None:
            graph.y = _one_label(name, data.y[rows], data.label_names)
            graph.label_names = data.label_names
        found.append(graph)
    return found


def _one_label(name: Any, labels: torch.Tensor, label_names: list[str]) -> torch.Tensor:
    known = torch.unique(labels[labels >= 0])
    if known.numel() > 1:
        raise InputError(
            f"graph '{name}' has nodes labelled '{label_names[int(known[0])]}' and "
            f"'{label_names[int(known[1])]}', expected one label per graph"
        )
    return known if known.numel() else torch.tensor([-1])
