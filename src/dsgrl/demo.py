"""The demo: what one gets from the built-in graph, in numbers and in neighbours."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dsgrl.estimator import DSGRL
from dsgrl.evaluate.protocols import evaluate
from dsgrl.graph.files import read_graph
from dsgrl.graph.saving import check_writable, write_embeddings, written_beside
from dsgrl.train.folder import check_model_path
from dsgrl.typing import FloatArray, Score

SHOWN_PACKAGES = ("vim", "git", "gimp", "postgresql", "python3-numpy", "wireshark")
NUM_NEIGHBORS = 5


def run_demo(
    out: Path, *, seed: int = 0, verbose: bool = False
) -> Iterator[tuple[str, Any]]:
    """Embed Debian's packages and judge the result.

    Args:
        out: folder for `summary.json`, `embeddings.parquet` and `model/`.
        seed: of the model and of the splits.
        verbose: show a progress bar.

    Yields:
        ("graph", data), then ("score", (name, Score)) for raw features, the
        untrained and the trained model, then ("neighbors", {name: names}) and
        ("summary", the contents of summary.json).
    """
    start = time.perf_counter()
    check_writable(out)
    check_model_path(out / "model")
    data = read_graph("debian")
    yield "graph", data
    model = DSGRL(random_state=seed, verbose=verbose)
    scores: dict[str, Score] = {}
    z = data.x.numpy()
    for name in ("raw", "untrained", "trained"):
        if name == "untrained":
            z = DSGRL(random_state=seed, epochs=0).fit_transform(data)
        elif name == "trained":
            z = model.fit_transform(data)
        scores[name] = evaluate(z, data.y, random_state=seed)
        yield "score", (name, scores[name])
    yield "neighbors", nearest(z, data.ids)
    labels = [data.label_names[i] for i in data.y.tolist()]
    write_embeddings(out / "embeddings.parquet", data.ids, z, labels)
    model.save(out / "model")
    summary: dict[str, Any] = {
        name: {"mean": round(score.mean, 2), "std": round(score.std, 2)}
        for name, score in scores.items()
    }
    summary["epoch"] = model.epoch_
    summary["seconds"] = round(time.perf_counter() - start, 1)
    with written_beside(out / "summary.json") as part:
        part.write_text(json.dumps(summary, indent=2) + "\n")
    yield "summary", summary


def nearest(z: FloatArray, ids: list[str]) -> dict[str, list[str]]:
    """Return the nearest packages of some well-known ones, by cosine similarity."""
    centered = (z - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    unit = centered / (np.linalg.norm(centered, axis=1, keepdims=True) + 1e-12)
    position = {name: i for i, name in enumerate(ids)}
    found = {}
    for name in SHOWN_PACKAGES:
        if name in position:
            similarity = unit @ unit[position[name]]
            similarity[position[name]] = -2.0
            closest = np.argsort(-similarity, kind="stable")[:NUM_NEIGHBORS]
            found[name] = [ids[i] for i in closest]
    return found
