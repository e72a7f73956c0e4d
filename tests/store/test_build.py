"""A stored graph is the graph that the reader in memory gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dsgrl.io import csv_files, tables
from dsgrl.store import features as store_features
from dsgrl.store import matrix, npy
from dsgrl.typing import InputError
from store_cases import assert_equal_reading, store

EDGES = "source,target\n3,1\n1,2\n1,2\n2,1\n2,2\n5,1\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def call(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content)
        return path

    return call


def write_parquet(path: Path, **columns: Any) -> Path:
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


@pytest.fixture(params=[False, True], ids=["both ways", "directed"])
def directed(request: Any) -> bool:
    return bool(request.param)


def test_edges__numbers(write: Any, tmp_path: Path, directed: bool) -> None:
    edges = write("e.csv", EDGES)
    stored = assert_equal_reading(edges, None, tmp_path / "g", directed=directed)
    assert stored.ids == [1, 2, 3, 5]
    assert stored.manifest.directed is directed


@pytest.mark.parametrize("names", ["from,to", "SRC,dst", "u,v", "a,b"])
def test_edges__names_of_columns(write: Any, tmp_path: Path, names: str) -> None:
    edges = write("e.csv", f"{names}\nx,y\ny,z\n")
    assert_equal_reading(edges, None, tmp_path / "g")


@pytest.mark.parametrize(
    "content",
    [
        "source,target\n007,8\n8,7\n",
        "source,target\n7,eight\neight,7\n",
        "source;target;weight\n1;2;0,5\n2;3;1,5\n",
        "source\ttarget\n1\t2\n",
        "1,2\n2,3\n",
        'source,target\n"a, b",c\nc,"a, b"\n',
        "source,target,note\nä,b,x\nb,z,y\n",
    ],
    ids=["zeros", "mixed", "semicolons", "tabs", "no header", "quotes", "unused"],
)
def test_edges__text(write: Any, tmp_path: Path, content: str) -> None:
    assert_equal_reading(write("e.csv", content), None, tmp_path / "g")


def test_edges__weights(write: Any, tmp_path: Path, directed: bool) -> None:
    content = "source,target,weight\na,b,1\nb,a,3\na,b,2\nc,c,5\na,b,0.5\n"
    stored = assert_equal_reading(
        write("e.csv", content), None, tmp_path / "g", directed=directed
    )
    assert stored.edge_weight is not None
    assert stored.understood.weighted


def test_edges__weights_of_one_are_not_written(write: Any, tmp_path: Path) -> None:
    content = "source,target,weight\na,b,1\nb,c,1.0\n"
    stored = assert_equal_reading(write("e.csv", content), None, tmp_path / "g")
    assert "weight.npy" not in stored.manifest.files
    assert stored.edge_weight is None


def test_edges__directions_are_no_types(write: Any, tmp_path: Path) -> None:
    content = "source,target,Type\na,b,Directed\nb,c,directed\n"
    assert_equal_reading(write("e.csv", content), None, tmp_path / "g")


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([1.0, 2.0, 3.0]),
        pa.array([1.5, 2.0, 3.0]),
        pa.array([1, 2, 3], pa.int8()),
        pa.array(["a", "b", "c"], pa.large_string()),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([True, False, True]),
        pa.array([18262, 18263, 18264], pa.date32()),
    ],
    ids=lambda ids: str(ids.type)[:12],
)
def test_edges__types_of_ids(tmp_path: Path, ids: Any) -> None:
    edges = write_parquet(tmp_path / "e.parquet", source=ids, target=ids[::-1])
    assert_equal_reading(edges, None, tmp_path / "g")


NODES = """id,age,city,member,joined,note,label
5,31,Rome,true,2020-01-31,a red fox runs,x
1,,Rome,false,2021-02-01,the lazy brown dog,
2,40,Oslo,true,,the quick red fox,y
3,18,,false,2020-01-31,a lazy dog sleeps,x
9,22,Oslo,,2022-03-04,one more red dog,y
4,22.5,Bern,true,2022-03-05,another quick fox,y
"""


def test_nodes__every_kind_of_column(write: Any, tmp_path: Path) -> None:
    edges, nodes = write("e.csv", EDGES), write("n.csv", NODES)
    stored = assert_equal_reading(edges, nodes, tmp_path / "g")
    assert stored.column_plan is not None
    assert set(stored.column_plan.by_kind()) == {
        *("number", "category", "boolean", "date", "text")
    }
    assert stored.understood.isolated == 2
    assert stored.ids == [5, 1, 2, 3, 9, 4]


@pytest.mark.parametrize(
    "options",
    [
        {"features": ("age", "member")},
        {"ignore": ("note", "city")},
        {"kinds": {"age": "category", "note": "ignore"}},
        {"columns": {"label": "city", "id": "id"}},
    ],
    ids=["features", "ignore", "kinds", "columns"],
)
def test_nodes__choices(write: Any, tmp_path: Path, options: Any) -> None:
    edges, nodes = write("e.csv", EDGES), write("n.csv", NODES)
    assert_equal_reading(edges, nodes, tmp_path / "g", **options)


def test_nodes__lists(tmp_path: Path, write: Any) -> None:
    lists = pa.array([[1.0, 2.0], None, [3.0, 4.0], [5.0, 6.5]])
    nodes = write_parquet(
        tmp_path / "n.parquet", id=pa.array([1, 2, 3, 5]), features=lists
    )
    assert_equal_reading(write("e.csv", EDGES), nodes, tmp_path / "g")


def test_nodes__mostly_zeros_are_sparse(tmp_path: Path, write: Any) -> None:
    rows = np.zeros((4, 40), dtype=np.float32)
    rows[[0, 1, 3], [5, 7, 39]] = 2.5
    nodes = write_parquet(
        tmp_path / "n.parquet", id=pa.array([1, 2, 3, 5]), features=list(rows)
    )
    stored = assert_equal_reading(write("e.csv", EDGES), nodes, tmp_path / "g")
    assert "features.npy" not in stored.manifest.files
    assert stored.x is not None
    assert (stored.x.to_dense().numpy() == rows).all()


def test_nodes__no_features(write: Any, tmp_path: Path) -> None:
    nodes = write("n.csv", "id,label\n1,a\n2,b\n3,a\n5,a\n")
    stored = assert_equal_reading(write("e.csv", EDGES), nodes, tmp_path / "g")
    assert stored.features is None


@pytest.mark.parametrize("unknown", ["add", "drop"])
def test_nodes__unknown(write: Any, tmp_path: Path, unknown: Any) -> None:
    edges = write("e.csv", "source,target\n8,1\n1,2\n7,6\n2,8\n6,1\n")
    nodes = write("n.csv", "id,age,city,label\n1,3,a,u\n2,5,b,v\n3,9,a,\n4,1,b,u\n")
    assert_equal_reading(edges, nodes, tmp_path / "g", unknown=unknown)


@pytest.mark.parametrize("unknown", ["add", "drop"])
def test_nodes__ids_of_another_type(write: Any, tmp_path: Path, unknown: Any) -> None:
    edges = write("e.csv", "source,target\n1,2\n2,x\n")
    nodes = write("n.csv", "id,age\n1,3\n2,5\n3,9\n")
    assert_equal_reading(edges, nodes, tmp_path / "g", unknown=unknown)


def test_nodes__ids_are_in_another_column(write: Any, tmp_path: Path) -> None:
    edges = write("e.csv", "source,target\nann,bob\nbob,eve\n")
    nodes = write("n.csv", "id,age,login\n1,3,eve\n2,5,bob\n3,9,ann\n")
    stored = assert_equal_reading(edges, nodes, tmp_path / "g")
    assert stored.ids == ["eve", "bob", "ann"]


def test_nodes__no_edges(write: Any, tmp_path: Path) -> None:
    edges, nodes = write("e.csv", "source,target\n"), write("n.csv", "id,f\n1,2\n2,3\n")
    stored = assert_equal_reading(edges, nodes, tmp_path / "g")
    assert stored.manifest.num_edges == 0


def make_large(folder: Path, suffix: str, seed: int) -> tuple[Path, Path]:
    """Write tables of some thousand rows, with repeated edges and unused nodes."""
    rng = np.random.default_rng(seed)
    names = np.array([f"n{i:03d}" for i in rng.permutation(400)])
    ends = names[rng.integers(380, size=(2, 5000))]
    edges = pa.table(
        {"u": ends[0], "v": ends[1], "weight": rng.choice([0.5, 1, 2.25], 5000)}
    )
    nodes = pa.table(
        {
            "id": names,
            "size": np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400)),
            "group": rng.choice(["a", "b", "c", None], 400).tolist(),
            "label": rng.choice(["x", "y", None], 400).tolist(),
        }
    )
    paths = folder / f"e{suffix}", folder / f"n{suffix}"
    for path, table in zip(paths, (edges, nodes), strict=True):
        if suffix == ".csv":
            pa.csv.write_csv(table, path)
        else:
            pyarrow.parquet.write_table(table, path)
    return paths


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("seed", [0, 1])
def test_batches__do_not_change_the_graph(
    tmp_path: Path,
    directed: bool,
    suffix: str,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that is read, sorted or written at once is far smaller than the tables."""
    edges, nodes = make_large(tmp_path, suffix, seed)
    whole = store(edges, nodes, tmp_path / "whole", directed=directed)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr("dsgrl.store.database.ROWS_AT_ONCE", 100)
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(npy, "VALUES_AT_ONCE", 7)
    monkeypatch.setattr(matrix, "VALUES_AT_ONCE", 7)
    monkeypatch.setattr(store_features, "BLOCK_CELLS", 50)
    parts = assert_equal_reading(edges, nodes, tmp_path / "parts", directed=directed)
    for name in set(whole.files) - {"ids.arrow"}:
        assert whole.files[name] == parts.manifest.files[name]


