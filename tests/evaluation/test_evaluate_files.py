from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from dsgrl.evaluation import evaluate
from dsgrl.evaluation.files import evaluate_files
from dsgrl.io.embeddings import write_embeddings
from dsgrl.typing import InputError

Z = np.random.default_rng(0).normal(size=(120, 5)).astype("f4")
Y = (Z[:, :3] + np.random.default_rng(1).normal(size=(120, 3))).argmax(axis=1)
IDS = [f"n{i:03}" for i in range(120)]
NAMES = [["ape", "bat", "cat"][label] for label in Y]
EXPECTED = evaluate(Z, Y, num_splits=2)


def write_table(path: Path, columns: dict[str, Any]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        pyarrow.csv.write_csv(table, path, options)
    return path


def score_of(embeddings: Path, labels: Path | None = None) -> Any:
    return evaluate_files(embeddings, labels, num_splits=2).score


@pytest.fixture
def embeddings(tmp_path: Path) -> Path:
    path = tmp_path / "z.parquet"
    write_embeddings(path, IDS, Z)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_files__as_written_with_labels_inside(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, IDS, Z, NAMES)
    assert score_of(path) == EXPECTED


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
@pytest.mark.parametrize("labels_suffix", [".csv", ".tsv", ".parquet"])
def test_files__shuffled_files_change_no_score(
    tmp_path: Path, suffix: str, labels_suffix: str
) -> None:
    """Rows carry their ids: a shuffled loader, or a sorted table, is no matter."""
    rng = np.random.default_rng(2)
    one, two = rng.permutation(120), rng.permutation(120)
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, [IDS[i] for i in one], Z[one])
    columns = {"label": [NAMES[i] for i in two], "id": [IDS[i] for i in two]}
    labels = write_table(tmp_path / f"y{labels_suffix}", columns)
    assert score_of(path, labels) == EXPECTED


def test_files__whole_numbers_as_ids_in_their_order(tmp_path: Path) -> None:
    order = np.random.default_rng(3).permutation(120)
    path = tmp_path / "z.parquet"
    write_embeddings(path, order.tolist(), Z[order])
    labels = write_table(tmp_path / "y.csv", {"id": range(120), "label": Y})
    assert score_of(path, labels) == EXPECTED


def test_files__npy_goes_by_row_number(tmp_path: Path) -> None:
    path = tmp_path / "z.npy"
    np.save(path, Z)
    order = np.random.default_rng(3).permutation(120)
    labels = write_table(tmp_path / "y.csv", {"id": order, "label": Y[order]})
    assert score_of(path, labels) == EXPECTED
    assert score_of(path, write_table(tmp_path / "x.csv", {"label": Y})) == EXPECTED
    np.save(tmp_path / "y.npy", Y)
    assert score_of(path, tmp_path / "y.npy") == EXPECTED


def test_files__npy_may_hold_several_labels_a_row(tmp_path: Path) -> None:
    table = np.stack([Y == 0, Y > 0], axis=1).astype(int)
    np.save(tmp_path / "z.npy", Z)
    np.save(tmp_path / "y.npy", table)
    result = evaluate_files(tmp_path / "z.npy", tmp_path / "y.npy", num_splits=2)
    assert result.score == evaluate(Z, table, num_splits=2)
    assert (result.score.metric, result.num_classes) == ("micro_f1", 2)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv"])
def test_files__numeric_columns_of_any_name(tmp_path: Path, suffix: str) -> None:
    columns: dict[str, Any] = {f"dim_{i}": Z[:, i] for i in range(5)}
    path = write_table(tmp_path / f"z{suffix}", {"label": NAMES, "id": IDS, **columns})
    assert score_of(path) == EXPECTED


def test_files__one_list_column_of_any_name_and_width(tmp_path: Path) -> None:
    columns = {"id": IDS, "vector": Z.astype("f8").tolist(), "label": Y}
    assert score_of(write_table(tmp_path / "z.parquet", columns)) == EXPECTED


