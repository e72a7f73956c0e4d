import numpy as np
import pytest

from dsgrl.evaluate.splits import stratified_splits
from dsgrl.typing import InputError

Y = np.repeat(np.arange(4), [400, 300, 200, 100])


def test_splits__disjoint_and_complete() -> None:
    for split in stratified_splits(Y):
        rows = np.concatenate(split)
        assert len(rows) == len(set(rows.tolist())) == len(Y)


def test_splits__five_fifteen_eighty_in_every_class() -> None:
    for split in stratified_splits(Y):
        for rows, share in zip(split, (0.05, 0.15, 0.80), strict=True):
            counts = np.bincount(Y[rows], minlength=4)
            np.testing.assert_allclose(counts, share * np.bincount(Y), atol=1)


def test_splits__ten_distinct_training_sets_the_same_for_the_same_seed() -> None:
    splits = stratified_splits(Y)
    assert len({split.train.tobytes() for split in splits}) == 10
    again, other = stratified_splits(Y), stratified_splits(Y, random_state=1)
    for one, two in zip(splits, again, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(splits[0].train, other[0].train)


def test_splits__few_rows_still_have_every_class_to_fit_on() -> None:
    y = np.repeat(np.arange(3), 10)
    for split in stratified_splits(y):
        assert set(y[split.train]) == {0, 1, 2}


@pytest.mark.parametrize("y", [np.zeros(50, dtype=int), np.array([0] * 50 + [1])])
def test_splits__refuses_what_cannot_be_split(y: np.ndarray) -> None:
    with pytest.raises(InputError, match="cannot split"):
        stratified_splits(y)
