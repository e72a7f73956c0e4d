import logging
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from dsgrl.graph import Graph, as_graph
from dsgrl.methods import FitConfig, Method, StopByLinks
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import fit, seeded, train
from dsgrl.train.diagnostics import is_collapsed, measure_health
from dsgrl.typing import DivergenceError, LossTerms
from samples import make_spec


def config(**changes: Any) -> Any:
    names = ("max_epochs", "patience", "tolerance", "check_every", "holdout")
    stop = {name: changes.pop(name) for name in names if name in changes}
    if stop:
        changes["epochs"] = StopByLinks(**stop)
    return FitConfig(**changes).resolved(make_spec())


class Drifting(Method):
    """Starts with a perfect embedding and walks away from it, a step per epoch."""

    levels: ClassVar = frozenset({"node"})

    def __init__(self, start: Tensor, away: Tensor) -> None:
        super().__init__()
        self.walked = nn.Parameter(torch.zeros(()))
        self.start, self.away = start, away

    def training_loss(self, batch: Graph) -> LossTerms:
        return LossTerms({"drift": -self.walked}, z=self.embed(batch).detach())

    def embed(self, batch: Graph) -> Tensor:
        return self.start + self.walked * self.away


class Breaking(Method):
    """Its loss is no number from the third epoch on."""

    levels: ClassVar = frozenset({"node"})

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.epochs = 0

    def training_loss(self, batch: Graph) -> LossTerms:
        self.epochs += 1
        factor = math.nan if self.epochs > 2 else 1.0
        return LossTerms({"term": factor * self.weight}, z=torch.randn(9, 3))

    def embed(self, batch: Graph) -> Tensor:
        return torch.randn(batch.num_nodes, 3)


class Batched(Breaking):
    """Has three batches, whose losses are known."""

    def batches(self, graph: Graph, config: Any) -> Iterator[float]:
        yield from (1.0, 2.0, 6.0)

    def training_loss(self, batch: float) -> LossTerms:
        return LossTerms({"term": batch + 0 * self.weight}, z=torch.randn(9, 3))


def test_history__has_the_mean_over_the_batches(community_graph: Data) -> None:
    history, _ = train(Batched(), as_graph(community_graph), config(epochs=2))
    assert [row["term"] for row in history] == [3.0, 3.0]


def drifting(data: Data, *, towards: bool) -> Drifting:
    good = nn.functional.one_hot(data.y).float() * 10
    noise = torch.randn(60, 3)
    if towards:
        return Drifting(noise, good)
    return Drifting(good + noise, 100 * torch.randn(60, 3))


def test_train_auto__keeps_the_untrained_state_if_training_hurts(
    community_graph: Data,
) -> None:
    method = drifting(community_graph, towards=False)
    chosen = config(lr=0.5, patience=20, holdout=0.3)
    history, epoch = train(method, as_graph(community_graph), chosen)
    assert epoch == 0
    assert method.walked.item() == 0
    assert history[-1]["epoch"] < chosen.epochs.max_epochs
    assert not method.training


class Dipping(Drifting):
    """Gets much worse at first, and then slowly better than it ever was."""

    def embed(self, batch: Graph) -> Tensor:
        share = (self.walked - 30).clamp_min(0) / 100
        bad = (self.walked / 5).clamp_max(1)
        return (1 - bad) * self.start + bad * self.away[0] + share * self.away[1]


def test_train_auto__waits_for_a_model_that_first_gets_worse(
    community_graph: Data,
) -> None:
    good = nn.functional.one_hot(community_graph.y).float() * 10
    torch.manual_seed(0)
    noise = torch.randn(2, 60, 3)
    method = Dipping(good + 4 * noise[0], torch.stack([noise[1], good]))
    # A constant gradient: Adam takes a step of 1 per epoch.
    chosen = config(lr=1.0, patience=45, max_epochs=120, holdout=0.3)
    history, epoch = train(method, as_graph(community_graph), chosen)
    scores = {row["epoch"]: row["link_auc"] for row in history if "link_auc" in row}
    assert max(scores[e] for e in scores if 0 < e <= 45) < scores[0]
    assert epoch > chosen.epochs.patience


def test_train_auto__keeps_the_best_epoch_if_training_helps(
    community_graph: Data,
) -> None:
    method = drifting(community_graph, towards=True)
    chosen = config(lr=0.01, max_epochs=40, holdout=0.3)
    history, epoch = train(method, as_graph(community_graph), chosen)
    scores = {row["epoch"]: row["link_auc"] for row in history if "link_auc" in row}
    best = max(scores.values())
    least = best - (best * (1 - best) / round(0.3 * 178)) ** 0.5
    assert epoch == min(e for e in scores if scores[e] >= least) > 0
    assert method.walked.item() == pytest.approx(0.01 * epoch, rel=1e-3)
    assert scores.keys() == {0, *range(5, 41, 5)}


def test_train_auto__without_edges_warns_and_trains(
    caplog: pytest.LogCaptureFixture,
) -> None:
    data = Data(x=torch.randn(20, 3), edge_index=torch.empty(2, 0, dtype=torch.long))
    method = Drifting(torch.randn(20, 3), torch.randn(20, 3))
    with caplog.at_level(logging.WARNING):
        history, epoch = train(method, as_graph(data), config(max_epochs=7))
    assert epoch == len(history) == 7
    assert "too few edges" in caplog.text


def test_train__a_number_of_epochs_is_taken_as_it_is(community_graph: Data) -> None:
    method = drifting(community_graph, towards=False)
    history, epoch = train(method, as_graph(community_graph), config(epochs=3))
    assert epoch == len(history) == 3
    assert history[0].keys() == {
        "epoch",
        "loss",
        "drift",
        "effective_rank",
        "deviation",
        "deviation_min",
    }


