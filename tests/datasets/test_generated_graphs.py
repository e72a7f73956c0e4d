from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dsgrl.bench.systems import labels_of, masks_of, unlabelled
from dsgrl.datasets import generated
from dsgrl.datasets.generated import SHAPES, Shape, generate, load_generated
from dsgrl.datasets.table import DATASETS
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.graph import as_graph
from dsgrl.graph.store import StoredGraph

SMALL = Shape(
    num_nodes=3000,
    num_edges=60_001,
    num_features=20,
    num_labels=5,
    communities=5,
    signal=0.5,
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> StoredGraph:
    place = tmp_path_factory.mktemp("generated") / "small"
    generate(SMALL, place)
    return StoredGraph.open(place)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes__are_those_of_the_graphs_they_stand_for(name: str) -> None:
    shape, row = SHAPES[name], DATASETS[name]
    assert DATASETS[row.stands_for].counts == row.counts
    sizes = (shape.num_nodes, shape.num_edges, shape.num_features, shape.num_labels)
    assert (1, *sizes) == row.counts
    assert "generated" in row.summary


def test_generate__exact_counts_both_directions_and_one_loop(
    graph: StoredGraph,
) -> None:
    pattern = graph.adjacency.pattern
    source, target = graph.edge_index
    assert (graph.num_nodes, graph.num_edges) == (3000, 60_001)
    assert pattern.is_sorted
    number = source * 3000 + target
    assert number.unique().numel() == 60_001
    assert torch.equal(number.sort().values, (target * 3000 + source).sort().values)
    assert int((source == target).sum()) == 1
    assert as_graph(graph).num_features == 20


def test_generate__degrees_have_a_heavy_tail_that_can_be_switched_off(
    graph: StoredGraph, tmp_path: Path
) -> None:
    generate(replace(SMALL, tail=0.0), tmp_path / "even")
    tops = []
    for each in (graph, StoredGraph.open(tmp_path / "even")):
        degree = each.adjacency.pattern.rowptr.diff().float()
        tops.append(float(degree.max() / degree.mean()))
    assert tops[0] > 4 > 2.5 > tops[1]


def test_generate__edges_and_features_follow_the_planted_classes(
    graph: StoredGraph,
) -> None:
    y = graph.y
    assert y is not None
    source, target = graph.edge_index
    # Three of four edges stay, and one of five others; a label in 20 is wrong.
    alike = float((y[source] == y[target]).float().mean())
    assert alike == pytest.approx(0.8 * 0.96**2 + 0.2 * 0.01, abs=0.03)
    x = np.asarray(graph.x)
    masks = masks_of(graph, None)
    splits = protocol_splits("public", labels_of(graph, None), masks=masks)
    score = evaluate(x, y, splits=splits, protocol="public")
    assert 60 < score.mean < 96


def test_generate__split_covers_every_node_once(graph: StoredGraph) -> None:
    masks = masks_of(graph, None)
    assert masks is not None
    parts = np.stack([*masks.values()])
    assert (parts.sum(axis=0) == 1).all()
    assert parts.mean(axis=1) == pytest.approx(SMALL.shares, abs=0.03)
    assert unlabelled(graph) is graph


def test_generate__several_labels_a_node(tmp_path: Path) -> None:
    shape = replace(SMALL, several=True, num_labels=12)
    generate(shape, tmp_path / "several")
    graph = StoredGraph.open(tmp_path / "several")
    assert graph.y is not None
    assert graph.y.shape == (3000, 12)
    assert set(graph.y.unique().tolist()) == {0, 1}
    assert 0.02 < float(graph.y.float().mean()) < 0.3


def test_generate__same_seed_same_graph(graph: StoredGraph, tmp_path: Path) -> None:
    generate(SMALL, tmp_path / "again")
    generate(SMALL, tmp_path / "other", seed=1)
    again, other = (StoredGraph.open(tmp_path / name) for name in ("again", "other"))
    hashes = {name: file["sha256"] for name, file in graph.manifest.files.items()}
    assert hashes == {n: f["sha256"] for n, f in again.manifest.files.items()}
    assert hashes != {n: f["sha256"] for n, f in other.manifest.files.items()}


def test_load_generated__made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHAPES, "small", SMALL)
    load_generated("small", tmp_path)
    monkeypatch.setattr(generated, "generate", None)
    assert load_generated("small", tmp_path).num_nodes == 3000
