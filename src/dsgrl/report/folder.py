"""Contents of a page from files: a folder of `dsgrl demo`, or an embeddings file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsgrl.datasets.files import read_graph
from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.estimator import load_model
from dsgrl.explore.files import match_rows, read_rows
from dsgrl.explore.known import read_node_table
from dsgrl.report.contents import Contents, ScoreLine
from dsgrl.report.gather import gather
from dsgrl.report.scores import FLOOR, RAW, TRAINED
from dsgrl.typing import InputError

EMBEDDINGS, SUMMARY, MODEL = "embeddings.parquet", "summary.json", "model"
# Names of the scores in a summary.
SCORED = {"raw": RAW, "floor": FLOOR, "trained": TRAINED}


def gather_files(
    source: Path,
    *,
    graph: Any = None,
    nodes: Path | Sequence[Path] | None = None,
    model: Path | None = None,
    command: str = "",
    random_state: int = 0,
    **options: Any,
) -> Contents:
    """Collect what a page shows from files.

    Args:
        source: a folder with `embeddings.parquet` and, where they are there,
            `summary.json` and `model/`, as `dsgrl demo` writes it; or a file of
            embeddings.
        graph: what was embedded, as for `dsgrl embed`; by default what the summary
            names.
        nodes: its tables of nodes; the columns of one table are shown.
        model: folder of the model.
        command: that makes the page again.
        random_state: seed of layout, clusters and splits.
        options: further options of `read_graph`.

    Raises:
        InputError: if files are missing or do not belong together.
    """
    path, summary = source, {}
    if source.is_dir():
        path = source / EMBEDDINGS
        if not path.is_file():
            raise InputError(
                f"{source}: no {EMBEDDINGS} here: give a folder that 'dsgrl demo' "
                f"wrote, or a file of embeddings"
            )
        summary = _read_summary(source / SUMMARY)
        graph = graph or summary.get("graph")
        has_model = (source / MODEL).is_dir()
        model = model or (source / MODEL if has_model else None)
    rows = read_rows(path)
    estimator = None if model is None else load_model(model)
    data = None
    if graph is not None:
        data = read_graph(graph, nodes, like=estimator, **options)
        rows = match_rows(path, rows, data)
    return gather(
        rows,
        data=data,
        model=estimator,
        table=read_node_table(nodes),
        scores=_scores(summary, rows),
        title=f"Embedding of {_name(graph or path)}",
        command=command,
        random_state=random_state,
    )


def _name(graph: Any) -> str:
    files = graph if isinstance(graph, list) else [graph]
    return ", ".join(Path(file).name for file in files)


def _read_summary(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"{path}: cannot be read ({error}): delete it") from error
    return found


def _scores(
    summary: dict[str, Any], rows: EmbeddedRows
) -> tuple[list[ScoreLine], str] | None:
    """Return scores that were computed before, if all of them were."""
    if not SCORED.keys() <= summary.keys() or rows.labels is None:
        return None
    lines = [
        ScoreLine(name, summary[key]["mean"], summary[key]["std"], note)
        for key, (name, note) in SCORED.items()
    ]
    known = [label for label in rows.labels if label is not None]
    rule = f", {summary['protocol']}" if "protocol" in summary else ""
    return lines, (
        f"Accuracy in % of a linear classifier that predicts the label: {len(known)} "
        f"labelled rows, {len(set(known))} classes{rule}."
    )
