"""Tuning: no test label is read, a study goes on where it was left."""

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest
import torch
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
from torch_geometric.data import Data

from dsgrl.bench.loading import load_recipe
from dsgrl.bench.recipes import read_recipe
from dsgrl.bench.runner import run_suite
from dsgrl.bench.systems import (
    SYSTEMS,
    Embedded,
    System,
    typical_spec,
    unlabelled,
)
from dsgrl.datasets.table import DATASETS, Dataset
from dsgrl.evaluation.splits import stratified_splits
from dsgrl.methods import FitConfig, expand_names
from dsgrl.parameters import search_space
from dsgrl.train import fit
from dsgrl.tune import criteria, label_free_score, search, tune
from dsgrl.tune.criteria import resample, validation_score
from dsgrl.typing import DivergenceError, InputError, Level, Split
from samples import make_hetero

# Small and short: what is tested is the search, not the scores.
QUICK = {"epochs": 4, "out_channels": 4}


@pytest.fixture
def toy(community_graph: Data, monkeypatch: pytest.MonkeyPatch) -> Data:
    row = Dataset(
        lambda _: community_graph, "toy", 60, community_graph.num_edges, 12, 3
    )
    monkeypatch.setitem(DATASETS, "toy", row)
    return community_graph


class FakeFit:
    """Takes no time; the score of its vectors is a function of its parameters."""

    fitted: list["FakeFit"]

    def __init__(self, config: Any) -> None:
        self.epochs: int = config.epochs
        self.lr = 1e-3 if config.lr == "auto" else float(config.lr)
        self.dropout = 0.5 if config.dropout == "auto" else float(config.dropout)

    def embed(self, data: Data) -> Embedded:
        assert "y" not in data
        FakeFit.fitted.append(self)
        generator = torch.Generator().manual_seed(int(1e6 * self.lr))
        noise = torch.randn(data.x.shape, generator=generator)
        z = (data.x + self.dropout * 5 * noise).numpy()
        return Embedded(z, self.epochs, self.epochs)


def nearest_mean(z: Any, y: Any, *, splits: list[Split], metric: str) -> Any:
    """Give a row the class whose mean is nearest; in place of the linear probe."""
    scores = []
    for split in splits:
        classes = np.unique(y[split.train])
        means = [z[split.train][y[split.train] == c].mean(axis=0) for c in classes]
        distance = np.stack([np.square(z - mean).sum(axis=1) for mean in means])
        right = classes[distance.argmin(axis=0)] == y
        scores.append(100 * float(right[split.test].mean()))
    return SimpleNamespace(mean=float(np.mean(scores)))


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[FakeFit]:
    """Replace the fit and the probe by quick ones; every fit is recorded."""

    def embed(_: System, data: Data, config: FitConfig, __: str | None) -> Embedded:
        return FakeFit(config).embed(data)

    FakeFit.fitted = []
    monkeypatch.setattr(System, "embed", embed)
    monkeypatch.setattr(criteria, "evaluate", nearest_mean)
    return FakeFit.fitted


def embed(toy: Data, method: str, parameters: dict[str, Any]) -> Embedded:
    system = SYSTEMS[method]
    return system.embed(unlabelled(toy), system.configure(parameters, "node"), None)


def load(path: Path, method: str = "dsgrl-feature") -> dict[str, Any]:
    return load_recipe(path, method, "node")


def in_full(method: str, settings: dict[str, Any]) -> dict[str, Any]:
    return expand_names(SYSTEMS[method].method, settings)


def space_of(method: str, level: Level) -> dict[str, Any]:
    config = SYSTEMS[method].configure({}, level).completed(typical_spec(level))
    return search_space(config, level)


def run(folder: Path, **options: Any) -> Any:
    options = {"settings": QUICK, "trials": 3, **options}
    storage = options.pop("storage", folder / "study")
    return tune("toy", storage=storage, out=folder / "out.toml", **options)


def open_study(path: Path, name: str = "toy-dsgrl-feature") -> optuna.Study:
    storage = JournalStorage(JournalFileBackend(str(path)))
    return optuna.load_study(study_name=name, storage=storage)