def test_csv__a_later_block_is_text(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{i},{i / 7},{i % 3}" for i in range(400)]
    rows[350] = "350,many words here,two"
    nodes = write("n.csv", "id,size,code\n" + "\n".join(rows) + "\n")
    edges = write("e.csv", "source,target\n1,2\n350,3\n")
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 10)
    assert_equal_reading(edges, nodes, tmp_path / "g")


def test_plan__of_a_sample(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics are those of a sample; every row has its own value."""
    values = np.arange(100, dtype=np.float64)
    values[7] = np.nan
    nodes = write_parquet(tmp_path / "n.parquet", id=np.arange(100), size=values)
    monkeypatch.setattr(store_features, "FIT_ROWS", 10)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 17)
    edges = write("e.csv", "source,target\n1,2\n")
    manifest = store(edges, nodes, tmp_path / "g")
    stored = np.load(tmp_path / "g" / "features.npy")[:, 0]
    # The median of rows 0, 10, ... 90.
    assert manifest.plan is not None
    assert manifest.plan[0]["fill"] == 45
    values[7] = 45
    assert (stored == values).all()
    assert "10 evenly spaced rows" in manifest.understood["assumed"][0]


def test_memory__of_the_least_allowed_is_enough(tmp_path: Path) -> None:
    edges, nodes = make_large(tmp_path, ".parquet", 0)
    store(edges, nodes, tmp_path / "a", memory=10**8)
    with pytest.raises(InputError, match="100 MB or more"):
        store(edges, nodes, tmp_path / "b", memory=10**7)
    assert not (tmp_path / "b").exists()


def test_replacing__a_stored_graph(write: Any, tmp_path: Path) -> None:
    out = tmp_path / "g"
    store(write("e.csv", EDGES), None, out)
    assert_equal_reading(write("f.csv", "source,target\na,b\n"), None, out)
    assert {path.name for path in tmp_path.iterdir()} == {"e.csv", "f.csv", "g"}


REFUSED = {
    "no such column": ("x\n1\n", None, {}, "no column source, target"),
    "chosen column": (EDGES, None, {"columns": {"weight": "w"}}, "--weight w"),
    "no id": ("source,target\n1,2\n,3\n", None, {}, "row 2 has no source"),
    "weight": ("source,target,weight\n1,2,\n", None, {}, "row 1 holds"),
    "negative": (
        "source,target,weight\n1,2,1\n2,3,-1\n",
        None,
        {},
        "row 2 has the neg",
    ),
    "types of edges": ("source,target,type\n1,2,a\n", None, {}, "one type only"),
    "empty": ("source,target\n", None, {}, "0 nodes"),
    "unknown": (
        EDGES,
        "id,f\n1,1\n2,1\n5,1\n",
        {},
        "row 1 names node '3'.*add it there",
    ),
    "unknown ends": (EDGES, "id,f\n3,1\n5,1\n", {}, r"node '1'.*\(6 such edges\)"),
    "repeated": (
        EDGES,
        "id,f\n1,1\n2,1\n3,1\n5,1\n2,0\n",
        {},
        "id '2' appears 2 times",
    ),
    "types of nodes": (EDGES, "id,type\n1,a\n", {}, "'type' gives types of nodes"),
    "many graphs": (EDGES, "id,graph\n1,a\n", {}, "'graph' gives many graphs"),
    "features without nodes": (EDGES, None, {"features": ("f",)}, "no table of nodes"),
    "not a kind": (EDGES, NODES, {"kinds": {"note": "list"}}, "expected lists"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused__in_one_line_and_nothing_is_left(
    write: Any, tmp_path: Path, case: str
) -> None:
    edges, nodes, options, message = REFUSED[case]
    paths = [write("e.csv", edges)]
    if nodes is not None:
        paths.append(write("n.csv", nodes))
    with pytest.raises(InputError, match=message) as caught:
        store(paths[0], None if nodes is None else paths[1], tmp_path / "g", **options)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_refused__what_is_no_table(write: Any, tmp_path: Path) -> None:
    for given, message in (
        (tmp_path / "none.csv", "no such file"),
        (tmp_path, "is a folder"),
        (write("e.txt", "1 2"), "unknown kind of file"),
        (write("e.parquet", "not parquet"), "cannot be read"),
    ):
        with pytest.raises(InputError, match=message):
            store(given, None, tmp_path / "g")
    assert not (tmp_path / "g").exists()


def test_refused__folder_of_other_files(write: Any, tmp_path: Path) -> None:
    edges = write("e.csv", EDGES)
    with pytest.raises(InputError, match="holds other files"):
        store(edges, None, tmp_path)
    with pytest.raises(InputError, match="is a file"):
        store(edges, None, edges)
    assert edges.read_text() == EDGES
