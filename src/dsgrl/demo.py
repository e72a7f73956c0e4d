"""The demo: scores and nearest neighbours of embeddings of a built-in graph."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dsgrl.datasets.files import read_graph
from dsgrl.datasets.rows import collect_rows
from dsgrl.estimator import DSGRL
from dsgrl.evaluation.protocols import evaluate
from dsgrl.explore.check import embed_floor
from dsgrl.explore.vectors import nearest_rows
from dsgrl.io.atomic import atomic_write, check_writable
from dsgrl.io.embeddings import write_embeddings
from dsgrl.train.folder import check_model_path
from dsgrl.typing import FloatArray, Level, Score

SHOWN_PACKAGES = ("vim", "git", "gimp", "postgresql", "python3-numpy", "mutt")
SHOWN_TAGS = ("use::editing", "role::plugin", "interface::commandline")
NEIGHBORS_SHOWN = 5
NODE_PROTOCOL, GRAPH_PROTOCOL = "ten 5/15/80 splits", "ten folds"


class Subject(NamedTuple):
    """Data and labels of a demo.

    Attributes:
        name: of the dataset.
        described: one sentence with its size.
        labels: what the labels are, in the plural.
        protocol: how embeddings are judged, in words.
        data: what is embedded.
        raw: features as they are, one row per labelled thing.
        y: their labels.
        target: the labelled type of nodes, if there are several.
    """

    name: str
    described: str
    labels: str
    protocol: str
    data: Any
    raw: FloatArray
    y: Any
    target: str | None = None

    def labelled(self, z: Any) -> FloatArray:
        """Return the rows that have labels."""
        rows: FloatArray = z if self.target is None else z[self.target]
        return rows


def run_demo(
    out: Path, *, level: Level = "node", seed: int = 0, verbose: bool = False
) -> Iterator[tuple[str, Any]]:
    """Embed a built-in graph and score the result.

    Args:
        out: folder for `summary.json`, `embeddings.parquet` and `model/`.
        level: "node" (Debian's packages), "graph" (digits) or "hetero" (packages,
            maintainers and tags).
        seed: of the model and of the splits.
        verbose: show a progress bar.

    Yields:
        ("data", Subject), then ("score", (name, Score)) for raw features, the
        training-free floor and the trained model, then ("neighbors", {name: names}) and
        ("summary", the contents of summary.json).
    """
    start = time.perf_counter()
    check_writable(out)
    check_model_path(out / "model")
    subject = SUBJECTS[level]()
    yield "data", subject
    model = DSGRL(random_state=seed, verbose=verbose)
    protocol = "folds" if level == "graph" else "5/15/80"
    scores: dict[str, Score] = {}
    z: Any = subject.raw
    for name in ("raw", "floor", "trained"):
        if name == "floor":
            z = embed_floor(subject.data)
        elif name == "trained":
            z = model.fit_transform(subject.data)
        rows = z if name == "raw" else subject.labelled(z)
        scores[name] = evaluate(rows, subject.y, protocol=protocol, random_state=seed)
        yield "score", (name, scores[name])
    yield "neighbors", _neighbors(level, subject, z)
    written = collect_rows(subject.data, z)
    path = out / "embeddings.parquet"
    write_embeddings(path, written.ids, written.z, written.labels, written.types)
    model.save(out / "model")
    summary: dict[str, Any] = {
        name: {"mean": round(score.mean, 2), "std": round(score.std, 2)}
        for name, score in scores.items()
    }
    summary["graph"], summary["protocol"] = subject.name, subject.protocol
    summary["epoch"] = model.epoch_
    summary["seconds"] = round(time.perf_counter() - start, 1)
    with atomic_write(out / "summary.json") as part:
        part.write_text(json.dumps(summary, indent=2) + "\n")
    yield "summary", summary


def _packages() -> Subject:
    data = read_graph("debian")
    return Subject(
        "debian",
        f"Debian's packages: {data.num_nodes} nodes, {data.num_edges // 2} links, "
        f"{data.num_features} words.",
        "sections",
        NODE_PROTOCOL,
        data,
        data.x.numpy(),
        data.y,
    )


def _digits() -> Subject:
    graphs = read_graph("digits-graphs")
    nodes = sum(graph.num_nodes for graph in graphs)
    # No structure: sum and mean of every column over the pixels of an image.
    raw = np.stack(
        [np.concatenate([g.x.sum(0).numpy(), g.x.mean(0).numpy()]) for g in graphs]
    )
    return Subject(
        "digits-graphs",
        f"Images of digits: {len(graphs)} graphs of {nodes / len(graphs):.0f} inked "
        f"pixels each, on average.",
        "digits",
        GRAPH_PROTOCOL,
        graphs,
        raw,
        [int(graph.y) for graph in graphs],
    )


def _archive() -> Subject:
    data = read_graph("debian-hetero")
    sizes = ", ".join(f"{data[kind].num_nodes} {kind}s" for kind in data.node_types)
    return Subject(
        "debian-hetero",
        f"Debian's archive: {sizes}, {len(data.edge_types)} relations.",
        "sections",
        NODE_PROTOCOL,
        data,
        data["package"].x.numpy(),
        data["package"].y,
        "package",
    )


SUBJECTS = {"node": _packages, "graph": _digits, "hetero": _archive}


def _neighbors(level: Level, subject: Subject, z: Any) -> dict[str, list[str]]:
    """Return the nearest neighbours of some well-known rows, by name."""
    if level == "graph":
        digits = [str(digit) for digit in subject.y]
        shown = [digits.index(digit) for digit in sorted(set(digits))]
        near, _ = nearest_rows(z, NEIGHBORS_SHOWN, shown)
        return {
            f"a {digits[i]}": [digits[j] for j in others]
            for i, others in zip(shown, near, strict=True)
        }
    if level == "node":
        return _named(z, subject.data.ids, SHOWN_PACKAGES)
    found = _named(z["package"], subject.data["package"].ids, SHOWN_PACKAGES[:3])
    return {**found, **_named(z["tag"], subject.data["tag"].ids, SHOWN_TAGS)}


def _named(
    z: FloatArray, ids: list[str], shown: tuple[str, ...]
) -> dict[str, list[str]]:
    position = {name: i for i, name in enumerate(ids)}
    known = {position[name]: name for name in shown if name in position}
    near, _ = nearest_rows(z, NEIGHBORS_SHOWN, list(known))
    return {
        name: [ids[j] for j in others]
        for name, others in zip(known.values(), near, strict=True)
    }
