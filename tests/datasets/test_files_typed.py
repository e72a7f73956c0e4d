from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from dsgrl import read_graph
from dsgrl.graph import as_graph
from dsgrl.typing import InputError
from samples import pairs_of

# From the highest to the lowest, so that a sorted copy is noticed.
NODES = """id,type,label,year,length,born
z1,film,drama,1999,120,
p2,person,,,,1950
z3,film,comedy,2001,90,
p1,person,,,,1971
t1,tag,,,,
"""
EDGES = """source,target,type,weight
z1,p2,by,1
z3,p1,by,2
z3,p2,with,3
p1,p2,knows,4
z1,t1,has,5
"""


def read(folder: Path, edges: str, nodes: str | None = None, **options: Any) -> Any:
    (folder / "edges.csv").write_text(edges)
    if nodes is None:
        return read_graph(folder / "edges.csv", **options)
    (folder / "nodes.csv").write_text(nodes)
    return read_graph(folder / "edges.csv", folder / "nodes.csv", **options)


def test_types__of_nodes_and_edges(tmp_path: Path) -> None:
    data = read(tmp_path, EDGES, NODES)
    assert data.node_types == ["film", "person", "tag"]
    assert data["film"].ids == ["z1", "z3"]
    assert data["person"].ids == ["p2", "p1"]
    assert set(data.edge_types) == {
        ("film", "by", "person"),
        ("film", "with", "person"),
        ("person", "knows", "person"),
        ("film", "has", "tag"),
    }
    assert pairs_of(data["film", "by", "person"].edge_index) == {(0, 0), (1, 1)}
    assert pairs_of(data["person", "knows", "person"].edge_index) == {(1, 0)}
    assert data["film", "with", "person"].edge_weight.tolist() == [3]


def test_types__have_the_columns_they_have_filled(tmp_path: Path) -> None:
    data = read(tmp_path, EDGES, NODES)
    assert data["film"].feature_names == ["year", "length"]
    assert data["film"].x.tolist() == [[1999, 120], [2001, 90]]
    assert data["person"].feature_names == ["born"]
    assert data["person"].x.tolist() == [[1950], [1971]]
    assert "x" not in data["tag"]
    assert as_graph(data).num_nodes == 5


def test_types__labels_of_the_types_that_have_some(tmp_path: Path) -> None:
    data = read(tmp_path, EDGES, NODES)
    names = data["film"].label_names
    assert [names[i] for i in data["film"].y] == ["drama", "comedy"]
    assert "y" not in data["person"]


def test_types__of_nodes_alone(tmp_path: Path) -> None:
    edges = "source,target\nz1,p2\np1,z3\n"
    data = read(tmp_path, edges, NODES)
    assert set(data.edge_types) == {("film", "to", "person"), ("person", "to", "film")}


@pytest.mark.parametrize("nodes", [None, "id,f\na,1\nb,2\nc,3\n"])
def test_types__of_edges_alone(tmp_path: Path, nodes: str | None) -> None:
    data = read(tmp_path, "source,target,type\na,b,x\nb,c,y\na,c,x\n", nodes)
    assert data.node_types == ["node"]
    assert data["node"].ids == ["a", "b", "c"]
    assert ("x" in data["node"]) == (nodes is not None)
    assert pairs_of(data["node", "x", "node"].edge_index) == {(0, 1), (0, 2)}
    assert pairs_of(data["node", "y", "node"].edge_index) == {(1, 2)}


def test_types__edges_keep_their_direction_and_are_seen_from_both_ends(
    tmp_path: Path,
) -> None:
    data = read(tmp_path, EDGES, NODES)
    held = as_graph(data).adjacency.adjacencies
    back = held["person", "rev_knows", "person"].edge_index
    assert pairs_of(back) == {(0, 1)}


def test_types__numbers_are_names_too(tmp_path: Path) -> None:
    """A parquet file holds types as numbers."""
    edges = {"source": [1, 2], "target": [2, 3], "type": [7, 8]}
    nodes = {"id": [3, 2, 1], "type": [0, 0, 1], "f": [1.0, 2.0, None]}
    for name, columns in (("edges", edges), ("nodes", nodes)):
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    data = read_graph(tmp_path / "edges.parquet", tmp_path / "nodes.parquet")
    assert (data.node_types, data["0"].ids) == (["0", "1"], [3, 2])
    assert set(data.edge_types) == {("1", "7", "0"), ("0", "8", "0")}


GRAPHS = """id,graph,label,f
a,second,yes,1
b,first,,2
c,second,yes,3
d,first,no,4
e,third,,5
"""


def test_graphs__one_per_name_in_the_order_they_appear(tmp_path: Path) -> None:
    graphs = read(tmp_path, "source,target,weight\nc,a,2\nb,d,3\n", GRAPHS)
    assert [g.id for g in graphs] == ["second", "first", "third"]
    assert [g.ids for g in graphs] == [["a", "c"], ["b", "d"], ["e"]]
    assert [g.x.flatten().tolist() for g in graphs] == [[1, 3], [2, 4], [5]]
    assert all(g.feature_names == ["f"] for g in graphs)
    # Both ways, as no direction was asked for.
    assert [pairs_of(g.edge_index) for g in graphs] == [{(0, 1), (1, 0)}] * 2 + [set()]
    assert [g.edge_weight.tolist() for g in graphs] == [[2, 2], [3, 3], []]
    assert [g.y.tolist() for g in graphs] == [[1], [0], [-1]]
    assert graphs[0].label_names == ["no", "yes"]
    assert as_graph(graphs).num_graphs == 3


def test_graphs__directed(tmp_path: Path) -> None:
    graphs = read(tmp_path, "source,target\nc,a\n", GRAPHS, directed=True)
    assert [pairs_of(g.edge_index) for g in graphs] == [{(1, 0)}, set(), set()]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["12", "7", "12"], [12, 7]),
        (["012", "7", "012"], ["012", "7"]),
        (["g", "7", "g"], ["g", "7"]),
    ],
)
def test_graphs__ids_are_kept_like_those_of_nodes(
    tmp_path: Path, names: list[str], expected: list[Any]
) -> None:
    rows = "".join(f"n{i},{name}\n" for i, name in enumerate(names))
    graphs = read(tmp_path, "source,target\nn0,n2\n", f"id,graph\n{rows}")
    assert [g.id for g in graphs] == expected


@pytest.mark.parametrize("column", [{"graph": [4, 4, 9]}, {"type": ["u", "u", "v"]}])
def test_list_column_of_features__is_split(
    tmp_path: Path, column: dict[str, Any]
) -> None:
    lists = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    nodes = pa.table({"id": [1, 2, 3], "features": lists, **column})
    pyarrow.parquet.write_table(nodes, tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    data = read_graph(tmp_path / "edges.csv", tmp_path / "nodes.parquet")
    parts = data.node_stores if "type" in column else data
    assert [part.x.tolist() for part in parts] == [lists[:2], lists[2:]]


def test_list_column_of_features__with_types_of_edges_alone(tmp_path: Path) -> None:
    nodes = pa.table({"id": [1, 2], "features": [[1.0, 2.0], [3.0, 4.0]]})
    pyarrow.parquet.write_table(nodes, tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target,type\n1,2,x\n")
    data = read_graph(tmp_path / "edges.csv", tmp_path / "nodes.parquet")
    assert torch.equal(data["node"].x, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))


@pytest.mark.parametrize("column", ["type", "graph"])
def test_no_rows__are_refused(tmp_path: Path, column: str) -> None:
    with pytest.raises(InputError, match="empty"):
        as_graph(read(tmp_path, "source,target\n", f"id,{column}\n"))
