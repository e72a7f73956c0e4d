"""The same graph from every source, and features that are made as in training."""

import json
import logging
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from dsgrl import DSGRL, load_model, read_graph
from dsgrl.graph import Graph, as_graph
from dsgrl.typing import InputError

COUNT = 40
RNG = np.random.default_rng(0)
IDS = [f"p{i:02d}" for i in reversed(range(COUNT))]
SOURCE, TARGET = RNG.integers(COUNT - 2, size=(2, 90)).tolist()
NODES: dict[str, list[Any]] = {
    "id": IDS,
    "age": [None if i % 9 == 4 else 20 + i % 31 for i in range(COUNT)],
    "pay": [1000.5 * i for i in range(COUNT)],
    "team": [
        None if i % 11 == 4 else ["red", "green", "blue"][i % 3] for i in range(COUNT)
    ],
    "title": [
        f"{['junior', 'senior'][i % 2]} clerk of office {i}" for i in range(COUNT)
    ],
    "joined": [f"20{10 + i % 9}-0{1 + i % 9}-15" for i in range(COUNT)],
    "remote": [i % 2 == 0 for i in range(COUNT)],
    "label": [None if i % 5 == 4 else "ab"[i % 2] for i in range(COUNT)],
}
EDGES = {
    "from": [IDS[i] for i in SOURCE],
    "to": [IDS[i] for i in TARGET],
    "weight": [0.25 * (1 + i % 8) for i in range(len(SOURCE))],
}


def write(folder: Path, suffix: str) -> tuple[Path, Path]:
    paths = folder / f"edges{suffix}", folder / f"nodes{suffix}"
    for path, columns in zip(paths, (EDGES, NODES), strict=True):
        table = pa.table(columns)
        if suffix == ".parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            separator = "\t" if suffix == ".tsv" else ","
            options = pyarrow.csv.WriteOptions(delimiter=separator)
            pyarrow.csv.write_csv(table, path, options)
    return paths


def network() -> Any:
    graph = nx.MultiDiGraph()
    names = [name for name in NODES if name != "id"]
    for i, node in enumerate(IDS):
        graph.add_node(
            node, **{n: NODES[n][i] for n in names if NODES[n][i] is not None}
        )
    for u, v, w in zip(*EDGES.values(), strict=True):
        graph.add_edge(u, v, weight=w)
    return graph


def write_network(path: Path) -> Path:
    graph = network()
    if path.suffix == ".graphml":
        nx.write_graphml(graph, path)
        return path
    for values in graph.nodes.values():
        # In this format a label is the name of a node.
        if "label" in values:
            values["class"] = values.pop("label")
    nx.write_gml(graph, path)
    return path


def matrix() -> Any:
    """Parallel edges of tables become one by the largest weight, as here."""
    found = np.zeros((COUNT, COUNT))
    for s, t, w in zip(SOURCE, TARGET, EDGES["weight"], strict=True):
        found[s, t] = max(found[s, t], w)
    return sp.csr_matrix(found)


SOURCES: dict[str, Any] = {
    "csv": lambda folder: read_graph(*write(folder, ".csv")),
    "tsv": lambda folder: read_graph(*write(folder, ".tsv")),
    "parquet": lambda folder: read_graph(*write(folder, ".parquet")),
    "text paths": lambda folder: read_graph(*map(str, write(folder, ".csv"))),
    "arrow": lambda _: read_graph(pa.table(EDGES), pa.table(NODES)),
    "pandas": lambda _: read_graph(pd.DataFrame(EDGES), pd.DataFrame(NODES)),
    "pandas index": lambda _: read_graph(
        pd.DataFrame(EDGES), pd.DataFrame(NODES).set_index("id")
    ),
    "pandas rows": lambda _: read_graph(
        pd.concat([pd.DataFrame(EDGES).iloc[:9]] * 2 + [pd.DataFrame(EDGES)]).iloc[18:],
        pd.DataFrame(NODES),
    ),
    "polars": lambda _: read_graph(pl.DataFrame(EDGES), pl.DataFrame(NODES)),
    "networkx": lambda _: read_graph(network()),
    "graphml": lambda folder: read_graph(write_network(folder / "g.graphml")),
    # The format has numbers for true and false.
    "gml": lambda folder: read_graph(
        write_network(folder / "g.gml"),
        kinds={"remote": "boolean"},
        columns={"label": "class"},
    ),
    "matrix": lambda _: read_graph(matrix(), pa.table(NODES)),
    "folder": lambda folder: read_graph(write(folder, ".csv")[0].parent),
}


def dense(graph: Graph) -> Any:
    return graph.x if isinstance(graph.x, torch.Tensor) else graph.x.to_dense()


