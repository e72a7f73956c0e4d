"""Anchors: no labels, rows in the order of the nodes, resumable, in tables."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from dsgrl import cli
from dsgrl.bench import anchor_cells
from dsgrl.bench.anchor_cells import AnchorCell, plan_anchors, run_anchors, visible
from dsgrl.bench.anchor_tables import render_anchors
from dsgrl.bench.anchors import ANCHORS, Anchor, undirected
from dsgrl.bench.lines import append_line, read_lines
from dsgrl.bench.runner import Failure
from dsgrl.datasets.table import DATASETS, Dataset
from dsgrl.typing import FloatArray, InputError

KEYS = """
    suite dataset features method columns protocol metric mean std n scores fit_seconds
    probe_seconds peak_rss_mb threads seed version git
"""
EDGES_ONLY = list(ANCHORS[False])
LIBRARIES = ("fastnode2vec", "sknetwork", "fastrp", "pycleora")
ISOLATED = [7, 299]


def two_groups() -> Data:
    """Even and odd nodes, linked among themselves; two nodes have no edge."""
    generator = torch.Generator().manual_seed(0)
    group = torch.arange(300) % 2
    chance = torch.where(group[:, None] == group[None, :], 0.1, 0.002)
    linked = torch.rand(300, 300, generator=generator) < chance
    linked[ISOLATED] = linked[:, ISOLATED] = False
    edges = to_undirected(linked.triu(1).nonzero().t().contiguous(), num_nodes=300)
    x = torch.randn(300, 6, generator=generator) + 2 * group[:, None]
    return Data(x=x, edge_index=edges, y=group)


def shuffled(data: Data) -> Data:
    """Return the same graph with its edges in another order."""
    order = torch.randperm(data.num_edges, generator=torch.Generator().manual_seed(1))
    return Data(x=data.x, edge_index=data.edge_index[:, order], y=data.y)


@pytest.fixture(scope="module")
def embedded() -> dict[str, list[FloatArray]]:
    """Embeddings by name: of a graph, then of the same with shuffled edges."""
    graphs = [visible(data, False) for data in (two_groups(), shuffled(two_groups()))]
    return {
        name: [ANCHORS[False][name].embed(graph, 0) for graph in graphs]
        for name in EDGES_ONLY
        if name != "dsgrl"
    }


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Data:
    data = two_groups()
    row = Dataset(lambda _: data, "toy", 300, data.num_edges, 6, 2)
    for name in ("toy", "toy-two"):
        monkeypatch.setitem(DATASETS, name, row)
    return data


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch, toy: Data) -> list[str]:
    """Replace all anchors by quick ones; every fit is noted."""
    noted: list[str] = []

    def make(name: str) -> Anchor:
        def embed(data: Data, seed: int) -> FloatArray:
            noted.append(f"{name} {seed}: {', '.join(sorted(data.keys()))}")
            return np.eye(data.num_nodes, 4, dtype=np.float32)

        return Anchor(embed, has_seed=name != "raw")

    for table in ANCHORS.values():
        for name in table:
            monkeypatch.setitem(table, name, make(name))
    return noted


def run(results: Path | None = None, **options: Any) -> list[dict[str, Any]]:
    options = {"datasets": ["toy"], "in_process": True, **options}
    return list(run_anchors(results=results, **options))


@pytest.mark.parametrize("name", [name for name in EDGES_ONLY if name != "dsgrl"])
def test_anchor__rows_are_nodes_in_any_order_of_the_edges(
    embedded: dict[str, list[FloatArray]], name: str
) -> None:
    z, again = embedded[name]
    assert z.dtype == np.float32
    assert z.shape == again.shape
    assert len(z) == 300
    assert np.isfinite(z).all()
    # Products of rows: the eigenvectors of `spectral` have no fixed sign.
    np.testing.assert_allclose(z @ z.T, again @ again.T, rtol=1e-3, atol=1e-3)
    # Linked nodes are alike: not so if the rows are in another order.
    unit = z - z.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    one, other = two_groups().edge_index.numpy()
    aligned, mixed = (
        (unit[order[one]] * unit[order[other]]).sum(axis=1).mean()
        for order in (np.arange(300), np.random.default_rng(0).permutation(300))
    )
    assert aligned > mixed + 0.05


@pytest.mark.parametrize("name", ["node2vec", "fastrp", "cleora"])
def test_anchor__a_node_without_edges_has_zeros(
    embedded: dict[str, list[FloatArray]], name: str
) -> None:
    empty = (embedded[name][0] == 0).all(axis=1)
    assert empty.nonzero()[0].tolist() == ISOLATED


@pytest.mark.parametrize("name", ["fastrp", "cleora"])
def test_anchor__another_seed_gives_another_embedding(
    embedded: dict[str, list[FloatArray]], name: str
) -> None:
    other = ANCHORS[False][name].embed(visible(two_groups(), False), 1)
    assert not np.allclose(other, embedded[name][0])


def test_undirected__each_edge_both_ways_once_without_loops() -> None:
    edges = torch.tensor([[0, 0, 1, 2, 2], [1, 1, 0, 2, 3]])
    matrix = undirected(Data(edge_index=edges, num_nodes=5))
    expected = np.zeros((5, 5))
    for one, other in ((0, 1), (2, 3)):
        expected[one, other] = expected[other, one] = 1
    np.testing.assert_array_equal(matrix.toarray(), expected)
    assert matrix.nnz == 4


def test_anchors__see_no_labels(fits: list[str], toy: Data) -> None:
    toy.train_mask = toy.y == 0
    toy.section = toy.y
    run(methods=["walks", "hops"])
    assert fits == [
        "walks 0: edge_index, num_nodes",
        "hops 0: edge_index, num_nodes, x",
    ]
    assert "y" in toy


@pytest.mark.parametrize("features", [False, True])
def test_anchors__a_poisoned_label_changes_nothing(features: bool) -> None:
    name = "hops" if features else "walks"
    clean, poisoned = two_groups(), two_groups()
    poisoned.y = torch.full((300,), torch.nan)
    one, other = (
        ANCHORS[features][name].embed(visible(data, features), 0)
        for data in (clean, poisoned)
    )
    np.testing.assert_array_equal(one, other)


def test_run__a_line_has_what_it_promises(tmp_path: Path, toy: Data) -> None:
    results = tmp_path / "new" / "anchors.jsonl"
    lines = run(results, methods=["fastrp", "raw"])
    assert read_lines([results]) == lines
    found = [(line["method"], line["features"], line["columns"]) for line in lines]
    assert found == [("fastrp", False, 128), ("raw", True, 6)]
    for line in lines:
        assert list(line) == KEYS.split()
        assert (line["protocol"], line["metric"]) == ("5/15/80", "accuracy")
        assert line["n"] == len(line["scores"]) == 10
        assert line["mean"] == pytest.approx(np.mean(line["scores"]), abs=1e-3)
        assert line["std"] == pytest.approx(np.std(line["scores"]), abs=1e-3)
        assert line["fit_seconds"] >= 0
        assert line["peak_rss_mb"] is None
    assert lines[0]["mean"] > 90


def test_run__a_process_of_its_own_has_a_peak_memory(
    fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []

    def call(function: Any, *args: Any) -> Any:
        called.append(function)
        return function(*args)

    # Another process would not know the toy.
    monkeypatch.setattr(anchor_cells, "run_isolated", call)
    (line,) = run(methods=["walks"], in_process=False)
    assert called == [anchor_cells.run_anchor]
    assert line["peak_rss_mb"] > 100


def test_run__finished_lines_are_not_made_again(
    tmp_path: Path, fits: list[str]
) -> None:
    results = tmp_path / "r.jsonl"
    append_line(results, {"suite": "speed", "case": "photo"})
    first = run(results, methods=["dsgrl", "raw"])
    assert [(line["method"], line["features"]) for line in first] == [
        ("dsgrl", False),
        ("raw", True),
        ("dsgrl", True),
    ]
    assert run(results, methods=["dsgrl", "raw"]) == []
    assert len(fits) == 3
    # A kill leaves a partial line: it alone is made again.
    results.write_bytes(results.read_bytes()[:-20])
    (again,) = run(results, methods=["dsgrl", "raw"])
    assert (again["method"], again["features"]) == ("dsgrl", True)
    more = run(results, methods=["dsgrl", "raw"], seeds=(0, 1))
    assert [(line["method"], line["seed"]) for line in more] == [("dsgrl", 1)] * 2
    assert len(read_lines([results])) == 6


def test_run__a_cell_that_fails_is_told_and_the_rest_goes_on(
    fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Data, __: int) -> FloatArray:
        raise InputError("too small")

    monkeypatch.setitem(ANCHORS[False], "walks", Anchor(refuse))
    failures: list[Failure] = []
    lines = run(methods=["walks", "hops"], on_failure=failures.append)
    assert [line["method"] for line in lines] == ["hops"]
    assert failures == [Failure("toy walks", "too small")]


def test_run__an_absent_dataset_is_told_once(
    fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> Any:
        raise InputError("no such file")

    monkeypatch.setitem(DATASETS, "toy-two", Dataset(fail, "toy", 300, 1, 6, 2))
    failures: list[Failure] = []
    datasets = ["toy-two", "toy"]
    lines = run(datasets=datasets, methods=["dsgrl"], on_failure=failures.append)
    assert {line["dataset"] for line in lines} == {"toy"}
    assert failures == [Failure("toy-two", "no such file")]


@pytest.mark.parametrize("library", LIBRARIES)
def test_run__a_missing_library_is_told_before_any_work(
    toy: Data, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(anchor_cells, "run_anchor", lambda *_: pytest.fail("it ran"))
    with pytest.raises(InputError) as caught:
        run()
    assert str(caught.value) == (
        f"{library} is not installed: pip install 'dsgrl[anchors]'"
    )
    (name,) = (n for n, a in ANCHORS[False].items() if a.library == library)
    for module in [m for m in sys.modules if m.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(InputError, match="is not installed"):
        ANCHORS[False][name].embed(visible(toy, False), 0)


def test_run__ours_need_no_library(toy: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)
    (line,) = run(methods=["walks"])
    assert line["method"] == "walks"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"datasets": ["toi"]}, "unknown dataset 'toi'"),
        ({"datasets": ["mutag"]}, "dataset 'mutag' is not meant for suite 'anchors'"),
        ({"datasets": ["yelp"]}, "dataset 'yelp' is not meant for suite 'anchors'"),
        ({"methods": ["node2vce"]}, "did you mean 'node2vec'"),
    ],
)
def test_run__an_unknown_name_is_told_before_any_work(
    fits: list[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        run(**options)
    assert said in str(caught.value)
    assert fits == []


def test_plan__by_default_all_that_is_at_hand(tmp_path: Path) -> None:
    cells = plan_anchors(None, None, (0,), tmp_path)
    assert {cell.dataset for cell in cells} == {"debian"}
    assert len(cells) == sum(map(len, ANCHORS.values()))
    twice = plan_anchors(["Debian", "debian"], ["raw", "raw"], (0, 1), None)
    assert twice == [AnchorCell(dataset="debian", features=True, method="raw", seed=0)]


def bench(monkeypatch: pytest.MonkeyPatch, words: str) -> Any:
    monkeypatch.setattr("sys.argv", ["dsgrl", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return stopped.value.code


def test_bench__prints_the_lines_and_tables_show_them(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    fits: list[str],
) -> None:
    results = tmp_path / "anchors.jsonl"
    words = f"bench anchors --datasets toy --in-process --results {results}"
    assert bench(monkeypatch, f"{words} --methods hops,walks --seeds 3") == 0
    printed = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert printed == read_lines([results])
    assert [line["seed"] for line in printed] == [3, 3]
    assert bench(monkeypatch, f"tables {results}") == 0
    assert capsys.readouterr().out == render_anchors(printed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--methods deepwalk", "unknown method 'deepwalk'"),
        ("--datasets nowhere", "unknown dataset 'nowhere'"),
        ("--recipe paper", "--recipe has no meaning for suite 'anchors'"),
    ],
)
def test_bench__a_mistake_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    said: str,
) -> None:
    assert bench(monkeypatch, f"bench anchors {words}") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def result(
    dataset: str, method: str, score: float, seconds: float, **more: Any
) -> dict[str, Any]:
    line = {"suite": "anchors", "dataset": dataset, "features": False, "seed": 0}
    scores = [score - 1, score + 1]
    return {**line, "method": method, "scores": scores, "fit_seconds": seconds, **more}


def test_render__two_tables_with_the_best_in_bold() -> None:
    lines = [
        {"suite": "speed", "case": "photo"},
        result("cora", "walks", 10, 1),
        result("cora", "walks", 76, 0.62),
        result("cora", "node2vec", 70, 6),
        result("cora", "node2vec", 74, 18, seed=1),
        result("debian", "node2vec", 64.04, 14),
        result("debian", "walks", 64.01, 1.38),
        result("photo", "walks", 100, 3),
        result("cora", "raw", 59, 0.001, features=True),
    ]
    assert render_anchors(lines) == (
        "### Edges only\n"
        "\n"
        "| dataset | node2vec | walks |\n"
        "| --- | --- | --- |\n"
        "| cora | 72.0 (12 s) | **76.0** (0.6 s) |\n"
        "| debian | **64.0** (14 s) | **64.0** (1.4 s) |\n"
        "| photo |  | **100.0** (3.0 s) |\n"
        "| mean of 2 | 68.0 (13 s) | **70.0** (1.0 s) |\n"
        "\n"
        "### With features\n"
        "\n"
        "| dataset | raw |\n"
        "| --- | --- |\n"
        "| cora | **59.0** (0.0 s) |\n"
        "| mean of 1 | **59.0** (0.0 s) |\n"
    )


def test_render__no_mean_where_no_dataset_has_all_methods() -> None:
    lines = [result("cora", "walks", 76, 1), result("debian", "old", 64, 14)]
    text = render_anchors(lines)
    assert "| dataset | walks | old |" in text
    assert "mean" not in text
    assert render_anchors([]) == "no results\n"
