from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import torch

from dsgrl.datasets.files import read_graph
from dsgrl.io.tables import TABLE_SUFFIXES
from dsgrl.typing import InputError

# Not sorted, so that a reader that sorts is caught.
NAMES = ["pear", "apple", "fig", "lime", "plum"]
NUMBERS = [30, 4, 17, -2, 8]
SOURCE = [0, 0, 3, 2]
TARGET = [1, 2, 1, 3]
WEIGHT = [0.5, 2.0, 3.25, 4.0]
X = [[1.0, 0.5], [2.0, -1.0], [0.0, 0.25], [-3.0, 8.0], [5.0, 0.0]]
LABELS = ["sour", "sweet", "sweet", "sour", "bitter"]
CODES = [1, 2, 2, 1, 0]

Columns = dict[str, Any]


def write_table(path: Path, columns: Columns) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        pyarrow.csv.write_csv(table, path, options)
    return path


def edge_columns(ids: list[Any], *, weight: bool = True) -> Columns:
    columns: Columns = {
        "source": [ids[i] for i in SOURCE],
        "target": [ids[i] for i in TARGET],
    }
    return {**columns, "weight": WEIGHT} if weight else columns


def node_columns(ids: list[Any]) -> Columns:
    a, b = zip(*X, strict=True)
    return {"id": ids, "label": LABELS, "a": list(a), "b": list(b)}


def read_tables(
    folder: Path,
    edges: Columns,
    nodes: Columns | None = None,
    *,
    suffix: str = ".parquet",
    directed: bool = False,
) -> Any:
    edges_path = write_table(folder / f"edges{suffix}", edges)
    nodes_path = nodes and write_table(folder / f"nodes{suffix}", nodes)
    return read_graph(edges_path, nodes_path, directed=directed)


def write_npz(path: Path, style: str, ids: list[Any]) -> Path:
    if style == "edge_index":
        np.savez(
            path,
            edge_index=np.array([SOURCE, TARGET]),
            edge_weight=np.array(WEIGHT),
            x=np.array(X),
            y=np.array(CODES),
            ids=np.array(ids),
        )
        return path
    shape = (len(ids), len(ids))
    adj, attr = sp.csr_matrix((WEIGHT, (SOURCE, TARGET)), shape), sp.csr_matrix(X)
    parts = {
        f"{prefix}_{part}": np.array(getattr(matrix, part))
        for prefix, matrix in (("adj", adj), ("attr", attr))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(path, labels=np.array(CODES), ids=np.array(ids), **parts)
    return path


def links(data: Any) -> dict[tuple[Any, Any], float]:
    """Return the weight by (source id, target id); no edge may stand twice."""
    source, target = data.edge_index.tolist()
    weights = getattr(data, "edge_weight", None)
    values = [1.0] * len(source) if weights is None else weights.tolist()
    pairs = [(data.ids[s], data.ids[t]) for s, t in zip(source, target, strict=True)]
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, values, strict=True))


def one_way(ids: list[Any]) -> dict[tuple[Any, Any], float]:
    rows = zip(SOURCE, TARGET, WEIGHT, strict=True)
    return {(ids[s], ids[t]): w for s, t, w in rows}


def both_ways(ids: list[Any]) -> dict[tuple[Any, Any], float]:
    forth = one_way(ids)
    return forth | {(t, s): w for (s, t), w in forth.items()}


@pytest.mark.parametrize("ids", [NAMES, NUMBERS], ids=["strings", "integers"])
@pytest.mark.parametrize("kind", [*TABLE_SUFFIXES, "edge_index", "csr"])
def test_read_graph__same_graph_from_every_kind_of_file(
    tmp_path: Path, kind: str, ids: list[Any]
) -> None:
    if kind in TABLE_SUFFIXES:
        data = read_tables(tmp_path, edge_columns(ids), node_columns(ids), suffix=kind)
    else:
        data = read_graph(write_npz(tmp_path / "graph.npz", kind, ids))
    assert data.ids == ids
    assert data.num_nodes == len(ids)
    assert data.x.dtype == torch.float32
    assert data.x.tolist() == X
    assert data.y.tolist() == CODES
    assert links(data) == both_ways(ids)


