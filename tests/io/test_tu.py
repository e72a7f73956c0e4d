import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.datasets import TUDataset

from dsgrl.graph.flat import FlatGraphs
from dsgrl.io import tu
from dsgrl.io.tu import has_raw_files
from dsgrl.typing import InputError

Lines = Sequence[Any]


def read_tu(folder: Path) -> FlatGraphs:
    return FlatGraphs.from_arrays(tu.read_tu(folder))


def write_set(
    folder: Path,
    *,
    edges: Sequence[tuple[int, int]],
    graph_of_node: Lines,
    labels: Lines,
    node_labels: Lines | None = None,
    attributes: Lines | None = None,
    edge_labels: Lines | None = None,
    edge_attributes: Lines | None = None,
    separator: str = ", ",
) -> Path:
    """Write the files of a set by its own numbers, counted from 1."""
    (folder / "raw").mkdir(parents=True)
    parts = {
        "A": [separator.join(map(str, edge)) for edge in edges],
        "graph_indicator": graph_of_node,
        "graph_labels": labels,
        "node_labels": node_labels,
        "node_attributes": attributes,
        "edge_labels": edge_labels,
        "edge_attributes": edge_attributes,
    }
    for part, lines in parts.items():
        if lines is not None:
            text = "".join(f"{line}\n" for line in lines)
            (folder / "raw" / f"{folder.name}_{part}.txt").write_text(text)
    return folder


def as_lines(rows: Any) -> list[str]:
    return [", ".join(map(str, row)) for row in rows.tolist()]


def write_small(folder: Path) -> Path:
    """Two graphs: a path of three nodes and a pair."""
    return write_set(
        folder,
        edges=[(1, 2), (2, 1), (2, 3), (3, 2), (4, 5), (5, 4)],
        graph_of_node=[1, 1, 1, 2, 2],
        labels=[-1, 1],
        node_labels=[3, 5, 3, 4, 4],
        attributes=["0.1", " 2.0", "-3e-1", "nan", "4"],
    )


