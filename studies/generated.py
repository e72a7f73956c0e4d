"""The default beside the floor on generated graphs, which had no part in any choice.

`python -m studies.generated` makes communities with features of several widths and
amounts of noise, and other kinds of graphs (`kinds.py`), and writes one line per graph
and method.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch_geometric.data import Data

from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.evaluation import evaluate
from dsgrl.floor import Projection
from dsgrl.methods import configure
from dsgrl.train import fit_graph
from studies.kinds import KINDS

RESULTS = Path(__file__).parent / "results" / "generated.jsonl"
# "svd" is as many columns of wider features as an embedding has.
METHODS = ("raw", "svd", "hops", "dsgrl")
COLUMNS = 256
SEEDS = (0, 1, 2)
NUM_SPLITS = 5


class Communities(NamedTuple):
    """A graph of communities.

    Attributes:
        nodes: number of nodes.
        classes: number of communities.
        degree: mean degree.
        inside: share of the edges inside communities.
        features: number of columns.
        signal: distance of the communities' features, in deviations of the noise.
    """

    nodes: int
    classes: int
    degree: float
    inside: float
    features: int
    signal: float


CASES: Mapping[str, Communities] = {
    "clear, 240 nodes": Communities(240, 4, 8, 0.85, 8, 0.8),
    "3 columns": Communities(240, 4, 6, 0.8, 3, 0.8),
    "40 columns": Communities(240, 4, 8, 0.8, 40, 0.3),
    "600 nodes": Communities(600, 4, 6, 0.7, 8, 0.5),
    "4 columns": Communities(2000, 5, 6, 0.7, 4, 0.6),
    "noisy, 16 columns": Communities(2000, 5, 6, 0.7, 16, 0.3),
    "noisy, 64 columns": Communities(3000, 8, 5, 0.6, 64, 0.2),
    "links across": Communities(2000, 5, 6, 0.05, 16, 0.8),
}


def generate(case: Communities, seed: int) -> Data:
    """Draw a graph."""
    random = torch.Generator().manual_seed(seed)
    y = torch.arange(case.nodes) % case.classes
    size = case.nodes / case.classes
    within = case.degree * case.inside / size
    across = case.degree * (1 - case.inside) / (case.nodes - size)
    chance = torch.where(y[:, None] == y[None], within, across)
    linked = (torch.rand(case.nodes, case.nodes, generator=random) < chance).triu(1)
    center = torch.randn(case.classes, case.features, generator=random)
    noise = torch.randn(case.nodes, case.features, generator=random)
    edges = (linked | linked.t()).nonzero().t().contiguous()
    return Data(x=case.signal * center[y] + noise, edge_index=edges, y=y)


def run_cases(
    names: Sequence[str], seeds: Sequence[int] = SEEDS, results: Path = RESULTS
) -> Iterator[Line]:
    """Score every case that has no line; yield the new lines."""
    known = {
        (line["case"], line["method"], line["seed"]) for line in open_results(results)
    }
    for name in names:
        for seed in seeds:
            data = draw(name, seed)
            for method in methods_for(data):
                if (name, method, seed) not in known:
                    line = {
                        "suite": "generated",
                        "case": name,
                        "method": method,
                        "mean": round(_score(data, method), 4),
                        "seed": seed,
                        "git": git_revision(),
                    }
                    append_line(results, line)
                    yield line


def draw(name: str, seed: int) -> Data:
    """Make a graph of a case or of a kind."""
    if name in CASES:
        return generate(CASES[name], seed)
    return KINDS[name](np.random.default_rng(seed))


def methods_for(data: Data) -> list[str]:
    """Return the methods that there is something to compute for."""
    width = 0 if data.x is None else data.x.size(1)
    left_out = {"raw": not width, "svd": width <= COLUMNS}
    return [method for method in METHODS if not left_out.get(method, False)]


def _score(data: Data, method: str) -> float:
    z: Any = data.x
    if method == "svd":
        projection = Projection(data.x.size(1), COLUMNS).fit(data.x)
        z = projection(data.x)
    elif method != "raw":
        plain = Data(
            x=data.x, edge_index=data.edge_index, num_nodes=len(np.asarray(data.y))
        )
        fitted, graph = fit_graph(method, plain, configure(method, {}))
        z = fitted.embed_graph(graph)
    return evaluate(np.asarray(z), np.asarray(data.y), num_splits=NUM_SPLITS).mean


def table(names: Collection[str] = tuple(CASES)) -> str:
    """Return the mean score of every case and method.

    Args:
        names: the cases or kinds to show.
    """
    scores: dict[str, dict[str, list[float]]] = {}
    for line in open_results(RESULTS):
        if line["case"] in names:
            of_case = scores.setdefault(line["case"], {})
            of_case.setdefault(line["method"], []).append(line["mean"])
    if not scores:
        return "Not recorded yet.\n"
    methods = [m for m in METHODS if any(m in found for found in scores.values())]
    titles = {"svd": f"raw, {COLUMNS} columns", "dsgrl": "default"}
    rows = [["graph", *(titles.get(m, m) for m in methods)]]
    rows.append(["---"] * len(rows[0]))
    for name, found in scores.items():
        shown = (f"{np.mean(found[m]):.1f}" if m in found else "" for m in methods)
        rows.append([name, *shown])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    for made in run_cases(sys.argv[1:] or [*CASES, *KINDS]):
        sys.stderr.write(f"{made}\n")
