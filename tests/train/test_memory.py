import importlib.util
import logging
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.estimator import DSGRL
from dsgrl.graph import Graph, as_graph
from dsgrl.methods import resolve_auto
from dsgrl.train import memory
from dsgrl.train.memory import estimate_training_bytes, pick_search, warn_if_too_large

CHOSEN = DSGRL(augment="feature").get_params(deep=False)
PARAMETERS = {**CHOSEN, **resolve_auto(CHOSEN, "node")}


def empty(num_nodes: int) -> Graph:
    edges = torch.zeros(2, 1, dtype=torch.long)
    return as_graph(Data(x=torch.ones(num_nodes, 1), edge_index=edges))


def test_pick_search__all_pairs_while_they_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pick_search("auto", empty(5000), 256) == "exact"
    assert pick_search("auto", empty(50_000), 256) == "index"
    assert pick_search("exact", empty(50_000), 256) == "exact"
    assert pick_search("hops", empty(10), 256) == "hops"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert pick_search("auto", empty(50_000), 256) == "hops"


def test_pick_search__counts_the_largest_graph_not_all() -> None:
    one = Data(x=torch.ones(4000, 1), edge_index=torch.zeros(2, 1, dtype=torch.long))
    assert pick_search("auto", as_graph([one] * 20), 256) == "exact"


def test_estimate__near_what_was_measured_on_github() -> None:
    """Within a factor of 1.5 of 433 MB (results/speed.jsonl, less the imports)."""
    edges = torch.zeros(2, 578_006, dtype=torch.long)
    graph = as_graph(Data(x=torch.ones(37_700, 1), edge_index=edges))
    needed = estimate_training_bytes(graph, PARAMETERS) / 1e6
    assert 433 / 1.5 < needed < 433 * 1.5


@pytest.mark.parametrize(("free", "warned"), [(1e3, True), (1e12, False)])
def test_warning__only_if_it_will_not_fit(
    free: float,
    warned: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: free)
    with caplog.at_level(logging.WARNING):
        warn_if_too_large(empty(100), PARAMETERS)
    assert ("GB" in caplog.text) == warned


def test_available__is_a_sensible_number() -> None:
    found: Any = memory.available_bytes()
    assert found is None or 1e6 < found < 1e15


def test_estimate__of_dropped_features_has_a_copy_for_each_view() -> None:
    parameters = DSGRL().get_params(deep=False)
    parameters |= resolve_auto(parameters, "node")
    edges = torch.zeros(2, 1, dtype=torch.long)
    dense = as_graph(Data(x=torch.randn(50, 2000), edge_index=edges))
    kept = {**parameters, "feature_drop": 0.0}
    more = estimate_training_bytes(dense, parameters)
    assert more - estimate_training_bytes(dense, kept) == 2 * 4 * 50 * 2000
    sparse = as_graph(Data(x=torch.eye(50, 2000).to_sparse(), edge_index=edges))
    assert estimate_training_bytes(sparse, parameters) < more