def test_train__zero_epochs_changes_nothing(community_graph: Data) -> None:
    method = drifting(community_graph, towards=False)
    history, epoch = train(method, as_graph(community_graph), config(epochs=0))
    assert (history, epoch, method.walked.item()) == ([], 0, 0)


def test_train__stops_with_a_clear_message_when_the_loss_breaks(
    community_graph: Data,
) -> None:
    with pytest.raises(DivergenceError, match=r"epoch 3 .*term nan.*lower lr, now 0.5"):
        train(Breaking(), as_graph(community_graph), config(epochs=9, lr=0.5))


def test_train__warm_up_takes_smaller_first_steps(community_graph: Data) -> None:
    plain, warmed = (drifting(community_graph, towards=False) for _ in range(2))
    graph = as_graph(community_graph)
    train(plain, graph, config(epochs=4, lr=0.1))
    train(warmed, graph, config(epochs=4, lr=0.1, warmup_epochs=4))
    assert plain.walked.item() == pytest.approx(0.4, rel=1e-3)
    assert warmed.walked.item() == pytest.approx(0.1 * (1 + 2 + 3 + 4) / 4, rel=1e-3)


def test_train__weight_decay_pulls_towards_zero(community_graph: Data) -> None:
    plain, decayed = (drifting(community_graph, towards=False) for _ in range(2))
    graph = as_graph(community_graph)
    train(plain, graph, config(epochs=60, lr=0.1))
    train(decayed, graph, config(epochs=60, lr=0.1, weight_decay=0.5))
    assert decayed.walked.item() < plain.walked.item() - 1


def test_train__reports_every_row(community_graph: Data) -> None:
    rows: list[dict[str, float]] = []
    method = drifting(community_graph, towards=False)
    history, _ = train(method, as_graph(community_graph), config(epochs=4), rows.append)
    assert rows == history


def test_train__warns_once_of_collapse_and_names_a_remedy(
    community_graph: Data, caplog: pytest.LogCaptureFixture
) -> None:
    method = Drifting(torch.ones(60, 3), torch.zeros(60, 3))
    with caplog.at_level(logging.WARNING):
        train(method, as_graph(community_graph), config(epochs=15))
    assert caplog.text.count("collapsed") == 1
    assert "variance_weight" in caplog.text


def test_measure_health__known_spectra() -> None:
    basis, _ = torch.linalg.qr(torch.randn(64, 9))
    spread = measure_health(8 * (basis - basis.mean(0)))
    assert spread["effective_rank"] == pytest.approx(9, rel=0.1)
    assert not is_collapsed(spread)
    line = measure_health(torch.randn(50, 1) * torch.randn(1, 9))
    assert line["effective_rank"] == pytest.approx(1, rel=1e-6)
    assert is_collapsed(line)
    assert is_collapsed(measure_health(torch.ones(50, 9)))
    assert is_collapsed(measure_health(1e-6 * torch.randn(50, 9)))


def test_seeded__repeats_and_leaves_the_global_state_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    with seeded(1):
        one = torch.rand(5)
    with seeded(1):
        assert torch.equal(torch.rand(5), one)
    with seeded(2):
        assert not torch.equal(torch.rand(5), one)
    assert torch.equal(torch.rand(3), expected)


class Floored(Drifting):
    """Has something to fall back on."""

    @property
    def has_fallback(self) -> bool:
        return True


def test_train__a_collapsed_embedding_is_left_out_where_there_is_a_fallback(
    community_graph: Data, caplog: pytest.LogCaptureFixture
) -> None:
    constant, nothing = torch.ones(60, 3), torch.zeros(60, 3)
    graph = as_graph(community_graph)
    for kind, kept in ((Drifting, 12), (Floored, 0)):
        assert train(kind(constant, nothing), graph, config(epochs=12))[1] == kept
    assert "not worth it (the embedding has collapsed)" in caplog.text


def test_train_auto__with_a_fallback_links_must_be_predicted_at_all(
    community_graph: Data, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = config(lr=0.5, patience=20, max_epochs=40, holdout=0.3)
    noise = Floored(torch.randn(60, 3), torch.zeros(60, 3))
    assert train(noise, as_graph(community_graph), chosen)[1] == 0
    assert "no better than by chance" in caplog.text
    good = drifting(community_graph, towards=True)
    learned = Floored(good.start, good.away)
    assert train(learned, as_graph(community_graph), chosen)[1] > 0


def test_compare_with_floor__shows_what_training_adds_and_changes_nothing(
    community_graph: Data,
) -> None:
    stop = StopByLinks(max_epochs=6, check_every=2)
    quiet, shown = (
        fit("dsgrl", community_graph, DSGRLConfig(epochs=stop, verbose=verbose))
        for verbose in (False, True)
    )
    assert "floor_auc" not in quiet.history[0]
    # Neighbours have similar features, so the floor finds hidden links.
    assert 0.6 < shown.history[0].pop("floor_auc") <= 1.0
    assert shown.history == quiet.history
    z = [fitted.embed(community_graph) for fitted in (quiet, shown)]
    np.testing.assert_array_equal(*z)


def test_compare_with_floor__is_left_out_where_there_is_none(
    community_graph: Data,
) -> None:
    stop = StopByLinks(max_epochs=2, check_every=2)
    for changes in ({"epochs": stop, "floor": False}, {"epochs": 2}):
        config = DSGRLConfig(verbose=True, **changes)
        assert all(
            "floor_auc" not in row
            for row in fit("dsgrl", community_graph, config).history
        )
