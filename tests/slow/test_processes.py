"""Real processes that train together: gloo, torchrun, a death, a resume."""

import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest
import torch
from test_kills import write_tables

import test_ranks
from dsgrl.ranks import ALONE, Ranks
from dsgrl.train.checkpoint import list_checkpoints
from dsgrl.train.distributed import current_ranks, processes

pytestmark = pytest.mark.slow
TWO_MACHINES = Path(__file__).parents[2] / "scripts" / "two_machines.sh"
SPAWN = multiprocessing.get_context("spawn")
# Without dropout, and all graphs in one batch: nothing is left to chance or order.
STILL = "--set dropout=0 --batch-size 100 --epochs 4"
EMBED = "embed edges.csv --nodes nodes.csv --dim 8 -o z.parquet"


def environment(**more: object) -> dict[str, str]:
    given = {"OMP_NUM_THREADS": 1, "DSGRL_TIMEOUT": 60, **more}
    return {**os.environ, **{name: str(value) for name, value in given.items()}}


def start(
    folder: Path, words: str, count: int = 2, restarts: int = 0
) -> subprocess.Popen[str]:
    launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    launcher.append(f"--max-restarts={restarts}")
    return subprocess.Popen(
        [sys.executable, "-m", *launcher, "-m", "dsgrl", *words.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def run(folder: Path, words: str, count: int = 2) -> tuple[int, str, list[str]]:
    """Run to the end; return the exit code, what was printed, and lines of ours."""
    process = start(folder, words, count)
    printed, said = process.communicate(timeout=300)
    return process.returncode, printed, ours(said)


def ours(said: str) -> list[str]:
    """Return our lines: torchrun adds its own."""
    return [line for line in said.splitlines() if line.startswith("dsgrl:")]


def run_alone(folder: Path, words: str) -> None:
    command = [sys.executable, "-m", "dsgrl", *words.split()]
    subprocess.run(command, cwd=folder, check=True, env=environment())


def embeddings(path: Path) -> np.ndarray:
    return np.stack(pq.read_table(path)["embedding"].to_pylist())


def wait_for_epoch(folder: Path, epoch: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while max(list_checkpoints(folder), default=0) < epoch:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def workers(process: subprocess.Popen[str]) -> dict[int, psutil.Process]:
    """Return the processes that torchrun has started, by rank."""
    found = psutil.Process(process.pid).children(recursive=True)
    return {int(p.environ()["RANK"]): p for p in found if "RANK" in p.environ()}


def compare(rank: int, port: int, answers: Any) -> None:
    """Be one of two processes: take the steps of every case."""
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "DSGRL_TIMEOUT": "60",
    }
    torch.set_num_threads(1)
    assert current_ranks() is ALONE
    with processes() as ranks:
        assert current_ranks() is ranks
        answers.put((rank, steps(ranks)))
    assert current_ranks() is ALONE


def steps(ranks: Ranks) -> dict[str, Any]:
    """Return losses and gradients of every case, in plain lists."""
    found = {}
    for case, options in test_ranks.METHOD_CASES.items():
        torch.manual_seed(0)
        built = test_ranks.build("dsgrl", **options)
        losses, _, gradients = test_ranks.take_steps(built, ranks)
        found[case] = (losses, [gradient.tolist() for gradient in gradients])
    return found


def test_gloo__losses_and_gradients_are_those_of_one_process() -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    answers = SPAWN.Queue()
    started = [SPAWN.Process(target=compare, args=(r, port, answers)) for r in (0, 1)]
    for process in started:
        process.start()
    found = dict(answers.get(timeout=300) for _ in started)
    for process in started:
        process.join(60)
        assert process.exitcode == 0
    # Both have the same, to the last bit.
    assert found[0] == found[1]
    for case, (losses, gradients) in steps(ALONE).items():
        assert found[0][case][0] == [pytest.approx(row, rel=1e-8) for row in losses]
        for one, other in zip(found[0][case][1], gradients, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-10)


def test_embed__two_processes_end_where_one_does(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "graph")
    words = f"{EMBED} {STILL} --model model"
    run_alone(folder, f"{words}1".replace("z.parquet", "one.parquet"))
    code, printed, said = run(folder, words)
    assert code == 0
    assert printed.count("wrote z.parquet") == 1
    assert len(said) == 2
    assert {"z.parquet", "model"} <= {path.name for path in folder.iterdir()}
    histories = [
        np.genfromtxt(folder / name / "history.csv", delimiter=",", names=True)
        for name in ("model1", "model")
    ]
    for column in ("loss", "invariance", "covariance", "effective_rank"):
        one, two = (history[column] for history in histories)
        np.testing.assert_allclose(one, two, rtol=1e-3)
        np.testing.assert_allclose(one[0], two[0], rtol=1e-5)
    ids = [
        pq.read_table(folder / n)["id"].to_pylist()
        for n in ("one.parquet", "z.parquet")
    ]
    assert ids[0] == ids[1]
    one, two = (embeddings(folder / name) for name in ("one.parquet", "z.parquet"))
    # Directions of the last step are determined up to their sign.
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=0.02)


def test_embed__one_graph_in_parts_in_two_processes(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "node")
    words = "embed edges.csv --nodes nodes.csv -o z.parquet --dim 8 --batch-size 10"
    code, printed, lines = run(folder, f"{words} --epochs 3")
    assert code == 0, lines
    assert printed.count("wrote z.parquet") == 1
    assert np.isfinite(embeddings(folder / "z.parquet")).all()
    code, _, lines = run(folder, words)
    assert code == 0, lines


@pytest.mark.parametrize("victim", [0, 1])
def test_kill__of_one_process_stops_the_run_which_can_be_resumed(
    victim: int, tmp_path: Path
) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "graph")
    words = f"{EMBED} --epochs 60 --batch-size 5 --augment both --set views.refresh=2"
    assert run(folder, words)[0] == 0
    expected = (folder / "z.parquet").read_bytes()
    (folder / "z.parquet").unlink()
    saved = f"{words} --checkpoint run --every 1"
    process = start(folder, saved)
    wait_for_epoch(folder / "run", 3, process)
    workers(process)[victim].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=300)
    assert process.returncode != 0
    # torchrun may end the others before they notice.
    errors = [line for line in ours(said) if "error" in line]
    assert len(errors) <= 1
    for line in errors:
        assert line.startswith("dsgrl: error: another process of this run has ended")
        assert line.endswith("go on with the same torchrun command and --resume")
    assert not (folder / "z.parquet").exists()
    reached = max(list_checkpoints(folder / "run"))
    assert reached < 60
    # A start right after the kill has failed at times on a busy machine.
    for _ in range(3):
        code, _, lines = run(folder, f"{saved} --resume")
        if code == 0:
            break
    assert code == 0, lines
    assert any("resumed after epoch" in line for line in lines)
    assert (folder / "z.parquet").read_bytes() == expected
    if victim:
        return
    # Another number of processes would have other shares.
    code, _, lines = run(folder, f"{saved} --resume", count=3)
    assert code != 0
    assert "number of processes 2, here 3" in lines[-1]


