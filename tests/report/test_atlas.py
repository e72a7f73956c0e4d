from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dsgrl.report.atlas import write_map
from report.pages import make_contents


@pytest.fixture
def path(tmp_path: Path) -> Path:
    contents = make_contents()
    near = contents.near.copy()
    near[0, 1:] = -1
    write_map(tmp_path / "map.parquet", make_contents(near=near))
    return tmp_path / "map.parquet"


def test_map__has_what_the_page_shows(path: Path) -> None:
    table, contents = pq.read_table(path), make_contents()
    assert table["id"].to_pylist() == contents.ids
    assert table["cluster"].to_pylist()[:3] == [c.name for c in contents.clusters]
    assert table["label"].to_pylist()[:3] == [None, "b", "a"]
    np.testing.assert_array_equal(table["x"], contents.position[:, 0])
    first, second = table["neighbors"].to_pylist()[:2]
    assert first["ids"] == [3]
    assert second["ids"] == contents.near[1].tolist()
    assert second["distances"] == [0.5] * 3


def test_map__as_text_has_no_lists(tmp_path: Path) -> None:
    write_map(tmp_path / "map.csv", make_contents())
    head = (tmp_path / "map.csv").read_text().splitlines()[0]
    assert head == '"id","cluster","label","degree","age","x","y"'


def test_map__opens_in_polars(path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(path)
    assert frame.height == 60
    assert frame["neighbors"].struct.field("ids").to_list()[1] == [4, 7, 10]


def test_map__opens_in_duckdb(path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    asked = f"SELECT id, neighbors.ids FROM '{path}' WHERE cluster = 'second' LIMIT 1"
    assert duckdb.sql(asked).fetchall()[0][1] == [4, 7, 10]
