"""Suites: datasets, systems, and the protocol and metric of each dataset."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsgrl.bench.cells import Case, Cell
from dsgrl.bench.loading import OtherSystemError, load_recipe
from dsgrl.bench.recipes import DEFAULT, list_families, list_recipes, merge
from dsgrl.bench.systems import GRAPH, HETERO, NODE, SYSTEMS, with_controls
from dsgrl.datasets.table import (
    DATASETS,
    data_folder,
    known_dataset,
)
from dsgrl.parameters import did_you_mean
from dsgrl.typing import InputError, Level

NODE_CASES: tuple[Case, ...] = (("5/15/80", "accuracy"),)
# Datasets with other protocols or metrics in the paper.
CASES: dict[str, tuple[Case, ...]] = {
    "imdb": tuple(
        (f"imdb-{share}", metric)
        for share in (20, 40, 60, 80)
        for metric in ("macro_f1", "micro_f1")
    ),
    "yelp": (("public", "roc_auc"),),
    "reddit": (("public", "accuracy"),),
}
CASES |= {f"{name}-shape": CASES[name] for name in ("yelp", "reddit")}
LARGE = ("yelp", "reddit", "yelp-shape", "reddit-shape")
LEARNED_VIEWS = ("dsgrl-feature", "dsgrl-topology", "dsgrl-both")
# The defaults for nodes of one kind and of several: no learned view does better there.
NODE_ALONE, TWO_HOP = "topology-none", "topology-two-hop"
# The default: the floor and what is learned beside it.
WHOLE = "dsgrl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """The defaults of a suite.

    Attributes:
        level: what is embedded: "node", "graph" or "hetero".
        cases: protocols and metrics of the datasets that are not in `CASES`.
        methods: what is run; controls are added.
        settings: parameters that differ from the defaults, unless they are given.
    """

    level: Level
    cases: tuple[Case, ...]
    methods: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


SUITES: dict[str, Suite] = {
    "nodes": Suite(
        level=NODE, cases=NODE_CASES, methods=(WHOLE, *LEARNED_VIEWS, NODE_ALONE)
    ),
    "graphs": Suite(
        level=GRAPH, cases=(("folds", "accuracy"),), methods=(WHOLE, *LEARNED_VIEWS)
    ),
    "hetero": Suite(
        level=HETERO, cases=NODE_CASES, methods=(WHOLE, *LEARNED_VIEWS, TWO_HOP)
    ),
    "large": Suite(
        level=NODE,
        cases=NODE_CASES,
        methods=(WHOLE, *LEARNED_VIEWS, NODE_ALONE),
        settings={"encoder": "decoupled", "batch_size": 2048, "epochs": 1},
    ),
}


class MissingRecipeError(InputError):
    """A family of recipes has none for this dataset and method."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The checked arguments of `run_suite`."""

    suite: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    recipe: str
    settings: Mapping[str, Any]
    protocol: str | None

    def plan(self, dataset: str, method: str, seed: int) -> Cell:
        """Return the cell of one fit.

        Raises:
            MissingRecipeError: if the family has no recipe for it.
        """
        system, level = SYSTEMS[method], DATASETS[dataset].level
        config: dict[str, Any] = {}
        label = DEFAULT
        if system.method:
            is_open = not system.is_training_free
            seed = seed if is_open else 0
            recipe = self._find_recipe(dataset, method) if is_open else {}
            if self.recipe == DEFAULT:
                recipe = system.known(SUITES[self.suite].settings, level)
            settings = system.known(self.settings, level)
            made = merge(recipe, settings, {"random_state": seed})
            config = system.complete(system.configure(made, level), level)
            # A setting without effect on the system is not part of its name.
            changes = {k: v for k, v in settings.items() if k not in system.fixed}
            label = name_recipe(self.recipe, changes) if is_open else DEFAULT
        cases = CASES.get(dataset, SUITES[self.suite].cases)
        if self.protocol is not None:
            cases = tuple({(self.protocol, metric): None for _, metric in cases})
        return Cell(
            suite=self.suite,
            dataset=dataset,
            method=method,
            recipe=label,
            # Without parameters the result is the same for every seed.
            seed=seed if system.method else 0,
            config=config,
            cases=cases,
        )

    def _find_recipe(self, dataset: str, method: str) -> dict[str, Any]:
        if self.recipe == DEFAULT:
            return {}
        system, name = SYSTEMS[method], self.recipe
        if not name.endswith(".toml"):
            name = f"{self.recipe}/{system.recipes}/{dataset}"
            if name not in list_recipes():
                raise MissingRecipeError(f"there is no recipe {name}")
        try:
            return load_recipe(name, method, DATASETS[dataset].level)
        except OtherSystemError as error:
            raise MissingRecipeError(f"recipe {name} {error}") from error


