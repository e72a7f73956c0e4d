import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from dsgrl import DSGRL, cli
from dsgrl.datasets.rows import EmbeddedRows, collect_rows
from dsgrl.io.embeddings import write_embeddings
from dsgrl.report import layout
from dsgrl.report.contents import Contents
from dsgrl.report.gather import gather
from dsgrl.report.page import render
from samples import LEVELS, make_data


@pytest.fixture(autouse=True)
def _quick_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling PaCMAP takes seconds."""
    monkeypatch.setattr(layout, "layout_name", lambda: "PCA")


def make(level: str, **options: Any) -> Contents:
    data = make_data(level)
    model = DSGRL(epochs=2, out_channels=4, random_state=1)
    rows = collect_rows(data, model.fit_transform(data))
    return gather(rows, data=data, model=model, **options)


@pytest.mark.parametrize("level", LEVELS)
def test_gather__every_level_has_every_part(level: str) -> None:
    contents = make(level)
    count = len(contents.ids)
    assert len(contents.summary) == 3
    assert contents.position.shape == (count, 2)
    assert contents.near.shape == contents.alike.shape == (count, 10)
    assert contents.columns[0].name == "cluster"
    assert all(len(column.values) == count for column in contents.columns)
    assert sum(cluster.size for cluster in contents.clusters) == count
    assert len(contents.history) == 2
    assert contents.views is not None
    assert contents.seed == 1
    assert contents.what == ("graphs" if level == "graph" else "nodes")
    names = {column.name for column in contents.columns}
    wanted = {"graph": {"nodes", "edges"}, "hetero": {"type", "degree"}}
    assert wanted.get(level, {"degree", "column 0"}) <= names
    assert len(render(contents)) > 10_000


def test_gather__scores_have_controls_beside_them() -> None:
    data = make_data("node")
    data.y = torch.arange(40) // 20
    data.x[:20] += 3
    z = DSGRL(epochs=1, out_channels=4).fit_transform(data)
    contents = gather(collect_rows(data, z), data=data)
    assert [line.name for line in contents.scores] == [
        "raw features",
        "without training",
        "this embedding",
    ]
    assert "A linear classifier finds the label" in contents.summary[2]
    assert f"{contents.scores[2].mean:.1f} %" in contents.summary[2]


def test_gather__too_few_labels_are_a_sentence_not_an_error() -> None:
    data = make_data("node")
    data.y[:] = -1
    data.y[:2] = 1
    z = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    contents = gather(collect_rows(data, z), data=data)
    assert contents.scores == []
    assert "not used for a score" in contents.scored
    assert "linked in the graph" in contents.summary[2]


def test_gather__vectors_only() -> None:
    z = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    contents = gather(EmbeddedRows(list(range(30)), z))
    assert contents.ids[3] == "3"
    assert contents.views is None
    assert any("No graph" in note for note in contents.notes)
    assert render(contents)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_gather__hardly_any_rows(count: int) -> None:
    z = np.random.default_rng(0).normal(size=(count, 4)).astype(np.float32)
    assert render(gather(EmbeddedRows(list(range(count)), z)))


def test_gather__table_of_nodes_gives_columns_to_colour_by() -> None:
    data = make_data("node")
    data.ids = [f"n{i}" for i in range(40)]
    z = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    order = np.random.default_rng(1).permutation(40)
    table = pa.table(
        {
            "name": [f"n{i}" for i in order],
            "team": [f"team {i % 3}" for i in order],
            "age": [float(i) for i in order],
        }
    )
    contents = gather(collect_rows(data, z), data=data, table=table, scores=([], ""))
    found = {column.name: column for column in contents.columns}
    assert {"team", "age"} <= found.keys()
    np.testing.assert_array_equal(found["age"].values, np.arange(40))
    other = pa.table({"name": ["x"], "age": [1.0]})
    contents = gather(collect_rows(data, z), data=data, table=other, scores=([], ""))
    assert any("Columns of nodes are not shown" in note for note in contents.notes)


def test_gather__same_seed_same_page() -> None:
    assert render(make("node")) == render(make("node"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `dsgrl demo` writes, of a small graph in files."""
    monkeypatch.chdir(tmp_path)
    edges = "".join(f"n{i},n{(i * 7 + 1) % 30}\n" for i in range(30))
    Path("edges.csv").write_text(f"source,target\n{edges}")
    out = tmp_path / "out"
    out.mkdir()
    z = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    ids = [f"n{i}" for i in range(30)]
    write_embeddings(out / "embeddings.parquet", ids, z, ["a", "b"] * 15)
    part = {"mean": 50.0, "std": 1.0}
    summary = {"raw": part, "floor": part, "trained": {"mean": 61.5, "std": 1.0}}
    text = json.dumps({**summary, "graph": "edges.csv", "protocol": "ten splits"})
    (out / "summary.json").write_text(text)
    return tmp_path


def run(words: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("sys.argv", ["dsgrl", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return stopped.value.code


def test_report__of_a_folder_uses_its_summary(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("report out -o page.html", monkeypatch) == 0
    assert "open it in a browser" in capsys.readouterr().out
    page = (folder / "page.html").read_text()
    assert "61.5" in page
    assert "ten splits" in page
    assert "degree" in page
    assert "dsgrl report out -o page.html" in page


def test_report__of_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "report out/embeddings.parquet --graph edges.csv -o page.html"
    assert run(words, monkeypatch) == 0
    assert "Embedding of edges.csv" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("report gone", "gone"),
        ("report .", "no embeddings.parquet here"),
        ("report out -o page.txt", "expected a name in .html"),
        ("report out --graph gone.csv", "gone.csv"),
        ("report out --model gone", "no saved model"),
        ("embed edges.csv -o z.npy --report z.txt", "expected a name in .html"),
    ],
)
def test_report__bad_words(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    part: str,
) -> None:
    before = sorted(folder.rglob("*"))
    assert run(words, monkeypatch) == 2
    error = capsys.readouterr().err
    assert part in error
    assert len(error.splitlines()) == 1
    assert sorted(folder.rglob("*")) == before


def test_embed__writes_a_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "embed edges.csv -o z.npy --epochs 1 --dim 4 --report page.html"
    assert run(words, monkeypatch) == 0
    page = (folder / "page.html").read_text()
    assert "Embedding of edges.csv" in page
    assert "Loss term: variance" in page
