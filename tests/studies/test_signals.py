"""What a graph itself says of an embedding."""

import pytest
import torch
from torch import Tensor

from dsgrl.graph import Graph, Spec, as_graph, propagate
from dsgrl.methods import Method, configure
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.train.diagnostics import measure_health, spectrum_slope
from dsgrl.train.links import HeldOutLinks
from dsgrl.typing import LossTerms
from samples import LEVELS, make_data, make_graphs
from studies.signals import Signals, predictability


class Given(Method):
    """Embeds by a function of the graph."""

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def embed(self, batch: Graph) -> Tensor:
        z: Tensor = self.function(batch)  # type: ignore[operator]
        return z

    def training_loss(self, batch: Graph) -> LossTerms:
        raise NotImplementedError


@pytest.mark.parametrize("level", LEVELS)
def test_signals__are_finite_numbers_at_every_level(level: str) -> None:
    graph = as_graph(make_data(level))
    links = HeldOutLinks(graph.adjacency, 0.3) if graph.ptr is None else None
    noise = torch.randn(graph.num_rows, 6)
    found = Signals(graph, links).measure(Given(lambda batch: noise))
    assert ("link_auc" in found) == (links is not None)
    assert {"effective_rank", "slope", "stability"} <= found.keys()
    assert all(torch.isfinite(torch.tensor(value)) for value in found.values())


def test_stability__one_for_what_ignores_edges_and_less_for_what_is_them() -> None:
    graph = as_graph(make_data("node"))
    signals = Signals(graph, None)
    unmoved = signals.measure(Given(lambda batch: batch.x))
    mix = torch.randn(graph.num_nodes, 4)
    moved = signals.measure(Given(lambda batch: propagate(batch.adjacency, mix)))
    assert unmoved["stability"] == 1.0
    assert 0 < moved["stability"] < 1.0


def test_stability__vectors_that_are_all_alike_tell_nothing() -> None:
    graph = as_graph(make_data("node"))
    found = Signals(graph, None).measure(
        Given(lambda batch: torch.ones(batch.num_nodes, 3))
    )
    assert found["stability"] == pytest.approx(1 / graph.num_nodes)


def test_own_features__known_to_themselves_and_not_to_noise() -> None:
    graph = as_graph(make_graphs((9, 5, 12, 7, 6, 10, 8, 11) * 10))
    signals = Signals(graph, None)
    target = signals.targets["own_features"]
    order = signals.orders[0]
    assert predictability(target, target, order) > 0.9
    assert predictability(torch.randn(len(target), 3), target, order) < 0.1


def test_predictability__ignores_constant_columns_and_too_few_rows() -> None:
    z = torch.randn(40, 3)
    target = torch.cat([z[:, :1], torch.ones(40, 1)], dim=1)
    assert predictability(z, target, torch.arange(40)) > 0.9
    assert predictability(z, torch.ones(40, 2), torch.arange(40)) == 0.0
    assert predictability(z[:3], target[:3], torch.arange(3)) == 0.0


def test_slope__is_that_of_the_eigenvalues() -> None:
    rows, _ = torch.linalg.qr(torch.randn(400, 32).double())
    rows = rows - rows.mean(dim=0)
    rows, _ = torch.linalg.qr(rows)
    scale = torch.arange(1, 33).double().pow(-0.75)
    # Eigenvalues are squares of the scales: they fall as rank ** -1.5.
    assert spectrum_slope(rows * scale) == pytest.approx(1.5, abs=0.05)


def test_signals__a_type_without_nodes_is_passed_over() -> None:
    data = make_data("hetero")
    data["film", "in", "place"].edge_index = torch.empty(2, 0, dtype=torch.long)
    data["place"].x = torch.empty(0, 2)
    graph = as_graph(data)
    noise = torch.randn(graph.num_rows, 6)
    found = Signals(graph, None).measure(Given(lambda batch: noise))
    assert all(torch.isfinite(torch.tensor(value)) for value in found.values())


def test_augmented__spectrum_of_what_the_augmenters_make() -> None:
    graph = as_graph(make_data("node"))
    settings = {
        "augment": "feature",
        "views__augment_channels": 12,
        "out_channels": 4,
    }
    spec = Spec.of(graph)
    torch.manual_seed(0)
    method = DSGRLMethod.build(configure("dsgrl", settings).resolved(spec), spec)
    spread = Signals(graph, None).measure(method)
    assert method.features is not None
    with torch.no_grad():
        x1, _ = method.features(graph.x).unbind(dim=1)
    assert spread["augmented_rank"] == measure_health(x1)["effective_rank"]
    assert spread["augmented_slope"] == spectrum_slope(x1)
    # All columns of a view alike: one direction is left.
    with torch.no_grad():
        for weight in method.features.weights:
            weight[:] = weight[..., :1]
    flat = Signals(graph, None).measure(method)
    assert flat["augmented_rank"] == pytest.approx(1.0, abs=1e-3)
    assert spread["augmented_rank"] > 2
