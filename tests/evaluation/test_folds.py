import json
import os
from pathlib import Path

import numpy as np
import pytest

from dsgrl.evaluation import folds
from dsgrl.evaluation.folds import PUBLIC, public_folds, read_folds, stratified_folds
from dsgrl.evaluation.splits import protocol_splits
from dsgrl.typing import InputError

SIZES = {
    "dd": 1178,
    "nci1": 4110,
    "proteins": 1113,
    "enzymes": 600,
    "imdb-b": 1000,
    "imdb-m": 1500,
    "reddit-b": 2000,
    "collab": 5000,
}
datasets = pytest.mark.parametrize("dataset", PUBLIC)


@datasets
def test_public__ten_folds_cover_the_set_once(dataset: str) -> None:
    splits = public_folds(dataset)
    assert len(splits) == 10
    everything = list(range(SIZES[dataset]))
    for split in splits:
        assert sorted(np.concatenate(split).tolist()) == everything
        # A tenth to judge by, a tenth of the rest to choose by.
        assert len(split.test) == pytest.approx(len(everything) / 10, abs=3)
        assert len(split.val) == pytest.approx(len(everything) * 0.09, abs=3)
    assert sorted(np.concatenate([s.test for s in splits]).tolist()) == everything


@pytest.mark.data
@datasets
def test_public__shipped_folds_are_those_of_the_data_folder(dataset: str) -> None:
    group, name = PUBLIC[dataset]
    path = Path(os.environ["DSGRL_DATA"]) / "splits" / group / f"{name}_splits.json"
    for one, two in zip(public_folds(dataset), read_folds(path), strict=True):
        for shipped, original in zip(one, two, strict=True):
            np.testing.assert_array_equal(shipped, original)


@pytest.mark.data
@datasets
def test_public__folds_keep_the_shares_of_the_classes(dataset: str) -> None:
    name = PUBLIC[dataset][1].removesuffix("_full")
    path = Path(os.environ["DSGRL_DATA"]) / "tu" / name / "raw"
    labels = np.loadtxt(path / f"{name}_graph_labels.txt", dtype=int)
    _, classes = np.unique(labels, return_inverse=True)
    splits = protocol_splits("folds", classes, dataset=dataset)
    for part in ("val", "test"):
        counts = np.array([np.bincount(classes[getattr(s, part)]) for s in splits])
        assert (counts.max(axis=0) - counts.min(axis=0) <= 2).all()


def test_public__a_data_folder_comes_before_the_package(tmp_path: Path) -> None:
    fold = {"test": [2], "model_selection": [{"train": [1, 0], "validation": [3]}]}
    path = tmp_path / "splits" / "CHEMICAL" / "ENZYMES_splits.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([fold]))
    (split,) = public_folds("enzymes", tmp_path)
    assert [part.tolist() for part in split] == [[0, 1], [3], [2]]
    assert len(public_folds("dd", tmp_path)) == 10
    path.write_text("[{}]")
    with pytest.raises(InputError, match="cannot be read as folds"):
        public_folds("enzymes", tmp_path)


def test_shipped_file__stays_small() -> None:
    path = Path(folds.__file__).with_name("public_folds.npz")
    assert path.stat().st_size < 40_000


def test_protocol__refuses_folds_of_other_data() -> None:
    with pytest.raises(InputError, match="500 labels for the 600 graphs of 'enzymes'"):
        protocol_splits("folds", np.arange(500) % 6, dataset="enzymes")


def test_protocol__some_of_the_public_folds() -> None:
    y = np.arange(600) % 6
    splits = protocol_splits("folds", y, dataset="ENZYMES", num_splits=3)
    assert len(splits) == 3
    np.testing.assert_array_equal(splits[1].test, public_folds("enzymes")[1].test)


def test_drawn__disjoint_stratified_complete_and_seeded() -> None:
    y = np.random.default_rng(0).permutation(np.repeat(range(3), [100, 60, 28]))
    splits = protocol_splits("folds", y, dataset="mutag")
    judged = np.concatenate([split.test for split in splits])
    assert sorted(judged.tolist()) == list(range(len(y)))
    for split in splits:
        assert sorted(np.concatenate(split).tolist()) == list(range(len(y)))
        np.testing.assert_allclose(
            np.bincount(y[split.test]), np.bincount(y) / 10, atol=1
        )
        np.testing.assert_allclose(
            np.bincount(y[split.val]), 0.09 * np.bincount(y), atol=1
        )
    again, other = stratified_folds(y), stratified_folds(y, random_state=1)
    assert np.array_equal(splits[4].val, again[4].val)
    assert not np.array_equal(splits[4].val, other[4].val)


def test_drawn__refuses_too_small_a_class() -> None:
    with pytest.raises(InputError, match="cannot make 10 folds"):
        stratified_folds(np.array([0] * 50 + [1] * 9))
