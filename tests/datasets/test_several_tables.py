"""Several tables as one graph of several types, and folders."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from dsgrl import DSGRL, read_graph
from dsgrl.graph import as_graph
from dsgrl.typing import InputError
from samples import pairs_of

AUTHORS = "id,born,country\na1,1950,it\na2,1971,de\na3,1980,it\na4,1990,de\n"
PAPERS = "id,title,year,label\np1,on graphs and trees,1999,x\np2,on trees,2001,\n"
WROTE = "author,paper\na1,p1\na2,p1\na3,p2\n"
CITES = "source,target,weight\np2,p1,3\n"


def write(folder: Path, **tables: str) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    paths = {name: folder / f"{name}.csv" for name in tables}
    for name, text in tables.items():
        paths[name].write_text(text)
    return paths


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return write(tmp_path, authors=AUTHORS, papers=PAPERS, wrote=WROTE, cites=CITES)


def check_library(data: Any) -> None:
    assert data.node_types == ["authors", "papers"]
    assert data["authors"].ids == ["a1", "a2", "a3", "a4"]
    assert data["papers"].ids == ["p1", "p2"]
    assert set(data.edge_types) == {
        ("authors", "wrote", "papers"),
        ("papers", "cites", "papers"),
    }
    wrote = data["authors", "wrote", "papers"].edge_index
    assert pairs_of(wrote) == {(0, 0), (1, 0), (2, 1)}
    assert pairs_of(data["papers", "cites", "papers"].edge_index) == {(1, 0)}
    assert data["papers", "cites", "papers"].edge_weight.tolist() == [3]
    assert data["authors"].feature_names == ["born", "country=de", "country=it"]
    assert data["papers"].y.tolist() == [0, -1]
    assert "y" not in data["authors"]
    assert as_graph(data).num_nodes == 6


def test_tables__a_relation_and_a_type_each(files: dict[str, Path]) -> None:
    edges, nodes = [files["wrote"], files["cites"]], [files["authors"], files["papers"]]
    data = read_graph(edges, nodes)
    check_library(data)
    assert data.understood.types == {"authors": 4, "papers": 2}
    assert data.understood.relations == {
        "authors wrote papers": 3,
        "papers cites papers": 1,
    }
    assert data.understood.isolated == 1


def test_tables__by_name(files: dict[str, Path]) -> None:
    frames = {name: pd.read_csv(path) for name, path in files.items()}
    data = read_graph(
        {"wrote": frames["wrote"], "cites": frames["cites"]},
        {"authors": frames["authors"], "papers": files["papers"]},
    )
    check_library(data)


def test_folder__of_tables(tmp_path: Path) -> None:
    named = {
        "nodes_authors": AUTHORS,
        "nodes_papers": PAPERS,
        "edges_wrote": WROTE.replace("author,paper", "from,to"),
        "edges_cites": CITES,
    }
    write(tmp_path / "library", **named)
    check_library(read_graph(tmp_path / "library"))


@pytest.mark.parametrize(
    "header",
    ["authors,papers", "Author_id,paper_id", "paper,author", "source,target"],
)
def test_ends__are_told_by_the_column_or_the_ids(tmp_path: Path, header: str) -> None:
    rows = [("a1", "p1"), ("a2", "p1"), ("a3", "p2")]
    if header.startswith("paper"):
        rows = [(p, a) for a, p in rows]
    text = "\n".join([header, *(f"{a},{b}" for a, b in rows)])
    files = write(tmp_path, authors=AUTHORS, papers=PAPERS, wrote=text)
    data = read_graph(files["wrote"], [files["authors"], files["papers"]])
    ends = ("authors", "papers")
    ends = ends[::-1] if header.startswith("paper") else ends
    assert data.edge_types == [(ends[0], "wrote", ends[1])]


def test_ids__that_repeat_in_two_tables(tmp_path: Path) -> None:
    nodes = {"authors": "id,f\n1,1\n2,2\n3,3\n", "papers": "id,g\n1,5\n2,6\n"}
    files = write(
        tmp_path, **nodes, wrote="author,paper\n1,2\n3,1\n", x="source,target\n1,2\n"
    )
    known = [files["authors"], files["papers"]]
    data = read_graph(files["wrote"], known)
    assert pairs_of(data["authors", "wrote", "papers"].edge_index) == {(0, 1), (2, 0)}
    with pytest.raises(InputError, match=r"'source' are in .*authors\.csv and in"):
        read_graph(files["x"], known)


def test_ids__of_two_types_in_one_column(tmp_path: Path) -> None:
    files = write(
        tmp_path, authors=AUTHORS, papers=PAPERS, likes="source,target\na1,p1\np1,a2\n"
    )
    data = read_graph([files["likes"]], [files["authors"], files["papers"]])
    assert set(data.edge_types) == {
        ("authors", "likes", "papers"),
        ("papers", "likes", "authors"),
    }


def test_relations__without_tables_of_nodes(tmp_path: Path) -> None:
    files = write(tmp_path, wrote=WROTE, cites=CITES)
    data = read_graph([files["wrote"], files["cites"]])
    assert data.node_types == ["author", "paper"]
    assert data["author"].ids == ["a1", "a2", "a3"]
    assert ("paper", "cites", "paper") in data.edge_types
    plain = write(tmp_path, knows="from,to\na,b\n", likes="u,v\nb,c\n")
    data = read_graph([plain["knows"], plain["likes"]])
    assert data.node_types == ["node"]
    assert data["node"].ids == ["a", "b", "c"]
    assert {name for _, name, _ in data.edge_types} == {"knows", "likes"}


@pytest.mark.parametrize("unknown", ["error", "drop", "add"])
def test_unknown_nodes__of_several_tables(files: dict[str, Path], unknown: Any) -> None:
    files["wrote"].write_text(WROTE + "a9,p1\n")
    known = [files["authors"], files["papers"]]
    if unknown == "drop":
        data = read_graph(files["wrote"], known, unknown="drop")
        assert data["authors", "wrote", "papers"].edge_index.size(1) == 3
        return
    with pytest.raises(InputError, match=r"wrote\.csv.*--unknown"):
        read_graph(files["wrote"], known, unknown=unknown)


def test_two_tables_of_one_name__are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a", nodes="id\nx\n", edges="source,target\nx,y\n")
    write(tmp_path / "b", nodes="id\ny\n")
    known = [tmp_path / "a" / "nodes.csv", tmp_path / "b" / "nodes.csv"]
    with pytest.raises(InputError, match="two tables of nodes are called 'nodes'"):
        read_graph(tmp_path / "a" / "edges.csv", known)


def test_model__of_several_tables_makes_features_alike(files: dict[str, Path]) -> None:
    edges, nodes = [files["wrote"], files["cites"]], [files["authors"], files["papers"]]
    data = read_graph(edges, nodes)
    model = DSGRL(epochs=1, out_channels=4).fit(data)
    files["authors"].write_text(AUTHORS.replace("1971,de", "1971,fr"))
    new = read_graph(edges, nodes, like=model)
    x = new["authors"].x
    assert torch.equal(x[[0, 2, 3]], data["authors"].x[[0, 2, 3]])
    assert x[1, 1:].tolist() == [0, 0]
    assert set(model.transform(new)) == {"authors", "papers"}


def many(folder: Path, suffix: str) -> Path:
    folder.mkdir()
    for size, name in ((3, "b"), (4, "a"), (5, "c")):
        graph = nx.path_graph(size)
        nx.set_node_attributes(graph, {i: float(i) for i in graph}, "f")
        nx.set_node_attributes(graph, {i: "uv"[i % 2] for i in graph}, "kind")
        if suffix == ".graphml":
            nx.write_graphml(graph, folder / f"{name}.graphml")
        elif suffix == ".gml":
            nx.write_gml(graph, folder / f"{name}.gml")
        elif suffix == ".npz":
            edges = np.array(graph.edges).T
            x = np.arange(size, dtype=np.float32)[:, None]
            np.savez(folder / f"{name}.npz", edge_index=edges, x=x)
        else:
            for part in ("edges", "nodes"):
                (folder / part).mkdir(exist_ok=True)
            pairs = [f"{a},{b}" for a, b in graph.edges]
            rows = [f"{i},{float(i)},{'uv'[i % 2]}" for i in graph]
            (folder / "edges" / f"{name}.csv").write_text("\n".join(["u,v", *pairs]))
            (folder / "nodes" / f"{name}.csv").write_text(
                "\n".join(["id,f,kind", *rows])
            )
    (folder / "labels.csv").write_text("id,label\na,yes\nc,no\n")
    return folder


@pytest.mark.parametrize("suffix", [".graphml", ".gml", ".npz", ".csv"])
def test_folder__one_graph_per_file(tmp_path: Path, suffix: str) -> None:
    graphs = read_graph(many(tmp_path / "many", suffix))
    assert [g.id for g in graphs] == ["a", "b", "c"]
    assert [g.num_nodes for g in graphs] == [4, 3, 5]
    assert [g.edge_index.size(1) for g in graphs] == [6, 4, 8]
    assert [g.y.tolist() for g in graphs] == [[1], [-1], [0]]
    assert graphs.understood.num_graphs == 3
    if suffix == ".npz":
        assert graphs[0].x.flatten().tolist() == [0, 1, 2, 3]
    else:
        assert graphs.feature_names == ["f", "kind=u", "kind=v"]
        assert graphs[1].x[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0]]
    again = read_graph(tmp_path / "many", like=graphs)
    assert torch.equal(again.x, graphs.x)


def test_folder__of_graphs_with_text_stays_sparse(tmp_path: Path) -> None:
    for part in ("edges", "nodes"):
        (tmp_path / part).mkdir()
    for g in range(3):
        rows = [f"{i},some words number {i * g} of graph {g}" for i in range(30)]
        (tmp_path / "edges" / f"g{g}.csv").write_text("u,v\n0,1\n1,2\n")
        (tmp_path / "nodes" / f"g{g}.csv").write_text("\n".join(["id,text", *rows]))
    graphs = read_graph(tmp_path)
    assert graphs.x.is_sparse
    whole = graphs.x.to_dense()
    assert torch.equal(graphs[1].x.to_dense(), whole[30:60])
    assert torch.equal(graphs[1:].x.to_dense(), whole[30:])
    assert torch.equal(graphs[::2].x.to_dense(), whole[[*range(30), *range(60, 90)]])
    z = DSGRL(epochs=1, out_channels=4).fit_transform(graphs)
    assert z.shape[0] == 3
    np.testing.assert_allclose(
        as_graph(list(graphs)).x.to_dense().numpy(), whole.numpy(), rtol=1e-6
    )


@pytest.mark.parametrize("place", ["", "raw"])
@pytest.mark.parametrize("has_labels", [True, False])
def test_folder__tu_set(tmp_path: Path, place: str, has_labels: bool) -> None:
    folder = tmp_path / "some folder" / place
    folder.mkdir(parents=True)
    (folder / "TOY_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n")
    (folder / "TOY_graph_indicator.txt").write_text("1\n1\n2\n2\n")
    if has_labels:
        (folder / "TOY_graph_labels.txt").write_text("-1\n1\n")
    graphs = read_graph(tmp_path / "some folder")
    assert [g.num_nodes for g in graphs] == [2, 2]
    if has_labels:
        assert [g.y.tolist() for g in graphs] == [[0], [1]]
    # A folder of the user is only read.
    assert not (tmp_path / "some folder" / "dsgrl").exists()


@pytest.mark.parametrize(
    ("tables", "part"),
    [
        ({}, "no graph in this folder"),
        ({"nodes": "id,f\na,1\n"}, "no table of edges"),
    ],
)
def test_folder__with_nothing_to_read(
    tmp_path: Path, tables: dict[str, str], part: str
) -> None:
    write(tmp_path / "empty", **tables)
    with pytest.raises(InputError, match=part):
        read_graph(tmp_path / "empty")


def test_tables__in_a_list_need_names() -> None:
    edges, nodes = pa.table({"u": ["a"], "v": ["b"]}), pa.table({"id": ["a", "b"]})
    with pytest.raises(InputError, match=r"\{name: table\}"):
        read_graph(edges, [nodes, nodes])