def test_read_graph__ids_with_leading_zeros_stay_as_they_are(tmp_path: Path) -> None:
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("source,target\n007,08\n08,7\n")
    nodes.write_text("id,a\n08,1\n007,2\n7,3\n")
    data = read_graph(edges, nodes)
    assert data.ids == ["08", "007", "7"]
    assert set(links(data)) == {("007", "08"), ("08", "007"), ("08", "7"), ("7", "08")}


@pytest.mark.parametrize("text_first", [False, True])
def test_read_graph__numbers_and_text_as_ids_are_matched(
    tmp_path: Path, text_first: bool
) -> None:
    texts = [str(number) for number in NUMBERS]
    in_edges, in_nodes = (texts, NUMBERS) if text_first else (NUMBERS, texts)
    data = read_tables(tmp_path, edge_columns(in_edges), node_columns(in_nodes))
    assert data.ids == in_nodes
    assert links(data) == both_ways(in_nodes)


def test_read_graph__source_and_target_of_different_types_are_matched(
    tmp_path: Path,
) -> None:
    edges = {"source": [1, 2], "target": ["2", "x"]}
    data = read_tables(tmp_path, edges, directed=True)
    assert sorted(data.ids) == ["1", "2", "x"]
    assert set(links(data)) == {("1", "2"), ("2", "x")}


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 2)], ids=["list", "fixed"]
)
def test_read_graph__list_column_of_features(tmp_path: Path, kind: pa.DataType) -> None:
    nodes = {"id": NAMES, "features": pa.array(X, kind)}
    data = read_tables(tmp_path, edge_columns(NAMES), nodes)
    assert data.x.dtype == torch.float32
    assert data.x.tolist() == X


@pytest.mark.parametrize(
    "row", [[1.0], [1.0, None], ["a", "b"]], ids=["short", "hole", "text"]
)
def test_read_graph__bad_list_column_is_refused(tmp_path: Path, row: list[Any]) -> None:
    kind = pa.string() if row == ["a", "b"] else pa.float64()
    good = ["c", "d"] if row == ["a", "b"] else [1.0, 2.0]
    rows = pa.array([good, row], pa.list_(kind))
    edges, nodes = {"source": ["u"], "target": ["v"]}, {"id": ["u", "v"]}
    with pytest.raises(InputError, match=r"nodes\.parquet.*features"):
        read_tables(tmp_path, edges, {**nodes, "features": rows})


def test_read_graph__missing_list_is_filled_by_the_mean(tmp_path: Path) -> None:
    rows = pa.array([[1.0, 2.0], None, [3.0, 6.0]], pa.list_(pa.float64()))
    edges, nodes = {"source": ["u"], "target": ["v"]}, {"id": ["u", "v", "w"]}
    data = read_tables(tmp_path, edges, {**nodes, "features": rows})
    assert data.x.tolist() == [[1, 2], [2, 4], [3, 6]]
    assert "features (1 by the mean)" in data.understood.changed[0]


def test_read_graph__feature_columns_keep_their_names(tmp_path: Path) -> None:
    data = read_tables(tmp_path, edge_columns(NAMES), node_columns(NAMES))
    assert data.feature_names == ["a", "b"]


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_read_graph__labels_become_numbers_and_names(
    tmp_path: Path, suffix: str
) -> None:
    data = read_tables(
        tmp_path, edge_columns(NAMES), node_columns(NAMES), suffix=suffix
    )
    assert [data.label_names[i] for i in data.y.tolist()] == LABELS
    assert data.label_names == sorted(set(LABELS))


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
@pytest.mark.parametrize("labels", [["red", None, "blue"], [None, None, None]])
def test_read_graph__missing_label_is_no_class(
    tmp_path: Path, suffix: str, labels: list[str | None]
) -> None:
    nodes = {"id": ["u", "v", "w"], "label": pa.array(labels, pa.string())}
    edges = {"source": ["u"], "target": ["v"]}
    data = read_tables(tmp_path, edges, {**nodes, "a": [1, 2, 3]}, suffix=suffix)
    found = [data.label_names[i] if i >= 0 else None for i in data.y.tolist()]
    assert found == labels
    assert len(data.label_names) == len(set(labels) - {None})


