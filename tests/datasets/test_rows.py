from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from dsgrl import read_graph
from dsgrl.datasets.rows import EmbeddedRows, collect_rows, tabulate_view
from dsgrl.io.embeddings import write_embeddings, write_views
from dsgrl.typing import HeteroView, View
from samples import make_data, make_graphs, make_hetero, make_model, pairs_of

NUMBERS = [30, 4, 1]
STRINGS = ["z", "007", "naïve"]


def hetero(people: list[Any], films: list[Any]) -> tuple[HeteroData, dict[str, Any]]:
    data = HeteroData()
    data["person"].ids, data["person"].num_nodes = people, len(people)
    data["film"].ids, data["film"].num_nodes = films, len(films)
    data["film"].y = torch.tensor([1, -1, 0])
    data["film"].label_names = ["comedy", "drama"]
    z = {
        kind: np.arange(2 * len(data[kind].ids), dtype=np.float32).reshape(-1, 2)
        for kind in ("person", "film")
    }
    return data, z


def graphs(ids: list[Any]) -> tuple[list[Data], Any]:
    many = make_graphs((3, 4, 5))
    for graph, name in zip(many, ids, strict=True):
        graph.id, graph.label_names = name, ["no", "yes"]
    many[2].y = torch.tensor([-1])
    return many, np.arange(6, dtype=np.float32).reshape(3, 2)


def test_collect_rows__hetero_has_types_and_labels_where_known() -> None:
    data, z = hetero(["p", "q"], STRINGS)
    rows = collect_rows(data, z)
    assert rows.ids == ["p", "q", *STRINGS]
    assert rows.types == ["person"] * 2 + ["film"] * 3
    assert rows.labels == [None, None, "drama", None, "comedy"]
    np.testing.assert_array_equal(rows.z, np.concatenate([z["person"], z["film"]]))


def test_collect_rows__a_type_that_was_not_given_has_no_rows() -> None:
    data, z = hetero(["p", "q"], STRINGS)
    z["tag"] = np.zeros((0, 2), dtype=np.float32)
    assert set(collect_rows(data, z).types or []) == {"person", "film"}


def test_collect_rows__ids_of_two_kinds_become_text() -> None:
    data, z = hetero([5, 6], STRINGS)
    assert collect_rows(data, z).ids == ["5", "6", *STRINGS]


def test_collect_rows__without_ids_rows_are_numbered() -> None:
    data, z = hetero([], STRINGS)
    del data["film"].ids, data["film"].y
    assert collect_rows(data, z) == EmbeddedRows(
        [0, 1, 2], pytest.approx(z["film"]), None, ["film"] * 3
    )
    many, pooled = make_graphs((3, 4)), np.zeros((2, 1), dtype=np.float32)
    rows = collect_rows(many, pooled)
    assert (rows.ids, rows.labels, rows.types) == ([0, 1], ["0", "1"], None)


@pytest.mark.parametrize("ids", [NUMBERS, STRINGS])
def test_collect_rows__graphs_have_their_ids_and_labels(ids: list[Any]) -> None:
    many, z = graphs(ids)
    rows = collect_rows(many, z)
    assert (rows.ids, rows.labels, rows.types) == (ids, ["no", "yes", None], None)


def read_table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    options = pyarrow.csv.ConvertOptions(
        strings_can_be_null=True,
        # As a person reads it: '007' is text.
        column_types={"id": pa.string()} if "007" in path.read_text() else {},
    )
    return pyarrow.csv.read_csv(path, convert_options=options)


@pytest.mark.parametrize("level", ["graph", "hetero"])
@pytest.mark.parametrize("ids", [NUMBERS, STRINGS], ids=["numbers", "strings"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_write_embeddings__ids_types_and_labels_come_back(
    tmp_path: Path, level: str, ids: list[Any], suffix: str
) -> None:
    data, z = graphs(ids) if level == "graph" else hetero(ids[:2], ids)
    rows = collect_rows(data, z)
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, rows.ids, rows.z, rows.labels, rows.types)
    if suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name].tolist() for name in file.files}
        found["id"], found["label"] = (
            found["ids"],
            [label or None for label in found["label"]],
        )
    else:
        table = read_table(path)
        found = {name: table[name].to_pylist() for name in table.column_names}
    assert found["id"] == rows.ids
    assert found["label"] == rows.labels
    assert found.get("type") == rows.types


