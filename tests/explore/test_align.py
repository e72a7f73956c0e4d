from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ortho_group

from dsgrl import cli
from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.explore.align import align, measure_drift
from dsgrl.explore.files import read_rows
from dsgrl.io.embeddings import write_embeddings
from dsgrl.typing import FloatArray, InputError

WIDTH = 6


def make_rows(number: int = 50, seed: int = 0, prefix: str = "n") -> EmbeddedRows:
    scale = np.linspace(3, 0.3, WIDTH)
    z = np.random.default_rng(seed).normal(size=(number, WIDTH)) * scale + 1
    return EmbeddedRows([f"{prefix}{i}" for i in range(number)], z.astype(np.float32))


def rotate(z: FloatArray, seed: int = 0) -> FloatArray:
    rotation = ortho_group.rvs(WIDTH, random_state=seed)
    rotated: FloatArray = (z @ rotation + seed).astype(np.float32)
    return rotated


def distances(z: FloatArray) -> Any:
    return np.linalg.norm(z[:, None] - z[None, :], axis=2)


@pytest.mark.parametrize("seed", range(5))
def test_align__a_rotated_copy_comes_back(seed: int) -> None:
    old = make_rows()
    order = np.random.default_rng(seed).permutation(50)
    ids, z = [old.ids[i] for i in order], rotate(old.z, seed)[order]
    aligned = align(EmbeddedRows(ids, z), old)
    np.testing.assert_allclose(aligned.z, old.z[order], atol=1e-5)
    drift = measure_drift(aligned, old)
    assert drift.mean_cosine == pytest.approx(1, abs=1e-5)
    assert drift.neighbors_kept == 1
    assert (drift.num_shared, drift.num_new, drift.num_gone) == (50, 0, 0)


def test_align__new_ids_keep_their_distances_and_land_where_they_were() -> None:
    old = make_rows(60)
    new = EmbeddedRows(old.ids[10:], rotate(old.z, 3)[10:])
    known = EmbeddedRows(old.ids[:40], old.z[:40])
    aligned = align(new, known)
    np.testing.assert_allclose(distances(aligned.z), distances(new.z), atol=1e-4)
    np.testing.assert_allclose(aligned.z, old.z[10:], atol=1e-4)
    drift = measure_drift(aligned, known)
    assert (drift.num_shared, drift.num_new, drift.num_gone) == (30, 20, 10)


def test_align__noise_moves_rows_and_is_seen() -> None:
    old = make_rows(200)
    noise = np.random.default_rng(9).normal(size=old.z.shape).astype(np.float32)
    z = old.z + 0.1 * noise
    z[7] = 2 - old.z[7]
    aligned = align(EmbeddedRows(old.ids, rotate(z, 2)), old)
    before = np.linalg.norm(rotate(z, 2) - old.z)
    assert np.linalg.norm(aligned.z - old.z) < 0.5 * before
    drift = measure_drift(aligned, old)
    assert drift.moved[0][0] == "n7"
    assert drift.moved[0][1] < 0
    assert 0.5 < drift.mean_cosine < 1
    assert drift.neighbors_kept is not None
    assert 0.3 < drift.neighbors_kept < 1
    other = make_rows(200, seed=5)
    unrelated = measure_drift(align(other, old), old)
    assert unrelated.neighbors_kept is not None
    assert unrelated.neighbors_kept < drift.neighbors_kept
    assert unrelated.mean_cosine < drift.mean_cosine


def test_align__every_type_by_itself() -> None:
    one, two = make_rows(30, 1), make_rows(30, 2)
    types = ["a"] * 30 + ["b"] * 30
    old = EmbeddedRows(one.ids + two.ids, np.vstack([one.z, two.z]), None, types)
    turned = np.vstack([rotate(one.z, 4), rotate(two.z, 8)])
    aligned = align(old._replace(z=turned), old)
    np.testing.assert_allclose(aligned.z, old.z, atol=1e-5)
    assert measure_drift(aligned, old).num_shared == 60


def test_align__what_cannot_be_compared_is_refused() -> None:
    old = make_rows()
    with pytest.raises(InputError, match=r"4 columns with the 6 columns.*--dim 6"):
        align(EmbeddedRows(old.ids, old.z[:, :4]), old)
    with pytest.raises(InputError, match="none of the 50 ids"):
        align(make_rows(prefix="m"), old)


def test_drift__few_ids_are_said() -> None:
    old = make_rows(4)
    lines = measure_drift(align(old, old), old).lines("old.parquet")
    assert "4 ids in both" in lines[0]
    assert "not determined" in lines[1]


def run(words: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["dsgrl", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    edges = "".join(f"a{i},a{(i * 7 + 1) % 30}\n" for i in range(30))
    Path("edges.csv").write_text(f"source,target\n{edges}")
    return tmp_path


def test_embed__align_to(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "embed edges.csv --epochs 2 --dim 8"
    assert run(f"{words} -o plain.parquet", monkeypatch) == 0
    rows = read_rows(here / "plain.parquet")
    random = np.random.default_rng(0)
    mixed = ortho_group.rvs(8, random_state=1).astype(np.float32)
    order = random.permutation(30)
    write_embeddings(
        here / "old.parquet", [rows.ids[i] for i in order], (rows.z @ mixed)[order]
    )
    capsys.readouterr()
    assert run(f"{words} -o z.parquet --align-to old.parquet", monkeypatch) == 0
    assert "30 ids in both, 0 new, 0 gone" in capsys.readouterr().out
    found = read_rows(here / "z.parquet")
    assert found.ids == rows.ids
    np.testing.assert_allclose(found.z, rows.z @ mixed, atol=1e-4)


@pytest.mark.parametrize("dim", ["--dim 6", "--dim 6 --method dgi"])
def test_embed__another_width_is_refused_before_training(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    dim: str,
) -> None:
    write_embeddings(here / "old.npy", ["a0"], np.ones((1, 8), np.float32))
    words = f"embed edges.csv {dim} -o z.parquet --align-to old.npy"
    assert run(words, monkeypatch) == 2
    error = capsys.readouterr().err
    assert "6 columns" in error
    assert len(error.splitlines()) == 1
    assert not (here / "z.parquet").exists()
