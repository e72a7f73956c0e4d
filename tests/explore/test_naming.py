import datetime

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from dsgrl.explore.columns import (
    Column,
    Known,
    category_column,
    make_terms,
    read_known,
)
from dsgrl.explore.naming import describe_clusters
from dsgrl.typing import InputError

CLUSTER = np.array([0] * 6 + [1] * 4)
Z = np.where(CLUSTER[:, None] == 0, [[1.0, 0.0]], [[0.0, 1.0]]).astype(np.float32)
Z += np.random.default_rng(0).normal(size=Z.shape).astype(np.float32) / 50
IDS = [f"n{i}" for i in range(10)]


def names_of(known: Known) -> list[str]:
    found = describe_clusters(CLUSTER, Z, IDS, make_terms(known))
    return [cluster.name for cluster in found]


def test_name__words_that_others_lack() -> None:
    words = np.zeros((10, 3), np.float32)
    words[:, 0] = 1
    words[:6, 1] = 1
    words[6:, 2] = 1
    names = ["the", "cat", "dog"]
    known = Known(features=sp.csr_matrix(words), feature_names=names)
    assert names_of(known) == ["cat", "dog"]


def test_name__numbers_are_high_or_low_and_gaps_do_not_matter() -> None:
    age = np.where(CLUSTER == 0, 60.0, 20.0).astype(np.float32)
    age[3] = np.nan
    assert names_of(Known(columns=[Column("age", age)])) == ["high age", "low age"]


def test_name__categories_and_labels_beside_it() -> None:
    team = ["red"] * 6 + ["blue"] * 3 + [None]
    known = Known(columns=[category_column("team", team)])
    label = category_column("label", ["a"] * 5 + ["b"] * 5)
    found = describe_clusters(CLUSTER, Z, IDS, make_terms(known), label)
    assert [cluster.name for cluster in found] == ["team red", "team blue"]
    assert found[0].label == ("a", pytest.approx(5 / 6))
    assert found[1].label == ("b", 1.0)


def test_name__without_columns_it_is_the_central_id_and_stays_unique() -> None:
    first, second = names_of(Known())
    assert first.startswith("around n")
    assert int(first[8:]) < 6 <= int(second[8:])
    same = Known(columns=[Column("flag", np.ones(10, np.float32))])
    assert len(set(names_of(same))) == 2


def test_name__a_type_is_compared_with_itself() -> None:
    words = np.zeros((20, 2), np.float32)
    words[:10, 0] = 1
    words[:6, 1] = 1
    known = Known(features=sp.csr_matrix(words), feature_names=["all", "some"])
    cluster = np.concatenate([CLUSTER, np.full(10, 2)])
    z = np.concatenate([Z, Z])
    types = ["film"] * 10 + ["person"] * 10
    found = describe_clusters(cluster, z, IDS + IDS, make_terms(known), None, types)
    assert found[0].name == "film: some"
    assert found[0].terms == ["some"]
    assert found[2].name.startswith("person: around")


def test_table__is_joined_by_the_column_that_has_the_ids() -> None:
    table = pa.table(
        {
            "name": ["b", "c", "a"],
            "age": [2.0, None, 1.0],
            "team": ["x", "y", "x"],
            "label": ["p", "q", "r"],
            "vector": [[1], [2], [3]],
        }
    )
    known = read_known(table, ["a", "b", "c"], ("label",))
    assert [column.name for column in known.columns] == ["age", "team"]
    np.testing.assert_array_equal(known.columns[0].values, [1, 2, np.nan])
    assert known.columns[1].names == ["x", "y"]
    assert known.columns[1].values.tolist() == [0, 0, 1]


def test_table__dates_are_years_and_truth_is_a_number() -> None:
    dates = [datetime.date(2020, 7, 2), None]
    table = pa.table({"id": [1, 2], "since": dates, "is_new": [True, False]})
    since, is_new = read_known(table, [2, 1], ()).columns
    np.testing.assert_allclose(since.values, [np.nan, 2020.5], atol=0.01)
    assert is_new.values.tolist() == [0, 1]


def test_table__of_other_nodes_is_refused() -> None:
    with pytest.raises(InputError, match="no column with the 3 ids"):
        read_known(pa.table({"id": ["a", "x"]}), ["a", "b", "c"], ())


def test_table__nodes_that_only_edges_name_are_unknown() -> None:
    table = pa.table({"key": ["b", "a"], "n": [1, 2], "team": ["red", "blue"]})
    number, team = read_known(table, ["a", "ghost", "b"], ()).columns
    assert number.values.tolist() == pytest.approx([2, np.nan, 1], nan_ok=True)
    assert team.values.tolist() == [0, -1, 1]


def test_table__long_texts_are_read_as_words() -> None:
    texts = [f"a fast engine number{i}" for i in range(60)] + ["slow boat"] * 30
    table = pa.table({"id": list(range(90)), "about": texts})
    known = read_known(table, list(range(90)), ())
    terms = make_terms(known)
    assert list(known.texts) == ["about"]
    assert {"fast", "engine", "slow", "boat"} <= set(terms.names)
    # A word of one row names nothing.
    assert not any(name.startswith("number1") for name in terms.names)
    fast = terms.matrix[:, terms.names.index("fast")].toarray().ravel()
    np.testing.assert_array_equal(fast, [1] * 60 + [0] * 30)
