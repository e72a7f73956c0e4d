"""Measure `dsgrl store`: seconds and peak memory of storing, then of opening.

    python scripts/store_speed.py --edges 100000000 --folder /tmp/big \
        --results results/store.jsonl

Edges and nodes are generated in chunks into parquet files: scattered whole numbers as
ids, ends that prefer some nodes, and a list of 16 numbers for every node. Needs the
extra `scale`. The folder is removed in the end.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from dsgrl.bench.cells import git_revision
from dsgrl.store.database import count_cores

CHUNK = 1 << 20
COLUMNS = 16
# Prints the seconds to open a graph, and the memory that is this process's own.
OPEN = """
import json, sys, time
import psutil
from dsgrl.datasets import read_graph
from dsgrl.graph import as_graph
own = lambda: psutil.Process().memory_full_info().uss
before, start = own(), time.perf_counter()
graph = as_graph(read_graph(sys.argv[1]))
seconds = time.perf_counter() - start
print(json.dumps({"open_seconds": round(seconds, 3),
                  "open_private_mb": round((own() - before) / 1e6, 1)}))
"""


def name_nodes(rows: Any) -> Any:
    """Return ids that are neither dense nor sorted like the rows."""
    return (rows * 2_654_435_761) % (1 << 40)


def write_edges(path: Path, num_edges: int, num_nodes: int) -> None:
    """Write random edges; low numbers are ends more often."""
    random = np.random.default_rng(0)
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, num_edges, CHUNK):
            size = min(CHUNK, num_edges - start)
            ends = (num_nodes * random.random((2, size)) ** 2).astype(np.int64)
            columns = [pa.array(name_nodes(end)) for end in ends]
            writer.write_table(pa.table(columns, schema=schema))


def write_nodes(path: Path, num_nodes: int) -> None:
    """Write every node with a list of numbers."""
    random = np.random.default_rng(1)
    lists = pa.list_(pa.float32(), COLUMNS)
    schema = pa.schema([("id", pa.int64()), ("features", lists)])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, num_nodes, CHUNK):
            rows = np.arange(start, min(start + CHUNK, num_nodes))
            values = random.normal(size=len(rows) * COLUMNS).astype(np.float32)
            features = pa.FixedSizeListArray.from_arrays(pa.array(values), COLUMNS)
            ids = pa.array(name_nodes(rows))
            writer.write_table(pa.table([ids, features], schema=schema))


def measure(folder: Path, num_edges: int, num_nodes: int, memory: str) -> Any:
    """Generate tables, store them, open the result, and describe all of it."""
    edges, nodes, out = (folder / n for n in ("e.parquet", "n.parquet", "graph"))
    write_edges(edges, num_edges, num_nodes)
    write_nodes(nodes, num_nodes)
    command = [
        sys.executable,
        "-m",
        "dsgrl",
        "store",
        str(edges),
        "--nodes",
        str(nodes),
    ]
    start = time.perf_counter()
    subprocess.run([*command, "-o", str(out), "--memory", memory], check=True)
    seconds = time.perf_counter() - start
    # Of the largest child that has ended; there was one.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    opened = subprocess.run(
        [sys.executable, "-c", OPEN, str(out)], check=True, capture_output=True
    )
    manifest = json.loads((out / "manifest.json").read_text())
    return {
        "suite": "store",
        "edges": num_edges,
        "nodes": num_nodes,
        "features": COLUMNS,
        "entries": manifest["num_edges"],
        "seconds": round(seconds, 1),
        "peak_rss_mb": round(peak / 1024),
        "memory": memory,
        "input_mb": round((edges.stat().st_size + nodes.stat().st_size) / 1e6),
        "stored_mb": round(sum(f["bytes"] for f in manifest["files"].values()) / 1e6),
        **json.loads(opened.stdout),
        "threads": count_cores(),
        "git": git_revision(),
    }


def main() -> None:
    """Measure once and write one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, help="default: a twentieth of the edges")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", type=Path, required=True, help="new, is removed")
    parser.add_argument("--results", type=Path, help="default: the standard output")
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    try:
        num_nodes = given.nodes or max(given.edges // 20, 2)
        found = measure(given.folder, given.edges, num_nodes, given.memory)
    finally:
        shutil.rmtree(given.folder)
    line = json.dumps(found)
    if given.results is None:
        sys.stdout.write(line + "\n")
        return
    with given.results.open("a") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    main()
