"""`dsgrl store` and the commands that take a stored graph."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from dsgrl.cli.storing import read_memory
from dsgrl.typing import InputError

COUNT = 60


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write tables and go to their folder."""
    rng = np.random.default_rng(0)
    ends = rng.integers(COUNT, size=(300, 2))
    lines = [f"n{a},n{b},{1 + a % 3}" for a, b in ends]
    Path(tmp_path, "e.csv").write_text("from,to,weight\n" + "\n".join(lines) + "\n")
    rows = [
        f"n{i},{rng.normal():.4f},{'abc'[i % 3]},{'xy'[i % 2]}" for i in range(COUNT)
    ]
    Path(tmp_path, "n.csv").write_text("id,size,city,label\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dsgrl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command line in this process; return status, output and errors."""
    import logging

    from dsgrl.cli import main

    def call(words: str) -> tuple[Any, str, str]:
        with monkeypatch.context() as patch:
            patch.setattr(logging.root, "handlers", [])
            patch.setattr(sys, "argv", ["dsgrl", *words.split()])
            with pytest.raises(SystemExit) as caught:
                main()
        return caught.value.code, *capsys.readouterr()

    return call


def assert_refused(result: tuple[Any, str, str], *words: str) -> None:
    status, out, err = result
    assert status == 2
    assert out == ""
    assert err.startswith("dsgrl: error: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_store__then_embed_transform_neighbors_check(tables: Path, dsgrl: Any) -> None:
    status, out, err = dsgrl("store e.csv --nodes n.csv -o g --memory 200MB")
    assert status == 0
    assert "60 nodes" in out
    assert "wrote g/" in out
    assert "edges lead from 'from' to 'to'" in err
    options = "--epochs 1 --dim 8"
    assert dsgrl(f"embed g -o a.parquet {options} --model m")[0] == 0
    assert dsgrl(f"embed e.csv --nodes n.csv -o b.parquet {options}")[0] == 0
    assert dsgrl("transform g --model m -o c.parquet")[0] == 0
    first, *others = (
        pyarrow.parquet.read_table(tables / f"{name}.parquet") for name in "abc"
    )
    assert first.column_names == ["id", "label", "embedding"]
    for other in others:
        assert first.equals(other)
    for words in (
        "neighbors a.parquet n5 --why -k 3 --graph {}",
        "check a.parquet {} --model m",
    ):
        status, out, _ = dsgrl(words.format("g"))
        assert status == 0
        there = dsgrl(words.format("e.csv --nodes n.csv"))[1]
        # Of a table, values are named as they are written there.
        assert out.replace("city=", "city ") == there


@pytest.mark.slow
def test_report__of_a_stored_graph(tables: Path, dsgrl: Any) -> None:
    dsgrl("store e.csv --nodes n.csv -o g")
    words = "embed g -o a.parquet --epochs 1 --dim 8 --report r.html"
    assert dsgrl(words)[0] == 0
    assert "n59" in Path("r.html").read_text()


def test_store__resumes_training(tables: Path, dsgrl: Any) -> None:
    """A checkpoint knows its data, whether it was read or mapped."""
    dsgrl("store e.csv --nodes n.csv -o g")
    options = "--epochs 2 --dim 8 --checkpoint run --every 1"
    assert dsgrl(f"embed g -o a.parquet {options}")[0] == 0
    words = f"embed e.csv --nodes n.csv -o b.parquet {options} --resume"
    assert dsgrl(words)[0] == 0
    dsgrl("store e.csv --nodes n.csv -o g --ignore city")
    result = dsgrl(f"embed g -o a.parquet {options} --resume")
    assert_refused(
        (result[0], "", result[2].splitlines()[-1] + "\n"), "features differ"
    )


def test_store__with_the_columns_of_a_model(tables: Path, dsgrl: Any) -> None:
    dsgrl("embed e.csv --nodes n.csv -o a.parquet --epochs 1 --dim 8 --model m")
    text = Path("n.csv").read_text()
    Path("more.csv").write_text(text.replace(",a,", ",new,"))
    assert dsgrl("store e.csv --nodes more.csv -o g --model m")[0] == 0
    assert dsgrl("transform g --model m -o b.parquet")[0] == 0
    assert dsgrl("transform e.csv --nodes more.csv --model m -o c.parquet")[0] == 0
    one, other = (pyarrow.parquet.read_table(f"{name}.parquet") for name in "bc")
    assert one.equals(other)
    assert_refused(
        dsgrl("store e.csv --nodes n.csv -o h --model m --ignore city"), "--model"
    )


def test_verify(tables: Path, dsgrl: Any) -> None:
    dsgrl("store e.csv -o g")
    status, out, _ = dsgrl("store --verify g")
    assert (status, out.startswith("g: ")) == (0, True)
    content = bytearray(Path("g/weight.npy").read_bytes())
    content[-1] ^= 1
    Path("g/weight.npy").write_bytes(content)
    assert_refused(dsgrl("store --verify g"), "weight.npy is damaged")
    assert_refused(dsgrl("store --verify none"), "no manifest.json")
    assert_refused(dsgrl("store e.csv --verify g"), "--verify")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("store", "expected EDGES and --out"),
        ("store e.csv", "expected EDGES and --out"),
        ("store none.csv -o g", "no such file"),
        ("store e.csv -o .", "expected the name of a folder"),
        ("store e.csv -o full", "holds other files"),
        ("store e.csv -o n.csv", "is a file"),
        ("store e.csv -o g --memory much", "500MB or 4GB"),
        ("store e.csv -o g --memory 1MB", "100 MB or more"),
        ("store e.csv -o g --weight w", "--weight w: no such column"),
        ("store e.csv -o g --nodes few.csv", "which is not in the table of nodes"),
        ("store e.csv -o g --nodes n.csv --kind size", "COLUMN=KIND"),
    ],
)
def test_mistakes__are_one_line(
    tables: Path, dsgrl: Any, words: str, message: str
) -> None:
    Path("full").mkdir()
    Path("full/notes.txt").touch()
    Path("few.csv").write_text("id,f\nn1,2\n")
    before = sorted(tables.rglob("*"))
    assert_refused(dsgrl(words), message)
    assert sorted(tables.rglob("*")) == before


