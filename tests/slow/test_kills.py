"""Real processes of `dsgrl embed`, killed at any moment and resumed.

Most processes are forked from one that has loaded everything, since loading takes far
longer than training here; each is a process of its own that runs the command line.
"""

import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dsgrl import cli
from dsgrl.io import atomic
from dsgrl.train.checkpoint import list_checkpoints
from dsgrl.train.state_file import read_state
from samples import LEVELS

pytestmark = pytest.mark.slow
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "pytest",
        "torch_geometric.data",
        "torch_geometric.utils",
        "dsgrl.bench.embedding",
        "dsgrl.cli",
        "dsgrl.datasets.files",
        "dsgrl.io.embeddings",
    ]
)
OUTPUTS = ("z.parquet", "model", "views")
EMBED = (
    "embed edges.csv --nodes nodes.csv --dim 8 --augment both -o z.parquet "
    "--model model --views views --checkpoint run"
)
KILLS_PER_LEVEL = 7


def write_tables(folder: Path, level: str, count: int = 60) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    group = [i // 6 for i in range(count)]
    extra = {
        "node": [""] * count,
        "graph": [f",{g}" for g in group],
        "hetero": [f",{'ab'[i % 3 == 0]}" for i in range(count)],
    }[level]
    column = {"node": "", "graph": ",graph", "hetero": ",type"}[level]
    x = rng.normal(size=(count, 2)).round(3)
    rows = [f"n{i}{extra[i]},{x[i, 0]},{x[i, 1]}\n" for i in range(count)]
    (folder / "nodes.csv").write_text(f"id{column},f,g\n" + "".join(rows))
    pairs = [(i, (i + step) % count) for i in range(count) for step in (1, 2, 5)]
    if level == "graph":
        pairs = [(a, b) for a, b in pairs if group[a] == group[b]]
    lines = "".join(f"n{a},n{b}\n" for a, b in pairs)
    (folder / "edges.csv").write_text("source,target\n" + lines)


def run_command(words: str, folder: Path, options: dict[str, int]) -> None:
    """Be the process: run the command line in a folder.

    Args:
        words: the arguments.
        folder: to run in; what is printed goes to the file `log` there.
        options: `die_at`, the number of the fsync, rename or removal before which to
            die; `file_limit`, the largest size of a file.
    """
    os.chdir(folder)
    log = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    torch.set_num_threads(1)
    if "file_limit" in options:
        size = options["file_limit"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if "die_at" in options:
        die_at_event(options["die_at"])
    sys.argv = ["dsgrl", *words.split()]
    cli.main()


def die_at_event(last: int) -> None:
    """Kill this process before its n-th step that changes the disk."""
    count = 0

    def counted(act: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*given, **named)

        return call

    for name in ("fsync", "replace", "rename", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    atomic._exchange = counted(atomic._exchange)


def start(folder: Path, words: str, **options: int) -> Any:
    process = FORKS.Process(target=run_command, args=(words, folder, options))
    process.start()
    return process


def run(folder: Path, words: str, **options: int) -> int:
    """Run a process to its end, or to its death; return its exit code."""
    process = start(folder, words, **options)
    process.join(300)
    code = process.exitcode
    process.close()
    assert code is not None
    return int(code)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the outputs that are there, by name."""
    paths = [
        path for name in OUTPUTS for path in (folder / name, *folder.glob(f"{name}/*"))
    ]
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths if p.is_file()}


def assert_sound(folder: Path, expected: dict[str, bytes]) -> None:
    """No half file: an output is whole or not there, and every checkpoint is intact."""
    found = contents(folder)
    assert all(expected[name] == content for name, content in found.items())
    for name in OUTPUTS:
        if (folder / name).exists():
            assert {n for n in found if n.startswith(name)} == {
                n for n in expected if n.startswith(name)
            }
    checkpoints = list_checkpoints(folder / "run")
    # Between writing one and removing another there is one more.
    assert len(checkpoints) <= 3
    for epoch, path in checkpoints.items():
        assert read_state(path).header["epoch"] == epoch


def assert_finished(folder: Path, expected: dict[str, bytes]) -> None:
    assert contents(folder) == expected
    assert {path.name for path in folder.iterdir()} == {
        *OUTPUTS,
        *("run", "log", "edges.csv", "nodes.csv"),
    }
    assert len(list((folder / "run").iterdir())) <= 2


def clear(folder: Path) -> None:
    for name in (*OUTPUTS, "run"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def whole_run(folder: Path, words: str) -> dict[str, bytes]:
    """Return the outputs of a run that is never killed, and remove them."""
    assert run(folder, words) == 0, (folder / "log").read_text()
    expected = contents(folder)
    assert {name.split("/")[0] for name in expected} == {*OUTPUTS}
    clear(folder)
    return expected


@pytest.mark.parametrize("level", LEVELS)
def test_kill__at_random_moments(level: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, level)
    words = f"{EMBED} --epochs 40 --every 1"
    # Without checkpoints, too: they change nothing.
    plain = whole_run(
        folder, words.replace("--checkpoint run --epochs 40 --every 1", "--epochs 40")
    )
    began = time.monotonic()
    expected = whole_run(folder, words)
    assert expected == plain
    lasts = time.monotonic() - began
    chance = random.Random(level)
    kills = newest = 0
    while kills < KILLS_PER_LEVEL:
        process = start(folder, f"{words} --resume")
        process.join(chance.uniform(0, lasts))
        process.kill()
        process.join()
        code = process.exitcode
        process.close()
        assert code in (0, -signal.SIGKILL), (folder / "log").read_text()
        assert_sound(folder, expected)
        if code == 0:
            assert_finished(folder, expected)
            clear(folder)
            newest = 0
            continue
        kills += 1
        # Nothing is lost that was saved.
        epoch = max(list_checkpoints(folder / "run"), default=0)
        assert epoch >= newest
        newest = epoch
    assert run(folder, f"{words} --resume") == 0
    assert_finished(folder, expected)


def test_kill__before_every_step_that_changes_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "node", 24)
    words = f"{EMBED} --epochs 2 --every 1"
    expected = whole_run(folder, words)
    steps, seen = 0, set()
    code = -signal.SIGKILL
    while code == -signal.SIGKILL:
        steps += 1
        # From the second time on, older outputs are there to be replaced.
        code = run(folder, f"{words} --resume", die_at=steps)
        assert_sound(folder, expected)
        left = frozenset(
            re.sub(r"\d+\.part", "part", str(path)) for path in folder.rglob("*")
        )
        if left not in seen:
            seen.add(left)
            assert run(folder, f"{words} --resume") == 0
            assert_finished(folder, expected)
        shutil.rmtree(folder / "run", ignore_errors=True)
    assert code == 0
    assert steps > 25
    assert len(seen) > 10


def test_kill__the_program_itself(tmp_path: Path) -> None:
    """The real `python -m dsgrl`: SIGKILL, SIGTERM and SIGINT, each resumed."""
    folder = tmp_path / "here"
    write_tables(folder, "node")
    words = f"{EMBED} --epochs 2000 --every 1"
    for number, code in (
        (signal.SIGKILL, -signal.SIGKILL),
        (signal.SIGTERM, 143),
        (signal.SIGINT, 130),
    ):
        before = max(list_checkpoints(folder / "run"), default=0)
        process = subprocess.Popen(
            [sys.executable, "-m", "dsgrl", *words.split(), "--resume"],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        deadline = time.monotonic() + 300
        while max(list_checkpoints(folder / "run"), default=0) < before + 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=300)
        assert process.returncode == code
        # The summary of what was read comes first.
        summary = re.compile("dsgrl: (read|features)")
        first, *last = [x for x in said.splitlines() if not summary.match(x)]
        assert ("resumed after" if before else "no checkpoint") in first
        if number == signal.SIGKILL:
            assert last == []
            continue
        epoch = max(list_checkpoints(folder / "run"))
        assert last == [
            f"dsgrl: stopped after epoch {epoch}: go on with dsgrl {words} --resume"
        ]


def test_full_disk__training_goes_on_and_the_earlier_checkpoint_stays(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "node")
    words = f"{EMBED} --epochs 40 --every 1"
    expected = whole_run(folder, words)
    # The history grows: a limit that the first checkpoints do not reach.
    assert run(folder, words.replace("--epochs 40", "--epochs 12")) == 0
    limit = list_checkpoints(folder / "run")[12].stat().st_size
    clear(folder)
    assert run(folder, words, file_limit=limit) == 0
    warning, done = sorted((folder / "log").read_text().splitlines())[::-1][:2][::-1]
    assert {"disk is full" in warning, "disk is full" in done} == {True, False}
    assert_sound(folder, expected)
    assert contents(folder) == expected
    assert 5 < max(list_checkpoints(folder / "run")) < 20
    assert run(folder, f"{words} --resume") == 0
    assert_finished(folder, expected)
