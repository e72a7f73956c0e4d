from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsgrl.io.arrays import FlatArrays, GraphArrays, HeteroArrays
from dsgrl.io.choices import Choices, Notes
from dsgrl.io.graph_tables import read_graph_tables
from dsgrl.io.table_graph import as_arrays
from dsgrl.io.tables import open_table
from dsgrl.typing import InputError

GRAPHS = """id,graph,label,f
a,second,yes,1
b,first,,2
c,second,yes,3
d,first,no,4
e,third,,5
"""


def read(folder: Path, edges: str, nodes: str | None = None) -> Any:
    (folder / "edges.csv").write_text(edges)
    known = []
    if nodes is not None:
        (folder / "nodes.csv").write_text(nodes)
        known = [open_table(folder / "nodes.csv")]
    opened = [open_table(folder / "edges.csv", what="edges")]
    return as_arrays(read_graph_tables(opened, known), Choices(), Notes())


def test_read_graph_tables__one_graph(tmp_path: Path) -> None:
    nodes = "id,label,a,b\nv,yes,1,2\nu,,3,4\nw,no,5,6\n"
    graph = read(tmp_path, "source,target,weight\nu,v,2\nw,u,3\n", nodes)
    assert isinstance(graph, GraphArrays)
    assert graph.ids == ["v", "u", "w"]
    assert graph.edges.dtype == np.int64
    assert graph.edges.tolist() == [[1, 2], [0, 1]]
    assert graph.weight is not None
    assert graph.weight.tolist() == [2, 3]
    assert graph.features is not None
    assert graph.features.names == ["a", "b"]
    assert graph.features.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert graph.y is not None
    assert graph.y.tolist() == [1, -1, 0]
    assert graph.label_names == ["no", "yes"]


@pytest.mark.parametrize(
    ("edges", "nodes", "expected"),
    [
        ("source,target\na,b\n", None, GraphArrays),
        ("source,target,type\na,b,x\n", None, HeteroArrays),
        ("source,target\na,b\n", "id,type\na,u\nb,v\n", HeteroArrays),
        ("source,target\na,c\n", GRAPHS, FlatArrays),
    ],
)
def test_read_graph_tables__columns_say_what_it_is(
    tmp_path: Path, edges: str, nodes: str | None, expected: type
) -> None:
    assert type(read(tmp_path, edges, nodes)) is expected


@pytest.mark.parametrize("wrong", ["edges", "nodes"])
def test_read_graph_tables__repeated_column_is_refused(
    tmp_path: Path, wrong: str
) -> None:
    edges, nodes = "source,target\na,b\n", "id,f\na,1\nb,2\n"
    if wrong == "edges":
        edges = "source,target,target\na,b,b\n"
    else:
        nodes = "id,f,f\na,1,1\nb,2,2\n"
    with pytest.raises(InputError, match=rf"{wrong}\.csv.*twice"):
        read(tmp_path, edges, nodes)


PLAIN = "source,target\na,c\nb,d\n"
# By case: the tables of edges and nodes, and what the message must name.
BAD: dict[str, tuple[str, str, list[str]]] = {
    "edge across graphs": (
        "source,target\na,c\na,d\n",
        GRAPHS,
        ["edges.csv", "row 2", "'second'", "'first'"],
    ),
    "no graph": (
        PLAIN,
        "id,graph\na,x\nb,\nc,x\nd,x\n",
        ["nodes.csv", "row 2", "graph"],
    ),
    "two labels": (
        PLAIN,
        GRAPHS.replace("c,second,yes", "c,second,no"),
        ["'second'", "'no'", "'yes'", "one label"],
    ),
    "type and graph": (
        PLAIN,
        "id,graph,type\na,x,u\nb,x,u\nc,x,u\nd,x,u\n",
        ["'graph' and 'type'"],
    ),
    "typed edges and graph": (
        "source,target,type\na,c,u\n",
        GRAPHS,
        ["'graph' and 'type'"],
    ),
    "no node type": (
        PLAIN,
        "id,type\na,u\nb,u\nc,\nd,u\n",
        ["nodes.csv", "row 3", "type"],
    ),
    "no edge type": (
        "source,target,type\na,c,x\nb,d,\n",
        "id\na\nb\nc\nd\n",
        ["edges.csv", "row 2", "type"],
    ),
    "id twice in two types": (
        PLAIN,
        "id,type\na,u\nb,u\nc,u\nd,u\na,v\n",
        ["nodes.csv", "'a'", "2 times"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables__one_clear_line(tmp_path: Path, case: str) -> None:
    edges, nodes, parts = BAD[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path, edges, nodes)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_columns_of_a_type__holes_are_filled_and_text_is_no_number(
    tmp_path: Path,
) -> None:
    nodes = "id,type,f\na,u,1\nb,v,tall\nc,u,\nd,u,3\ne,v,tall\nf,v,low\ng,v,low\n"
    found = read(tmp_path, PLAIN, nodes)
    assert found.nodes["u"].features.x.tolist() == [[1], [2], [3]]
    assert found.nodes["v"].features.names == ["f=low", "f=tall"]
    assert found.nodes["v"].features.x.tolist() == [[0, 1], [0, 1], [1, 0], [1, 0]]