def test_stored_graph__refuses_a_table_of_nodes(tables: Path, dsgrl: Any) -> None:
    dsgrl("store e.csv -o g")
    for words in (
        "embed g --nodes n.csv -o z.parquet",
        "embed g --directed -o z.parquet",
        "embed g --features size -o z.parquet",
    ):
        assert_refused(dsgrl(words), "is a stored graph")


def test_duckdb__is_not_installed(
    tables: Path, dsgrl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsgrl("store e.csv -o g")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert_refused(dsgrl("store e.csv -o h"), "pip install 'dsgrl[scale]'")
    assert not Path("h").exists()
    # What is stored can be read without it.
    assert dsgrl("embed g -o z.parquet --epochs 1 --dim 8")[0] == 0


def test_read_memory() -> None:
    assert read_memory("500MB") == 500 * 10**6
    assert read_memory("1.5 gb") == 1_500_000_000
    assert read_memory("2GiB") == 2**31
    for text in ("", "x", "-1GB", "1 parsec", "1e9"):
        with pytest.raises(InputError, match="expected a size"):
            read_memory(text)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1 << 10, 40_000, 600_000, 1_900_000])
def test_disk_full__is_one_line_and_leaves_nothing(tables: Path, limit: int) -> None:
    """Files that may not grow stand for a full disk, in each part of the build."""
    rng = np.random.default_rng(0)
    ends = rng.integers(20_000, size=(2, 400_000))
    table = pyarrow.table({"source": ends[0], "target": ends[1]})
    pyarrow.parquet.write_table(table, "large.parquet")
    pyarrow.csv.write_csv(table, "large.csv")
    before = sorted(tables.rglob("*"))

    def cut() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    for name in ("large.parquet", "large.csv"):
        done = subprocess.run(
            [sys.executable, "-m", "dsgrl", "store", name, "-o", "g"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            preexec_fn=cut,
        )
        result = (done.returncode, done.stdout, done.stderr)
        assert_refused(result, "g: cannot be written", "disk is full")
        assert sorted(tables.rglob("*")) == before