@pytest.mark.parametrize("name", SOURCES)
def test_sources__give_the_same_graph(tmp_path: Path, name: str) -> None:
    wanted = read_graph(pa.table(EDGES), pa.table(NODES))
    data = SOURCES[name](tmp_path)
    assert data.ids == IDS
    assert data.column_plan == wanted.column_plan
    assert data.y.tolist() == wanted.y.tolist()
    assert data.label_names == wanted.label_names
    found, expected = as_graph(data), as_graph(wanted)
    assert torch.equal(dense(found), dense(expected))
    assert torch.equal(found.adjacency.edge_index, expected.adjacency.edge_index)
    assert torch.equal(found.adjacency.value, expected.adjacency.value)
    assert data.understood.isolated == 2


def test_permuted_rows__permute_the_features() -> None:
    order = RNG.permutation(COUNT)
    nodes = pa.table(NODES)
    data, moved = (read_graph(pa.table(EDGES), t) for t in (nodes, nodes.take(order)))
    assert moved.ids == [IDS[i] for i in order]
    torch.testing.assert_close(dense(as_graph(moved)), dense(as_graph(data))[order])


def test_plan__gives_the_features_of_training() -> None:
    data = read_graph(pa.table(EDGES), pa.table(NODES))
    x = data.column_plan.apply(pa.table(NODES)).x
    assert data.x.is_sparse
    np.testing.assert_array_equal(x.toarray(), data.x.to_dense().numpy())
    assert data.x.shape[1] == len(data.feature_names)


def test_pyg_objects__are_returned_as_they_are(tiny_graph: Data) -> None:
    assert read_graph(tiny_graph) is tiny_graph


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array"])
def test_matrix__entries_are_edges(kind: str) -> None:
    found = getattr(sp, kind)(np.array([[0, 2.0, 0], [0, 0, 1.0], [0, 0, 0]]))
    data = read_graph(found, directed=True)
    assert data.ids == [0, 1, 2]
    assert data.edge_index.tolist() == [[0, 1], [1, 2]]
    assert data.edge_weight.tolist() == [2, 1]
    named = read_graph(found, pd.DataFrame({"age": [5, 6, 8]}), directed=True)
    assert (named.ids, named.x.tolist()) == ([0, 1, 2], [[5], [6], [8]])


@pytest.mark.parametrize(
    "wrong",
    [
        sp.csr_matrix(np.ones((2, 3))),
        sp.csr_matrix([[0, -1.0], [1, 0]]),
        sp.csr_matrix([[0, np.inf], [1, 0]]),
        sp.csr_matrix([[0, 1j], [1, 0]]),
    ],
)
def test_matrix__that_is_no_graph(wrong: Any) -> None:
    with pytest.raises(InputError, match="the matrix"):
        read_graph(wrong)


