"""JOAO: which views it comes to prefer, and that the choice survives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dsgrl.estimator import embedder, load_model
from dsgrl.graph import Graph, Spec, as_graph
from dsgrl.methods import METHODS, FitConfig, Progress, configure
from dsgrl.methods.joao import project_onto_simplex
from dsgrl.train import begin
from samples import make_graphs

NOW = Progress(epoch=1, step=1, epochs=3)


def build(**changes: Any) -> tuple[Any, Graph, FitConfig]:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = configure("joao", {"out_channels": 24, **changes}, spec).resolved(spec)
    return METHODS["joao"].build(config, spec), graph, config


def update(method: Any, graph: Graph, config: Any, losses: Tensor) -> Tensor:
    """Let an epoch end in which every pair of augmentations had a given loss."""

    def compare(batch: Graph, choice: Tensor) -> tuple[Tensor, None]:
        pair = choice[:, 0]
        assert choice.eq(pair[:, None]).all()
        (number,) = (method.pairs == pair).all(dim=1).nonzero().flatten()
        return losses[number], None

    method.compare = compare
    list(method.batches(graph, config))
    method.after_epoch(NOW)
    return method.probability.clone()


@pytest.mark.parametrize("size", [1, 2, 5, 25])
def test_projection__is_the_closest_distribution(size: int) -> None:
    """Against any other distribution, and against the bisection of the authors."""
    for _ in range(20):
        b = 2 * torch.randn(size, dtype=torch.float64)
        p = project_onto_simplex(b)
        assert p.min() >= 0
        assert p.sum().item() == pytest.approx(1)
        others = torch.distributions.Dirichlet(torch.ones(size).double()).sample((500,))
        assert ((others - b).norm(dim=1) >= (p - b).norm() - 1e-12).all()
        low, high = b.min() - 1, b.max()
        for _ in range(80):
            middle = (low + high) / 2
            too_much = (b - middle).clamp_min(0).sum() > 1
            low, high = (middle, high) if too_much else (low, middle)
        torch.testing.assert_close(p, (b - low).clamp_min(0))
        torch.testing.assert_close(project_onto_simplex(p), p)


def test_update__by_hand() -> None:
    method, graph, config = build(prior_weight=0.5)
    torch.testing.assert_close(method.probability, torch.full((5,), 0.2))
    losses = torch.tensor([1.0, 1.1, 1.3, 1.0, 1.0])
    # 0.2 + losses sums to 6.4; less 1.08 each, the five sum to 1.
    expected = torch.tensor([0.12, 0.22, 0.42, 0.12, 0.12])
    torch.testing.assert_close(update(method, graph, config, losses), expected)
    # A second time: with equal losses only the prior moves them.
    again = update(method, graph, config, torch.ones(5))
    torch.testing.assert_close(again, expected - 0.5 * (expected - 0.2))


def test_update__the_hardest_views_are_preferred() -> None:
    method, graph, config = build()
    for _ in range(5):
        p = update(method, graph, config, torch.tensor([0.1, 0.2, 0.9, 0.3, 0.0]))
    assert p.argmax() == 2
    assert p[4] == 0


def test_pairs__both_views_have_all_of_them() -> None:
    method, _, _ = build(both_views=True)
    assert method.pairs.shape == (*method.probability.shape, 2) == (25, 2)
    assert len(method.pairs.unique(dim=0)) == 25
    method.probability.zero_()
    method.probability[7], method.probability[20] = 0.25, 0.75
    drawn = method.draw(4000)
    assert drawn.shape == (2, 4000)
    is_one = (drawn.t() == method.pairs[7]).all(dim=1)
    assert is_one.double().mean().item() == pytest.approx(0.25, abs=0.03)
    assert (drawn.t()[~is_one] == method.pairs[20]).all()


def test_comparison__leaves_weights_and_running_statistics_alone() -> None:
    method, graph, config = build(batch_size=3)
    method.train()
    list(method.batches(graph, config))
    before = {k: v.clone() for k, v in method.state_dict().items()}
    method.after_epoch(NOW)
    assert method.training
    for key, value in method.state_dict().items():
        assert torch.equal(value, before[key]) == (key != "probability"), key


def test_comparison__is_of_one_batch_in_five(monkeypatch: pytest.MonkeyPatch) -> None:
    method, graph, config = build(batch_size=1)
    seen: list[int] = []

    def compare(batch: Graph, choice: Tensor) -> tuple[Tensor, None]:
        seen.append(batch.num_graphs)
        return torch.zeros(()), None

    monkeypatch.setattr(method, "compare", compare)
    list(method.batches(graph, config))
    method.after_epoch(NOW)
    # Two of eight batches, each with five pairs.
    assert seen == [1] * 10


def test_choice__survives_saving_and_resuming(tmp_path: Path) -> None:
    data = make_graphs()
    model = embedder("joao")(out_channels=24, epochs=3).fit(data)
    learned = model.method_.probability
    assert not torch.allclose(learned, torch.full((5,), 0.2))
    model.save(tmp_path / "model")
    assert torch.equal(load_model(tmp_path / "model").method_.probability, learned)
    config = configure("joao", {"out_channels": 24, "epochs": 3})
    with begin("joao", data, config) as begun:
        begun.training.run_epoch()
        state = begun.training.state_dict()
    with begin("joao", data, config) as begun:
        begun.training.load_state_dict(state)
        begun.training.run()
        resumed: Any = begun.training.method
        assert torch.equal(resumed.probability, learned)


def test_fitted__holds_no_training_data() -> None:
    model = embedder("joao")(out_channels=24, epochs=1).fit(make_graphs())
    assert model.method_._batches is None
    assert np.isfinite(model.transform(make_graphs(seed=4))).all()
