"""What categories and texts in a table of nodes add to its numbers.

`apt-cache dumpavail | python -m studies.columns` makes a table of the packages of the
built-in graph (sizes, architecture, maintainer, description; the section is hidden),
embeds it with more and more of its columns and writes one line each.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsgrl import read_graph
from dsgrl.bench.cells import git_revision
from dsgrl.bench.lines import Line, append_line, open_results
from dsgrl.evaluation import evaluate
from dsgrl.explore.columns import dense_rows
from dsgrl.methods import configure
from dsgrl.train import fit_graph
from scripts.build_debian import Link, Stanza, choose, maintainers_of

RESULTS = Path(__file__).parent / "results" / "columns.jsonl"
METHODS = ("raw", "hops", "dsgrl")
NUMBERS = ("size", "installed_size")
# What a user gives as --features.
CASES: Mapping[str, tuple[str, ...]] = {
    "numbers": NUMBERS,
    "numbers, categories": (*NUMBERS, "architecture", "maintainer"),
    "numbers, categories, text": (
        *NUMBERS,
        "architecture",
        "maintainer",
        "description",
    ),
}


def make_tables(
    packages: Mapping[str, Stanza], links: Iterable[Link]
) -> tuple[pa.Table, pa.Table]:
    """Return the tables of edges and nodes that a user would have."""
    pairs = [(source, target) for source, target, _ in links]
    edges = pa.table({"from": [a for a, _ in pairs], "to": [b for _, b in pairs]})
    stanzas = list(packages.values())
    first = [next(iter(maintainers_of(s.get("Maintainer", ""))), None) for s in stanzas]
    nodes = pa.table(
        {
            "name": list(packages),
            "size": [_number(s, "Size") for s in stanzas],
            "installed_size": [_number(s, "Installed-Size") for s in stanzas],
            "architecture": [s.get("Architecture") for s in stanzas],
            "maintainer": first,
            "description": [s.get("Description") for s in stanzas],
            "section": [s["Section"] for s in stanzas],
        }
    )
    return edges, nodes


def _number(stanza: Stanza, field: str) -> int | None:
    return int(stanza[field]) if field in stanza else None


def run_cases(
    edges: pa.Table, nodes: pa.Table, results: Path = RESULTS
) -> Iterator[Line]:
    """Score every case that has no line; yield the new lines."""
    known = {(line["columns"], line["method"]) for line in open_results(results)}
    for name, features in CASES.items():
        data = read_graph(
            edges, nodes, columns={"label": "section"}, features=list(features)
        )
        for method in METHODS:
            if (name, method) not in known:
                score = evaluate(_embed(data, method), np.asarray(data.y))
                line = {
                    "suite": "columns",
                    "columns": name,
                    "method": method,
                    "nodes": data.num_nodes,
                    "features": int(data.x.shape[1]),
                    "mean": round(score.mean, 4),
                    "std": round(score.std, 4),
                    "seed": 0,
                    "git": git_revision(),
                }
                append_line(results, line)
                yield line


def _embed(data: Any, method: str) -> Any:
    """Return the features, or the vectors of a method that never sees the labels."""
    if method == "raw":
        return dense_rows(data.x)
    plain = data.clone()
    del plain.y
    fitted, graph = fit_graph(method, plain, configure(method, {}))
    return np.asarray(fitted.embed_graph(graph))


def table() -> str:
    """Return the score of every set of columns and method."""
    scores: dict[str, dict[str, Line]] = {}
    for line in open_results(RESULTS):
        scores.setdefault(line["columns"], {})[line["method"]] = line
    if not scores:
        return "Not recorded yet.\n"
    rows = [["columns", "features", "raw", "hops", "default"], ["---"] * 5]
    for name, found in scores.items():
        values = [f"{found[m]['mean']:.1f}" if m in found else "" for m in METHODS]
        rows.append([name, f"{found['raw']['features']:,}", *values])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    for made in run_cases(*make_tables(*choose(sys.stdin))):
        sys.stderr.write(f"{made}\n")
