"""Real processes of a build, killed at any moment, and run again."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dsgrl.datasets import read_graph
from dsgrl.store.manifest import Manifest
from dsgrl.typing import InputError
from store_cases import assert_same_graph, store

pytestmark = pytest.mark.slow
KILLS = 10
# Builds a graph and names each step when it begins.
BUILD = """
import sys
from pathlib import Path
from dsgrl.store.build import build_store
say = lambda line: print(line, flush=True)
say("loaded")
edges, nodes, out = map(Path, sys.argv[1:])
build_store(edges, nodes, out, version="test", report=say)
say("done")
"""
STEPS = [
    "reading",
    "numbering nodes",
    "writing ids",
    "sorting edges",
    "writing features",
    "computing checksums",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    ids = rng.permutation(50_000) * 3
    ends = ids[rng.integers(len(ids), size=(2, 400_000))]
    edges = pa.table({"source": ends[0], "target": ends[1]})
    nodes = pa.table(
        {
            "id": ids,
            "size": rng.normal(size=len(ids)),
            "city": rng.choice(["a", "b", "c"], len(ids)),
        }
    )
    for name, table in (("e", edges), ("n", nodes)):
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    return folder / "e.parquet", folder / "n.parquet"


@pytest.fixture(scope="module")
def whole(
    tables: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Manifest:
    """Build without a kill."""
    out = tmp_path_factory.mktemp("whole") / "g"
    manifest = store(*tables, out)
    assert_same_graph(read_graph(*tables), read_graph(out))
    return manifest


def start(tables: tuple[Path, Path], out: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD, *map(str, tables), str(out)],
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_for(process, "loaded")
    return process


def wait_for(process: subprocess.Popen[str], step: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == step:
            return
    raise AssertionError(f"ended before {step}")


def kill(process: subprocess.Popen[str]) -> bool:
    """Kill a process; return whether it was still running."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def assert_run_again(tables: tuple[Path, Path], out: Path, whole: Manifest) -> None:
    """Run to the end: the graph is that of a run never killed, and nothing else."""
    process = start(tables, out)
    wait_for(process, "done")
    process.communicate()
    assert process.returncode == 0
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    manifest = Manifest.read(out)
    manifest.verify(out)
    assert manifest == whole


@pytest.mark.parametrize("step", STEPS)
def test_kill__at_every_step(
    tables: tuple[Path, Path], whole: Manifest, tmp_path: Path, step: str
) -> None:
    out = tmp_path / "g"
    process = start(tables, out)
    wait_for(process, step)
    assert kill(process)
    assert not out.exists()
    with pytest.raises(InputError):
        read_graph(out)
    assert_run_again(tables, out, whole)


def test_kill__at_random_moments(
    tables: tuple[Path, Path], whole: Manifest, tmp_path: Path
) -> None:
    """What is at the place is the graph before, or the whole new one."""
    out = tmp_path / "g"
    edges = tmp_path / "e.csv"
    edges.write_text("source,target\n1,2\n")
    before = store(edges, None, out)
    edges.unlink()
    begun = time.monotonic()
    assert_run_again(tables, tmp_path / "g", whole)
    seconds = time.monotonic() - begun
    edges.write_text("source,target\n1,2\n")
    store(edges, None, out)
    edges.unlink()
    draw = random.Random(0)
    kills = 0
    while kills < KILLS:
        process = start(tables, out)
        time.sleep(draw.uniform(0, seconds))
        kills += kill(process)
        found = Manifest.read(out)
        found.verify(out)
        assert found in (before, whole)
        read_graph(out)
    assert_run_again(tables, out, whole)