def write_random(folder: Path, seed: int) -> Path:
    """Graphs with repeated edges, loops, and features in several columns.

    Odd seeds have attributes of nodes; edges have nothing, labels, attributes or both.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, size=7)
    graph = np.repeat(np.arange(7), sizes)
    first = np.concatenate([[0], np.cumsum(sizes)])
    edges = [
        (int(first[g] + rng.integers(sizes[g])), int(first[g] + rng.integers(sizes[g])))
        for g in rng.integers(7, size=60)
    ]
    edges.sort(key=lambda edge: edge[0] if seed % 4 == 3 else 0)
    columns = int(rng.integers(1, 4))
    edge_labels = rng.integers(3, 7, size=(60, columns))
    edge_attributes = rng.normal(size=(60, columns)).round(6)
    node_labels = rng.integers(2, 6, size=(len(graph), columns))
    attributes = rng.normal(size=(len(graph), columns)).round(6)
    return write_set(
        folder,
        edges=[(s + 1, t + 1) for s, t in edges],
        graph_of_node=(graph + 1).tolist(),
        labels=rng.integers(-1, 3, size=7).tolist(),
        node_labels=as_lines(node_labels),
        attributes=as_lines(attributes) if seed % 2 else None,
        edge_labels=as_lines(edge_labels) if seed % 4 in (1, 3) else None,
        edge_attributes=as_lines(edge_attributes) if seed % 4 in (2, 3) else None,
        separator=", " if seed % 3 else ",",
    )


def as_pairs(edge_index: torch.Tensor) -> list[tuple[int, int]]:
    return sorted(zip(*edge_index.tolist(), strict=True))


def sorted_attributes(graph: Any) -> Any:
    """Give the attributes in the order of the sorted edges."""
    source, target = graph.edge_index
    return graph.edge_attr[torch.argsort(source * graph.num_nodes + target)]


def assert_same(ours: Sequence[Any], theirs: Any) -> None:
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.num_nodes == other.num_nodes
        assert as_pairs(mine.edge_index) == as_pairs(other.edge_index)
        assert mine.edge_index.dtype == torch.int64
        assert torch.equal(mine.y, other.y)
        assert (mine.x is None) == (other.x is None)
        if mine.x is not None:
            torch.testing.assert_close(mine.x, other.x, rtol=0, atol=0, equal_nan=True)
        assert (mine.edge_attr is None) == (other.edge_attr is None)
        if mine.edge_attr is not None:
            # Sums over repeated edges may differ by rounding.
            torch.testing.assert_close(
                sorted_attributes(mine), sorted_attributes(other)
            )


@pytest.mark.parametrize("seed", range(12))
def test_read_tu__has_the_content_of_pygs_reader(tmp_path: Path, seed: int) -> None:
    folder = write_random(tmp_path / "RANDOM", seed)
    theirs = TUDataset(str(tmp_path), "RANDOM", use_node_attr=True, use_edge_attr=True)
    ours = read_tu(folder)
    assert (ours.edge_attr is None) == (seed % 4 == 0)
    assert_same(ours, theirs)
    # And once more from what was kept.
    assert_same(read_tu(folder), theirs)


@pytest.mark.data
@pytest.mark.parametrize("name", ["ENZYMES", "PROTEINS", "IMDB-BINARY"])
def test_read_tu__benchmark_has_the_content_of_pygs_reader(
    tmp_path: Path, name: str
) -> None:
    # PyG writes beside the files: here, not in the data folder.
    (tmp_path / name).mkdir()
    raw = Path(os.environ["DSGRL_DATA"]) / "tu" / name / "raw"
    (tmp_path / name / "raw").symlink_to(raw.absolute())
    ours = read_tu(tmp_path / name)
    assert_same(ours, TUDataset(str(tmp_path), name, use_node_attr=True))
    # And once more from what was kept.
    assert_same(read_tu(tmp_path / name), ours)


def test_read_tu__small_set_by_hand(tmp_path: Path) -> None:
    path, pair = read_tu(write_small(tmp_path / "SMALL"))
    assert as_pairs(path.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert as_pairs(pair.edge_index) == [(0, 1), (1, 0)]
    assert (path.y.tolist(), pair.y.tolist()) == ([0], [1])
    # The attribute, then the labels 3, 4, 5.
    expected = [[0.1, 1, 0, 0], [2, 0, 0, 1], [-0.3, 1, 0, 0]]
    torch.testing.assert_close(path.x, torch.tensor(expected))
    assert pair.x[0].isnan().tolist() == [True, False, False, False]


def test_read_tu__loops_and_repeated_edges_are_dropped(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "TWICE",
        edges=[(2, 1), (1, 2), (1, 1), (2, 1), (3, 3)],
        graph_of_node=[1, 1, 2],
        labels=[0, 1],
    )
    first, second = read_tu(folder)
    assert as_pairs(first.edge_index) == [(0, 1), (1, 0)]
    assert second.num_edges == 0


def test_read_tu__attributes_stay_with_their_edges(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "EDGES",
        # Not sorted, with a loop whose label is like no other.
        edges=[(3, 2), (2, 1), (1, 1), (1, 2), (5, 4)],
        graph_of_node=[1, 1, 1, 2, 2],
        labels=[0, 1],
        edge_labels=[4, 5, 7, 4, 5],
        edge_attributes=["0.5", "1.5", "9", "2.5", "3.5"],
    )
    path, pair = read_tu(folder)
    assert path.edge_index.t().tolist() == [[0, 1], [1, 0], [2, 1]]
    # The attribute, then the labels 4, 5, 6, 7.
    assert path.edge_attr.tolist() == [
        [2.5, 1, 0, 0, 0],
        [1.5, 0, 1, 0, 0],
        [0.5, 1, 0, 0, 0],
    ]
    assert pair.edge_attr.tolist() == [[3.5, 0, 1, 0, 0]]


def test_read_tu__attributes_of_no_edges(tmp_path: Path) -> None:
    folder = write_set(
        tmp_path / "EDGES",
        edges=[],
        graph_of_node=[1, 2],
        labels=[0, 1],
        edge_labels=[],
        edge_attributes=[],
    )
    assert [graph.num_edges for graph in read_tu(folder)] == [0, 0]
    loops = write_set(
        tmp_path / "LOOPS",
        edges=[(1, 1), (2, 2)],
        graph_of_node=[1, 2],
        labels=[0, 1],
        edge_labels=[1, 2],
    )
    assert [graph.num_edges for graph in read_tu(loops)] == [0, 0]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("node_labels", [None, [1, 2, 3]])
@pytest.mark.parametrize("edges", [[], [(1, 2), (2, 1)]])
def test_read_tu__graphs_without_edges_or_nodes(
    tmp_path: Path, edges: list[tuple[int, int]], node_labels: Any, kept: bool
) -> None:
    # The graphs 2 and 4 have no nodes, the graph 3 no edges.
    folder = write_set(
        tmp_path / "EMPTY",
        edges=edges,
        graph_of_node=[1, 1, 3],
        labels=[5, 7, 5, 7],
        node_labels=node_labels,
    )
    if kept:
        read_tu(folder)
    graphs = read_tu(folder)
    assert [graph.num_nodes for graph in graphs] == [2, 0, 1, 0]
    assert [graph.num_edges for graph in graphs] == [len(edges), 0, 0, 0]
    assert [graph.y.tolist() for graph in graphs] == [[0], [1], [0], [1]]
    columns = 0 if node_labels is None else 3
    assert {graph.num_features for graph in graphs} == {columns}


def test_read_tu__graphs_are_slices_of_common_tensors(tmp_path: Path) -> None:
    graphs = read_tu(write_random(tmp_path / "RANDOM", seed=1))
    for part in ("edge_index", "x", "y", "edge_attr"):
        storages = {graph[part].untyped_storage().data_ptr() for graph in graphs}
        assert len(storages) == 1, part


def test_read_tu__second_time_reads_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_random(tmp_path / "RANDOM", seed=1)
    first = read_tu(folder)
    assert [path.name for path in (folder / "dsgrl").iterdir()] == ["graphs.npz"]

    def fail(_: Path) -> Any:
        raise AssertionError("parsed a second time")

    monkeypatch.setattr(tu, "_parse", fail)
    assert_same(read_tu(folder), first)


@pytest.mark.parametrize("part", ["A", "graph_labels", "node_labels"])
def test_read_tu__other_files_are_noticed(tmp_path: Path, part: str) -> None:
    folder = write_small(tmp_path / "SMALL")
    before = read_tu(folder)
    path = folder / "raw" / f"SMALL_{part}.txt"
    changed = {
        "A": "1, 2\n",
        "graph_labels": "1\n1\n",
        "node_labels": "3\n3\n3\n3\n3\n",
    }
    path.write_text(changed[part])
    after = read_tu(folder)
    with pytest.raises(AssertionError):
        assert_same(after, before)
    # Optional files may come and go.
    (folder / "raw" / "SMALL_node_attributes.txt").unlink()
    assert read_tu(folder)[0].num_features == after[0].num_features - 1


def test_read_tu__broken_keep_is_made_anew(tmp_path: Path) -> None:
    folder = write_random(tmp_path / "RANDOM", seed=1)
    expected = read_tu(folder)
    kept = folder / "dsgrl" / "graphs.npz"
    whole = kept.read_bytes()
    rng = np.random.default_rng(0)
    broken = [b"", b"no archive", whole[: len(whole) // 2], whole[:-1]]
    for position in rng.integers(len(whole), size=300):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << int(rng.integers(8))
        broken.append(bytes(flipped))
    for content in broken:
        kept.write_bytes(content)
        assert_same(read_tu(folder), expected)


def test_read_tu__keep_holds_plain_arrays_only(tmp_path: Path) -> None:
    folder = write_random(tmp_path / "RANDOM", seed=1)
    read_tu(folder)
    with np.load(folder / "dsgrl" / "graphs.npz", allow_pickle=False) as arrays:
        assert all(arrays[key].dtype.kind in "iufU" for key in arrays.files)


def test_read_tu__folder_that_takes_no_files_is_read_all_the_same(
    tmp_path: Path,
) -> None:
    folder = write_random(tmp_path / "RANDOM", seed=1)
    # A file where the folder of the kept arrays would be made.
    (folder / "dsgrl").touch()
    first = read_tu(folder)
    assert_same(read_tu(folder), first)
    assert (folder / "dsgrl").is_file()


def test_has_raw_files__all_that_are_needed(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "SMALL")
    (folder / "raw" / "SMALL_node_labels.txt").unlink()
    assert has_raw_files(folder)
    (folder / "raw" / "SMALL_graph_labels.txt").unlink()
    assert not has_raw_files(folder)


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("A", "1, 4\n", "from one graph to another"),
        ("A", "1, 6\n", "nodes 6 to 6, expected 1 to 5"),
        ("A", "0, 1\n", "nodes 0 to 0, expected 1 to 5"),
        ("A", "1, 2, 3\n", "has 3 columns, expected 2"),
        ("A", "1, 2\n1\n", "cannot be read"),
        ("A", "1, two\n", "cannot be read"),
        ("graph_indicator", "1\n2\n1\n2\n2\n", "goes back to an earlier graph"),
        ("graph_indicator", "1\n1\n1\n2\n3\n", "1 to 3, expected some of 1 to 2"),
        ("graph_indicator", "0\n1\n1\n2\n2\n", "0 to 2, expected some of 1 to 2"),
        ("graph_indicator", "", "is empty"),
        ("graph_labels", "yes\nno\n", "cannot be read"),
        ("node_labels", "1\n2\n", "has 2 lines, expected 5"),
        ("node_attributes", "1\n2\n", "has 2 lines, expected 5"),
        ("node_attributes", "1\n2\n3\n4\nfive\n", "cannot be read"),
        ("edge_labels", "1\n2\n", "has 2 lines, expected 6, one for every edge"),
        ("edge_attributes", "1\n2\n", "has 2 lines, expected 6, one for every edge"),
    ],
)
def test_read_tu__wrong_files_are_named(
    tmp_path: Path, part: str, text: str, message: str
) -> None:
    folder = write_small(tmp_path / "SMALL")
    path = folder / "raw" / f"SMALL_{part}.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_tu(folder)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert not (folder / "dsgrl").exists()


@pytest.mark.data
@pytest.mark.slow
def test_read_tu__collab_is_read_fast_and_small(tmp_path: Path) -> None:
    (tmp_path / "COLLAB").mkdir()
    raw = Path(os.environ["DSGRL_DATA"]) / "tu" / "COLLAB" / "raw"
    (tmp_path / "COLLAB" / "raw").symlink_to(raw.absolute())
    code = (
        "import resource, sys, time\n"
        "from pathlib import Path\n"
        "from dsgrl.io.tu import read_tu\n"
        "start = time.perf_counter()\n"
        "graphs = read_tu(Path(sys.argv[1]))\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(graphs.y), time.perf_counter() - start, peak / 2**20)\n"
    )
    for most_seconds in (30, 10):
        run = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "COLLAB")],
            capture_output=True,
            text=True,
            check=True,
        )
        graphs, seconds, gigabytes = map(float, run.stdout.split())
        assert graphs == 5000
        assert seconds < most_seconds
        assert gigabytes < 4
    assert zipfile.is_zipfile(tmp_path / "COLLAB" / "dsgrl" / "graphs.npz")
