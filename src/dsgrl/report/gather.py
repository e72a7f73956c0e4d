"""Collects what a page shows from embeddings, the graph and the model."""

import importlib.metadata
import logging
import platform
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.explore.clusters import clusters_in_groups
from dsgrl.explore.columns import (
    Column,
    Known,
    category_column,
    dense_rows,
    features_of,
    make_terms,
    read_known,
)
from dsgrl.explore.files import group_bounds
from dsgrl.explore.links import link_matrix
from dsgrl.explore.naming import describe_clusters
from dsgrl.explore.vectors import effective_rank, nearest_in_groups, spectrum
from dsgrl.graph.inputs import level_of
from dsgrl.report import sentences
from dsgrl.report.contents import Contents, LearnedViews, ScoreLine
from dsgrl.report.layout import NUM_NEIGHBORS, layout_name, make_layout
from dsgrl.report.learned import describe_views
from dsgrl.report.scores import score_rows
from dsgrl.typing import InputError, IntArray, Level

logger = logging.getLogger(__name__)

# Columns of a table of nodes that are not properties of a node.
RESERVED = ("id", "label", "type", "graph", "embedding", "features")
# Up to this many feature columns are shown one by one.
FEW_COLUMNS = 32
SOFTWARE = ("dsgrl", "torch", "torch-geometric", "numpy", "scikit-learn")


def gather(
    rows: EmbeddedRows,
    *,
    data: Any = None,
    model: Any = None,
    table: pa.Table | None = None,
    scores: tuple[list[ScoreLine], str] | None = None,
    title: str = "Embedding",
    command: str = "",
    random_state: int = 0,
) -> Contents:
    """Collect what a page shows; what is not given is left out of it.

    Args:
        rows: embeddings with ids, labels and types, in the order of the data.
        data: what was embedded.
        model: the fitted estimator.
        table: the table of nodes, whose columns can be coloured by.
        scores: of the embedding and its controls, and how they were computed, if
            known; else computed here if there are labels.
        title: of the page.
        command: that makes the page again.
        random_state: seed of layout, clusters and splits.
    """
    level: Level = _level(rows, data)
    bounds = group_bounds(rows.types, len(rows.ids))
    near, alike = nearest_in_groups(rows.z, NUM_NEIGHBORS, bounds)
    cluster = clusters_in_groups(rows.z, bounds, random_state)
    known, notes = _known(rows, data, table, level)
    label = None if rows.labels is None else category_column("label", rows.labels)
    ids = [str(i) for i in rows.ids]
    clusters = describe_clusters(cluster, rows.z, ids, make_terms(known), label)
    share = spectrum(rows.z)
    rank = effective_rank(share)
    if scores is None:
        scores = ([], "")
        if rows.labels is not None:
            scores = score_rows(rows, data, random_state)
    what = "graphs" if level == "graph" else "nodes"
    links = None if data is None or level == "graph" else link_matrix(data)
    columns = [Column("cluster", cluster, [each.name for each in clusters])]
    columns += [] if label is None else [label]
    columns += [] if rows.types is None else [category_column("type", rows.types)]
    if links is not None:
        columns.append(Column("degree", np.diff(links.indptr).astype(np.float32)))
    summary = [
        sentences.describe_data(
            what, rows.z.shape, _sizes(data, links, known), _trained(model)
        ),
        sentences.describe_clusters(clusters, rank, rows.z.shape[1], what),
    ]
    if scores[0]:
        summary.append(sentences.describe_scores(scores[0]))
    elif links is not None and links.nnz:
        linked = sentences.link_share(near, links)
        expected = links.nnz / max(len(ids) * (len(ids) - 1), 1)
        summary.append(sentences.describe_links(linked, expected, what))
    return Contents(
        title=title,
        what=what,
        summary=summary,
        ids=ids,
        position=make_layout(rows.z, near, bounds, random_state),
        layout=layout_name(),
        near=near,
        alike=alike,
        columns=columns + known.columns,
        features=known.features,
        feature_names=known.feature_names,
        clusters=clusters,
        spectrum=share,
        effective_rank=rank,
        history=[] if model is None else model.history_,
        epoch=None if model is None else model.epoch_,
        views=_views(model, data, ids, label, level),
        scores=scores[0],
        scored=scores[1],
        settings={} if model is None else _settings(model),
        versions=_versions(),
        command=command,
        seed=None if model is None else model.seed_,
        notes=notes,
    )


