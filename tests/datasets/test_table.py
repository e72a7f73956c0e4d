import contextlib
import dataclasses
import json
import os
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import TUDataset

from dsgrl.datasets import failures
from dsgrl.datasets.files import read_graph
from dsgrl.datasets.table import DATASETS, data_folder, load_dataset
from dsgrl.graph import FlatGraphs
from dsgrl.typing import InputError

BUILT_IN = ["debian", "debian-hetero", "digits-graphs"]
DOWNLOADED = [
    name for name, row in DATASETS.items() if not row.built_in and not row.stands_for
]

# The paper's tables: N, M and F of a graph; graphs, nodes and edges in a graph.
PAPER_NODES = {
    "cs": (18333, 163788, 6805),
    "photo": (7650, 238162, 745),
    "pubmed": (19717, 88648, 500),
    "github": (37700, 578006, 128),
    "wikics": (11701, 297110, 300),
    "deezer": (28281, 185504, 128),
    "yelp": (716847, 13954819, 300),
    "reddit": (232965, 114615892, 602),
}
PAPER_GRAPHS = {
    "dd": (1178, 284.32, 715.66),
    "enzymes": (600, 32.63, 62.14),
    "proteins": (1113, 39.06, 72.82),
    "nci1": (4110, 29.87, 32.3),
    "imdb-b": (1000, 19.77, 96.53),
    "imdb-m": (1500, 13, 65.94),
    "reddit-b": (2000, 429.63, 497.75),
    "collab": (5000, 74.49, 2457.78),
}


@pytest.fixture(scope="module")
def debian() -> Any:
    return load_dataset("debian", Path("no-such-folder"))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", fail)


def change_row(monkeypatch: pytest.MonkeyPatch, name: str, **changes: Any) -> None:
    row = dataclasses.replace(DATASETS[name], **changes)
    monkeypatch.setitem(DATASETS, name, row)


