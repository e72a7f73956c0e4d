"""Ids, types and labels of the rows of a result, as in the input."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dsgrl.graph.inputs import level_of
from dsgrl.io.tables import as_lists
from dsgrl.typing import FloatArray, HeteroView, View


class EmbeddedRows(NamedTuple):
    """Embeddings with the ids, labels and types of their rows.

    Attributes:
        ids: one per row, unchanged.
        z: embeddings [rows, D].
        labels: one per row, if any is known.
        types: the node type of every row, if there are several.
    """

    ids: list[Any]
    z: FloatArray
    labels: list[str | None] | None = None
    types: list[str] | None = None


def collect_rows(data: Any, z: FloatArray | Mapping[str, FloatArray]) -> EmbeddedRows:
    """Combine embeddings with the ids and labels of their rows.

    Args:
        data: the graph, graphs or graph of several types that was embedded.
        z: what the estimator gave for it.
    """
    if isinstance(z, Mapping):
        ids, labels, types = [], [], []
        for kind, rows in z.items():
            there = kind in data.node_types
            ids += _ids(data[kind], len(rows)) if there else []
            known = _labels(data[kind]) if there else None
            labels += known or [None] * len(rows)
            types += [kind] * len(rows)
        some = any(label is not None for label in labels)
        table = np.concatenate(list(z.values()))
        return EmbeddedRows(_of_one_kind(ids), table, labels if some else None, types)
    if level_of(data) == "graph":
        labels = [(_labels(graph) or [None])[0] for graph in data]
        some = any(label is not None for label in labels)
        return EmbeddedRows(_graph_ids(data), z, labels if some else None)
    return EmbeddedRows(_ids(data, len(z)), z, _labels(data))


def tabulate_view(data: Any, view: Any) -> tuple[pa.Table, pa.Table]:
    """Turn a learned view into tables of its features and edges.

    Args:
        data: what was viewed.
        view: a `View`, a `HeteroView` or a list of `View`s, as the estimator gave it.

    Returns:
        `id, features` and `source, target, weight`; with a column `type` for several
        types of nodes (of edges: the relation, and the types of both ends), or `graph`
        for many graphs.
    """
    if isinstance(view, HeteroView):
        nodes = {
            kind: _ids(data[kind] if kind in data.node_types else None, len(x))
            for kind, x in view.x.items()
        }
        features = [
            _features(nodes[kind], x.numpy(), type=kind) for kind, x in view.x.items()
        ]
        edges = [
            _edges(
                nodes[source],
                nodes[target],
                View(view.x[source], ends, view.edge_weight[source, name, target]),
                type=name,
                source_type=source,
                target_type=target,
            )
            for (source, name, target), ends in view.edge_index.items()
        ]
    elif isinstance(view, View):
        ids = _ids(data, len(view.x))
        return _features(ids, view.x.numpy()), _edges(ids, ids, view)
    else:
        features, edges = [], []
        for name, graph, one in zip(_graph_ids(data), data, view, strict=True):
            ids = _ids(graph, len(one.x))
            features.append(_features(ids, one.x.numpy(), graph=name))
            edges.append(_edges(ids, ids, one, graph=name))
    return _join(features), _join(edges)


def _features(ids: list[Any], x: FloatArray, **constants: Any) -> pa.Table:
    lists = as_lists(x)
    if constants:
        # Types may differ in width.
        lists = lists.cast(pa.list_(pa.float32()))
    return _table({"id": pa.array(ids), "features": lists}, len(ids), constants)


def _edges(
    sources: list[Any], targets: list[Any], view: View, **constants: Any
) -> pa.Table:
    columns = {
        "source": pa.array(sources).take(pa.array(view.edge_index[0].numpy())),
        "target": pa.array(targets).take(pa.array(view.edge_index[1].numpy())),
        "weight": pa.array(view.edge_weight.numpy()),
    }
    return _table(columns, view.edge_weight.numel(), constants)


def _table(columns: dict[str, Any], rows: int, constants: dict[str, Any]) -> pa.Table:
    for name, value in constants.items():
        columns[name] = pa.repeat(value, rows)
    return pa.table(columns)


def _join(tables: list[pa.Table]) -> pa.Table:
    """Stack tables; ids of different types become text."""
    tables = [table for table in tables if len(table)] or tables[:1]
    for name in ("id", "source", "target"):
        if (
            len({t.schema.field(name).type for t in tables if name in t.schema.names})
            > 1
        ):
            tables = [
                t.set_column(
                    t.schema.get_field_index(name), name, t[name].cast("string")
                )
                for t in tables
            ]
    return pa.concat_tables(tables)


def _ids(data: Any, count: int) -> list[Any]:
    ids = getattr(data, "ids", None)
    return list(range(count)) if ids is None else list(ids)


def _graph_ids(data: Any) -> list[Any]:
    return _of_one_kind([getattr(graph, "id", i) for i, graph in enumerate(data)])


def _of_one_kind(ids: list[Any]) -> list[Any]:
    return ids if len({type(i) for i in ids}) <= 1 else [str(i) for i in ids]


def _labels(data: Any) -> list[str | None] | None:
    """Return the labels by name, or their numbers as text; None where unknown."""
    y = getattr(data, "y", None)
    if y is None or y.dim() != 1 or y.is_floating_point():
        return None
    names = getattr(data, "label_names", None)
    return [
        None if i < 0 else (str(i) if names is None else names[i]) for i in y.tolist()
    ]