def test_matrix_saved_by_scipy__is_read(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", matrix())
    data = read_graph(tmp_path / "a.npz")
    wanted = read_graph(matrix())
    assert torch.equal(data.edge_index, wanted.edge_index)
    assert torch.equal(data.edge_weight, wanted.edge_weight)


def test_network__ids_that_are_no_text() -> None:
    data = read_graph(nx.grid_2d_graph(2, 2))
    assert sorted(data.ids) == ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    assert read_graph(nx.path_graph(3)).ids == [0, 1, 2]
    with pytest.raises(InputError, match="same id as text"):
        read_graph(nx.Graph([(1, "1")]))


def test_network__direction() -> None:
    graph = nx.DiGraph([("a", "b")])
    assert read_graph(graph).edge_index.tolist() == [[0, 1], [1, 0]]
    assert "directed" in read_graph(graph).understood.assumed[0]
    assert read_graph(graph, directed=True).edge_index.tolist() == [[0], [1]]
    with pytest.raises(InputError, match="undirected"):
        read_graph(nx.Graph([("a", "b")]), directed=True)


def test_network__types_make_it_heterogeneous() -> None:
    graph = nx.Graph()
    graph.add_node("x", type="film", year=1999)
    graph.add_node("y", type="person", born=1950)
    graph.add_edge("x", "y", type="by")
    data = read_graph(graph)
    assert data.node_types == ["film", "person"]
    assert data.edge_types == [("film", "by", "person")]
    assert data["film"].feature_names == ["year"]


@pytest.mark.parametrize("wrong", [3, object(), [1, 2], {}, [], "no such thing"])
def test_other_things__are_one_line(wrong: Any) -> None:
    with pytest.raises(InputError):
        read_graph(wrong)


def test_like__makes_features_as_in_training() -> None:
    data = read_graph(pa.table(EDGES), pa.table(NODES))
    rows = list(range(0, COUNT, 2))
    part = pa.table(NODES).take(rows)
    new = read_graph(pa.table(EDGES), part, like=data, unknown="drop")
    assert new.column_plan == data.column_plan
    assert torch.equal(new.x.to_dense(), data.x.to_dense()[rows])


def test_like__unseen_values_and_columns() -> None:
    data = read_graph(pa.table(EDGES), pa.table(NODES))
    new = pa.table({**NODES, "team": ["pink"] * COUNT, "extra": list(range(COUNT))})
    found = read_graph(pa.table(EDGES), new, like=data)
    assert found.feature_names == data.feature_names
    assert any("left out extra" in note for note in found.understood.assumed)
    assert any("'team' in 40 rows" in note for note in found.understood.assumed)
    with pytest.raises(InputError, match="has no column team, which"):
        read_graph(pa.table(EDGES), new.drop_columns(["team"]), like=data)
    with pytest.raises(InputError, match="those of the model"):
        read_graph(pa.table(EDGES), new, like=data, ignore=["age"])
    with pytest.raises(InputError, match="expected a fitted model"):
        read_graph(pa.table(EDGES), new, like="model")


def test_model__keeps_the_plan_and_the_summary(tmp_path: Path) -> None:
    renamed = {("who" if k == "id" else k): v for k, v in NODES.items()}
    data = read_graph(pa.table(EDGES), pa.table(renamed), columns={"id": "who"})
    model = DSGRL(epochs=1, out_channels=4, random_state=0)
    z = model.fit_transform(data)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["data"]["num_nodes"] == COUNT
    assert config["data"]["features"][""]["category"] == {"team": 4}
    assert config["input"]["columns"][0]["names"] is None
    card = (tmp_path / "model" / "README.md").read_text()
    assert all(line in card for line in data.understood.lines())
    assert all(line in card for line in data.understood.changed)
    # The column of ids is remembered, and the plan as well.
    same = read_graph(pa.table(EDGES), pa.table(renamed), like=again)
    assert same.column_plan == data.column_plan
    np.testing.assert_array_equal(again.transform(same), z)


def test_model__refuses_features_that_were_made_in_another_way() -> None:
    """Equal names are not enough: numbers are scaled by the mean of their table."""
    columns = {name: NODES[name] for name in ("id", "age", "team")}
    data = read_graph(pa.table(EDGES), pa.table(columns))
    model = DSGRL(epochs=0, out_channels=4).fit(data)
    older = {**columns, "age": [(a or 0) + 50 for a in columns["age"]]}
    other = read_graph(pa.table(EDGES), pa.table(older))
    assert other.feature_names == data.feature_names
    with pytest.raises(InputError, match=r"like=model"):
        model.transform(other)
    model.transform(read_graph(pa.table(EDGES), pa.table(older), like=model))


def test_features_replaced_after_reading__have_no_plan() -> None:
    data = read_graph(pa.table(EDGES), pa.table(NODES))
    data.x, data.feature_names = torch.ones(COUNT, 3), ["a", "b", "c"]
    model = DSGRL(epochs=0, out_channels=4).fit(data)
    assert model.preparation_.columns[0].plan is None


@pytest.mark.parametrize("unknown", ["error", "add", "drop"])
def test_unknown_nodes(unknown: Any) -> None:
    edges = pa.table({"source": ["a", "x", "b", "y"], "target": ["b", "a", "x", "a"]})
    nodes = pa.table(
        {"id": ["a", "b", "c"], "f": [1.0, 2.0, 6.0], "label": ["u", "v", "u"]}
    )
    if unknown == "error":
        with pytest.raises(InputError, match=r"row 2 names node 'x'.*--unknown add"):
            read_graph(edges, nodes)
        return
    data = read_graph(edges, nodes, unknown=unknown)
    if unknown == "drop":
        assert data.ids == ["a", "b", "c"]
        assert data.edge_index.tolist() == [[0, 1], [1, 0]]
        assert "dropped 3 edges" in data.understood.changed[0]
    else:
        assert data.ids == ["a", "b", "c", "x", "y"]
        assert data.x.flatten().tolist() == [1, 2, 6, 2, 2]
        assert data.y.tolist() == [0, 1, 0, -1, -1]
        assert data.edge_index.size(1) == 8
        assert "added 2 nodes" in data.understood.changed[0]


def test_ids__are_found_by_the_ids_of_the_edges() -> None:
    nodes = pa.table({"name": ["Ann Lee", "Ann Lee", "Bo Li"], "number": [7, 8, 9]})
    data = read_graph(pa.table({"from": [7, 8], "to": [8, 9]}), nodes)
    assert data.ids == [7, 8, 9]
    assert any("ids are in 'number'" in note for note in data.understood.assumed)


def test_header__that_looks_like_an_edge_is_noted(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\nb,c\nc,a\n")
    data = read_graph(tmp_path / "e.csv")
    assert data.ids == ["a", "b", "c"]
    assert "taken for a header" in data.understood.changed[0]


def test_gephi__type_is_a_direction(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(
        "Source,Target,Type,Id,Label,Weight\n1,2,Undirected,0,,1.5\n"
    )
    data = read_graph(tmp_path / "e.csv")
    assert isinstance(data, Data)
    assert data.edge_weight.tolist() == [1.5, 1.5]


def test_notes__are_logged_for_who_listens(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="dsgrl"):
        read_graph(pa.table(EDGES), pa.table(NODES))
    levels = {record.levelname: record.getMessage() for record in caplog.records}
    assert "filled: age" in levels["WARNING"]
    assert "from 'from' to 'to'" in caplog.text