def trials_of(path: Path) -> list[tuple[Any, ...]]:
    """What was tried and what came out, in order; attempts that were cut off aside."""
    return [
        (trial.state, trial.params, trial.value, trial.user_attrs["parameters"])
        for trial in open_study(path).get_trials()
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
    ]


def test_tune__writes_a_recipe_that_gives_the_score_it_reports(
    tmp_path: Path, toy: Data
) -> None:
    tuned = run(tmp_path)
    recipe = load(tmp_path / "out.toml")
    criterion, words = criteria.by_validation(toy, "toy", None)
    assert criterion(embed(toy, "dsgrl-feature", recipe)) == tuned.value
    assert words.startswith("validation accuracy of the first split of 5/15/80")
    text = (tmp_path / "out.toml").read_text()
    assert text.startswith("# dsgrl-feature on toy, tuned by dsgrl ")
    assert f"Best of 3 trials (0 given up early): {tuned.value:.4f}." in text
    assert words in text
    assert recipe.items() >= QUICK.items()
    assert read_recipe(tmp_path / "out.toml")["views"] == "learned_features"
    assert space_of("dsgrl-feature", "node").keys() - QUICK.keys() <= recipe.keys()


def test_tune__is_never_worse_than_the_defaults(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    tuned = run(tmp_path, trials=6)
    first = open_study(tmp_path / "study").get_trials()[0]
    assert first.user_attrs["start"] == "default"
    system = SYSTEMS["dsgrl-feature"]
    default = system.complete(system.configure(QUICK, "node"), "node")
    assert first.user_attrs["parameters"] == default
    assert first.value is not None
    assert tuned.value >= first.value
    values = [trial.value for trial in open_study(tmp_path / "study").get_trials()]
    assert tuned.value == max(value for value in values if value is not None)


def test_tune__the_papers_recipe_takes_part(
    tmp_path: Path, toy: Data, fits: list[FakeFit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "photo", DATASETS["toy"])
    tune(
        "photo",
        trials=2,
        storage=tmp_path / "study",
        out=tmp_path / "out.toml",
        settings={"epochs": 4},
    )
    second = open_study(tmp_path / "study", "photo-dsgrl-feature").get_trials()[1]
    parameters = second.user_attrs["parameters"]
    assert (
        parameters.items()
        >= {
            **load_recipe("paper/feature/photo", "dsgrl-feature", "node"),
            "epochs": 4,
        }.items()
    )
    # The sampler learns from it, too.
    assert second.params["views__augment_channels"] == 256


def test_tune__poisoned_test_labels_change_nothing(
    tmp_path: Path,
    toy: Data,
    fits: list[FakeFit],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    splits = stratified_splits(toy.y.numpy(), num_splits=2)
    monkeypatch.setattr(criteria, "protocol_splits", lambda *_, **__: splits)
    clean = run(tmp_path / "clean", trials=15)
    test = torch.from_numpy(splits[0].test)
    toy.y[test] = toy.y[test].flip(0).add(1).remainder(3)
    poisoned = run(tmp_path / "poisoned", trials=15)
    assert trials_of(tmp_path / "clean/study") == trials_of(tmp_path / "poisoned/study")
    assert clean.parameters == poisoned.parameters
    # The test can fail: validation labels do matter.
    val = torch.from_numpy(splits[0].val)
    toy.y[val] = toy.y[val].flip(0).add(1).remainder(3)
    run(tmp_path / "other", trials=15)
    assert trials_of(tmp_path / "clean/study") != trials_of(tmp_path / "other/study")


def test_validation_score__keeps_no_test_label() -> None:
    y = np.repeat(np.arange(3), 20)
    (split,) = stratified_splits(y, num_splits=1)
    poisoned = y.copy()
    poisoned[split.test] = -7
    z = np.random.default_rng(0).normal(size=(60, 4)).astype("f4") + y[:, None]
    scores = [
        validation_score(labels, split, metric="accuracy")(Embedded(z))
        for labels in (y, poisoned)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("several_labels", [False, True])
@pytest.mark.parametrize(("num_train", "num_judge"), [(4, 5), (11, 3)])
def test_resample__same_rows_same_shares_other_hands(
    num_train: int, num_judge: int, several_labels: bool
) -> None:
    y = np.array([0, 0, 1, 2, 0, 0, 0, 1, 1, 2, 2, 2, 0, 1])
    labels = np.eye(3, dtype=np.int64)[y] if several_labels else y
    splits = list(resample(labels, num_train=num_train, times=6))
    more_to_fit = num_train > 7
    assert {*splits[0].val} <= {*range(num_train, 14)}
    assert {*splits[0].train} <= {*range(num_train)}
    for train, val, judge in splits:
        assert sorted([*train, *val, *judge]) == list(range(14))
        assert len(judge) == num_judge
        whole = [*train, *judge] if more_to_fit else train
        assert len(whole) == num_train
        if not several_labels:
            assert sorted(y[whole]) == sorted(y[:num_train])
    assert len({tuple(split.test) for split in splits}) > 3


@pytest.mark.slow
@pytest.mark.parametrize(("train", "val"), [(0.4, 0.1), (0.1, 0.4)])
def test_validation_score__praises_no_embedding_that_knows_nothing(
    train: float, val: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rows that chose the probe's strength and scaling would find it above chance: 56
    # and more on average over the 20 embeddings, with 6 resamples as with 20.
    monkeypatch.setattr(criteria, "NUM_RESAMPLES", 6)
    y = np.repeat(np.arange(2), 100)
    (split,) = stratified_splits(y, num_splits=1, train=train, val=val)
    judge = validation_score(y, split, metric="accuracy")
    noise = [np.random.default_rng(seed).normal(size=(200, 30)) for seed in range(20)]
    scores = [judge(Embedded(z.astype("f4"))) for z in noise]
    assert np.mean(scores) < 52


@pytest.mark.slow
def test_validation_score__is_varies_less_than_that_of_one_split() -> None:
    y = np.repeat(np.arange(2), 100)

    def spread(times: int) -> float:
        scores = []
        for seed in range(12):
            generator = np.random.default_rng(seed)
            z = generator.normal(size=(200, 3)).astype("f4") + 0.7 * y[:, None]
            (split,) = stratified_splits(y, num_splits=1, train=0.3, val=0.1)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(criteria, "NUM_RESAMPLES", times)
                judge = validation_score(y, split, metric="accuracy")
            scores.append(judge(Embedded(z)))
        return float(np.std(scores))

    assert spread(10) < 0.8 * spread(1)


def test_study__goes_on_where_it_was_left(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    run(tmp_path / "once", trials=14)
    done = len(fits)
    for trials in (3, 12, 14):
        tuned = run(tmp_path / "thrice", trials=trials)
        assert tuned.trials == trials
    assert len(fits) == 2 * done
    assert trials_of(tmp_path / "once/study") == trials_of(tmp_path / "thrice/study")
    run(tmp_path / "thrice", trials=14)
    assert len(fits) == 2 * done


def test_study__a_trial_whose_process_was_killed_is_made_again(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    run(tmp_path / "whole", trials=6)
    run(tmp_path / "killed", trials=3)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = open_study(tmp_path / "killed/study").ask()
    left.set_user_attr("worker", f"{socket.gethostname()}:{ended.pid}")
    run(tmp_path / "killed", trials=6)
    assert trials_of(tmp_path / "whole/study") == trials_of(tmp_path / "killed/study")


def test_study__trials_of_other_machines_are_left_alone(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    run(tmp_path, trials=3)
    other = open_study(tmp_path / "study").ask()
    other.set_user_attr("worker", "elsewhere:1")
    assert run(tmp_path, trials=5).trials == 5
    states = [trial.state for trial in open_study(tmp_path / "study").get_trials()]
    assert states.count(TrialState.RUNNING) == 1


def test_search__bad_trials_are_given_up_after_the_first_stage(
    tmp_path: Path,
    toy: Data,
    fits: list[FakeFit],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def by_dropout(_: Embedded) -> float:
        return -fits[-1].dropout

    monkeypatch.setattr(
        "dsgrl.tune.tuning.by_validation", lambda *_: (by_dropout, "dropout")
    )
    tuned = run(tmp_path, trials=20, settings={"epochs": 100})
    assert 0 < tuned.given_up < 20
    short = [fit for fit in fits if fit.epochs == 25]
    long = [fit for fit in fits if fit.epochs == 100]
    assert len(short) == 20
    assert len(long) == 20 - tuned.given_up
    worst = max(fit.dropout for fit in short)
    assert worst > max(fit.dropout for fit in long[5:])


def test_search__a_trial_that_diverges_does_not_stop_the_study(
    tmp_path: Path,
    toy: Data,
    fits: list[FakeFit],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embed = FakeFit.embed

    def sometimes(fake: FakeFit, data: Data) -> Any:
        if fake.lr > 0.005:
            raise DivergenceError("diverged")
        return embed(fake, data)

    monkeypatch.setattr(FakeFit, "embed", sometimes)
    tuned = run(tmp_path, trials=10)
    assert tuned.trials == 10
    assert tuned.given_up > 0
    assert tuned.parameters["lr"] <= 0.005


def test_stages__the_short_fit_is_the_beginning_of_the_long_one(toy: Data) -> None:
    system = SYSTEMS["dsgrl"]
    config = system.configure({"epochs": 8}, "node")
    histories = []
    for stage in search._stages(system.complete(config, "node")):
        fitted = fit("dsgrl", toy, system.restore(stage, "node"))
        histories.append([row["loss"] for row in fitted.history])
    assert len(histories[0]) == 2
    assert histories[0] == histories[1][:2]


@pytest.mark.parametrize(("epochs", "stages"), [(1, 1), (2, 2), ("auto", 2)])
def test_stages__one_if_there_is_nothing_to_shorten(epochs: Any, stages: int) -> None:
    assert len(search._stages({"epochs": epochs, "epochs__max_epochs": 500})) == stages


def test_tune__without_labels_reads_none(tmp_path: Path, toy: Data) -> None:
    options: dict[str, Any] = {
        "without_labels": True,
        "study": "toy-dsgrl-feature",
        "settings": {"out_channels": 4, "max_epochs": 10},
    }
    tuned = run(tmp_path, **options)
    toy.y = toy.y[torch.randperm(60)]
    run(tmp_path / "poisoned", **options)
    assert trials_of(tmp_path / "study") == trials_of(tmp_path / "poisoned/study")
    embedded = embed(toy, "dsgrl-feature", load(tmp_path / "out.toml"))
    assert label_free_score(embedded) == tuned.value
    assert 0.5 < tuned.value <= 1
    assert "no label" in (tmp_path / "out.toml").read_text()


def test_tune__without_labels_needs_links_to_judge_by(
    tmp_path: Path, toy: Data
) -> None:
    with pytest.raises(InputError, match="needs epochs='auto'"):
        run(tmp_path, without_labels=True)
    with pytest.raises(InputError, match="no links were held out"):
        label_free_score(embed(toy, "dsgrl-feature", {"epochs": 1}))


@pytest.mark.slow
@pytest.mark.parametrize("without_labels", [False, True])
def test_tune__a_baseline_as_ours(
    tmp_path: Path, toy: Data, without_labels: bool
) -> None:
    settings = {"out_channels": 8, "max_epochs": 10}
    tuned = run(
        tmp_path, method="cca-ssg", settings=settings, without_labels=without_labels
    )
    assert tuned.trials == 3
    path = tmp_path / "out.toml"
    recipe = load(path, "cca-ssg")
    assert recipe.items() >= in_full("cca-ssg", settings).items()
    assert space_of("cca-ssg", "node").keys() <= recipe.keys()
    criterion, words = (
        criteria.by_links()
        if without_labels
        else criteria.by_validation(toy, "toy", None)
    )
    assert criterion(embed(toy, "cca-ssg", recipe)) == tuned.value
    assert path.read_text().startswith("# cca-ssg on toy, tuned by dsgrl ")
    assert words in path.read_text()
    line = next(
        run_suite(
            "nodes",
            datasets=["toy"],
            methods=["cca-ssg"],
            recipe=str(path),
            in_process=True,
        )
    )
    assert line["config"].items() >= recipe.items()


def test_tune__a_method_of_another_level_is_refused(
    tmp_path: Path, toy: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "toy", replace(DATASETS["toy"], level="hetero"))
    with pytest.raises(InputError, match="cca-ssg: not meant for level 'hetero'"):
        run(tmp_path, method="cca-ssg")


def test_system__of_several_types_gives_the_labelled_one() -> None:
    data = make_hetero()
    system = SYSTEMS["dsgrl-feature"]
    config = system.configure({"epochs": 1, "out_channels": 4}, "hetero")
    z = system.embed(data, config, "film").z
    assert len(z) == len(data["film"].y)


def test_study__of_something_else_is_refused(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    run(tmp_path)
    with pytest.raises(InputError, match="made with another seed, settings: choose"):
        run(tmp_path, seed=1)
    with pytest.raises(InputError, match="another space, settings"):
        run(tmp_path, settings={**QUICK, "lr": 0.5})
    assert run(tmp_path, seed=1, study="second").study == "second"


@pytest.mark.slow
def test_storage__any_url_of_optuna(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    run(tmp_path, storage=url, trials=2)
    assert run(tmp_path, storage=url, trials=3).trials == 3
    assert len(fits) == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"method": "random-f"},
            "cannot be tuned, expected one of dsgrl, dsgrl-feature",
        ),
        ({"method": "raw"}, "cannot be tuned"),
        ({"method": "random-cca-ssg"}, "topology-none, cca-ssg"),
        (
            {"method": "cca-ssg", "settings": {"augment": "feature"}},
            "expected a parameter of cca-ssg",
        ),
        ({"settings": {"lr": -1}}, "lr=-1: expected"),
        ({"settings": {"learning": 1}}, "unknown key 'learning'"),
        ({"storage": "nosuch://x"}, "--storage nosuch://x: cannot be used"),
    ],
)
def test_tune__a_users_mistake_is_reported(
    tmp_path: Path,
    toy: Data,
    fits: list[FakeFit],
    options: dict[str, Any],
    said: str,
) -> None:
    with pytest.raises(InputError) as caught:
        run(tmp_path, **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert fits == []


def test_tune__a_broken_file_is_reported(tmp_path: Path, toy: Data) -> None:
    (tmp_path / "study").write_text("notes of mine\n")
    with pytest.raises(InputError, match="cannot be used"):
        run(tmp_path)


def test_tune__reports_every_trial(
    tmp_path: Path, toy: Data, fits: list[FakeFit]
) -> None:
    seen: list[Any] = []
    run(tmp_path, trials=4, report=seen.append)
    assert [stands.trials for stands in seen] == [1, 2, 3, 4]
    values = [stands.value for stands in seen]
    assert values == sorted(values)


@pytest.mark.parametrize("level", ["node", "graph", "hetero"])
@pytest.mark.parametrize("augment", ["feature", "topology", "both"])
def test_space__has_parameters_that_exist(level: Level, augment: str) -> None:
    space = space_of(f"dsgrl-{augment}", level)
    assert space.keys() <= SYSTEMS[f"dsgrl-{augment}"].parameters(level).keys()
    assert ("views__orthogonality_weight" in space) == (augment != "topology")
    assert ("views__edges_per_node" in space) == (augment != "feature")
    for low, high, scale in space.values():
        assert low < high
        assert scale == "linear" or low > 0


def test_tune__without_labels_is_refused_for_whole_graphs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="enzymes has whole graphs"):
        tune("enzymes", without_labels=True, storage=tmp_path / "study.journal")
    assert not any(tmp_path.iterdir())
