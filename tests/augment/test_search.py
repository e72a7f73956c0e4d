import importlib.util

import pytest

from dsgrl.augment import LearnedGraph
from dsgrl.augment.search import pick_search
from dsgrl.graph import Spec, as_graph
from samples import make_graphs


def test_pick_search__all_pairs_while_they_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pick_search("auto", 5000, 256) == "exact"
    assert pick_search("auto", 50_000, 256) == "index"
    assert pick_search("exact", 50_000, 256) == "exact"
    assert pick_search("hops", 10, 256) == "hops"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert pick_search("auto", 50_000, 256) == "hops"


def test_pick_search__counts_the_largest_graph_not_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = Spec.of(as_graph(make_graphs((9, 12, 7))))
    assert spec.largest == 12
    monkeypatch.setattr("dsgrl.augment.search.EXACT_PRODUCTS", 12**2 * 256)
    assert LearnedGraph().picks(spec) == {"candidates": "exact"}
    assert LearnedGraph(augment_channels=257).picks(spec) == {"candidates": "index"}