def one_line(error: pytest.ExceptionInfo[InputError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def has_files(name: str) -> bool:
    folder = os.environ.get("DSGRL_DATA")
    return folder is not None and (Path(folder) / DATASETS[name].place).is_dir()


def test_datasets__names_are_lower_case_and_all_there() -> None:
    assert all(name == name.lower() for name in DATASETS)
    assert [name for name, row in DATASETS.items() if row.built_in] == BUILT_IN
    assert DATASETS.keys() >= PAPER_NODES.keys() | PAPER_GRAPHS.keys()
    assert DATASETS.keys() >= {"facebook", "imdb", "cora", "citeseer", "dblp"}
    assert DATASETS.keys() >= {"computers", "physics", "mutag"}


def test_datasets__only_heterogeneous_ones_have_a_target() -> None:
    for row in DATASETS.values():
        assert (row.target is not None) == (row.level == "hetero")
        assert (row.num_graphs > 1) == (row.level == "graph")


@pytest.mark.parametrize("name", PAPER_NODES)
def test_datasets__counts_of_nodes_are_the_papers(name: str) -> None:
    row = DATASETS[name]
    found = (row.num_nodes, row.num_edges, row.num_features)
    assert found == PAPER_NODES[name]


@pytest.mark.parametrize("name", PAPER_GRAPHS)
def test_datasets__averages_over_graphs_are_the_papers(name: str) -> None:
    row = DATASETS[name]
    graphs, nodes, edges = PAPER_GRAPHS[name]
    assert row.num_graphs == graphs
    assert row.num_nodes / graphs == pytest.approx(nodes, abs=0.005)
    # The paper counts an edge once, and COLLAB's before repeated ones are dropped.
    tolerance = 0.6 if name == "collab" else 0.006
    assert row.num_edges / graphs / 2 == pytest.approx(edges, abs=tolerance)


@pytest.mark.parametrize("name", BUILT_IN)
def test_load_dataset__built_in_needs_no_folder(name: str) -> None:
    kinds = {"node": Data, "graph": FlatGraphs, "hetero": HeteroData}
    data = load_dataset(name, Path("no-such-folder"))
    assert isinstance(data, kinds[DATASETS[name].level])
    assert not Path("no-such-folder").exists()


@pytest.mark.parametrize("read", [load_dataset, read_graph])
@pytest.mark.parametrize(
    ("wrong", "near"), [("debain", "debian"), ("cite-seer", "citeseer")]
)
def test_load_dataset__unknown_name_suggests_the_nearest(
    read: Any, wrong: str, near: str
) -> None:
    with pytest.raises(InputError, match=f"'{wrong}'.*did you mean '{near}'"):
        read(wrong)


def test_load_dataset__name_like_no_other_suggests_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dsgrl list") as caught:
        load_dataset("qqqqqqqq", tmp_path)
    assert "did you mean" not in str(caught.value)


def test_load_dataset__case_does_not_matter(debian: Any) -> None:
    assert load_dataset("Debian").ids == debian.ids


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("name", DOWNLOADED)
def test_load_dataset__missing_says_where_it_looked_and_how_to_get_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    # PyG keeps quiet in a test; we want to hear what a user would.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    folder = tmp_path / "data"
    with pytest.raises(InputError) as caught:
        load_dataset(name, folder)
    message = one_line(caught)
    row = DATASETS[name]
    assert f"'{name}' is not in {folder / row.place}" in message
    assert "DSGRL_DATA" in message
    if row.source:
        assert "and could not be downloaded" in message
        assert f"torch_geometric.datasets.{row.source} where" in message
    assert capfd.readouterr() == ("", "")
    assert not folder.exists(), "a failed download leaves nothing behind"


@pytest.mark.usefixtures("offline")
def test_load_dataset__failed_download_leaves_other_folders_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "amazon" / "Photo").mkdir(parents=True)
    with pytest.raises(InputError):
        load_dataset("computers", tmp_path)
    assert [path.name for path in (tmp_path / "amazon").iterdir()] == ["Photo"]


@pytest.mark.parametrize(
    "error", [OSError("no route"), RuntimeError("bad\nfile"), zipfile.BadZipFile()]
)
def test_load_dataset__any_failure_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(folder: Path) -> Any:
        assert folder == tmp_path
        raise error

    change_row(monkeypatch, "cora", load=fail)
    with pytest.raises(InputError) as caught:
        load_dataset("cora", tmp_path)
    reason = (str(error) or type(error).__name__).splitlines()[0]
    assert f"({reason})" in one_line(caught)


def test_load_dataset__broken_file_is_not_called_missing(tmp_path: Path) -> None:
    file = tmp_path / "github" / "raw" / "github.npz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"half of a file")
    with pytest.raises(InputError) as caught:
        load_dataset("github", tmp_path)
    message = one_line(caught)
    assert "'github' cannot be read" in message
    assert f"remove {tmp_path / 'github'} and" in message
    assert "DSGRL_DATA" in message
    assert file.exists()


def test_load_dataset__broken_built_in_does_not_blame_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> Any:
        raise FileNotFoundError("debian.npz")

    change_row(monkeypatch, "debian", load=fail)
    with pytest.raises(InputError, match=r"'debian' cannot be read.*install") as caught:
        load_dataset("debian", tmp_path)
    assert str(tmp_path) not in one_line(caught)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """Listen on a port and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_load_dataset__server_that_does_not_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "SILENCE_SECONDS", 0.2)
    monkeypatch.setenv("no_proxy", "")
    with silent_server() as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        start = time.perf_counter()
        with pytest.raises(InputError, match=r"could not be downloaded \(.*timed out"):
            load_dataset("facebook", tmp_path)
    assert time.perf_counter() - start < 10
    assert socket.getdefaulttimeout() is None


def test_load_dataset__graph_set_is_downloaded_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
        "graph_indicator": "1\n1\n2\n2\n",
        "graph_labels": "1\n-1\n",
        "node_labels": "0\n1\n2\n0\n",
    }
    with zipfile.ZipFile(tmp_path / "MUTAG.zip", "w") as archive:
        for part, text in texts.items():
            archive.writestr(f"MUTAG/MUTAG_{part}.txt", text)
    monkeypatch.setattr(TUDataset, "url", str(tmp_path))
    change_row(
        monkeypatch, "mutag", num_graphs=2, num_nodes=4, num_edges=4, num_features=3
    )
    graphs = load_dataset("mutag", tmp_path / "data")
    assert [graph.y.tolist() for graph in graphs] == [[1], [0]]
    (tmp_path / "MUTAG.zip").unlink()
    assert len(load_dataset("mutag", tmp_path / "data")) == 2
    folders = {path.name for path in (tmp_path / "data" / "tu" / "MUTAG").iterdir()}
    assert folders == {"raw", "dsgrl"}, "PyG's processing was not run"


# A path 0 -> 1 -> 2 whose files are written as each source publishes them.
PATH = sp.csr_matrix(([1, 1], ([0, 1], [1, 2])), shape=(3, 3))
X = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32)
Y = np.array([0, 1, 0])


def write_benchmark(raw: Path, file: str) -> None:
    """Write adjacency and features as `gnn-benchmark` and `graph2gauss` do."""
    parts: dict[str, Any] = {"labels": Y}
    for prefix, matrix in (("adj", PATH), ("attr", sp.csr_matrix(X))):
        parts |= {
            f"{prefix}_{name}": getattr(matrix, name)
            for name in ("data", "indices", "indptr", "shape")
        }
    np.savez(raw / file, **parts)


def write_facebook(raw: Path, file: str) -> None:
    edges = np.stack(PATH.nonzero(), axis=1)
    np.savez(raw / file, features=X, target=Y, edges=edges)


def write_wikics(raw: Path, file: str) -> None:
    links = [PATH[i].indices.tolist() for i in range(3)]
    masks = {f"{name}_masks": [[True] * 3] for name in ("train", "val", "stopping")}
    data = {"features": X.tolist(), "labels": Y.tolist(), "links": links, **masks}
    (raw / file).write_text(json.dumps(data | {"test_mask": [True] * 3}))


def write_reddit(raw: Path, file: str) -> None:
    np.savez(raw / file, feature=X, label=Y, node_types=np.array([1, 2, 3]))
    sp.save_npz(raw / "reddit_graph.npz", PATH.tocoo())


def write_yelp(raw: Path, file: str) -> None:
    sp.save_npz(raw / file, PATH)
    np.save(raw / "feats.npy", X)
    labels = {str(i): [int(y), 1 - int(y)] for i, y in enumerate(Y)}
    (raw / "class_map.json").write_text(json.dumps(labels))
    (raw / "role.json").write_text(json.dumps({"tr": [0], "va": [1], "te": [2]}))


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("name", "write", "file", "both_ways"),
    [
        ("pubmed", write_benchmark, "pubmed.npz", True),
        ("computers", write_benchmark, "amazon_electronics_computers.npz", True),
        ("physics", write_benchmark, "ms_academic_phy.npz", True),
        ("facebook", write_facebook, "facebook.npz", False),
        ("wikics", write_wikics, "data.json", False),
        ("reddit", write_reddit, "reddit_data.npz", False),
        ("yelp", write_yelp, "adj_full.npz", False),
    ],
)
def test_load_dataset__files_as_published_are_read_from_their_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    write: Any,
    file: str,
    both_ways: bool,
) -> None:
    raw = tmp_path / DATASETS[name].place / "raw"
    raw.mkdir(parents=True)
    write(raw, file)
    change_row(
        monkeypatch,
        name,
        num_nodes=3,
        num_edges=4 if both_ways else 2,
        num_features=2,
        num_classes=2,
    )
    data = load_dataset(name, tmp_path)
    assert data.x.tolist() == X.tolist()
    expected = PATH + PATH.T if both_ways else PATH
    pairs = zip(*data.edge_index.tolist(), strict=True)
    assert set(pairs) == set(zip(*expected.nonzero(), strict=True))
    assert (data.y if data.y.dim() == 1 else data.y[:, 0]).tolist() == Y.tolist()


def test_load_dataset__other_counts_than_the_table_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debian: Any
) -> None:
    change_row(monkeypatch, "cora", load=lambda _: debian)
    with pytest.raises(InputError, match=f"'cora'.*{debian.num_nodes}") as caught:
        load_dataset("cora", tmp_path)
    assert str(DATASETS["cora"].num_nodes) in one_line(caught)


@pytest.mark.parametrize(
    "count", ["num_nodes", "num_edges", "num_features", "num_classes", "num_graphs"]
)
@pytest.mark.parametrize("name", BUILT_IN)
def test_load_dataset__every_count_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: str
) -> None:
    row = DATASETS[name]
    data = load_dataset(name)
    wrong = {count: getattr(row, count) + 1}
    change_row(monkeypatch, name, load=lambda _: data, **wrong)
    with pytest.raises(InputError, match=f"'{name}'.*expected"):
        load_dataset(name, tmp_path)


def test_load_dataset__several_labels_a_node_are_counted_by_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = torch.tensor([[0, 1, 1], [0, 0, 0]])
    data = Data(x=torch.ones(2, 4), edge_index=torch.tensor([[0], [1]]), y=y)
    change_row(
        monkeypatch,
        "yelp",
        load=lambda _: data,
        num_nodes=2,
        num_edges=1,
        num_features=4,
        num_classes=3,
    )
    assert load_dataset("yelp", tmp_path) is data


def test_data_folder__follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DSGRL_DATA", raising=False)
    assert data_folder() == tmp_path / "cache" / "dsgrl"
    monkeypatch.setenv("DSGRL_DATA", str(tmp_path))
    assert data_folder() == tmp_path


@pytest.mark.data
@pytest.mark.parametrize("name", DOWNLOADED)
def test_load_dataset__benchmark_has_the_counts_of_the_table(name: str) -> None:
    if not has_files(name):
        pytest.skip(f"{name} is not in DSGRL_DATA")
    # Other counts than the table's would have been refused.
    data = load_dataset(name)
    row = DATASETS[name]
    if row.level == "graph":
        assert all(graph.y.shape == (1,) for graph in data)
        edges = torch.cat([g.edge_index.max(dim=1).values - g.num_nodes for g in data])
        assert int(edges.max()) < 0
    elif row.level == "hetero":
        assert data.validate()
        assert data[row.target].y.numel() == data[row.target].num_nodes
    else:
        assert data.y.size(0) == data.num_nodes
        assert int(data.edge_index.max()) < data.num_nodes


@pytest.mark.data
def test_imdb__films_have_directors_actors_and_the_public_split() -> None:
    data = load_dataset("imdb")
    sizes = {kind: data[kind].num_nodes for kind in data.node_types}
    assert sizes == {"movie": 4278, "director": 2081, "actor": 5257}
    films = data["movie"]
    masks = (films.train_mask, films.val_mask, films.test_mask)
    assert [int(mask.sum()) for mask in masks] == [400, 400, 3478]
    assert torch.stack(masks).sum(dim=0).tolist() == [1] * 4278
