"""What lasts when a process or the machine dies while writing."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch_geometric.data import Data

from dsgrl.estimator import DSGRL
from dsgrl.io import atomic
from dsgrl.io.atomic import atomic_write, check_writable
from dsgrl.io.embeddings import EMBEDDING_SUFFIXES, write_embeddings
from dsgrl.typing import InputError

Events = list[tuple[str, Path]]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Note every fsync and rename, in their order."""
    seen: Events = []

    def fsync(descriptor: int) -> None:
        seen.append(("fsync", Path(f"/proc/self/fd/{descriptor}").readlink()))

    replace, exchange = os.replace, atomic._exchange

    def note_replace(one: Path, other: Path) -> None:
        seen.append(("rename", Path(other)))
        replace(one, other)

    def note_exchange(one: Path, other: Path) -> bool:
        seen.append(("rename", other))
        return exchange(one, other)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    monkeypatch.setattr(atomic, "_exchange", note_exchange)
    return seen


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def dead_process() -> int:
    """Return the number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def write_folder(path: Path) -> None:
    with atomic_write(path) as part:
        (part / "deep").mkdir(parents=True)
        for name in ("one", "deep/two"):
            (part / name).write_text("new")


def assert_lasting(events: Events, path: Path, files: set[str]) -> None:
    """All contents before the rename, the folder of the name after it."""
    (renamed,) = [i for i, (what, _) in enumerate(events) if what == "rename"]
    assert events[renamed][1] == path
    before = {where.name for _, where in events[:renamed]}
    assert files <= before
    assert ("fsync", path.parent) in events[renamed:]


@pytest.mark.parametrize("suffix", EMBEDDING_SUFFIXES)
def test_write_embeddings__is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, events: Events, suffix: str
) -> None:
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, [1, 2], np.zeros((2, 3), np.float32))
    assert_lasting(events, path, {path.name})


@pytest.mark.parametrize("exists", [False, True])
def test_save__is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, events: Events, community_graph: Data, exists: bool
) -> None:
    path = tmp_path / "model"
    if exists:
        path.mkdir()
    DSGRL(epochs=1, out_channels=4).fit(community_graph).save(path)
    files = {"model.safetensors", "config.json", "history.csv", "README.md"}
    assert_lasting(events, path, {*files, "model"})
    assert {*names_in(path)} == files


def test_save__others_may_read_the_weights(
    tmp_path: Path, community_graph: Data
) -> None:
    DSGRL(epochs=1, out_channels=4).fit(community_graph).save(tmp_path / "model")
    modes = {path.stat().st_mode for path in (tmp_path / "model").iterdir()}
    assert len(modes) == 1


def test_atomic_write__folders_it_creates_last(tmp_path: Path, events: Events) -> None:
    with atomic_write(tmp_path / "a" / "b" / "file") as part:
        part.touch()
    assert {("fsync", tmp_path), ("fsync", tmp_path / "a")} <= {*events}


def test_atomic_write__everything_in_a_folder_lasts(
    tmp_path: Path, events: Events
) -> None:
    write_folder(tmp_path / "new")
    assert_lasting(events, tmp_path / "new", {"one", "deep", "two", "new"})


def test_atomic_write__disk_that_fails_late_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems notice only in fsync that they are full."""
    path = tmp_path / "file"
    path.write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(InputError, match="disk is full"),
        atomic_write(path) as part,
    ):
        part.write_text("new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["file"]


def test_atomic_write__folder_that_cannot_be_flushed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def refuse(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir():
            raise OSError(22, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    write_folder(tmp_path / "new")
    assert names_in(tmp_path / "new") == ["deep", "one"]


def test_atomic_write__removes_what_the_dead_left_and_nothing_else(
    tmp_path: Path,
) -> None:
    dead = dead_process()
    for name in (f".file.{dead}.part", f".file.{os.getpid()}.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".tmpAbC").write_text("half")
    (tmp_path / f".file.{dead}.old").write_text("")
    kept = [".file.1.part", f".other.{dead}.part", ".file.part", f"file.{dead}.part"]
    for name in kept:
        (tmp_path / name).write_text("kept")
    (tmp_path / "file").write_text("old")
    with atomic_write(tmp_path / "file") as part:
        part.write_text("new")
    assert names_in(tmp_path) == sorted([*kept, "file"])
    assert (tmp_path / "file").read_text() == "new"


def test_atomic_write__temporary_files_of_libraries_go_with_it(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "file") as part:
        part.write_text("new")
        part.with_name(".tmpXyZ").write_text("left")
    assert names_in(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
def test_atomic_write__a_folder_always_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no moment in which neither the old nor the new one is there."""
    path = tmp_path / "model"
    write_folder(path)
    monkeypatch.setattr(Path, "rename", None)
    monkeypatch.setattr(Path, "replace", None)
    write_folder(path)
    assert names_in(tmp_path) == ["model"]


def test_atomic_write__folder_where_names_cannot_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_exchange", lambda *_: False)
    path = tmp_path / "model"
    path.mkdir()
    (path / "stale").touch()
    write_folder(path)
    assert names_in(path) == ["deep", "one"]
    assert names_in(tmp_path) == ["model"]
    # Killed between the two renames: the next that writes brings the old one back.
    path.rename(tmp_path / f".model.{dead_process()}.old")
    with pytest.raises(InputError), atomic_write(path):
        pass
    assert names_in(path) == ["deep", "one"]
    assert names_in(tmp_path) == ["model"]


def test_check_writable__leaves_nothing(tmp_path: Path) -> None:
    check_writable(tmp_path / "new")
    assert names_in(tmp_path / "new") == []
