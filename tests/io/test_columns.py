import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.columns import ColumnPlan, infer_columns
from dsgrl.io.encoders import MOST_CATEGORIES
from dsgrl.typing import InputError

TITLES = ["senior engineer", "junior engineer", "head of sales", "sales clerk"]


def make_table(rows: int = 60, seed: int = 0) -> pa.Table:
    """Give a table with a column of every kind and holes in all of them."""
    rng = np.random.default_rng(seed)

    def holed(values: list[Any]) -> list[Any]:
        return [None if rng.random() < 0.1 else value for value in values]

    days = rng.integers(0, 3000, size=rows)
    return pa.table(
        {
            "age": holed(rng.integers(18, 80, size=rows).tolist()),
            "pay": holed((1e5 * rng.random(rows)).tolist()),
            "remote": holed((rng.random(rows) < 0.5).tolist()),
            "team": holed(rng.choice(["a", "b", "c"], size=rows).tolist()),
            "title": holed(
                [f"{TITLES[i % 4]} number {i} of {rows}" for i in range(rows)]
            ),
            "joined": pa.array(holed(days.tolist()), pa.int32()).cast(pa.date32()),
            "vector": holed(rng.normal(size=(rows, 3)).tolist()),
        }
    )


def fitted(table: pa.Table, **chosen: Any) -> ColumnPlan:
    plan = infer_columns(table, Choices(**chosen))
    assert plan is not None
    return plan


def dense(plan: ColumnPlan, table: pa.Table) -> np.ndarray[Any, Any]:
    x = plan.apply(table).x
    return x.toarray() if sp.issparse(x) else x


def test_plan__has_an_encoder_for_every_kind() -> None:
    plan = fitted(make_table())
    assert {kind: list(columns) for kind, columns in plan.by_kind().items()} == {
        "number": ["age", "pay"],
        "boolean": ["remote"],
        "category": ["team"],
        "text": ["title"],
        "date": ["joined"],
        "list": ["vector"],
    }
    assert plan.names is not None
    assert len(plan.names) == plan.num_features == dense(plan, make_table()).shape[1]


def test_plan__json_round_trip_gives_the_same_features() -> None:
    plan, unseen = fitted(make_table()), make_table(seed=5)
    again = ColumnPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    np.testing.assert_array_equal(dense(again, unseen), dense(plan, unseen))


def test_apply__permuted_rows_and_columns_give_permuted_rows() -> None:
    table = make_table()
    plan = fitted(table)
    order = np.random.default_rng(1).permutation(table.num_rows)
    moved = table.take(order).select(table.column_names[::-1])
    np.testing.assert_array_equal(dense(plan, moved), dense(plan, table)[order])


def test_infer__does_not_depend_on_the_order_of_rows() -> None:
    """Encoders are sorted; only sums may differ in the last digit."""
    table = make_table()
    order = np.random.default_rng(1).permutation(table.num_rows)
    other = fitted(table.take(order))
    np.testing.assert_allclose(
        dense(other, table), dense(fitted(table), table), atol=1e-5
    )


def test_apply__rows_do_not_depend_on_other_rows() -> None:
    table, plan = make_table(), fitted(make_table())
    whole = dense(plan, table)
    for start in (0, 17):
        part = dense(plan, table.slice(start, 5))
        np.testing.assert_array_equal(part, whole[start : start + 5])


def test_apply__new_values_do_not_change_known_rows() -> None:
    table, plan = make_table(), fitted(make_table())
    strange = {
        "team": ["never seen", "x", None],
        "title": ["entirely new words", "", None],
        "age": [None, 1000, 3],
    }
    rows = {name: strange.get(name, [None] * 3) for name in table.column_names}
    both = pa.concat_tables([table, pa.table(rows, schema=table.schema)])
    np.testing.assert_array_equal(dense(plan, both)[:60], dense(plan, table))
    assert np.isfinite(dense(plan, both)).all()


def test_numbers_alone__stay_as_they_are() -> None:
    table = pa.table(
        {"a": [1, 500, 3], "b": [0.5, -2.0, 7e5], "c": [True, False, True]}
    )
    plan = fitted(table)
    assert not plan.in_proportion
    assert dense(plan, table).tolist() == [[1, 0.5, 1], [500, -2, 0], [3, 7e5, 1]]


def test_numbers_beside_names__have_deviation_one() -> None:
    table = make_table()
    plan = fitted(table)
    assert plan.in_proportion
    assert plan.names is not None
    x = dense(plan, table)
    for name in ("age", "pay", "joined"):
        column = x[:, plan.names.index(name)]
        assert column.mean() == pytest.approx(0, abs=1e-5)
        assert column.std() == pytest.approx(1, rel=1e-5)
    text = [i for i, name in enumerate(plan.names) if name.startswith("title:")]
    has_title = np.array([t is not None for t in table["title"].to_pylist()])
    lengths = np.square(x[:, text]).sum(axis=1)
    np.testing.assert_allclose(lengths[has_title], 1, rtol=1e-4)
    assert not lengths[~has_title].any()


