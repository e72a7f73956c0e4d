"""Collects what a page shows from embeddings, the graph and the model."""

import importlib.metadata
import platform
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.explore.clusters import clusters_in_groups
from dsgrl.explore.columns import (
    Column,
    Known,
    category_column,
    make_terms,
)
from dsgrl.explore.files import group_bounds
from dsgrl.explore.known import known_of
from dsgrl.explore.links import link_matrix
from dsgrl.explore.naming import describe_clusters
from dsgrl.explore.vectors import effective_rank, nearest_in_groups, spectrum
from dsgrl.graph.inputs import level_of
from dsgrl.report import sentences
from dsgrl.report.contents import Contents, ScoreLine
from dsgrl.report.layout import NUM_NEIGHBORS, layout_name, make_layout
from dsgrl.report.learned import describe_views
from dsgrl.report.scores import score_rows
from dsgrl.typing import InputError, IntArray, Level

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
    source = _Source.of(rows, data, model)
    bounds = group_bounds(rows.types, len(rows.ids))
    near, alike = nearest_in_groups(rows.z, NUM_NEIGHBORS, bounds)
    cluster = clusters_in_groups(rows.z, bounds, random_state)
    known, notes = _known(source, table)
    label = None if rows.labels is None else category_column("label", rows.labels)
    clusters = describe_clusters(
        cluster, rows.z, source.ids, make_terms(known), label, rows.types
    )
    if scores is None:
        no_labels = rows.labels is None
        scores = ([], "") if no_labels else score_rows(rows, data, random_state)
    share = spectrum(rows.z)
    rank = effective_rank(share)
    shown = [Column("cluster", cluster, [each.name for each in clusters])]
    return Contents(
        title=title,
        what=source.what,
        summary=[
            _describe_data(source, known),
            sentences.describe_clusters(clusters, rank, rows.z.shape[1], source.what),
            *_describe_worth(source, scores[0], near),
        ],
        ids=source.ids,
        position=make_layout(rows.z, near, bounds, random_state),
        layout=layout_name(),
        near=near,
        alike=alike,
        columns=[*shown, *_own_columns(source, label), *known.columns],
        features=known.features,
        feature_names=known.feature_names,
        clusters=clusters,
        spectrum=share,
        effective_rank=rank,
        scores=scores[0],
        scored=scores[1],
        versions=_versions(),
        command=command,
        notes=notes,
        **_of_model(source, label),
    )


class _Source(NamedTuple):
    """What a page is made from."""

    rows: EmbeddedRows
    ids: list[str]
    level: Level
    data: Any
    model: Any
    links: Any

    @classmethod
    def of(cls, rows: EmbeddedRows, data: Any, model: Any) -> "_Source":
        level: Level = "node" if rows.types is None else "hetero"
        if data is not None:
            level = level_of(data)
        links = None if data is None or level == "graph" else link_matrix(data)
        return cls(rows, [str(i) for i in rows.ids], level, data, model, links)

    @property
    def what(self) -> str:
        return "graphs" if self.level == "graph" else "nodes"


def _own_columns(source: _Source, label: Column | None) -> list[Column]:
    """Return the label, the type and the degree, where they are known."""
    columns = [] if label is None else [label]
    if source.rows.types is not None:
        columns.append(category_column("type", source.rows.types))
    if source.links is not None:
        degree = np.diff(source.links.indptr).astype(np.float32)
        columns.append(Column("degree", degree))
    return columns


def _describe_data(source: _Source, known: Known) -> str:
    sizes = {}
    if source.links is not None:
        num_columns = len(known.columns) + len(known.texts) + len(known.feature_names)
        sizes = {"links": source.links.nnz // 2, "columns": num_columns}
    elif source.data is not None:
        sizes = {"edges": sum(int(graph.num_edges) for graph in source.data)}
    trained = ""
    if source.model is not None:
        model = source.model
        is_floor = model.method_.has_fallback and not model.epoch_
        trained = sentences.describe_training(
            model.fitted_.name, model.epoch_, model.history_, is_floor=is_floor
        )
    return sentences.describe_data(source.what, source.rows.z.shape, sizes, trained)


def _describe_worth(
    source: _Source, scores: list[ScoreLine], near: IntArray
) -> list[str]:
    """Say how good the vectors are: by labels, else by links, else nothing."""
    if scores:
        return [sentences.describe_scores(scores)]
    links = source.links
    if links is None or not links.nnz:
        return ["Neither labels nor links were given: nothing says how good they are."]
    linked = sentences.link_share(near, links)
    expected = links.nnz / max(links.shape[0] * (links.shape[0] - 1), 1)
    return [sentences.describe_links(linked, expected, source.what)]


def _of_model(source: _Source, label: Column | None) -> dict[str, Any]:
    """Return what is known of the model and its training."""
    model = source.model
    if model is None:
        return {}
    found: dict[str, Any] = {
        "history": model.history_,
        "epoch": model.epoch_,
        "settings": _settings(model),
        "seed": model.seed_,
    }
    if source.data is not None:
        codes: IntArray | None = None if label is None else label.values
        ids = source.ids
        if source.level == "graph":
            # Learned edges join nodes; labels and ids are those of graphs.
            codes, ids = None, _node_names(source.data, ids)
        found["views"] = describe_views(model, source.data, ids, codes)
    return found


def _node_names(graphs: Any, ids: list[str]) -> list[str]:
    return [
        f"{ids[number]}, node {node}"
        for number, graph in enumerate(graphs)
        for node in range(int(graph.num_nodes))
    ]


def _known(source: _Source, table: pa.Table | None) -> tuple[Known, list[str]]:
    """Return the properties of the rows, and what to say of them."""
    try:
        known = known_of(source.rows, source.data, table)
    except InputError as error:
        return Known(), [f"Columns of nodes are not shown: {error}."]
    if source.data is None and table is None:
        return known, ["No graph was given: degrees and features are not shown."]
    return known, []


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