def _level(rows: EmbeddedRows, data: Any) -> Level:
    if data is not None:
        return level_of(data)
    return "node" if rows.types is None else "hetero"


def _known(
    rows: EmbeddedRows, data: Any, table: pa.Table | None, level: Level
) -> tuple[Known, list[str]]:
    """Return the properties of the rows, and what to say of them."""
    if level == "graph":
        return (Known() if data is None else _of_graphs(data)), []
    if table is not None and len(set(rows.ids)) == len(rows.ids):
        try:
            known = read_known(table, rows.ids, RESERVED)
        except InputError as error:
            return Known(), [f"Columns of nodes are not shown: {error}."]
        if known.columns or known.texts:
            return known, []
    if data is None:
        return Known(), ["No graph was given: degrees and features are not shown."]
    return _of_features(data, level), []


def _of_features(data: Any, level: Level) -> Known:
    """Return the feature columns of the nodes, those of each type beside each other."""
    if level == "node":
        x = dense_rows(getattr(data, "x", None))
        if x is None:
            return Known()
        matrix, names = features_of(x, getattr(data, "feature_names", None))
        if x.shape[1] <= FEW_COLUMNS:
            columns = [Column(names[i], x[:, i]) for i in range(x.shape[1])]
            return Known(columns=columns)
        return Known(features=matrix, feature_names=names)
    blocks, names = [], []
    for kind in data.node_types:
        x = dense_rows(getattr(data[kind], "x", None))
        if x is None:
            x = np.empty((int(data[kind].num_nodes), 0), dtype=np.float32)
        matrix, own = features_of(x, getattr(data[kind], "feature_names", None))
        blocks.append(matrix)
        names += [f"{kind}: {name}" for name in own] if x.shape[1] else []
    if not names:
        return Known()
    return Known(features=sp.block_diag(blocks, "csr"), feature_names=names)


def _of_graphs(graphs: Any) -> Known:
    """Return the sizes of graphs and the means of their features."""
    sizes = [(int(g.num_nodes), int(g.num_edges)) for g in graphs]
    counts = np.array(sizes, dtype=np.float32)
    columns = [Column("nodes", counts[:, 0]), Column("edges", counts[:, 1])]
    tables = [dense_rows(getattr(graph, "x", None)) for graph in graphs]
    widths = {0 if table is None else table.shape[1] for table in tables}
    if len(widths) == 1 and 0 < max(widths) <= FEW_COLUMNS:
        names = getattr(graphs[0], "feature_names", None)
        names = names or [f"column {i}" for i in range(max(widths))]
        means = np.stack(
            [t.mean(axis=0) if len(t) else t.sum(axis=0) for t in tables if t is not None]
        )
        columns += [Column(f"mean {n}", means[:, i]) for i, n in enumerate(names)]
    return Known(columns=columns)


def _sizes(data: Any, links: Any, known: Known) -> dict[str, int]:
    if data is None:
        return {}
    if links is None:
        return {"edges": sum(int(g.num_edges) for g in data)}
    num_columns = len(known.columns) + len(known.texts) + len(known.feature_names)
    return {"links": links.nnz // 2, "columns": num_columns}


def _trained(model: Any) -> str:
    if model is None:
        return ""
    is_floor = model.method_.has_fallback and not model.epoch_
    return sentences.describe_training(
        model.fitted_.name, model.epoch_, model.history_, is_floor=is_floor
    )


def _views(
    model: Any, data: Any, ids: list[str], label: Column | None, level: Level
) -> LearnedViews | None:
    if model is None or data is None:
        return None
    codes: IntArray | None = None if label is None else label.values
    if level == "graph":
        # Learned edges join nodes; labels and ids are those of graphs.
        ids = [
            f"{ids[number]}, node {node}"
            for number, graph in enumerate(data)
            for node in range(int(graph.num_nodes))
        ]
        codes = None
    return describe_views(model, data, ids, codes)


def _settings(model: Any) -> dict[str, Any]:
    """Return the method and its parameters, with what was chosen for "auto"."""
    chosen = {
        name: f"{value} (chosen)" if name in model.chosen_ else value
        for name, value in model.fitted_.config.flat().items()
    }
    return {"method": model.fitted_.name, **chosen}


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in SOFTWARE:
        versions[name] = importlib.metadata.version(name)
    return versions