def test_missing_numbers__are_filled_by_the_median_with_a_note() -> None:
    table = pa.table({"a": [1.0, None, float("nan"), 3.0, float("inf"), 100.0]})
    notes = Notes()
    plan = fitted(table)
    x = plan.apply(table, notes, "people.csv").x
    assert x.flatten().tolist() == [1, 3, 3, 3, 3, 100]
    assert notes.changed == ["people.csv: missing values were filled: a (3 by 3)"]
    unseen = pa.table({"a": pa.array([None, 7.0])})
    assert plan.apply(unseen).x.flatten().tolist() == [3, 7]


@pytest.mark.parametrize(
    ("values", "names", "rows"),
    [
        (["a", "a", "b", "b"], ["t=a", "t=b"], [[1, 0], [1, 0], [0, 1], [0, 1]]),
        (
            ["b", "b", "x", "a", "a", "a"],
            ["t=a", "t=b", "t=(other)"],
            [[0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]],
        ),
        (
            ["a", "a", None, " a ", "NA"],
            ["t=a", "t=(missing)"],
            [[1, 0], [1, 0], [0, 1], [1, 0], [0, 1]],
        ),
    ],
)
def test_categories__rare_together_and_missing_as_its_own(
    values: list[str | None], names: list[str], rows: list[list[int]]
) -> None:
    table = pa.table({"t": values})
    plan = fitted(table, kinds={"t": "category"})
    assert plan.names == names
    assert dense(plan, table).tolist() == rows


def test_categories__new_ones_are_other_or_zeros() -> None:
    new = pa.table({"t": ["new", "a"]})
    with_other = fitted(
        pa.table({"t": ["a", "a", "b", "b", "c"]}), kinds={"t": "category"}
    )
    without = fitted(pa.table({"t": ["a", "a", "b", "b"]}))
    assert dense(with_other, new).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert dense(without, new).tolist() == [[0, 0], [1, 0]]


def test_categories__only_the_most_frequent_have_columns() -> None:
    values = [f"v{i % 150:03d}" for i in range(300)] + [f"v{i:03d}" for i in range(90)]
    plan = fitted(pa.table({"t": values}))
    assert plan.num_features == MOST_CATEGORIES + 1
    assert plan.names is not None
    assert {f"t=v{i:03d}" for i in range(90)} <= set(plan.names)


def test_category_of_a_library__is_one_here() -> None:
    codes = pa.array([3, 4, 3, 4, 3]).dictionary_encode()
    plan = fitted(pa.table({"t": codes}))
    assert plan.names == ["t=3", "t=4"]


def test_text__similar_values_are_near_each_other() -> None:
    titles = ["senior engineer", "junior engineer", "head of sales", "sales clerk"]
    filler = [f"something else {i} entirely different {i * 7}" for i in range(30)]
    table = pa.table({"t": titles + filler})
    x = dense(fitted(table), table)
    similar = x[0] @ x[1], x[2] @ x[3]
    different = x[0] @ x[2], x[1] @ x[3]
    assert min(similar) > max(different) + 0.1


def test_wide_tables__stay_sparse() -> None:
    table = make_table(400)
    found = fitted(table).apply(table)
    assert sp.issparse(found.x)
    assert found.x.has_canonical_format
    assert found.x.nnz < 0.05 * found.x.shape[0] * found.x.shape[1]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["2020-01-31", "1969-12-31"], [18292, -1]),
        (["2020-01-31 12:00:00", "1970-01-01T00:00:00Z"], [18292.5, 0]),
        (["31.01.2020", "01.01.1970"], [18292, 0]),
        (["31/01/2020", "01/02/1970"], [18292, 31]),
        (["01/31/2020", "02/01/1970"], [18292, 31]),
        (["2020/01/31", "1970/01/01"], [18292, 0]),
        (["31 Jan 2020", "1 Jan 1970"], [18292, 0]),
        (["31.01.2020", "1970-01-01"], [18292, 0]),
    ],
)
def test_dates__in_text(written: list[str], expected: list[float]) -> None:
    table = pa.table({"d": written})
    plan = fitted(table)
    assert list(plan.by_kind()) == ["date"]
    assert dense(plan, table).flatten().tolist() == pytest.approx(expected)
    later = pa.table({"d": [written[0], "soon"]})
    assert dense(plan, later)[0] == pytest.approx(expected[0])


