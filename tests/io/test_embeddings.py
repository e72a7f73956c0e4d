import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from dsgrl.io.atomic import atomic_write
from dsgrl.io.embeddings import (
    EMBEDDING_SUFFIXES,
    check_embeddings_path,
    write_embeddings,
)
from dsgrl.typing import FloatArray, InputError

STRINGS = ["zebra", "ant", 'quo"te', "com,ma", "naïve"]
NUMBERS = [7, -1, 2**40, 0, 3]
LABELS = ["b", "a", "b", "c", "a"]


def make_embeddings(rows: int = 5, columns: int = 3) -> FloatArray:
    generator = np.random.default_rng(0)
    return generator.standard_normal((rows, columns), dtype=np.float32)


def read_back(path: Path) -> dict[str, Any]:
    """Return the ids, labels and values of a written file, as far as it has them."""
    if path.suffix == ".npy":
        return {"z": np.load(path)}
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key].tolist() for key in file.files}
        z = np.array(arrays.pop("embedding"), dtype=np.float32)
        return arrays | {"id": arrays.pop("ids"), "z": z}
    if path.suffix == ".csv":
        options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        table = pyarrow.csv.read_csv(path, convert_options=options)
        names = [name for name in table.column_names if name not in ("id", "label")]
        z = np.stack([table[name].to_numpy() for name in names], axis=1)
    else:
        table = pyarrow.parquet.read_table(path)
        z = np.array(table["embedding"].to_pylist())
    columns = [name for name in ("id", "label") if name in table.column_names]
    found = {name: table[name].to_pylist() for name in columns}
    return found | {"z": z.astype(np.float32)}


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """Let no file grow beyond `size` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail_while_writing(path: Path, kind: str, error: BaseException) -> None:
    with atomic_write(path) as part:
        new = part if kind == "file" else part / "inside"
        new.parent.mkdir(exist_ok=True)
        new.write_text("half")
        raise error


@pytest.mark.parametrize("labels", [None, LABELS], ids=["unlabelled", "labelled"])
@pytest.mark.parametrize("ids", [STRINGS, NUMBERS], ids=["strings", "integers"])
@pytest.mark.parametrize("suffix", EMBEDDING_SUFFIXES)
def test_write_embeddings__round_trip(
    tmp_path: Path, suffix: str, ids: list[Any], labels: list[str] | None
) -> None:
    path = tmp_path / f"z{suffix}"
    z = make_embeddings()
    write_embeddings(path, ids, z, labels)
    found = read_back(path)
    assert np.array_equal(found["z"], z)
    assert found["z"].dtype == np.float32
    if suffix != ".npy":
        assert found["id"] == ids
        assert found.get("label") == labels
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_write_embeddings__missing_label_is_null(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"z{suffix}"
    labels = ["a", None, "b", None, "a"]
    write_embeddings(path, STRINGS, make_embeddings(), labels)
    assert read_back(path)["label"] == labels


def test_write_embeddings__missing_label_in_npz_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "z.npz"
    write_embeddings(path, ["u", "v"], make_embeddings(2), ["a", None])
    first, second = read_back(path)["label"]
    assert first == "a"
    assert second != "a"


def test_write_embeddings__parquet_column_has_a_fixed_size(tmp_path: Path) -> None:
    path = tmp_path / "z.parquet"
    write_embeddings(path, STRINGS, make_embeddings(columns=4))
    kind = pyarrow.parquet.read_schema(path).field("embedding").type
    assert pa.types.is_fixed_size_list(kind)
    assert kind.list_size == 4
    assert kind.value_type == pa.float32()


def test_write_embeddings__rows_that_are_not_contiguous(tmp_path: Path) -> None:
    z = np.asfortranarray(make_embeddings())
    for suffix in EMBEDDING_SUFFIXES:
        write_embeddings(tmp_path / f"z{suffix}", STRINGS, z)
        assert np.array_equal(read_back(tmp_path / f"z{suffix}")["z"], z)


def test_write_embeddings__makes_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "z.npy"
    write_embeddings(path, STRINGS, make_embeddings())
    assert np.array_equal(np.load(path), make_embeddings())


@pytest.mark.parametrize("suffix", EMBEDDING_SUFFIXES)
def test_write_embeddings__full_disk_keeps_the_old_file(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, STRINGS, make_embeddings())
    before = path.read_bytes()
    with (
        files_limited_to(4096),
        pytest.raises(InputError, match=f"z{suffix}: cannot be written .*disk is full"),
    ):
        write_embeddings(path, list(range(300)), make_embeddings(300, 32))
    assert path.read_bytes() == before
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (RuntimeError("stopped"), RuntimeError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(28, "No space left on device"), InputError),
    ],
    ids=["error", "interrupt", "disk"],
)
@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("existed", [False, True])
def test_atomic_write__failure_leaves_things_as_they_were(
    tmp_path: Path,
    raised: BaseException,
    expected: type[BaseException],
    kind: str,
    existed: bool,
) -> None:
    path = tmp_path / "result"
    held = path if kind == "file" else path / "inside"
    if existed:
        held.parent.mkdir(exist_ok=True)
        held.write_text("old")
    before = names_in(tmp_path)
    with pytest.raises(expected):
        fail_while_writing(path, kind, raised)
    assert names_in(tmp_path) == before
    assert not existed or held.read_text() == "old"


def test_atomic_write__nothing_shows_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    path.write_text("old")
    with atomic_write(path) as part:
        part.write_text("new")
        assert part.parent.parent == path.parent
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names_in(tmp_path) == ["result.txt"]


def test_atomic_write__folder_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "stale").write_text("old")
    with atomic_write(path) as part:
        part.mkdir()
        (part / "fresh").write_text("new")
    assert names_in(path) == ["fresh"]
    assert names_in(tmp_path) == ["model"]


def test_atomic_write__folder_behind_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "link"
    path.symlink_to("real")
    with atomic_write(path) as part:
        part.mkdir()
        (part / "fresh").write_text("new")
    assert names_in(path) == ["fresh"]
    assert names_in(tmp_path) == ["link", "real"]


def test_atomic_write__failed_rename_brings_the_old_folder_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "inside").write_text("old")
    # Nothing is written to the given path, so that it cannot be renamed.
    with (
        pytest.raises(InputError, match="model: cannot be written"),
        atomic_write(path),
    ):
        pass
    assert (path / "inside").read_text() == "old"
    assert names_in(tmp_path) == ["model"]


def test_atomic_write__current_folder_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    try:
        with atomic_write(Path()) as part:
            part.mkdir()
            (part / "inside").write_text("new")
    except InputError:
        assert names_in(folder) == []
    else:
        assert names_in(folder) == ["inside"]


@pytest.mark.parametrize("name", ["z.txt", "z", "z.parquet.gz", ".csv"])
def test_check_embeddings_path__unknown_suffix(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"\.parquet, \.npy, \.npz, \.csv"):
        check_embeddings_path(tmp_path / name)


def test_check_embeddings_path__folder(tmp_path: Path) -> None:
    path = tmp_path / "z.csv"
    path.mkdir()
    with pytest.raises(InputError, match=r"z\.csv: is a folder"):
        check_embeddings_path(path)


@pytest.mark.parametrize("below", ["z.csv", "deeper/z.csv"])
def test_check_embeddings_path__below_a_file(tmp_path: Path, below: str) -> None:
    (tmp_path / "file.txt").write_text("kept")
    with pytest.raises(InputError, match=r"file\.txt"):
        check_embeddings_path(tmp_path / "file.txt" / below)
    assert (tmp_path / "file.txt").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_check_embeddings_path__folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        check_embeddings_path(tmp_path / "z.csv")


def test_check_embeddings_path__good_place_stays_empty(tmp_path: Path) -> None:
    check_embeddings_path(tmp_path / "z.csv")
    assert names_in(tmp_path) == []