def test_kill__torchrun_starts_the_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "graph")
    words = f"{EMBED} --epochs 60 --checkpoint run --every 1 --resume"
    process = start(folder, words, restarts=1)
    wait_for_epoch(folder / "run", 3, process)
    workers(process)[1].send_signal(signal.SIGKILL)
    printed, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert printed.count("wrote z.parquet") == 1
    assert any("resumed after epoch" in line for line in ours(said))


def test_signal__all_processes_save_and_stop_together(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "graph")
    process = start(folder, f"{EMBED} --epochs 9000 --checkpoint run --every 20")
    deadline = time.monotonic() + 300
    while len(workers(process)) < 2 or not (folder / "run").is_dir():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    wait_for_epoch(folder / "run", 20, process)
    # Only one of them gets it.
    workers(process)[1].send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=300)
    (stopped,) = (line for line in ours(said) if "stopped" in line)
    epoch = max(list_checkpoints(folder / "run"))
    assert f"stopped after epoch {epoch}: go on with the same torchrun" in stopped


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("bench nodes", "'dsgrl bench' runs in one process"),
        (f"{EMBED} --batch-size 1", "batches of 1 graphs cannot be divided among 2"),
        ("embed debian -o z.parquet", "a single graph in one batch cannot be divided"),
        ("embed nothing.csv -o z.parquet", "nothing.csv"),
        ("embed edges.csv -o z.nothing", "z.nothing"),
    ],
)
def test_mistake__is_one_line(words: str, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    write_tables(folder, "graph")
    code, printed, said = run(folder, words)
    assert code != 0
    assert printed == ""
    (line,) = (line for line in said if "error" in line)
    assert message in line


def test_two_machines__in_two_network_namespaces(tmp_path: Path) -> None:
    """Each has its own folder and no network but a cable; the first one writes."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        write_tables(folder, "graph")
    words = f"{EMBED} {STILL} --checkpoint run --every 1"
    process = subprocess.run(
        [str(TWO_MACHINES), *map(str, folders), *words.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment(PYTHON=sys.executable),
    )
    if process.returncode == 77:
        pytest.skip(process.stderr.strip())
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("wrote z.parquet") == 1
    sent = re.search(r"sent (\d+) bytes over the cable", process.stderr)
    assert sent
    assert int(sent[1]) > 10_000
    assert {path.name for path in folders[1].iterdir()} == {"edges.csv", "nodes.csv"}
    assert len(list_checkpoints(folders[0] / "run")) == 2
    run_alone(folders[1], f"{EMBED} {STILL}")
    one, two = (embeddings(folder / "z.parquet") for folder in folders)
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=0.02)
