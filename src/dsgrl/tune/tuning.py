"""`tune`: from a dataset's name to a recipe."""

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
    """Where a study stands.

    Attributes:
        study: its name.
        trials: how many are finished.
        given_up: how many of them were given up early.
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
    """Search the method's own space and write the best as a recipe.

    The first trials are the defaults and, if there is one, the paper's recipe: the
    result is never worse than those by the score that is maximised.

    Args:
        dataset: a key of `DATASETS`.
        method: a trained system, a key of `SYSTEMS`.
        trials: finished trials in all; a study that was left goes on up to it.
        storage: a file, or a URL of any storage of Optuna's.
        study: its name there; dataset and method by default.
        seed: of the search and of every model.
        folder: where datasets live.
        out: the recipe file; rewritten whenever a trial is better.
        settings: parameters that are not searched but set.
        without_labels: maximise `label_free_score` instead of the validation score.
        report: told where the study stands after every trial.

    Raises:
        InputError: if a name is unknown, a setting cannot work, or the study there
            was made for something else.
    """
    pinned = dict(settings or {})
    if without_labels and pinned.setdefault("epochs", "auto") != "auto":
        raise InputError(
            f"epochs={pinned['epochs']!r}: tuning without labels needs epochs='auto', "
            f"which holds out the links to judge by"
        )
    dataset = known_dataset(dataset)
    if without_labels and DATASETS[dataset].level == "graph":
        raise InputError(
            f"--without-labels: {dataset} has whole graphs, for which no signal is "
            f"known to rank settings (docs/CHOOSING.md): tune with labels, or take the "
            f"default"
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
        stands = _where_it_stands(opened, out)
        version = importlib.metadata.version("dsgrl")
        notes = [
            f"{method} on {dataset}, tuned by dsgrl {version}.",
            f"Best of {stands.trials} trials ({stands.given_up} given up early): "
            f"{stands.value:.4f}.",
            f"Score: {score}; seed {seed}.",
        ]
        defaults = system.parameters(row.level)
        _write(stands, defaults, {*search.space, "views"}, notes)
        return stands

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


def _where_it_stands(study: optuna.Study, out: Path) -> Tuned:
    finished = count(study, *FINISHED)
    try:
        best = study.best_trial
    except ValueError as error:
        raise InputError(
            f"study '{study.study_name}': none of {finished} trials came to an end: "
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
    stands: Tuned, defaults: Parameters, always: set[str], notes: list[str]
) -> None:
    """Write what was searched, what makes the system, and what is not the default."""
    chosen = {
        key: value
        for key, value in stands.parameters.items()
        if key not in NOT_IN_RECIPES and (key in always or value != defaults.get(key))
    }
    write_recipe(stands.out, chosen, notes)
