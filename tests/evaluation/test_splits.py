from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgrl.evaluation.manifest import manifest_hash
from dsgrl.evaluation.splits import (
    balanced_splits,
    part_of_test_splits,
    protocol_splits,
    stratified_splits,
)
from dsgrl.typing import InputError, Split

Y = np.repeat(np.arange(4), [400, 300, 200, 100])


def rows_of(split: Split) -> list[int]:
    return sorted(np.concatenate(split).tolist())


def masks(num_columns: int = 0) -> tuple[Any, Any, Any]:
    """Give masks of the first 100, the next 200 and the other rows; or many."""
    size = (1000, num_columns) if num_columns else (1000,)
    order = np.random.default_rng(0).random(size).argsort(axis=0)
    return order < 100, (order >= 100) & (order < 300), order >= 300


def test_splits__disjoint_and_complete() -> None:
    for split in stratified_splits(Y):
        assert rows_of(split) == list(range(len(Y)))


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


def test_splits__a_class_of_too_few_rows_is_an_error_of_one_line() -> None:
    y = np.array([0] * 50 + [1] * 3)
    with pytest.raises(InputError, match="a class has too few rows"):
        protocol_splits("80/10/10", y)


@pytest.mark.parametrize(
    ("protocol", "count", "shares"),
    [
        ("5/15/80", 10, (0.05, 0.15, 0.8)),
        ("10/10/80", 20, (0.1, 0.1, 0.8)),
        ("60/20/20", 10, (0.6, 0.2, 0.2)),
    ],
)
def test_protocol__shares_and_numbers(
    protocol: str, count: int, shares: tuple[float, ...]
) -> None:
    splits = protocol_splits(protocol, Y)
    assert len({split.train.tobytes() for split in splits}) == count
    for split in splits:
        assert rows_of(split) == list(range(1000))
        assert [len(part) / 1000 for part in split] == pytest.approx(shares)


def test_protocol__the_default_is_what_it_was() -> None:
    """Taken before there were other protocols: old lines stay comparable."""
    assert manifest_hash(protocol_splits("5/15/80", Y), "5/15/80") == "a7f39e138b46"


def test_protocol__rows_without_a_label_are_in_no_split_and_keep_their_numbers() -> (
    None
):
    y = Y.copy()
    y[::7] = -1
    known = np.flatnonzero(y >= 0)
    for protocol in ("5/15/80", "balanced", "folds"):
        for split in protocol_splits(protocol, y):
            assert rows_of(split) == known.tolist()
    for split in protocol_splits("public", y, masks=masks()):
        assert rows_of(split) == known.tolist()


def test_protocol__balanced_has_as_many_training_rows_of_every_class() -> None:
    splits = protocol_splits("balanced", Y)
    assert len({split.train.tobytes() for split in splits}) == 10
    for split in splits:
        assert np.bincount(Y[split.train]).tolist() == [12, 12, 12, 12]
        assert len(split.val) == 150
        assert rows_of(split) == list(range(1000))


def test_balanced__a_small_class_keeps_two_rows_back() -> None:
    y = np.array([0] * 195 + [1] * 5)
    (split,) = balanced_splits(y, num_splits=1, train=0.1)
    assert np.bincount(y[split.train]).tolist() == [10, 3]


def test_protocol__public_masks_of_one_or_more_splits_by_name_or_not() -> None:
    train, val, test = masks()
    (split,) = protocol_splits("public", Y, masks=(train, val, test))
    named = {"train_mask": train, "val_mask": val, "test_mask": test}
    (again,) = protocol_splits("public", Y, masks=named)
    for rows, more, mask in zip(split, again, (train, val, test), strict=True):
        assert np.array_equal(rows, np.flatnonzero(mask))
        assert np.array_equal(rows, more)
    many = masks(3)
    splits = protocol_splits("public", Y, masks=many)
    assert len(splits) == 3
    assert np.array_equal(splits[2].val, np.flatnonzero(many[1][:, 2]))
    assert len(protocol_splits("public", Y, masks=many, num_splits=2)) == 2


