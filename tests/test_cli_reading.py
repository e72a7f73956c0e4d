"""What a newcomer sees: messages on the way from messy tables to embeddings."""

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet
import pytest

from dsgrl.cli import main

EMBED = "embed mails.csv --nodes people.csv --method hops -o z.parquet"


class Result(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[[str], Result]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run a command in this process, in a folder with messy tables."""
    monkeypatch.chdir(tmp_path)
    write_people("people.csv", 60)
    rng = np.random.default_rng(0)
    pairs = rng.integers(60, size=(150, 2))
    rows = [f"E{a},E{b},{1 + a % 5},hello" for a, b in pairs]
    Path("mails.csv").write_text("\n".join(["from,to,count,subject", *rows]))

    def call(words: str) -> Result:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(logging.root, "handlers", [])
            patch.setattr(sys, "argv", ["dsgrl", *words.split()])
            with pytest.raises(SystemExit) as caught:
                main()
        return Result(caught.value.code, *capsys.readouterr())

    return call


def write_people(name: str, count: int, department: str = "Legal") -> None:
    teams = ["Sales", "Human Resources", department]
    rows = [
        f"E{i},Ann{i % 7} Lee{i % 11},u{i}@example.org,{teams[i % 3]},"
        f"201{i % 9}-03-0{1 + i % 9},{'' if i % 10 == 0 else 30000 + 17 * i},"
        f"{'AB'[i % 2]}"
        for i in range(count)
    ]
    header = "emp_no,name,email,department,joined,salary,grade"
    Path(name).write_text("\n".join([header, *rows]))


def test_messy_tables__are_embedded_and_every_assumption_is_told(run: Run) -> None:
    result = run(f"{EMBED} --label grade --weight count --model model")
    assert result.code == 0, result.err
    lines = [line.removeprefix("dsgrl: ") for line in result.err.splitlines()]
    assert lines[0].startswith("read mails.csv, people.csv: 60 nodes, ")
    assert "edges with weights" in lines[0]
    told = "\n".join(lines)
    for part in (
        "text: name (2,048)",
        "categories: department (3)",
        "dates: joined",
        "numbers: salary",
        "labels: 60 nodes; they are not used to learn",
        "mails.csv: edges lead from 'from' to 'to'",
        "mails.csv: columns not used: subject",
        "people.csv: ids are in 'emp_no', which has the ids of the edges",
        "people.csv: left out email: nearly every value is different",
        "people.csv: missing values were filled: salary (6 by 30510)",
    ):
        assert part in told
    table = pyarrow.parquet.read_table("z.parquet")
    assert table["id"].to_pylist() == [f"E{i}" for i in range(60)]
    assert table["label"].to_pylist() == ["AB"[i % 2] for i in range(60)]
    kept = json.loads(Path("model/config.json").read_text())["data"]
    assert kept["features"][""]["category"] == {"department": 3}
    assert kept["roles"] == {"label": "grade", "weight": "count"}
    assert "ids are in 'emp_no'" in Path("model/README.md").read_text()


def test_transform__maps_columns_as_in_training(run: Run) -> None:
    assert run(f"{EMBED} --weight count --label grade --model model").code == 0
    same = run("transform mails.csv --nodes people.csv --model model -o same.parquet")
    assert same.code == 0, same.err
    # The chosen columns of training need not be chosen again.
    assert "edges with weights" in same.err
    first, again = (
        pyarrow.parquet.read_table(f) for f in ("z.parquet", "same.parquet")
    )
    assert first.equals(again)
    write_people("people.csv", 60, department="Space travel")
    new = run("transform mails.csv --nodes people.csv --model model -o new.parquet")
    assert new.code == 0, new.err
    assert "rare or new values of 'department' in 20 rows: not used" in new.err
    lines = Path("people.csv").read_text().replace("salary", "wage")
    Path("people.csv").write_text(lines)
    gone = run("transform mails.csv --nodes people.csv --model model -o gone.parquet")
    assert gone.code == 2
    assert "people.csv: has no column salary, which the model was trained" in gone.err


def test_options__choose_columns_and_kinds(run: Run) -> None:
    result = run(f"{EMBED} --features salary,joined,emp_no --kind joined=category")
    assert result.code == 0, result.err
    assert "text: emp_no (2,048); categories: joined (" in result.err
    assert "numbers: salary" in result.err
    ignored = run(f"{EMBED} --ignore name,email,department,grade")
    assert "features: 2 columns made of dates: joined; numbers: salary" in ignored.err


@pytest.mark.parametrize("unknown", ["error", "add", "drop"])
def test_unknown_nodes__are_an_option(run: Run, unknown: str) -> None:
    write_people("people.csv", 50)
    result = run(f"{EMBED} --unknown {unknown}")
    if unknown == "error":
        assert result.code == 2
        assert "--unknown add or --unknown drop" in result.err
        assert "whose ids are in 'emp_no'" in result.err
        return
    assert result.code == 0
    rows = pyarrow.parquet.read_table("z.parquet").num_rows
    assert rows == 50 if unknown == "drop" else 50 < rows <= 60
    assert ("dropped" if unknown == "drop" else "added") in result.err


def test_several_tables__are_relations_and_types(run: Run) -> None:
    Path("authors.csv").write_text(
        "id,age\n" + "".join(f"a{i},{i}\n" for i in range(9))
    )
    Path("papers.csv").write_text(
        "id,year\n" + "".join(f"p{i},{i}\n" for i in range(9))
    )
    wrote = "".join(f"a{i},p{i * 2 % 9}\na{i},p{i}\n" for i in range(9))
    Path("wrote.csv").write_text("author,paper\n" + wrote)
    cites = "".join(f"p{i},p{(i + 1) % 9}\n" for i in range(9))
    Path("cites.csv").write_text("source,target\n" + cites)
    words = "wrote.csv cites.csv --nodes authors.csv --nodes papers.csv"
    result = run(f"embed {words} --method hops -o z.parquet --model model")
    assert result.code == 0, result.err
    assert "types of nodes: authors (9), papers (9)" in result.err
    assert "authors wrote papers (18), papers cites papers (9)" in result.err
    table = pyarrow.parquet.read_table("z.parquet")
    assert set(table["type"].to_pylist()) == {"authors", "papers"}
    again = run(f"transform {words} --model model -o again.parquet")
    assert again.code == 0, again.err
    assert pyarrow.parquet.read_table("again.parquet").equals(table)


BAD: dict[str, list[str]] = {
    "embed people.csv -o z.npy": ["people.csv", "--source and --target"],
    f"{EMBED} --source payer": ["--source payer", "no such column", "from, to, count"],
    f"{EMBED} --id number": ["--id number", "people.csv has emp_no, name"],
    f"{EMBED} --type kind": ["--type kind", "no such column"],
    f"{EMBED} --features age": ["--features age", "no such column"],
    f"{EMBED} --ignore age": ["--ignore age", "no such column"],
    f"{EMBED} --kind salary": ["--kind salary", "COLUMN=KIND"],
    f"{EMBED} --kind salary=money": ["'money'", "number, boolean"],
    f"{EMBED} --kind email=number": ["'email'", "--ignore"],
    f"{EMBED} --unknown keep": ["keep", "drop"],
    "embed mails.csv --id a -o z.npy": ["--id a", "no table of nodes"],
    "embed debian --label x -o z.npy": ["'debian'", "taken as they are"],
    "embed debian mails.csv -o z.npy": ["debian", "no such file"],
    "embed mails.csv.gz -o z.npy": ["no such file"],
    "embed . --nodes people.csv -o z.npy": ["has its own nodes"],
}


@pytest.mark.parametrize("words", BAD)
def test_mistakes__are_one_line(run: Run, words: str) -> None:
    result = run(words)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1, result.err
    for part in BAD[words]:
        assert part in result.err
