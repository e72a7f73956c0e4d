import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dsgrl import DSGRL, cli, read_graph
from dsgrl.explore.commands import find_neighbors
from dsgrl.explore.files import match_rows, read_rows
from dsgrl.io.embeddings import write_embeddings
from dsgrl.typing import InputError

NUM = 40
IDS = [f"n{i:02d}" for i in range(NUM)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rings of nodes, their embeddings in another order, and a model."""
    folder = tmp_path_factory.mktemp("made")
    half = NUM // 2
    pairs = [(i, (i + s) % half) for i in range(half) for s in (1, 2, 3)]
    pairs += [(a + half, b + half) for a, b in pairs]
    edges = "".join(f"{IDS[a]},{IDS[b]}\n" for a, b in pairs)
    (folder / "edges.csv").write_text(f"source,target\n{edges}")
    random = np.random.default_rng(0)
    side = np.repeat([0, 1], half)
    x = random.normal(size=(NUM, 3)) + 3 * side[:, None]
    nodes = "".join(f"{i},{a},{b},{c}\n" for i, (a, b, c) in zip(IDS, x, strict=True))
    (folder / "nodes.csv").write_text(f"id,u,v,w\n{nodes}")
    data = read_graph(folder / "edges.csv", folder / "nodes.csv")
    model = DSGRL(epochs=2, out_channels=8)
    z = model.fit_transform(data)
    model.save(folder / "model")
    order = random.permutation(NUM)
    write_embeddings(folder / "z.parquet", [IDS[i] for i in order], z[order])
    labels = "".join(f"{IDS[i]},{'ab'[side[i]]}\n" for i in range(0, NUM, 3))
    (folder / "few.csv").write_text(f"id,label\n{labels}")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["dsgrl", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_rows__come_in_the_order_of_the_graph(here: Path) -> None:
    data = read_graph(here / "edges.csv", here / "nodes.csv")
    path = here / "z.parquet"
    rows = match_rows(path, read_rows(path), data)
    assert rows.ids == data.ids
    expected = DSGRL.load(here / "model").transform(data)
    np.testing.assert_array_equal(rows.z, expected)


def test_rows__of_another_graph_are_refused(here: Path) -> None:
    (here / "edges.csv").write_text("source,target\nn01,zzz\n")
    data = read_graph(here / "edges.csv")
    with pytest.raises(InputError, match=r"1 of 2 rows .* 'zzz'"):
        match_rows(here / "z.parquet", read_rows(here / "z.parquet"), data)


def test_rows__of_a_type_come_together(tmp_path: Path) -> None:
    path = tmp_path / "z.parquet"
    z = np.arange(8, dtype=np.float32).reshape(4, 2)
    write_embeddings(path, list("abcd"), z, None, ["film", "tag", "film", "tag"])
    rows = read_rows(path)
    assert rows.ids == ["a", "c", "b", "d"]
    np.testing.assert_array_equal(rows.z, z[[0, 2, 1, 3]])


def test_neighbors__as_text_and_as_json(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("neighbors z.parquet n05 -k 3", monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run("neighbors z.parquet n05 -k 3 --json", monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert [line.split()[1] for line in lines] == [each["id"] for each in found]
    assert all(each["id"] < "n20" for each in found)


def test_neighbors__why(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "neighbors z.parquet n05 --graph edges.csv --nodes nodes.csv --why"
    assert run(words, monkeypatch) == 0
    out = capsys.readouterr().out
    assert "shared neighbours (" in out
    assert "linked" in out
    assert run("neighbors z.parquet n05 --why", monkeypatch) == 2
    assert "--graph" in capsys.readouterr().err
    assert run("neighbors z.parquet zzz", monkeypatch) == 2
    assert "'zzz'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_cluster__writes_every_row(
    here: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    assert run(f"cluster z.parquet -k 2 -o c.{suffix}", monkeypatch) == 0
    read = pq.read_table if suffix == "parquet" else pa.csv.read_csv
    table = read(here / f"c.{suffix}")
    assert table.column_names == ["id", "cluster"]
    found = dict(
        zip(table["id"].to_pylist(), table["cluster"].to_pylist(), strict=True)
    )
    assert set(found) == set(IDS)
    assert len({found[i] for i in IDS[:20]} & {found[i] for i in IDS[20:]}) == 0


def test_classify__says_how_sure_and_on_what(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "classify z.parquet --labels few.csv -o p.parquet"
    assert run(words, monkeypatch) == 0
    out = capsys.readouterr().out
    assert "14 labels of 2 classes (7 to 7 each)" in out
    assert "left out" in out
    table = pq.read_table(here / "p.parquet").to_pydict()
    assert sum(table["is_given"]) == 14
    for i, said, chance, a, b in zip(
        *(table[k] for k in ("id", "prediction", "probability", "p a", "p b")),
        strict=True,
    ):
        assert said == ("a" if i < "n20" else "b")
        assert chance == max(a, b)
        assert a + b == pytest.approx(1)


def test_classify__one_class_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "few.csv").write_text("id,label\nn01,a\nn02,a\n")
    assert run("classify z.parquet --labels few.csv -o p.parquet", monkeypatch) == 2
    assert "2 labels of 1 class" in capsys.readouterr().err
    assert not (here / "p.parquet").exists()
    assert run("classify z.parquet -o p.parquet", monkeypatch) == 2
    assert "table of labels" in capsys.readouterr().err


def test_check__with_and_without_the_model(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "check z.parquet edges.csv --nodes nodes.csv"
    assert run(words, monkeypatch) == 0
    assert "seen by both" in capsys.readouterr().out
    assert run(f"{words} --model model --json", monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["is_held_out"]
    assert found["num_rows"] == NUM


def test_model__says_what_its_columns_were(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A label of another name is no feature when the graph is read again."""
    lines = (here / "nodes.csv").read_text().splitlines()
    teams = ["team", *("ab"[i % 2] for i in range(NUM))]
    rows = "\n".join(f"{a},{b}" for a, b in zip(lines, teams, strict=True))
    (here / "nodes.csv").write_text(rows)
    tables = "edges.csv --nodes nodes.csv"
    embed = f"embed {tables} --label team -o t.parquet --model new --epochs 2 --dim 8"
    assert run(embed, monkeypatch) == 0
    assert run(f"check t.parquet {tables} --model new", monkeypatch) == 0
    page = f"report t.parquet --graph {tables} --model new -o page.html"
    assert run(page, monkeypatch) == 0
    assert "hidden from both" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("cluster z.parquet -o c.txt", ".parquet, .csv"),
        ("cluster gone.parquet -o c.csv", "no such file"),
        ("cluster z.parquet -o c.csv -k 99", "99 clusters of 40 rows"),
        ("cluster z.parquet -o c.csv -k 3 --method hdbscan", "finds the number"),
        ("check z.parquet gone.csv", "gone.csv"),
    ],
)
def test_commands__bad_words(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    part: str,
) -> None:
    before = sorted(here.iterdir())
    assert run(words, monkeypatch) == 2
    error = capsys.readouterr().err
    assert part in error
    assert len(error.splitlines()) == 1
    assert sorted(here.iterdir()) == before


def test_neighbors__why_with_a_node_that_only_edges_name(tmp_path: Path) -> None:
    """A graph that was embedded with `--unknown add` is read so again."""
    (tmp_path / "e.csv").write_text("from,to\na,b\nb,c\nc,ghost\n")
    (tmp_path / "n.csv").write_text("id,n,team\na,1,x\nb,2,x\nc,3,y\n")
    ids, z = ["a", "b", "c", "ghost"], np.eye(4, 3, dtype=np.float32) + 0.1
    columns = {"id": ids, "embedding": pa.array(z.tolist(), pa.list_(pa.float32(), 3))}
    pq.write_table(pa.table(columns), tmp_path / "z.parquet")
    files: dict[str, Any] = {"graph": tmp_path / "e.csv", "nodes": [tmp_path / "n.csv"]}
    with pytest.raises(InputError, match="--unknown add"):
        find_neighbors(tmp_path / "z.parquet", "c", 3, **files)
    found = find_neighbors(tmp_path / "z.parquet", "c", 3, unknown="add", **files)
    assert {line.id: line.why for line in found}["ghost"].startswith("linked")