@pytest.mark.parametrize("kind", [*TABLE_SUFFIXES, "edge_index", "csr"])
def test_read_graph__directed_keeps_direction(tmp_path: Path, kind: str) -> None:
    if kind in TABLE_SUFFIXES:
        data = read_tables(tmp_path, edge_columns(NAMES), suffix=kind, directed=True)
    else:
        path = write_npz(tmp_path / "graph.npz", kind, NAMES)
        data = read_graph(path, directed=True)
    assert links(data) == one_way(NAMES)


def test_read_graph__edges_listed_both_ways_keep_their_weight(tmp_path: Path) -> None:
    edges = {"source": ["u", "v", "v"], "target": ["v", "u", "v"]}
    data = read_tables(tmp_path, {**edges, "weight": [2.5, 2.5, 4.0]})
    assert links(data) == {("u", "v"): 2.5, ("v", "u"): 2.5, ("v", "v"): 4.0}


def test_read_graph__without_weights_there_are_none(tmp_path: Path) -> None:
    data = read_tables(tmp_path, edge_columns(NAMES, weight=False))
    assert getattr(data, "edge_weight", None) is None
    assert set(links(data)) == set(both_ways(NAMES))


@pytest.mark.parametrize("ids", [NAMES, NUMBERS], ids=["strings", "integers"])
def test_read_graph__without_nodes_ids_come_from_the_edges(
    tmp_path: Path, ids: list[Any]
) -> None:
    data = read_tables(tmp_path, edge_columns(ids))
    named = {ids[i] for i in SOURCE + TARGET}
    assert data.ids == sorted(named)
    assert data.num_nodes == len(named) < len(ids)
    assert data.x is None
    assert links(data) == both_ways(ids)


@pytest.mark.parametrize("suffix", TABLE_SUFFIXES)
def test_read_graph__no_edges_but_a_column_of_weights(
    tmp_path: Path, suffix: str
) -> None:
    none = pa.array([], pa.float64())
    edges = {"source": none.cast(pa.string()), "target": none.cast(pa.string())}
    nodes = node_columns(NAMES)
    data = read_tables(tmp_path, {**edges, "weight": none}, nodes, suffix=suffix)
    assert data.ids == NAMES
    assert data.edge_index.shape == (2, 0)


def test_read_graph__csr_keeps_nodes_without_edges(tmp_path: Path) -> None:
    adj = sp.csr_matrix(([1.0], ([0], [1])), shape=(4, 4))
    parts = ("data", "indices", "indptr", "shape")
    path = tmp_path / "graph.npz"
    np.savez(path, **{f"adj_{part}": np.array(getattr(adj, part)) for part in parts})
    data = read_graph(path)
    assert data.num_nodes == 4
    assert data.ids == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"edge_index": np.zeros((3, 2), dtype=np.int64)},
        {"edge_weight": np.ones(1)},
        {"ids": np.array(["a"])},
        {"y": np.array(["x", "y", "z"])},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_read_graph__npz_of_wrong_shape_is_refused(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    arrays: dict[str, Any] = {"edge_index": np.array([[0, 1], [1, 2]]), **wrong}
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(InputError, match=rf"graph\.npz.*\b{next(iter(wrong))}\b"):
        read_graph(tmp_path / "graph.npz")


def test_read_graph__truncated_npz_is_refused(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "graph.npz", "edge_index", NAMES)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"graph\.npz"):
        read_graph(path)


@pytest.mark.parametrize(
    ("directed", "counts", "said"),
    [
        (False, (3, 1, 2), "2 edges given again or the other way round: merged"),
        (True, (5, 1, 0), "5 directed edges; 1 edge from a node to itself"),
    ],
)
def test_read_graph__counts_loops_and_parallel_edges(
    tmp_path: Path, directed: bool, counts: tuple[int, int, int], said: str
) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\na,b\nb,a\na,b\na,a\nb,c\n")
    found = read_graph(path, directed=directed).understood
    assert (found.num_edges, found.loops, found.merged) == counts
    assert said in found.lines()[0]
