"""Scores of an embedding with the controls beside it, where labels are known."""

from typing import Any

import numpy as np

from dsgrl.datasets.rows import EmbeddedRows, collect_rows
from dsgrl.evaluation.protocols import evaluate
from dsgrl.explore.check import embed_floor
from dsgrl.explore.columns import dense_rows
from dsgrl.graph.inputs import level_of
from dsgrl.report.contents import ScoreLine
from dsgrl.typing import FloatArray, InputError

RAW = ("raw features", "the columns as they are given, without the graph")
FLOOR = ("without training", "what the graph and its columns say in closed form")
TRAINED = ("this embedding", "")
# Above this many rows a few splits give the same mean.
MANY_ROWS, FEW_SPLITS = 20_000, 3


def score_rows(
    rows: EmbeddedRows, data: Any = None, random_state: int = 0
) -> tuple[list[ScoreLine], str]:
    """Score an embedding, raw features and the training-free floor by their labels.

    Args:
        rows: embeddings with labels.
        data: what was embedded; without it there are no controls.
        random_state: seed of the splits.

    Returns:
        Scores, and in words how they were computed; no scores and the reason if there
        are too few labels.
    """
    assert rows.labels is not None
    known = np.array([label is not None for label in rows.labels])
    y = np.array([label for label in rows.labels if label is not None])
    is_graph = data is not None and level_of(data) == "graph"
    options: dict[str, Any] = {"protocol": "folds" if is_graph else "5/15/80"}
    if known.sum() > MANY_ROWS and not is_graph:
        options["num_splits"] = FEW_SPLITS
    tables = {TRAINED: rows.z}
    if data is not None:
        tables = {FLOOR: collect_rows(data, embed_floor(data)).z, **tables}
        raw = raw_rows(data, rows)
        tables = tables if raw is None else {RAW: raw, **tables}
    lines = []
    try:
        for (name, note), table in tables.items():
            score = evaluate(table[known], y, random_state=random_state, **options)
            lines.append(ScoreLine(name, score.mean, score.std, note))
    except InputError as error:
        return [], f"The labels were not used for a score: {error}."
    rule = "ten folds" if is_graph else f"{len(score.scores)} splits 5/15/80"
    return lines, (
        f"Accuracy in % of a linear classifier that predicts the label: {len(y)} "
        f"labelled rows, {len(np.unique(y))} classes, {rule} for training, choosing "
        f"and testing."
    )


def raw_rows(data: Any, rows: EmbeddedRows) -> FloatArray | None:
    """Return the features of every row, zeros for unlabelled types; None if none.

    For whole graphs: sum and mean of every column over the nodes of a graph.
    """
    level = level_of(data)
    if level == "node":
        return dense_rows(getattr(data, "x", None))
    if level == "graph":
        tables = [dense_rows(getattr(graph, "x", None)) for graph in data]
        pooled = [
            np.concatenate([table.sum(axis=0), table.mean(axis=0)])
            for table in tables
            if table is not None and len(table)
        ]
        return np.stack(pooled) if len(pooled) == len(tables) else None
    assert rows.types is not None
    assert rows.labels is not None
    types = np.array(rows.types)
    labelled = {
        t for t, y in zip(rows.types, rows.labels, strict=True) if y is not None
    }
    if len(labelled) != 1:
        # Types have other columns: their rows cannot be in one table.
        return None
    (kind,) = labelled
    table = dense_rows(getattr(data[kind], "x", None))
    if table is None:
        return None
    padded = np.zeros((len(types), table.shape[1]), dtype=np.float32)
    padded[types == kind] = table
    return padded
