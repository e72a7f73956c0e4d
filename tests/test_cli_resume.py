"""`dsgrl embed` with checkpoints: options, messages and exit codes."""

import logging
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dsgrl.cli import main
from dsgrl.train import Training
from dsgrl.train.checkpoint import list_checkpoints

EMBED = "embed edges.csv --nodes nodes.csv --epochs 6 --dim 8"
# By options: what the message must name.
BAD_WORDS: dict[str, list[str]] = {
    "--resume": ["--resume", "--checkpoint"],
    "--every 3": ["--every", "--checkpoint"],
    "--checkpoint run --every 0": ["--every"],
    "--checkpoint nodes.csv": ["nodes.csv", "is a file"],
    "--checkpoint nodes.csv/run": ["nodes.csv", "cannot be written"],
    "--checkpoint old": ["old", "earlier run", "--resume"],
    "--checkpoint old --resume --seed 3": ["old", "seed 0, here 3"],
    "--checkpoint old --resume --lr 0.5": ["old", "lr=", "here lr=0.5"],
    "--checkpoint old --resume --method dgi": ["old", "'dsgrl', here 'dgi'"],
    "--checkpoint old --resume --directed": ["old", "its edges differ"],
    "--checkpoint broken --resume": ["broken", "every checkpoint is damaged"],
    "--checkpoint m --model m": ["m: lies inside m"],
    "--checkpoint m/run --model m": ["m/run: lies inside m"],
    "--checkpoint v/run --views v": ["v/run: lies inside v"],
}


class Result(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[[str], Result]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run a command in this process, beside a small graph."""
    monkeypatch.chdir(tmp_path)
    pairs = [(i, (i + step) % 30) for i in range(30) for step in (1, 7)]
    edges = "".join(f"n{a},n{b}\n" for a, b in pairs)
    nodes = "".join(f"n{i},{i % 7},{i * i % 11}\n" for i in range(30))
    Path("edges.csv").write_text("source,target\n" + edges)
    Path("nodes.csv").write_text("id,f,g\n" + nodes)

    def call(words: str) -> Result:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(logging.root, "handlers", [])
            patch.setattr(sys, "argv", ["dsgrl", *words.split()])
            with pytest.raises(SystemExit) as caught:
                main()
        return Result(caught.value.code, *capsys.readouterr())

    return call


def send_in_epoch(
    patch: pytest.MonkeyPatch, epoch: int, number: int, times: int = 1
) -> None:
    """Let a signal arrive while an epoch runs."""
    run_epoch = Training.run_epoch

    def run_and_send(training: Training) -> dict[str, float]:
        if training.epoch + 1 == epoch:
            # Without a handler the signal would end the tests.
            assert callable(signal.getsignal(number))
            for _ in range(times):
                os.kill(os.getpid(), number)
        return run_epoch(training)

    patch.setattr(Training, "run_epoch", run_and_send)


def told(result: Any) -> list[str]:
    """Return the messages without the summary of what was read."""
    lines = result.err.splitlines()
    return [line for line in lines if not re.match("dsgrl: (read|features)", line)]


@pytest.mark.parametrize("words", BAD_WORDS)
def test_embed__bad_words_about_checkpoints(run: Run, words: str) -> None:
    assert run(f"{EMBED} -o old.npy --checkpoint old --every 3").code == 0
    Path("broken").mkdir()
    Path("broken/epoch-00000003.safetensors").write_text("half")
    before = sorted(Path().rglob("*.safetensors"))
    result = run(f"{EMBED} -o z.npy {words}")
    assert result.code == 2
    # The summary of what was read comes first.
    line = result.err.splitlines()[-1]
    assert line.startswith("dsgrl: error: ")
    for part in BAD_WORDS[words]:
        assert part in line
    assert not Path("z.npy").exists()
    assert sorted(Path().rglob("*.safetensors")) == before


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_embed__a_signal_saves_and_says_how_to_go_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    assert run(f"{EMBED} -o whole.npy").code == 0
    before = signal.getsignal(signal.SIGTERM)
    words = f"{EMBED} -o z.npy --checkpoint run --every 100"
    with monkeypatch.context() as patch:
        send_in_epoch(patch, 3, number)
        result = run(words)
    assert result.code == code
    assert result.out == ""
    assert told(result) == [
        f"dsgrl: stopped after epoch 3: go on with dsgrl {words} --resume"
    ]
    assert signal.getsignal(signal.SIGTERM) == before
    assert list(list_checkpoints(Path("run"))) == [3]
    assert not Path("z.npy").exists()
    again = run(f"{words} --resume")
    assert again.code == 0
    assert told(again) == ["dsgrl: resumed after epoch 3"]
    assert Path("z.npy").read_bytes() == Path("whole.npy").read_bytes()


def test_embed__a_second_signal_does_not_wait(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"{EMBED} -o z.npy --checkpoint run --every 2 --resume"
    send_in_epoch(monkeypatch, 4, signal.SIGTERM, times=2)
    result = run(words)
    assert result.code == 143
    first, last = told(result)
    assert "no checkpoint in run" in first
    assert last == f"dsgrl: stopped: go on with dsgrl {words}"
    assert list(list_checkpoints(Path("run"))) == [2]


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_embed__a_signal_while_writing_the_outputs(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    words = f"{EMBED} -o z.npy --checkpoint run"
    with monkeypatch.context() as patch:
        patch.setattr(
            "dsgrl.io.embeddings.np.save",
            lambda *_: os.kill(os.getpid(), number),
        )
        result = run(words)
    assert result.code == code
    # The summary of what was read comes first.
    line = result.err.splitlines()[-1]
    assert line == f"dsgrl: stopped: go on with dsgrl {words} --resume"
    assert {path.name for path in Path().iterdir()} == {"edges.csv", "nodes.csv", "run"}
    assert run(f"{words} --resume").code == 0


def test_embed__a_signal_before_anything_is_saved(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_in_epoch(monkeypatch, 1, signal.SIGTERM, times=2)
    result = run(f"{EMBED} -o z.npy --checkpoint run --every 2")
    assert (result.code, told(result)) == (143, ["dsgrl: stopped"])


def test_embed__resumed_when_done_writes_the_same_again(run: Run) -> None:
    words = f"{EMBED} -o z.npy --model model --views views --checkpoint run"
    assert run(words).code == 0
    files = [*Path("model").iterdir(), *Path("views").iterdir(), Path("z.npy")]
    before = {path: path.read_bytes() for path in files}
    result = run(f"{words} --resume")
    assert result.code == 0
    assert told(result) == ["dsgrl: resumed after epoch 6"]
    assert {path: path.read_bytes() for path in files} == before


def test_embed__a_method_without_training_has_nothing_to_save(run: Run) -> None:
    words = "embed edges.csv --nodes nodes.csv --dim 4 -o z.npy --method hops"
    for more in ("--checkpoint run", "--checkpoint run --resume"):
        assert run(f"{words} {more}").code == 0
    assert list(Path("run").iterdir()) == []
