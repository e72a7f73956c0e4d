"""--json, --quiet and completion: the same on all commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsgrl import cli
from dsgrl.cli import app
from dsgrl.cli.together import leave
from dsgrl.train import batching

COMMANDS = {c.name: c.callback for c in app.registered_commands}
TABLES = "edges.csv --nodes nodes.csv"
# What a document has to hold, by command line.
DOCUMENTS = {
    f"embed {TABLES} --epochs 2 --dim 8 -o y.parquet --model m": {"rows", "epoch"},
    f"transform {TABLES} --model model -o y.parquet": {"rows", "columns", "out"},
    f"embed {TABLES} --dim 8 -o y.parquet --dry-run": {"chosen", "estimates"},
    "evaluate z.parquet": {"mean", "std"},
    "report z.parquet -o page.html": {"out", "size", "summary"},
    "cluster z.parquet -o c.csv -k 2": {"clusters", "sizes", "out"},
    "classify z.parquet -o p.csv": {"accuracy", "out"},
    f"check z.parquet {TABLES}": {"verdict", "link_auc"},
    "list": {"datasets", "methods", "recipes"},
}
# Those whose result is what they print.
ANSWERS = ("evaluate", "check")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    edges = "".join(f"a{i},a{(i * 7 + 1) % 40}\n" for i in range(40))
    (folder / "edges.csv").write_text(f"from,to\n{edges}")
    # A missing value, so that there is a notice.
    rows = "".join(
        f"a{i},{i % 5 if i else ''},{i % 3},{'xy'[i % 2]}\n" for i in range(40)
    )
    (folder / "nodes.csv").write_text(f"id,u,v,label\n{rows}")
    code = f"embed {TABLES} --epochs 2 --dim 8 -o z.parquet --model model"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert call(code, patch) == 0
    return folder


def call(words: str, patch: pytest.MonkeyPatch) -> object:
    # Without pytest's handlers, so that notices go to stderr as for users.
    patch.setattr("logging.root.handlers", [])
    patch.setattr("sys.argv", ["dsgrl", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return stopped.value.code


@pytest.mark.parametrize("words", DOCUMENTS)
def test_json__is_one_document(
    made: Path,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(made)
    assert call(f"{words} --json", monkeypatch) == 0
    document = json.loads(capsys.readouterr().out)
    assert DOCUMENTS[words] <= document.keys()


@pytest.mark.parametrize("words", [w for w in DOCUMENTS if w != "list"])
def test_quiet__only_an_answer_is_printed(
    made: Path,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(made)
    assert call(f"{words} --quiet", monkeypatch) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert bool(out) == (words.startswith(ANSWERS) or words.endswith("--dry-run"))
    # The next command has notices again.
    assert call(f"check z.parquet {TABLES}", monkeypatch) == 0
    assert "missing values" in capsys.readouterr().err


def test_quiet__errors_are_shown(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    assert call("embed gone.csv -o z.npy --quiet", monkeypatch) == 2
    assert "gone.csv" in capsys.readouterr().err


def test_options__are_there_wherever_they_mean_something() -> None:
    without = {
        # Prints JSON lines, or Markdown.
        "as_json": {"bench", "store", "tables"},
        "quiet": {"bench", "store", "tables", "list"},
    }
    for option, exceptions in without.items():
        lacking = {
            name
            for name, function in COMMANDS.items()
            if option not in function.__annotations__
        }
        assert lacking == exceptions, option


@pytest.mark.parametrize(
    ("line", "expected"), [("dsgrl cla", "classify"), ("dsgrl embed --ali", "align-to")]
)
def test_completion__names_commands_and_options(line: str, expected: str) -> None:
    words = line.split()
    code = (
        "import sys\n"
        "sys.argv = ['dsgrl']\n"
        "from dsgrl.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    assert 'torch' not in sys.modules\n"
    )
    environment = {
        **os.environ,
        "_DSGRL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in done.stdout, done.stderr


def test_dry_run__says_what_fits_and_writes_nothing(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    before = sorted(made.iterdir())
    words = f"embed {TABLES} --dim 8 --epochs 3 -o new.parquet --model new --dry-run -q"
    assert call(words, monkeypatch) == 0
    printed = capsys.readouterr()
    floor, full, parts, free = printed.out.splitlines()
    assert floor.startswith("the floor alone")
    assert full.endswith("3 epochs (chosen)")
    assert parts.endswith("3 epochs")
    assert "GB of memory can be used" in free
    assert printed.err == ""
    assert sorted(made.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "small", "said"),
    [
        ("", 0.0, "dsgrl: training on all nodes at once, about 0 MB; "),
        ("", 1e8, ""),
        (" --batch-size 16", 1e8, "dsgrl: training on parts of 16 nodes (sampling: "),
        (" --quiet", 0.0, ""),
    ],
)
def test_embed__says_in_one_line_how_it_trains(
    made: Path,
    options: str,
    small: float,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setattr(batching, "SMALL", small)
    words = f"embed {TABLES} --dim 8 --epochs 1 -o y.parquet{options}"
    assert call(words, monkeypatch) == 0
    lines = capsys.readouterr().err.splitlines()
    found = [line for line in lines if "training on" in line]
    assert len(found) == bool(said)
    assert all(line.startswith(said) for line in found)


def test_leave__one_of_several_processes_waits_for_no_thread() -> None:
    """Threads of gloo may abort a process that winds up while they run."""
    words = (
        "import threading; from dsgrl.cli.together import leave; "
        "threading.Thread(target=threading.Event().wait).start(); "
        "print('done'); leave(3)"
    )
    found = subprocess.run(
        [sys.executable, "-c", words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "WORLD_SIZE": "2"},
    )
    assert (found.returncode, found.stdout, found.stderr) == (3, "done\n", "")


def test_leave__a_single_process_exits_as_usual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(SystemExit) as exit_info:
        leave(3)
    assert exit_info.value.code == 3