def test_files__npz_of_others(tmp_path: Path) -> None:
    np.savez(tmp_path / "z.npz", arr_0=Z)
    labels = write_table(tmp_path / "y.csv", {"id": range(120), "label": Y})
    assert score_of(tmp_path / "z.npz", labels) == EXPECTED


def test_files__types_tell_equal_ids_apart(tmp_path: Path) -> None:
    path = tmp_path / "z.parquet"
    types = ["movie"] * 120 + ["actor"] * 120
    write_embeddings(path, [*range(120), *range(120)], np.vstack([Z, -Z]), types=types)
    columns = {"id": range(120), "label": Y, "type": ["movie"] * 120}
    labels = write_table(tmp_path / "y.csv", columns)
    result = evaluate_files(path, labels, num_splits=2)
    assert (result.num_rows, result.left_out) == (120, 120)
    without = write_table(tmp_path / "x.csv", {"id": range(120), "label": Y})
    with pytest.raises(InputError, match=r"id '0' appears 2 times.*a column 'type'"):
        evaluate_files(path, without)


def test_files__rows_without_a_label_are_left_out_and_counted(
    tmp_path: Path, embeddings: Path
) -> None:
    some = np.arange(120) % 5 != 0
    labels = write_table(
        tmp_path / "y.csv",
        {"id": np.array(IDS)[some], "label": np.array(NAMES)[some]},
    )
    result = evaluate_files(embeddings, labels, num_splits=2)
    assert result.score == evaluate(Z[some], Y[some], num_splits=2)
    assert (result.num_rows, result.left_out) == (96, 24)
    empty = [name if known else "" for name, known in zip(NAMES, some, strict=True)]
    labels = write_table(tmp_path / "y.csv", {"id": IDS, "label": empty})
    assert evaluate_files(embeddings, labels, num_splits=2) == result
    negative = np.where(some, Y, -1)
    labels = write_table(tmp_path / "y.csv", {"id": IDS, "label": negative})
    assert evaluate_files(embeddings, labels, num_splits=2) == result


def test_files__summary_says_it_all(embeddings: Path, tmp_path: Path) -> None:
    labels = write_table(tmp_path / "y.csv", {"id": IDS, "label": NAMES})
    summary = evaluate_files(embeddings, labels, num_splits=2).summary()
    assert summary == {
        "protocol": "5/15/80",
        "metric": "accuracy",
        "mean": round(EXPECTED.mean, 4),
        "std": round(EXPECTED.std, 4),
        "n": 2,
        "scores": [round(value, 4) for value in EXPECTED.scores],
        "splits": EXPECTED.manifest,
        "rows": 120,
        "columns": 5,
        "classes": 3,
        "left_out": 0,
    }


