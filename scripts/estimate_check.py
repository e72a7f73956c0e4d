"""Compare what `dsgrl embed --dry-run` says with what the run then takes.

    python scripts/estimate_check.py measure            # adds lines to the results
    python scripts/estimate_check.py measure photo cs   # only of these graphs
    python scripts/estimate_check.py render             # fills docs/SCALING.md

Every estimate and every run is a process of its own; memory is its peak as the system
reports it, time that of the wall clock. "generated" is a graph of communities with
200,000 nodes, 4 million edges (each way counts) and 128 features, written as tables.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dsgrl.bench.cells import git_revision

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "results" / "estimates.jsonl", ROOT / "docs" / "SCALING.md"
NODES, PAIRS, COLUMNS, COMMUNITY = 200_000, 2_000_000, 128, 50
FLOOR = ("floor", "--epochs", "0")
DEFAULT = ("full", "--epochs", "10")
FEATURE = ("full", "--augment", "feature", "--epochs", "10")
TOPOLOGY = ("full", "--augment", "topology", "--epochs", "10")
PARTS = ("parts", "--batch-size", "1024", "--epochs", "2")
# What is measured: the way in the estimate, and the options of the run.
CASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "generated": (
        FLOOR,
        ("full", "--epochs", "3"),
        ("full", "--augment", "feature", "--epochs", "3"),
        ("full", "--augment", "topology", "--epochs", "3"),
    ),
    "cora": (FLOOR, ("full",), FEATURE, TOPOLOGY, PARTS),
    "photo": (FLOOR, DEFAULT, FEATURE, TOPOLOGY, PARTS),
    "cs": (FLOOR, DEFAULT, FEATURE),
    "github": (FLOOR, FEATURE, TOPOLOGY),
    "deezer": (FLOOR, DEFAULT, FEATURE),
    "debian": (FLOOR, DEFAULT, FEATURE),
    "proteins": (FLOOR, ("full",), ("full", "--augment", "topology")),
    "debian-hetero": (FLOOR, DEFAULT),
    "imdb": (FLOOR, DEFAULT),
}


def generate(folder: Path) -> list[str]:
    """Write the generated graph; return its place as arguments of the command."""
    random = np.random.default_rng(0)
    source = random.integers(NODES, size=PAIRS)
    near = source // COMMUNITY * COMMUNITY + random.integers(COMMUNITY, size=PAIRS)
    anyone = random.integers(NODES, size=PAIRS)
    target = np.where(random.random(PAIRS) < 0.8, near, anyone)
    centers = random.normal(size=(NODES // COMMUNITY, COLUMNS))
    rows = 0.5 * centers[np.arange(NODES) // COMMUNITY]
    rows += random.normal(size=rows.shape)
    values = pa.array(rows.astype(np.float32).ravel())
    features = pa.FixedSizeListArray.from_arrays(values, COLUMNS)
    edges, nodes = folder / "edges.parquet", folder / "nodes.parquet"
    pa.parquet.write_table(pa.table({"source": source, "target": target}), edges)
    table = pa.table({"id": np.arange(NODES), "features": features})
    pa.parquet.write_table(table, nodes)
    return [str(edges), "--nodes", str(nodes)]


def run(arguments: list[str]) -> tuple[str, float, float]:
    """Run a command; return what it printed, its seconds and its peak in bytes."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "dsgrl", "embed", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return printed, seconds, 1024.0 * usage.ru_maxrss


def measure(graph: str, place: list[str], folder: Path) -> list[dict[str, Any]]:
    """Measure all cases of a graph."""
    lines = []
    for way, *options in CASES[graph]:
        arguments = [*place, "-o", str(folder / "z.parquet"), *options, "--json", "-q"]
        # The floor is one of the ways whatever is trained.
        asked = [part for part in arguments if way != "floor" or part not in FLOOR]
        printed, dry_seconds, dry_peak = run([*asked, "--dry-run"])
        found = json.loads(printed)["estimates"][way]
        _, seconds, peak = run(arguments)
        lines.append(
            {
                "suite": "estimates",
                "graph": graph,
                "way": way,
                "options": " ".join(options),
                "estimated_seconds": [round(s, 1) for s in found["seconds"]],
                "seconds": round(seconds, 1),
                "estimated_mb": round(found["bytes"] / 1e6),
                "peak_mb": round(peak / 1e6),
                "dry_run_seconds": round(dry_seconds, 1),
                "dry_run_peak_mb": round(dry_peak / 1e6),
                "threads": os.environ.get("OMP_NUM_THREADS", ""),
                "git": git_revision(),
            }
        )
        add(lines[-1])
    return lines


def add(line: dict[str, Any]) -> None:
    """Put a line in the place of an earlier one of the same case, or at the end."""
    kept = [old for old in read() if case_of(old) != case_of(line)]
    text = "".join(json.dumps(each) + "\n" for each in [*kept, line])
    RESULTS.write_text(text)


def read() -> list[dict[str, Any]]:
    """Return the recorded lines."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def case_of(line: dict[str, Any]) -> tuple[str, str, str]:
    """Return what identifies a case."""
    return line["graph"], line["way"], line["options"]


def render_table() -> str:
    """Return the comparison as Markdown."""
    table = [
        "| graph | way | options | memory, estimated | measured | time, estimated "
        "| measured |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in sorted(read(), key=lambda line: list(CASES).index(line["graph"])):
        low, high = line["estimated_seconds"]
        took = f"{low:.0f} s" if low == high else f"{low:.0f} to {high:.0f} s"
        table.append(
            f"| {line['graph']} | {line['way']} | {line['options']} "
            f"| {line['estimated_mb']:,} MB | {line['peak_mb']:,} MB "
            f"| {took} | {line['seconds']:.0f} s |"
        )
    return "\n".join(table)


def render() -> str:
    """Return the page with its table filled."""
    block = r"(<!-- estimates -->\n).*?(<!-- /estimates -->)"
    filled = render_table()
    return re.sub(
        block, lambda m: f"{m[1]}{filled}\n{m[2]}", PAGE.read_text(), flags=re.S
    )


def main(arguments: list[str]) -> None:
    """Measure or render."""
    if arguments == ["render"]:
        PAGE.write_text(render())
        return
    if arguments[:1] != ["measure"] or not set(arguments[1:]) <= set(CASES):
        sys.exit("usage: estimate_check.py measure [GRAPH ...] | render")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for graph in arguments[1:] or CASES:
            place = generate(folder) if graph == "generated" else [graph]
            measure(graph, place, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
