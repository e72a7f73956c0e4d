import numpy as np
import pytest

from dsgrl.explore.clusters import (
    by_size,
    clusters_in_groups,
    find_clusters,
    suggest_number,
)
from dsgrl.typing import InputError


def make_groups(sizes: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows around as many directions as there are sizes, and their groups."""
    random = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    centers = 6 * np.eye(len(sizes), 8)
    z = centers[group] + random.normal(size=(len(group), 8))
    return z.astype(np.float32), group


def test_kmeans__finds_groups_the_largest_first() -> None:
    z, group = make_groups((20, 60, 40))
    found = find_clusters(z, 3)
    assert [np.bincount(found[group == i]).argmax() for i in range(3)] == [2, 0, 1]
    assert (np.diff(np.bincount(found)) <= 0).all()


def test_kmeans__same_seed_same_clusters() -> None:
    z = make_groups((30, 30))[0]
    one, two = (find_clusters(z, 4, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_kmeans__equal_rows_do_not_warn() -> None:
    assert set(find_clusters(np.ones((6, 3), np.float32), 3)) == {0}


def test_number__grows_with_the_rows_and_ends() -> None:
    numbers = [suggest_number(count) for count in (1, 2, 50, 500, 10**6)]
    assert numbers == sorted(numbers)
    assert numbers[0] == 1
    assert numbers[-1] == 10


@pytest.mark.parametrize("number", [0, 7])
def test_kmeans__impossible_numbers_are_refused(number: int) -> None:
    with pytest.raises(InputError, match=f"{number} clusters of 6 rows"):
        find_clusters(np.ones((6, 2), np.float32), number)


def test_hdbscan__leaves_out_what_lies_between() -> None:
    pytest.importorskip("fast_hdbscan")
    z, group = make_groups((60, 60, 60))
    z[:6] = np.random.default_rng(1).normal(size=(6, 8)) * 4
    found = find_clusters(z, method="hdbscan")
    assert found.max() + 1 == 3
    kept = found >= 0
    pairs = set(zip(found[kept][6:], group[kept][6:], strict=True))
    assert len(pairs) == 3


def test_groups__clusters_stay_inside_a_type() -> None:
    z, _ = make_groups((30, 30))
    found = clusters_in_groups(z, [0, 40, 60])
    assert set(found[:40]).isdisjoint(found[40:])
    assert set(found) == set(range(found.max() + 1))


def test_by_size__keeps_rows_in_no_cluster() -> None:
    numbered = by_size(np.array([5, 5, -1, 2, 2, 2]))
    assert numbered.tolist() == [1, 1, -1, 0, 0, 0]
