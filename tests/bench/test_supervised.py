"""Supervised references: refitted per split, and only training labels are seen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from dsgrl import cli
from dsgrl.bench import cells, supervised
from dsgrl.bench.runner import Failure, run_suite
from dsgrl.bench.systems import SYSTEMS, labels_of, make_systems
from dsgrl.datasets.table import DATASETS, Dataset
from dsgrl.evaluation import protocol_splits
from dsgrl.evaluation.metrics import METRICS
from dsgrl.graph import Graph, Spec
from dsgrl.methods import METHODS, FitConfig, Method
from dsgrl.methods.base import Need
from dsgrl.typing import Level, LossTerms, Split

NAME = "softmax"


class Softmax(Method):
    """Logistic regression on the features; keeps what every fit has seen."""

    class Config(FitConfig):
        """Those of every fit."""

    summary: ClassVar[str] = "logistic regression"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})
    needs: ClassVar[frozenset[Need]] = frozenset({"labels"})
    seen: ClassVar[list[Tensor]]
    predictions: ClassVar[list[Tensor]]

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, num_classes)

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        assert spec.num_classes is not None
        return cls(spec.in_channels[0], spec.num_classes)

    def training_loss(self, batch: Graph) -> LossTerms:
        assert batch.labels is not None
        self.seen.append(batch.labels.clone())
        known = batch.labels >= 0
        z = self.embed(batch)
        loss = F.cross_entropy(z[known], batch.labels[known])
        return LossTerms({"cross_entropy": loss}, z=z.detach())

    def embed(self, graph: Graph) -> Tensor:
        z: Tensor = self.linear(graph.x)
        return z

    def predict(self, graph: Graph) -> Tensor:
        assert graph.labels is None
        probability = self.embed(graph).softmax(dim=1)
        self.predictions.append(probability)
        return probability


@pytest.fixture(autouse=True)
def toy(community_graph: Data, monkeypatch: pytest.MonkeyPatch) -> Iterator[Data]:
    """Register the method and a dataset."""
    Softmax.seen, Softmax.predictions = [], []
    monkeypatch.setitem(METHODS, NAME, Softmax)
    for name, system in make_systems().items():
        monkeypatch.setitem(SYSTEMS, name, system)
    row = Dataset(
        lambda _: community_graph, "toy", 60, community_graph.num_edges, 12, 3
    )
    monkeypatch.setitem(DATASETS, "toy", row)
    yield community_graph
    for name in (NAME, f"random-{NAME}"):
        SYSTEMS.pop(name, None)


def run(**options: Any) -> list[dict[str, Any]]:
    options = {"settings": {"epochs": 1, "lr": 0.1}, "controls": False, **options}
    names: dict[str, Any] = {"datasets": ["toy"], "methods": [NAME]}
    return list(run_suite("nodes", **names, in_process=True, **options))


def splits_of(toy: Data) -> list[Split]:
    return list(protocol_splits("5/15/80", labels_of(toy, None), dataset="toy"))


def test_supervised__is_refitted_per_split_on_its_training_labels(toy: Data) -> None:
    run()
    splits = splits_of(toy)
    assert len(Softmax.seen) == len(splits) > 1
    for seen, split in zip(Softmax.seen, splits, strict=True):
        hidden = np.setdiff1d(np.arange(60), split.train)
        assert (seen[hidden] == -1).all()
        assert torch.equal(seen[split.train], toy.y[split.train])


def test_supervised__poisoned_labels_of_other_rows_change_no_prediction(
    toy: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    (split, *_) = splits = splits_of(toy)
    monkeypatch.setattr(cells, "protocol_splits", lambda *_, **__: splits[:1])
    run(settings={"epochs": 20, "lr": 0.1})
    others = torch.from_numpy(np.concatenate([split.val, split.test]))
    toy.y[others] = toy.y[others].flip(0).add(1).remainder(3)
    run(settings={"epochs": 20, "lr": 0.1})
    clean, poisoned = Softmax.predictions
    assert torch.equal(clean, poisoned)
    # The test can fail: training labels do matter.
    train = torch.from_numpy(split.train)
    toy.y[train] = toy.y[train].add(1).remainder(3)
    run(settings={"epochs": 20, "lr": 0.1})
    assert not torch.equal(clean, Softmax.predictions[-1])


def test_supervised__its_predictions_are_scored_and_the_line_is_complete(
    toy: Data,
) -> None:
    lines = run(settings={"epochs": 60, "lr": 0.1}, controls=True)
    line, untrained, floor, raw = lines
    assert floor["method"] == "hops"
    assert (line["method"], untrained["method"], raw["method"]) == (
        NAME,
        f"random-{NAME}",
        "raw",
    )
    assert line.keys() == untrained.keys() == raw.keys()
    y = toy.y.numpy()
    scores = [
        METRICS["accuracy"](predicted[split.test].numpy(), y[split.test])
        for predicted, split in zip(Softmax.predictions, splits_of(toy), strict=False)
    ]
    assert line["scores"] == pytest.approx(scores, abs=1e-3)
    assert line["n"] == len(scores) == len(splits_of(toy))
    # The same splits for all: scores can be paired.
    assert line["splits"] == raw["splits"]
    assert (line["epochs"], untrained["epochs"]) == (60, 0)
    assert line["mean"] > untrained["mean"] + 10
    assert line["val_mean"] > 50
    assert line["fit_seconds"] > 0
    assert line["config"]["lr"] == 0.1


def test_supervised__several_labels_per_row_are_refused(
    toy: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = np.eye(3, dtype=np.int64)[toy.y.numpy()]
    failures: list[Failure] = []
    monkeypatch.setattr(cells, "labels_of", lambda *_: table)
    splits = splits_of(toy)
    monkeypatch.setattr(cells, "protocol_splits", lambda *_, **__: splits)
    assert run(on_failure=failures.append) == []
    assert "learns one class per row" in failures[0].reason


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed", "toy", "--method", NAME, "--out", "out.parquet"],
        ["tune", "toy", "--method", NAME, "--trials", "1"],
    ],
)
def test_supervised__other_commands_refuse_it_in_one_line(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["dsgrl", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code != 0
    said = capsys.readouterr().err.strip()
    assert f"--method {NAME}: learns from labels" in " ".join(said.split())
    assert "Traceback" not in said
    assert Softmax.seen == []
    assert not any(tmp_path.iterdir())


def test_supervised__hides_nothing_from_the_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A perfect predictor has 100 % in every split: rows and classes are in order."""

    class Oracle:
        epoch = 3

        def predict(self, data: Data) -> Any:
            return np.eye(3)[np.repeat(np.arange(3), 20)]

    monkeypatch.setattr(supervised, "fit", lambda *_, **__: Oracle())
    (line,) = run()
    assert set(line["scores"]) == {100.0}
    assert line["epochs"] == 3