def test_dates__of_all_types_are_days() -> None:
    moment = np.datetime64("2020-01-31T12:00", "s")
    stamps = pa.array([moment])
    columns = {
        "s": stamps,
        "ns": stamps.cast(pa.timestamp("ns")),
        "utc": stamps.cast(pa.timestamp("ms", tz="UTC")),
        "date": stamps.cast(pa.date32()),
        "date64": stamps.cast(pa.date64()),
        "time": stamps.cast(pa.time32("s")),
        "span": pa.array([36 * 3600], pa.duration("s")),
    }
    table = pa.table(columns)
    expected = [18292.5, 18292.5, 18292.5, 18292, 18292, 0.5, 1.5]
    assert dense(fitted(table), table)[0].tolist() == expected


def test_dates__that_could_be_the_other_way_round_are_noted() -> None:
    notes = Notes()
    infer_columns(pa.table({"d": ["01/02/2020", "03/04/2020"]}), None, notes, "n.csv")
    assert notes.assumed == ["n.csv: dates of 'd' are month/day/year"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"features": ("age", "team")}, ["age", "team"]),
        ({"ignore": ("title", "vector", "team", "joined", "remote")}, ["age", "pay"]),
        ({"kinds": {"title": "ignore", "vector": "ignore", "team": "ignore"}}, None),
    ],
)
def test_choices__of_columns(
    chosen: dict[str, Any], expected: list[str] | None
) -> None:
    plan = fitted(make_table(), **chosen)
    found = [encoder.name for encoder in plan.columns]
    assert found == (expected or ["age", "pay", "remote", "joined"])


def test_choices__a_kind_is_forced() -> None:
    table = pa.table({"zip": [10115, 10115, 20095, 20095], "n": ["1", "2", "x", "4"]})
    plan = fitted(table, kinds={"zip": "category", "n": "number"})
    assert plan.names == ["zip=10115", "zip=20095", "n"]
    assert [encoder.kind for encoder in plan.columns] == ["category", "number"]
    with pytest.raises(InputError, match=r"column 'w' has no number .* --ignore"):
        fitted(pa.table({"w": ["a", "b"]}), kinds={"w": "number"})


def test_choices__an_id_that_is_asked_for_is_text() -> None:
    names = [f"package-{i}" for i in range(40)]
    table = pa.table({"name": names, "x": list(range(40))})
    notes = Notes()
    left = infer_columns(table, Choices(), notes, "n.csv")
    assert left is not None
    assert [encoder.name for encoder in left.columns] == ["x"]
    assert notes.changed == ["n.csv: left out name: nearly every value is different"]
    asked = fitted(table, features=("name",))
    assert [encoder.kind for encoder in asked.columns] == ["text"]


def test_apply__a_missing_column_is_one_line() -> None:
    table = make_table()
    with pytest.raises(InputError, match=r"new\.csv: has no column team, pay, which"):
        fitted(table.select(["team", "age", "pay"])).apply(
            table.select(["age"]), name="new.csv"
        )


@pytest.mark.parametrize("wrong", [[[1.0]], [{"a": 1}]])
def test_apply__a_column_of_another_kind_is_one_line(wrong: list[Any]) -> None:
    plan = fitted(pa.table({"a": [1, 2]}))
    with pytest.raises(InputError, match=r"nodes: column 'a' holds .*expected numbers"):
        plan.apply(pa.table({"a": wrong}))


CELLS = st.one_of(
    st.none(),
    st.text(max_size=8),
    st.sampled_from(["1", "2.5", "a b", "2020-01-01", "true", "NA", "x"]),
)


@settings(max_examples=150, deadline=None)
@given(
    train=st.lists(CELLS, min_size=1, max_size=12),
    unseen=st.lists(CELLS, max_size=6),
    extra=st.lists(st.integers(-5, 5), min_size=12, max_size=12),
)
def test_any_text__gives_finite_rows_that_keep_their_order(
    train: list[Any], unseen: list[Any], extra: list[int]
) -> None:
    table = pa.table(
        {"t": pa.array(train, pa.string()), "n": pa.array(extra[: len(train)])}
    )
    plan = fitted(table)
    x = dense(plan, table)
    assert x.shape == (len(train), plan.num_features)
    assert np.isfinite(x).all()
    np.testing.assert_array_equal(
        dense(plan, table.take(list(range(len(train)))[::-1])), x[::-1]
    )
    more = pa.table({"t": pa.array(unseen, pa.string()), "n": extra[: len(unseen)]})
    found = dense(plan, more)
    assert np.isfinite(found).all()
    both = dense(plan, pa.concat_tables([table, more], promote_options="permissive"))
    np.testing.assert_array_equal(both, np.concatenate([x, found]))


def test_truth_values__as_text_and_as_numbers() -> None:
    plan = fitted(pa.table({"t": ["True", "false", None, "TRUE"]}))
    assert list(plan.by_kind()) == ["boolean"]
    for column in (["true", "FALSE", "what"], [1, 0, None], [True, False, None]):
        assert dense(plan, pa.table({"t": column})).flatten().tolist() == [1, 0, 1]