def test_files__options_reach_the_protocol(embeddings: Path, tmp_path: Path) -> None:
    labels = write_table(tmp_path / "y.csv", {"id": IDS, "label": NAMES})
    result = evaluate_files(
        embeddings,
        labels,
        protocol="folds",
        probe="knn",
        metric="roc_auc",
        num_splits=3,
        random_state=4,
    )
    assert result.score == evaluate(
        Z,
        Y,
        protocol="folds",
        probe="knn",
        metric="roc_auc",
        num_splits=3,
        random_state=4,
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": [*IDS, "ghost"], "label": [*NAMES, "ape"]}, "1 of 121 .* 'ghost'"),
        ({"id": IDS, "colour": NAMES}, "no column 'label'; it has id, colour"),
        ({"label": NAMES}, "no column 'id'"),
        ({"id": IDS, "label": ["ape"] * 120}, "1 class in 120 labelled rows"),
        ({"id": IDS, "label": [""] * 120}, "0 class in 0 labelled rows"),
        ({"id": [*IDS, IDS[0]], "label": [*NAMES, "ape"]}, "'n000' appears 2 times"),
        ({"id": ["", *IDS[1:]], "label": NAMES}, "row 1 has no id"),
    ],
)
def test_files__refuses_labels_in_one_line(
    embeddings: Path, tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    labels = write_table(tmp_path / "y.csv", columns)
    with pytest.raises(InputError, match=message) as caught:
        evaluate_files(embeddings, labels)
    assert str(labels) in str(caught.value)
    assert "\n" not in str(caught.value)


BROKEN = Z.copy()
BROKEN[3, 1] = np.nan
WIDTHS = [[1.0] * (3 + i % 2) for i in range(120)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": IDS, "embedding": Z.tolist()}, "no column 'label'"),
        ({"id": IDS, "label": Y, "e": BROKEN.tolist()}, "1 embeddings .* row 4"),
        ({"id": IDS, "label": Y, "a": [None, *range(119)]}, "1 embeddings .* row 1"),
        ({"id": ["n"] * 120, "label": Y, "a": Z[:, 0]}, "'n' appears 120 times"),
        ({"id": IDS, "label": Y, "name": NAMES}, "'name' holds string"),
        ({"id": IDS, "label": Y, "e": WIDTHS}, "of 2 lengths"),
        ({"id": IDS, "label": Y}, "expected one list column or numeric columns"),
        ({"label": Y, "e": Z.tolist(), "f": Z.tolist()}, "2 columns of lists"),
        ({"label": Z.tolist(), "e": Z.tolist()}, "'label' holds lists"),
        ({"label": Y, "e": [["a"]] * 120}, "expected lists of numbers"),
    ],
)
def test_files__refuses_embeddings_in_one_line(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    path = write_table(tmp_path / "z.parquet", columns)
    with pytest.raises(InputError, match=message) as caught:
        evaluate_files(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files__refuses_other_arrays_in_one_line(tmp_path: Path) -> None:
    path, labels = tmp_path / "z.npz", tmp_path / "y.npy"
    np.save(labels, Y)
    for arrays, message in (
        ({"a": Z, "b": Z}, r"2 matrices \(a, b\)"),
        ({"a": Y}, "0 matrices"),
        ({"a": Z, "ids": Y[:5]}, r"array 'ids' of shape \[5\] for 120 rows"),
        ({"a": Z.astype(object)}, "cannot be read as arrays"),
        ({"a": Z.astype(str)}, "expected numbers"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message):
            evaluate_files(path, labels)
    np.save(tmp_path / "z.npy", Z[:50])
    with pytest.raises(InputError, match="120 labels without ids for 50 rows"):
        evaluate_files(tmp_path / "z.npy", labels)
    (tmp_path / "z.npy").write_bytes(b"\x93NUMPY nonsense")
    with pytest.raises(InputError, match="cannot be read as arrays"):
        evaluate_files(tmp_path / "z.npy", labels)
    with pytest.raises(InputError, match="no such file"):
        evaluate_files(tmp_path / "none.npy", labels)
    with pytest.raises(InputError, match="no such file"):
        evaluate_files(tmp_path / "none.parquet", labels)


def without_columns(path: Path, num_rows: int, columns: int) -> Path:
    """Write an embedding [rows, columns] of which one or both may be 0."""
    z = np.zeros((num_rows, columns), dtype="f4")
    if path.suffix == ".npy":
        np.save(path, z)
        return path
    if path.suffix == ".npz":
        np.savez(path, z=z, ids=np.arange(num_rows), label=Y[:num_rows])
        return path
    rows = {"id": pa.array(range(num_rows)), "label": pa.array(Y[:num_rows])}
    if path.suffix == ".parquet":
        lists = pa.array(list(z), pa.list_(pa.float32()))
        return write_table(path, {**rows, "embedding": lists})
    numbers = {f"z{i}": pa.array(z[:, i]) for i in range(columns)}
    return write_table(path, {**rows, **numbers})


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".npz", ".npy"])
@pytest.mark.parametrize(("num_rows", "columns"), [(120, 0), (0, 5), (0, 0)])
def test_files__embeddings_of_no_size_are_refused(
    tmp_path: Path, suffix: str, num_rows: int, columns: int
) -> None:
    path = without_columns(tmp_path / f"z{suffix}", num_rows, columns)
    labels = tmp_path / "y.npy"
    np.save(labels, Y[:num_rows])
    with pytest.raises(InputError, match=r"columns|rows") as caught:
        evaluate_files(path, labels if suffix == ".npy" else None)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
