import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.edge_table import EdgeTable, read_edges
from dsgrl.io.tables import open_table
from dsgrl.typing import InputError

# What a careless reader splits, strips or changes.
ODD = [
    "a,b",
    'say "hi"',
    "two\nlines",
    "win\r\nlines",
    "😀 emoji",
    "naïve",
    " x ",
    "007",
]


def read(path: Path, content: str | bytes, **chosen: Any) -> EdgeTable:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_edges(open_table(path, what="edges"), Choices(**chosen), Notes())


def pairs(table: EdgeTable) -> list[tuple[Any, Any]]:
    return list(zip(table.source.to_pylist(), table.target.to_pylist(), strict=True))


def test_ids__come_back_as_they_were(tmp_path: Path) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in ODD]
    lines = [f"{a},{b}\n" for a, b in zip(quoted, reversed(quoted), strict=True)]
    table = read(tmp_path / "e.csv", "source,target\n" + "".join(lines))
    assert pairs(table) == list(zip(ODD, reversed(ODD), strict=True))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_mark__do_not_matter(
    tmp_path: Path, end: str, mark: str, last: bool
) -> None:
    text = mark + end.join(["source,target", "a,b", "b,c"]) + (end if last else "")
    assert pairs(read(tmp_path / "e.csv", text)) == [("a", "b"), ("b", "c")]


@pytest.mark.parametrize(
    ("suffix", "separator"),
    [(".csv", ";"), (".csv", "\t"), (".csv", "|"), (".tsv", ",")],
)
def test_separator__is_found_and_noted(
    tmp_path: Path, suffix: str, separator: str
) -> None:
    path, notes = tmp_path / f"e{suffix}", Notes()
    rows = [["source", "target", "weight"], ["a", "b", "0.5"], ["b", "c", "2"]]
    path.write_text("\n".join(separator.join(row) for row in rows))
    table = read_edges(open_table(path, what="edges", notes=notes), Choices(), notes)
    assert pairs(table) == [("a", "b"), ("b", "c")]
    assert table.weight is not None
    assert table.weight.tolist() == [0.5, 2]
    assert "separated by" in notes.assumed[0]


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
@pytest.mark.parametrize("before", [0, 1 << 17])
def test_other_encodings__are_read_with_a_note(
    tmp_path: Path, encoding: str, before: int
) -> None:
    """What spreadsheets write; the first letter beyond ASCII may come late."""
    path, notes = tmp_path / "e.csv", Notes()
    rows = "a,b\n" * (before // 4) + "Müller,b€\n"
    path.write_bytes(f"source,target\n{rows}".encode(encoding))
    table = read_edges(open_table(path, what="edges", notes=notes), Choices(), notes)
    assert pairs(table)[-1] == ("Müller", "b€")
    assert f"not UTF-8, read as {encoding}" in notes.assumed[0]


def test_utf_8__cut_between_two_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.io.csv_files.BLOCK_BYTES", 64)
    for shift in range(4):
        notes, path = Notes(), tmp_path / f"{shift}.csv"
        path.write_text("source,target\n" + "x" * shift + "😀é,b\n" * 40)
        open_table(path, what="edges", notes=notes)
        assert notes.assumed == []


def test_missing_numbers__beside_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("id;a\nx;0,5\ny;-\nz;?\n")
    assert open_table(path).read(ids=["id"])["a"].to_pylist() == [0.5, None, None]


def test_categories_of_a_library__as_ids() -> None:
    """Polars holds their text in views."""
    views = pa.array(["a", "b", "a"]).cast(pa.string_view()).dictionary_encode()
    table = open_table(pa.table({"source": views, "target": views}), what="edges")
    assert pairs(read_edges(table, Choices(), Notes()))[1] == ("b", "b")


def test_semicolons__with_decimal_commas(tmp_path: Path) -> None:
    table = read(tmp_path / "e.csv", "source;target;weight\na;b;0,5\nb;c;2\n")
    assert table.weight is not None
    assert table.weight.tolist() == [0.5, 2]


@pytest.mark.parametrize("text", ["1,2\n2,3\n3,1\n", "1\t2\n2\t3\n3\t1\n"])
def test_no_header__numbers_only(tmp_path: Path, text: str) -> None:
    assert pairs(read(tmp_path / "e.csv", text)) == [(1, 2), (2, 3), (3, 1)]


def test_numbers_with_zeros__are_text(tmp_path: Path) -> None:
    table = read(tmp_path / "e.csv", "source,target\n007,08\n08,7\n")
    assert pairs(table) == [("007", "08"), ("08", "7")]


def test_type_of_a_column__may_change_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Types are inferred from the first block; the next one need not agree."""
    monkeypatch.setattr("dsgrl.io.csv_files.BLOCK_BYTES", 1 << 12)
    path, rows = tmp_path / "nodes.csv", 2000
    lines = [f"{i},{i % 7},same text in every row {i % 5}\n" for i in range(rows)]
    path.write_text("id,a,b\n" + "".join(lines) + f"{rows},seven,x\n")
    assert path.stat().st_size > 1 << 14
    table = open_table(path).read(ids=["id"])
    assert table["id"].type == pa.int64()
    assert table["a"][rows].as_py() == "seven"
    assert table["a"][8].as_py() == "1"


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty"),
    "spaces": (" \n\n ", "is empty"),
    "mark only": (b"\xef\xbb\xbf", "is empty"),
    "half of utf-16": (b"\xff\xfes\x00o\x00\n", "e.csv"),
    "no encoding": (b"source,target\nM\x81,b\n", "is it UTF-8?"),
    "garbage": (bytes(range(256)) * 20, "e.csv"),
    "short row": ("source,target\na,b\nc\n", "as many cells"),
    "long row": ("source,target\na,b\nc,d,e\n", "as many cells"),
    "column twice": ("source,target,target\na,b,c\n", "twice"),
    "no source": ("x,y,z\na,b,c\n", "--source"),
    "no id": ("source,target\na,b\n,c\n", "row 2 has no source"),
    "no weight": ("source,target,weight\na,b,1\nb,c,\n", "row 2"),
    "text as weight": ("source,target,weight\na,b,1\nb,c,heavy\n", "'heavy'"),
    "negative weight": ("source,target,weight\na,b,-1\n", "-1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files__are_one_line(tmp_path: Path, case: str) -> None:
    content, part = BAD[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path / "e.csv", content)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "e.csv"))
    assert part in message
    assert len(message.splitlines()) == 1


def test_packed_file__is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(b"source,target\na,b\n"))
    with pytest.raises(InputError, match="unpack it first"):
        open_table(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_too_many_columns__are_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.io.tables.MOST_COLUMNS", 50)
    path = tmp_path / f"nodes{suffix}"
    names = ["id", *(f"c{i}" for i in range(50))]
    if suffix == ".csv":
        path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    else:
        pyarrow.parquet.write_table(pa.table({name: [1] for name in names}), path)
    with pytest.raises(InputError, match=r"51 columns, expected at most 50:"):
        open_table(path)


@pytest.mark.slow
def test_a_million_columns__are_refused_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("id," + ",".join(f"c{i}" for i in range(10**6)) + "\n")
    with pytest.raises(InputError, match=r"1,000,001 columns"):
        open_table(path)


def test_one_endless_line__is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.io.csv_files.HEAD_BYTES", (64, 1 << 20))
    path = tmp_path / "e.csv"
    path.write_bytes(b"x" * (2 << 20))
    with pytest.raises(InputError, match="no line end in the first 1 MB"):
        open_table(path)
