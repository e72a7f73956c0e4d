"""The commands on nodes, graphs and graphs of several types: nine combinations."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from dsgrl.cli import Once, main
from samples import AUGMENTS, LEVELS

levels = pytest.mark.parametrize("level", LEVELS)
augments = pytest.mark.parametrize("augment", AUGMENTS)
FILES = {f"{name}{n}.parquet" for name in ("edges", "features") for n in (1, 2)}


class Result(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[[str], Result]


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Run a command in this process and an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(words: str) -> Result:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(logging.root, "handlers", [])
            patch.setattr(sys, "argv", ["dsgrl", *words.split()])
            with pytest.raises(SystemExit) as caught:
                main()
        return Result(caught.value.code, *capsys.readouterr())

    return call


def other_lines(err: str) -> list[str]:
    """Return the lines that do not say what was read and how it is trained on."""
    known = ("read ", "features", "labels: ", "types of nodes: ", "relations: ")
    known += ("training on parts of ",)
    starts = tuple(f"dsgrl: {word}" for word in known)
    return [line for line in err.splitlines() if not line.startswith(starts)]


def write(name: str, rows: list[tuple[Any, ...]]) -> None:
    text = "\n".join(",".join("" if v is None else str(v) for v in row) for row in rows)
    Path(name).write_text(text + "\n")


def write_tables(level: str, count: int, seed: int, prefix: str = "") -> list[Any]:
    """Write edges.csv and nodes.csv; return the ids expected of the embeddings."""
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=(2, count)).round(4)
    # From the highest to the lowest, so that a sorted copy is noticed.
    nodes = [f"n{seed}-{i:03d}" for i in reversed(range(count))]
    ring = [(i, (i + step) % count) for i in range(count) for step in (1, 4)]
    if level == "graph":
        member = [50 - i // 6 for i in range(count)]
        rows = [
            (node, member[i], "ab"[member[i] % 2], f[i], g[i])
            for i, node in enumerate(nodes)
        ]
        write(f"{prefix}nodes.csv", [("id", "graph", "label", "f", "g"), *rows])
        links = [(a, b) for a, b in ring if member[a] == member[b]]
        expected: list[Any] = list(dict.fromkeys(member))
    elif level == "hetero":
        rows = [
            (node, "book", "xy"[i % 2], f[i], None)
            if i % 3
            else (node, "author", None, None, g[i])
            for i, node in enumerate(nodes)
        ]
        write(f"{prefix}nodes.csv", [("id", "type", "label", "f", "g"), *rows])
        links = ring
        first = [node for node, kind, *_ in rows if kind == rows[0][1]]
        expected = first + [node for node in nodes if node not in first]
    else:
        rows = [(node, "uvw"[i % 3], f[i], g[i]) for i, node in enumerate(nodes)]
        write(f"{prefix}nodes.csv", [("id", "label", "f", "g"), *rows])
        links, expected = ring, nodes
    pairs = [(nodes[a], nodes[b]) for a, b in links]
    if level == "hetero":
        types = [(*pair, "cites" if i % 2 else "likes") for i, pair in enumerate(pairs)]
        write(f"{prefix}edges.csv", [("source", "target", "type"), *types])
    else:
        write(f"{prefix}edges.csv", [("source", "target"), *pairs])
    return expected


def read(path: str) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    table = pyarrow.parquet.read_table(path)
    return table, np.array(table["embedding"].to_pylist())


def check_rows(level: str, table: pa.Table, ids: list[Any]) -> None:
    """Ids, types and labels are those of the tables, in their order."""
    assert table["id"].to_pylist() == ids
    labels = table["label"].to_pylist()
    if level == "graph":
        assert labels == ["ab"[number % 2] for number in ids]
    elif level == "node":
        assert labels == ["uvw"[i % 3] for i in range(len(ids))]
    assert ("type" in table.column_names) == (level == "hetero")
    if level == "hetero":
        kinds = table["type"].to_pylist()
        authors = kinds.count("author")
        assert kinds == ["author"] * authors + ["book"] * (len(ids) - authors)
        assert labels[:authors] == [None] * authors
        assert set(labels[authors:]) == {"x", "y"}


@pytest.mark.slow
@levels
@augments
def test_embed_and_transform__tables(run: Run, level: str, augment: str) -> None:
    ids = write_tables(level, 48, seed=0)
    unseen = write_tables(level, 36, seed=1, prefix="new_")
    made = run(
        f"embed edges.csv --nodes nodes.csv -o z.parquet --augment {augment} "
        "--epochs 2 --dim 8 --batch-size 4 --model model --views views"
    )
    assert (made.code, other_lines(made.err)) == (0, [])
    assert "kept epoch 2: wrote z.parquet and model/ and views/" in made.out
    table, z = read("z.parquet")
    check_rows(level, table, ids)
    assert z.shape == (len(ids), 8)
    assert np.isfinite(z).all()
    assert {path.name for path in Path("views").iterdir()} == FILES
    again = run("transform edges.csv --nodes nodes.csv -o again.parquet --model model")
    assert (again.code, other_lines(again.err)) == (0, [])
    same, same_z = read("again.parquet")
    check_rows(level, same, ids)
    np.testing.assert_array_equal(same_z, z)
    new = run("transform new_edges.csv --nodes new_nodes.csv -o new.csv --model model")
    assert (new.code, other_lines(new.err)) == (0, [])
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    found = pyarrow.csv.read_csv("new.csv", convert_options=options)
    check_rows(level, found, unseen)
    assert len([c for c in found.column_names if c[0] == "z"]) == z.shape[1]


@pytest.mark.parametrize("level", ["graph", "hetero"])
def test_embed__views_have_the_nodes_and_edges_of_the_tables(
    run: Run, level: str
) -> None:
    write_tables(level, 48, seed=0)
    run(
        "embed edges.csv --nodes nodes.csv -o z.npy --augment both --epochs 1 --dim 4 "
        "--views views"
    )
    features = pyarrow.parquet.read_table("views/features2.parquet")
    nodes = pyarrow.csv.read_csv("nodes.csv")
    column = "graph" if level == "graph" else "type"
    home = dict(zip(nodes["id"].to_pylist(), nodes[column].to_pylist(), strict=True))
    for node, place in zip(
        features["id"].to_pylist(), features[column].to_pylist(), strict=True
    ):
        assert home.pop(node) == place
    assert home == {}
    edges = pyarrow.parquet.read_table("views/edges2.parquet").to_pylist()
    where = dict(
        zip(features["id"].to_pylist(), features[column].to_pylist(), strict=True)
    )
    assert edges
    for edge in edges:
        ends = where[edge["source"]], where[edge["target"]]
        if level == "graph":
            assert ends == (edge["graph"], edge["graph"])
        else:
            assert ends == (edge["source_type"], edge["target_type"])


BAD: dict[str, tuple[str, str, list[str]]] = {
    "graph": ("a,b\na,c\n", "id,graph\na,1\nb,1\nc,2\n", ["row 2", "'1'", "'2'"]),
    "type": ("a,b\n", "id,type\na,u\nb,\n", ["nodes.csv", "row 2", "type"]),
    "both": ("a,b\n", "id,type,graph\na,u,1\nb,u,1\n", ["'graph' and 'type'"]),
    "labels": ("a,b\n", "id,graph,label\na,1,x\nb,1,y\n", ["'1'", "'x'", "'y'"]),
    "one graph": ("a,b\n", "id,graph\na,1\nb,1\n", ["one graph"]),
}


@pytest.mark.parametrize("case", BAD)
def test_embed__bad_tables(run: Run, case: str) -> None:
    edges, nodes, parts = BAD[case]
    Path("edges.csv").write_text(f"source,target\n{edges}")
    Path("nodes.csv").write_text(nodes)
    result = run("embed edges.csv --nodes nodes.csv -o z.npy --epochs 1 --dim 4")
    error = result.err.splitlines()[-1]
    assert (result.code, result.out) == (2, "")
    assert error.startswith("dsgrl: error: ")
    assert all(part in error for part in parts)
    assert not Path("z.npy").exists()


def test_transform__of_another_level_or_type(run: Run) -> None:
    for level in LEVELS:
        write_tables(level, 36, seed=0, prefix=f"{level}_")
    made = run(
        "embed hetero_edges.csv --nodes hetero_nodes.csv -o z.npy --epochs 0 --dim 4 "
        "--model model"
    )
    assert made.code == 0
    for level, parts in {
        "node": ["several types of nodes", "this is one graph"],
        "graph": ["several types of nodes", "this is a list of graphs"],
    }.items():
        command = f"transform {level}_edges.csv --nodes {level}_nodes.csv"
        result = run(f"{command} -o new.npy --model model")
        assert result.code == 2
        assert all(part in result.err for part in parts)
    nodes = Path("hetero_nodes.csv").read_text().replace("author", "studio")
    Path("hetero_nodes.csv").write_text(nodes)
    command = "transform hetero_edges.csv --nodes hetero_nodes.csv"
    result = run(f"{command} -o new.npy --model model")
    assert result.code == 2
    assert "node type 'studio' was not there in training" in result.err


# The rows of the embeddings, and of which type they are.
REAL = {
    "node": ("photo", {None: 7650}),
    "graph": ("enzymes", {None: 600}),
    "hetero": ("imdb", {"movie": 4278, "director": 2081, "actor": 5257}),
}


@pytest.mark.data
@pytest.mark.slow
@levels
@augments
def test_embed_and_transform__real_data(run: Run, level: str, augment: str) -> None:
    name, rows = REAL[level]
    made = run(
        f"embed {name} -o z.parquet --augment {augment} --epochs 1 --dim 32 "
        "--model model"
    )
    assert made.code == 0, made.err
    table, z = read("z.parquet")
    assert z.shape == (sum(rows.values()), 32)
    assert np.isfinite(z).all()
    kinds = table["type"].to_pylist() if level == "hetero" else [None] * len(z)
    assert {kind: kinds.count(kind) for kind in rows} == rows
    assert table["label"].null_count == sum(rows.values()) - {"hetero": 4278}.get(
        level, len(z)
    )
    again = run(f"transform {name} -o again.parquet --model model")
    assert again.code == 0, again.err
    np.testing.assert_allclose(read("again.parquet")[1], z, rtol=1e-4, atol=1e-5)


def test_messages__are_shown_once(run: Run) -> None:
    """Each fit of a search says the same of the same data."""
    Path("edges.csv").write_text("source,target\n0,1\n1,2\n2,0\n2,3\n")
    shown = run("embed edges.csv -o z.npy --epochs 1").err
    assert shown.count("no node features") == 1
    once = Once()
    record = logging.makeLogRecord({"msg": "the graph has %d columns", "args": (3,)})
    other = logging.makeLogRecord({"msg": "the graph has %d columns", "args": (4,)})
    assert [once.filter(r) for r in (record, record, other)] == [True, False, True]


@pytest.mark.parametrize(
    ("level", "method"), [("node", "hops"), ("hetero", "hops"), ("graph", "histograms")]
)
def test_embed__without_training(run: Run, level: str, method: str) -> None:
    ids = write_tables(level, 48, seed=0)
    made = run(
        f"embed edges.csv --nodes nodes.csv -o z.parquet --method {method} "
        "--set out_channels=6 --model model"
    )
    assert (made.code, other_lines(made.err)) == (0, [])
    assert "without training: wrote z.parquet and model/" in made.out
    table, z = read("z.parquet")
    check_rows(level, table, ids)
    assert z.shape == (len(ids), 6)
    again = run("transform edges.csv --nodes nodes.csv -o again.parquet --model model")
    assert (again.code, other_lines(again.err)) == (0, [])
    np.testing.assert_array_equal(read("again.parquet")[1], z)