def test_tabulate_view__hetero() -> None:
    data, _ = hetero(["p", "q"], STRINGS)
    ends = torch.tensor([[2, 0], [1, 1]])
    weight = torch.tensor([0.5, 0.25])
    relation = ("film", "by", "person")
    view = HeteroView(
        {"person": torch.ones(2, 4), "film": torch.zeros(3, 3)},
        {relation: ends},
        {relation: weight},
    )
    features, edges = tabulate_view(data, view)
    assert features["id"].to_pylist() == ["p", "q", *STRINGS]
    assert features["type"].to_pylist() == ["person"] * 2 + ["film"] * 3
    assert [len(row) for row in features["features"].to_pylist()] == [4, 4, 3, 3, 3]
    assert edges.to_pylist() == [
        {
            "source": source,
            "target": "q",
            "weight": amount,
            "type": "by",
            "source_type": "film",
            "target_type": "person",
        }
        for source, amount in (("naïve", 0.5), ("z", 0.25))
    ]


@pytest.mark.parametrize("ids", [NUMBERS, STRINGS])
def test_tabulate_view__graphs(ids: list[Any]) -> None:
    many, _ = graphs(ids)
    views = [View(g.x, g.edge_index, torch.ones(g.num_edges)) for g in many]
    features, edges = tabulate_view(many, views)
    assert features["graph"].to_pylist() == [ids[0]] * 3 + [ids[1]] * 4 + [ids[2]] * 5
    assert features["id"].to_pylist() == [*range(3), *range(4), *range(5)]
    first = edges.filter(pa.compute.equal(edges["graph"], ids[0]))
    assert (
        set(zip(first["source"].to_pylist(), first["target"].to_pylist(), strict=True))
    ) == pairs_of(many[0].edge_index)


HETERO_NODES = "id,type,f,g\n" + "".join(
    f"u{i},user,{i * 0.3},\n" if i % 2 else f"v{i},item,,{i % 5}\n" for i in range(20)
)
HETERO_EDGES = "source,target,type\n" + "".join(
    f"u{i},v{(3 * i + 1) % 20},likes\n" for i in range(1, 20, 2)
)
GRAPH_NODES = "id,graph,f\n" + "".join(
    f"n{i},{100 + i // 5},{(i * 7) % 11}\n" for i in range(20)
)
GRAPH_EDGES = "source,target\n" + "".join(
    f"n{i},n{i - i % 5 + (i + 1) % 5}\n" for i in range(20)
)


@pytest.mark.parametrize("augment", ["feature", "topology"])
@pytest.mark.parametrize(
    ("edges", "nodes"), [(HETERO_EDGES, HETERO_NODES), (GRAPH_EDGES, GRAPH_NODES)]
)
def test_write_views__can_be_read_again(
    tmp_path: Path, augment: str, edges: str, nodes: str
) -> None:
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "nodes.csv").write_text(nodes)
    data = read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    model = make_model(augment=augment, epochs=1, out_channels=2, augment_channels=3)
    views = model.fit(data).views(data)
    write_views(tmp_path / "views", [tabulate_view(data, view) for view in views])
    for number, view in enumerate(views, start=1):
        again = read_graph(
            tmp_path / f"views/edges{number}.parquet",
            tmp_path / f"views/features{number}.parquet",
            directed=True,
        )
        if not hasattr(data, "node_types"):
            assert [g.id for g in again] == [g.id for g in data] == [100, 101, 102, 103]
            assert [g.ids for g in again] == [g.ids for g in data]
            for graph, one in zip(again, view, strict=True):
                assert torch.equal(graph.x, one.x)
                assert torch.equal(graph.edge_weight, one.edge_weight)
            continue
        for kind in data.node_types:
            assert again[kind].ids == data[kind].ids
            assert torch.equal(again[kind].x, view.x[kind])
        for relation in again.edge_types:
            assert torch.equal(again[relation].edge_index, view.edge_index[relation])


@pytest.mark.parametrize("level", ["graph", "hetero"])
def test_collect_rows__fits_what_the_estimator_gives(level: str) -> None:
    data = make_data(level)
    model = make_model(epochs=0, out_channels=2, augment_channels=3)
    rows = collect_rows(data, model.fit_transform(data))
    assert len(rows.ids) == len(rows.z) == (8 if level == "graph" else 38)
    if level == "hetero":
        expected = [str(label) for label in make_hetero()["film"].y.tolist()]
        assert rows.labels == expected + [None] * 18