def name_recipe(recipe: str, changes: Mapping[str, Any]) -> str:
    """Name a recipe and the settings that override it, without component names."""
    named = (f"{key.rpartition('__')[2]}={value}" for key, value in changes.items())
    return ", ".join([recipe, *named])


def make_request(
    suite: str,
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    recipe: str,
    settings: Mapping[str, Any],
    protocol: str | None,
    folder: Path | None,
) -> Request:
    """Check the arguments of `run_suite`; fill in datasets, methods and controls.

    Raises:
        InputError: if a name is unknown or a setting is invalid.
    """
    level = SUITES[known_name(suite, SUITES, "suite")].level
    names = [name.lower() for name in datasets or ()]
    for name in map(known_dataset, names):
        if DATASETS[name].level != level:
            raise InputError(
                f"dataset '{name}' is of level '{DATASETS[name].level}', suite "
                f"'{suite}' is for '{level}': choose another dataset or suite"
            )
    for method in methods or ():
        if level not in SYSTEMS[known_name(method, SYSTEMS, "method")].levels:
            raise InputError(f"method '{method}' is not meant for suite '{suite}'")
    if not recipe.endswith(".toml"):
        known_name(recipe, list_families(), "recipe")
    chosen = with_controls(tuple(methods or SUITES[suite].methods), level)
    _check_settings(settings, chosen, level)
    return Request(
        suite=suite,
        datasets=tuple(
            names or (n for n in datasets_of(suite) if is_at_hand(n, folder))
        ),
        methods=chosen,
        recipe=recipe,
        settings=settings,
        protocol=protocol,
    )


def _check_settings(
    settings: Mapping[str, Any], methods: Sequence[str], level: Level
) -> None:
    """Check that every setting is a valid parameter of at least one method.

    Raises:
        InputError: if no method has a parameter, or a method refuses a value.
    """
    systems = {name: SYSTEMS[name] for name in methods if SYSTEMS[name].method}
    if settings and not systems:
        raise InputError(
            f"unknown key '{next(iter(settings))}': {', '.join(methods)} has no "
            f"parameters to set"
        )
    taken: set[str] = set()
    for name, system in systems.items():
        for key, value in settings.items():
            known = system.known({key: value}, level)
            taken |= {key} if known else set()
        try:
            system.configure(system.known(settings, level), level)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
    for key in settings:
        if key not in taken:
            names = (n for s in systems.values() for n in s.parameters(level))
            short = {name.rpartition("__")[2] for name in names}
            owners = dict.fromkeys(system.method for system in systems.values())
            raise InputError(
                f"unknown key '{key}': {did_you_mean(key, sorted(short), cutoff=0.0)}"
                f"expected a parameter of {' or '.join(owners)}"
            )


def datasets_of(suite: str) -> list[str]:
    """List the datasets of a suite, available or not."""
    return [
        name
        for name, row in DATASETS.items()
        if row.level == SUITES[suite].level and (name in LARGE) == (suite == "large")
    ]


def is_at_hand(dataset: str, folder: Path | None) -> bool:
    """Whether a dataset can be read without a download.

    A generated one is, unless the one that it stands for is.
    """
    row = DATASETS[dataset]
    if row.stands_for:
        return not is_at_hand(row.stands_for, folder)
    place = (folder or data_folder()) / row.place
    return row.built_in or any(path.is_file() for path in place.rglob("*"))


def known_name(name: str, among: Collection[str], kind: str) -> str:
    """Return a name after checking that it is known.

    Raises:
        InputError: if it is unknown; the message suggests the closest known name.
    """
    if name not in among:
        raise InputError(
            f"unknown {kind} '{name}': {did_you_mean(name, among)}expected one of "
            f"{', '.join(among)}"
        )
    return name
