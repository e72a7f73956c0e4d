import pytest
import torch
from torch_geometric.data import Data

from dsgrl.graph import Graph, as_graph
from dsgrl.train import memory
from dsgrl.train.memory import missing_bytes
from samples import build_method


def make_empty(num_nodes: int) -> Graph:
    edges = torch.zeros(2, 1, dtype=torch.long)
    return as_graph(Data(x=torch.ones(num_nodes, 1), edge_index=edges))


def test_estimate__near_what_was_measured_on_github() -> None:
    """Within a factor of 1.5 of 433 MB (results/speed.jsonl, less the imports)."""
    edges = torch.zeros(2, 578_006, dtype=torch.long)
    graph = as_graph(Data(x=torch.ones(37_700, 1), edge_index=edges))
    needed = build_method(augment="feature").training_bytes(graph) / 1e6
    assert 433 / 1.5 < needed < 433 * 1.5


@pytest.mark.parametrize(
    ("size", "words"), [(3e6, "3 MB"), (99e6, "99 MB"), (2.34e9, "2.3 GB")]
)
def test_in_words__small_sizes_in_megabytes(size: float, words: str) -> None:
    assert memory.in_words(size) == words


@pytest.mark.parametrize(("free", "is_short"), [(1e3, True), (1e12, False)])
def test_missing_bytes__only_if_it_will_not_fit(
    free: float, is_short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: free)
    said = missing_bytes(make_empty(100), build_method(in_channels=1))
    assert ("takes about" in said) == is_short


def test_missing_bytes__none_for_a_method_without_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 0.0)
    own = build_method(encoder=torch.nn.Linear(1, 2))
    assert missing_bytes(make_empty(100), own) == ""


def test_available__is_a_sensible_number() -> None:
    assert 1e6 < memory.available_bytes() < 1e15


def test_estimate__of_dropped_features_has_a_copy_for_each_view() -> None:
    edges = torch.zeros(2, 1, dtype=torch.long)
    dense = as_graph(Data(x=torch.randn(50, 2000), edge_index=edges))
    sparse = as_graph(Data(x=torch.eye(50, 2000).to_sparse(), edge_index=edges))
    method, kept = build_method(), build_method(feature_drop=0.0)
    more = method.training_bytes(dense)
    assert more - kept.training_bytes(dense) == 2 * 4 * 50 * 2000
    assert method.training_bytes(sparse) < more