def test_protocol__one_test_mask_may_serve_many_training_masks() -> None:
    """WikiCS has twenty training masks and one test mask."""
    _, _, test = masks()
    draw = np.random.default_rng(1).random((1000, 5))
    train = ~test[:, None] & (draw < 0.5)
    val = ~test[:, None] & ~train
    splits = protocol_splits("public", Y, masks=(train, val, test))
    assert len({split.train.tobytes() for split in splits}) == 5
    assert all(np.array_equal(split.test, np.flatnonzero(test)) for split in splits)


@pytest.mark.parametrize("percent", [20, 40, 60, 80])
def test_protocol__imdb_fits_and_judges_test_rows_and_chooses_by_validation_rows(
    percent: int,
) -> None:
    train, val, test = masks()
    splits = protocol_splits(f"imdb-{percent}", Y, masks=(train, val, test))
    assert len({split.train.tobytes() for split in splits}) == 10
    for split in splits:
        assert np.array_equal(split.val, np.flatnonzero(val))
        both = np.sort(np.concatenate([split.train, split.test]))
        assert np.array_equal(both, np.flatnonzero(test))
        assert len(split.train) == round(percent / 100 * test.sum())
        shares = np.bincount(Y[split.train], minlength=4) / len(split.train)
        np.testing.assert_allclose(shares, np.bincount(Y[test]) / test.sum(), atol=0.02)


def test_part_of_test__is_seeded() -> None:
    test = np.arange(500, 1000)
    one, two, other = (
        part_of_test_splits(Y, np.arange(9), test, share=0.2, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(one[3].train, two[3].train)
    assert not np.array_equal(one[3].train, other[3].train)


def test_protocol__several_labels_a_row_are_split_at_random() -> None:
    y = (np.random.default_rng(0).random((200, 5)) < 0.3).astype(int)
    splits = protocol_splits("5/15/80", y)
    assert len({split.train.tobytes() for split in splits}) == 10
    for split in splits:
        assert rows_of(split) == list(range(200))
        assert [len(part) for part in split] == [10, 30, 160]


@pytest.mark.parametrize(
    ("protocol", "given_masks", "message"),
    [
        ("5/15/90", None, "unknown protocol '5/15/90'"),
        ("0/20/80", None, "unknown protocol"),
        ("imdb-30", None, "unknown protocol"),
        ("public", None, "needs the data's masks"),
        ("imdb-20", None, "needs the data's masks"),
        ("public", masks()[:2], "expected all three"),
        ("public", {"train_mask": masks()[0]}, "expected all three"),
        ("public", (*masks()[:2], np.ones(1000, dtype=bool)), "in two of its parts"),
        ("public", (*masks()[:2], np.zeros(1000, dtype=bool)), "100/200/0 labelled"),
        ("public", (*masks()[:2], np.ones(5, dtype=bool)), r"shape \[5\]"),
        ("public", (*masks()[:2], np.ones(1000)), "a mask of float64"),
        ("public", (masks(2)[0], *masks(3)[1:]), "one number of splits"),
        ("imdb-20", masks(2), "several splits"),
    ],
)
def test_protocol__refuses_in_one_line(
    protocol: str, given_masks: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        protocol_splits(protocol, Y, masks=given_masks)


def test_protocol__refuses_training_rows_of_one_class() -> None:
    train, val, test = (np.arange(1000) // 100 == i for i in range(3))
    with pytest.raises(InputError, match="one class only"):
        protocol_splits("public", Y, masks=(train, val, test))


@given(
    counts=st.lists(st.integers(10, 80), min_size=2, max_size=6),
    seed=st.integers(0, 1000),
    protocol=st.sampled_from(["5/15/80", "10/10/80", "balanced", "folds"]),
)
def test_protocol__every_draw_is_disjoint_complete_and_repeatable(
    counts: list[int], seed: int, protocol: str
) -> None:
    y = np.random.default_rng(seed).permutation(np.repeat(range(len(counts)), counts))
    splits = protocol_splits(protocol, y, num_splits=2, random_state=seed)
    again = protocol_splits(protocol, y, num_splits=2, random_state=seed)
    for split, same in zip(splits, again, strict=True):
        assert rows_of(split) == list(range(len(y)))
        assert set(y[split.train]) == set(y)
        assert np.array_equal(split.train, same.train)
