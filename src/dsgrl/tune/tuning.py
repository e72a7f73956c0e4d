"""`tune` searches the parameters of a method on a dataset and writes a recipe."""

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState

from dsgrl.bench.loading import load_recipe
from dsgrl.bench.recipes import NOT_IN_RECIPES, list_recipes, merge, write_recipe
from dsgrl.bench.systems import SYSTEMS, System, typical_spec, unlabelled
from dsgrl.datasets.table import DATASETS, known_dataset, load_dataset
from dsgrl.io.atomic import check_writable
from dsgrl.methods import expand_names
from dsgrl.parameters import search_space
from dsgrl.tune.criteria import by_links, by_validation
from dsgrl.tune.search import Parameters, Search
from dsgrl.tune.study import FINISHED, count, open_study
from dsgrl.typing import InputError


@dataclass(frozen=True, slots=True)
class Tuned:
    """The state of a study.

    Attributes:
        study: its name.
        trials: number of finished trials.
        given_up: how many of them were pruned or diverged.
        value: the best score so far.
        parameters: those of the best trial.
        out: the recipe file.
    """

    study: str
    trials: int
    given_up: int
    value: float
    parameters: Parameters
    out: Path


def tune(
    dataset: str,
    *,
    method: str = "dsgrl-feature",
    trials: int = 50,
    storage: str | Path | None = None,
    study: str | None = None,
    seed: int = 0,
    folder: Path | None = None,
    out: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    without_labels: bool = False,
    report: Callable[[Tuned], None] | None = None,
) -> Tuned:
    """Search the space of a method and write the best parameters as a recipe.

    The first trials are the defaults and, if there is one, the paper's recipe. The
    result is never worse than these by the score that is maximised.

    Args:
        dataset: a key of `DATASETS`.
        method: a trained system, a key of `SYSTEMS`.
        trials: total number of finished trials; an existing study continues up to it.
        storage: a file, or the URL of an Optuna storage.
        study: name of the study; by default made from dataset and method.
        seed: seed of the search and of every model.
        folder: folder of the datasets.
        out: the recipe file; updated during the search.
        settings: parameters that are set instead of searched.
        without_labels: maximise `label_free_score` instead of the validation score.
        report: called with the state of the study after every trial.

    Raises:
        InputError: if a name is unknown, a setting is invalid, or the existing study
            has another setup.
    """
    pinned = dict(settings or {})
    if without_labels and pinned.setdefault("epochs", "auto") != "auto":
        raise InputError(
            f"epochs={pinned['epochs']!r}: tuning without labels needs epochs='auto', "
            f"which holds out links for the score"
        )
    dataset = known_dataset(dataset)
    if without_labels and DATASETS[dataset].level == "graph":
        raise InputError(
            f"--without-labels: {dataset} has whole graphs, for which no signal is "
            f"known to rank settings: tune with labels, or use the default"
        )
    system = _tunable(method)
    row = DATASETS[dataset]
    if row.level not in system.levels:
        raise InputError(f"--method {method}: not meant for level '{row.level}'")
    pinned = expand_names(system.method, pinned)
    config = system.configure({**pinned, "random_state": seed}, row.level)
    base = system.complete(config, row.level)
    name = study or "-".join([dataset, method, *["without-labels"] * without_labels])
    out = out or Path("tune") / f"{name}.toml"
    check_writable(out.parent)
    data = load_dataset(dataset, folder)
    hidden = unlabelled(data)
    full = system.restore(base, row.level).completed(typical_spec(row.level))
    space = search_space(full, row.level)
    criterion, score = (
        by_links() if without_labels else by_validation(data, dataset, folder)
    )
    search = Search(
        embed=lambda parameters: system.embed(
            hidden, system.restore(parameters, row.level), row.target
        ),
        criterion=criterion,
        space={key: value for key, value in space.items() if key not in pinned},
        starts=_starts(method, dataset, base, pinned),
    )
    opened = open_study(
        name,
        storage,
        {
            "dataset": dataset,
            "method": method,
            "seed": seed,
            "score": score,
            "space": search.space,
            "settings": base,
        },
    )

    def write() -> Tuned:
        state = _state_of(opened, out)
        version = importlib.metadata.version("dsgrl")
        notes = [
            f"{method} on {dataset}, tuned by dsgrl {version}.",
            f"Best of {state.trials} trials ({state.given_up} given up early): "
            f"{state.value:.4f}.",
            f"Score: {score}; seed {seed}.",
        ]
        defaults = system.parameters(row.level)
        _write(state, defaults, {*search.space, "views"}, notes)
        return state

    for _ in search.run(opened, trials, seed):
        if count(opened, TrialState.COMPLETE) and report:
            report(write())
    return write()


def _tunable(method: str) -> System:
    """Return a system that can be tuned."""
    trained = {
        name: system
        for name, system in SYSTEMS.items()
        if system.is_trained and not system.needs_labels
    }
    if method in trained:
        return trained[method]
    if method in SYSTEMS and SYSTEMS[method].needs_labels:
        raise InputError(
            f"--method {method}: learns from labels and cannot be tuned, use 'dsgrl "
            f"bench'"
        )
    raise InputError(
        f"--method {method}: cannot be tuned, expected one of {', '.join(trained)}"
    )


def _starts(
    method: str, dataset: str, base: Parameters, pinned: Mapping[str, Any]
) -> dict[str, Parameters]:
    starts, system = {"default": base}, SYSTEMS[method]
    name = f"paper/{system.recipes}/{dataset}"
    if name in list_recipes():
        level = DATASETS[dataset].level
        recipe = load_recipe(name, method, level)
        seed = {"random_state": base["random_state"]}
        config = system.configure(merge(recipe, pinned, seed), level)
        starts["paper"] = system.complete(config, level)
    return starts


def _state_of(study: optuna.Study, out: Path) -> Tuned:
    finished = count(study, *FINISHED)
    try:
        best = study.best_trial
    except ValueError as error:
        raise InputError(
            f"study '{study.study_name}': none of {finished} trials was completed: "
            f"set a lower lr with --set, or allow more trials"
        ) from error
    assert best.value is not None
    return Tuned(
        study=study.study_name,
        trials=finished,
        given_up=count(study, TrialState.PRUNED),
        value=best.value,
        parameters=best.user_attrs["parameters"],
        out=out,
    )


def _write(
    state: Tuned, defaults: Parameters, always: set[str], notes: list[str]
) -> None:
    """Write the parameters in `always` and those that differ from the defaults."""
    chosen = {
        key: value
        for key, value in state.parameters.items()
        if key not in NOT_IN_RECIPES and (key in always or value != defaults.get(key))
    }
    write_recipe(state.out, chosen, notes)
