"""BGRL: who learns, who follows, and how fast."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from dsgrl.datasets import load_dataset
from dsgrl.estimator import embedder, load_model
from dsgrl.evaluation import evaluate
from dsgrl.graph import as_graph
from dsgrl.methods import configure
from dsgrl.methods.base import Progress
from dsgrl.train import begin, fit_graph
from samples import build_method


def build(**changes: Any) -> Any:
    return build_method("bgrl", **{"out_channels": 6, **changes})


def test_loss__is_the_papers_formula(community_graph: Data) -> None:
    graph, method = as_graph(community_graph), build()
    torch.manual_seed(3)
    found = method.training_loss(graph).total
    torch.manual_seed(3)
    one, other = (perturb(graph) for perturb in method.views)
    expected = torch.tensor(2.0)
    for seen, wanted in ((one, other), (other, one)):
        q = method.predictor(method.encoder(seen.adjacency, seen.x))
        t = method.target(wanted.adjacency, wanted.x)
        expected = expected - F.cosine_similarity(q, t).mean()
    torch.testing.assert_close(found, expected)


def test_views__each_has_its_own_shares() -> None:
    method = build(edge_drop_1=0.1, edge_drop_2=0.2, feature_mask_1=0.3)
    first, second = method.views
    assert (first.edge_drop, second.edge_drop) == (0.1, 0.2)
    assert (first.feature_mask, second.feature_mask) == (0.3, 0.2)


def test_target__starts_elsewhere_and_gets_no_gradient(community_graph: Data) -> None:
    method = build()
    pairs = zip(method.target.parameters(), method.encoder.parameters(), strict=True)
    assert any(not torch.equal(slow, fast) for slow, fast in pairs)
    method.training_loss(as_graph(community_graph)).backward()
    assert all(p.grad is None for p in method.target.parameters())
    assert all(p.grad is not None for p in method.encoder.parameters())
    (optimizer,) = method.optimizers(build_config())
    learned = {p for group in optimizer.param_groups for p in group["params"]}
    assert learned.isdisjoint(method.target.parameters())
    assert learned == {*method.encoder.parameters(), *method.predictor.parameters()}


def build_config() -> Any:
    return configure("bgrl", {"weight_decay": 1e-5})


@pytest.mark.parametrize(("epoch", "tau"), [(1, 0.9), (26, 0.95), (50, 0.9999013)])
def test_target__follows_by_a_cosine(epoch: int, tau: float) -> None:
    """Half of the way at half of the time; hardly at all in the last step."""
    method = build(momentum=0.9)
    before = copy.deepcopy(method.target)
    method.after_step(Progress(epoch, epoch, 50))
    for old, now, fast in zip(
        before.parameters(),
        method.target.parameters(),
        method.encoder.parameters(),
        strict=True,
    ):
        torch.testing.assert_close(now, tau * old + (1 - tau) * fast)


def test_rate__rises_then_falls_by_a_cosine(community_graph: Data) -> None:
    settings = {"epochs": 20, "warmup_epochs": 4, "lr": 0.1, "out_channels": 4}
    rates = []
    with begin("bgrl", community_graph, configure("bgrl", settings)) as begun:
        while not begun.training.is_done:
            begun.training.run_epoch()
            rates.append(begun.training.optimizers[0].param_groups[0]["lr"])
    assert rates[:5] == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1])
    assert rates[12] == pytest.approx(0.05)
    assert 0 < rates[-1] < 0.01
    assert rates[4:] == sorted(rates[4:], reverse=True)


def test_target__is_saved_and_loaded(community_graph: Data, tmp_path: Any) -> None:
    model = embedder("bgrl")(out_channels=4, epochs=3).fit(community_graph)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model").method_
    for key, value in model.method_.state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value)
    assert any(key.startswith("target.") for key in loaded.state_dict())
    assert not any(p.requires_grad for p in loaded.target.parameters())


@pytest.mark.data
@pytest.mark.slow
def test_cora__training_is_worth_something() -> None:
    data = load_dataset("cora")
    scores = {}
    for epochs in (0, 60):
        config = configure("bgrl", {"epochs": epochs, "lr": 1e-3})
        fitted, graph = fit_graph("bgrl", data, config)
        scores[epochs] = evaluate(fitted.embed_graph(graph), data.y).mean
    assert scores[60] > scores[0] + 3
