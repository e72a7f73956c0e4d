"""What a suite consists of: datasets, systems and how they are judged."""

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgrl.bench.cells import Case, Cell
from dsgrl.bench.recipes import (
    DEFAULT,
    list_families,
    list_recipes,
    load_recipe,
    merge,
    read_recipe,
)
from dsgrl.bench.systems import GRAPH, HETERO, NODE, SYSTEMS, with_controls
from dsgrl.datasets.table import DATASETS, data_folder, suggest
from dsgrl.typing import InputError

NODE_CASES: tuple[Case, ...] = (("5/15/80", "accuracy"),)
# Where the paper judges otherwise.
CASES: dict[str, tuple[Case, ...]] = {
    "imdb": tuple(
        (f"imdb-{share}", metric)
        for share in (20, 40, 60, 80)
        for metric in ("macro_f1", "micro_f1")
    ),
    "yelp": (("public", "roc_auc"),),
    "reddit": (("public", "accuracy"),),
}
LARGE = ("yelp", "reddit")
OURS = ("dsgrl-feature", "dsgrl-topology", "dsgrl-both")
# The defaults for nodes of one kind and of several: no learned view does better there.
ALONE, TWO_HOP = "topology-none", "topology-two-hop"


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """What a suite runs unless told otherwise.

    Attributes:
        level: what is embedded: "node", "graph" or "hetero".
        cases: how it is judged, unless `CASES` has another way for a dataset.
        methods: what is run; controls join by themselves.
    """

    level: str
    cases: tuple[Case, ...]
    methods: tuple[str, ...]


SUITES: dict[str, Suite] = {
    "nodes": Suite(level=NODE, cases=NODE_CASES, methods=(*OURS, ALONE)),
    "graphs": Suite(level=GRAPH, cases=(("folds", "accuracy"),), methods=OURS),
    "hetero": Suite(level=HETERO, cases=NODE_CASES, methods=(*OURS, TWO_HOP)),
    "large": Suite(level=NODE, cases=NODE_CASES, methods=("dsgrl-feature", ALONE)),
}


class MissingRecipeError(InputError):
    """A family of recipes has none for this dataset and method."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What was asked of a suite; see `run_suite`."""

    suite: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    recipe: str
    settings: Mapping[str, Any]
    protocol: str | None

    def plan(self, dataset: str, method: str, seed: int) -> Cell:
        """Say what one fit is.

        Raises:
            MissingRecipeError: if the recipe asked for is not there.
        """
        system = SYSTEMS[method]
        table, label = system.parameters, DEFAULT
        config: dict[str, Any] = {}
        if table is not None:
            recipe = self._find_recipe(dataset, method)
            own = {**system.fixed, "random_state": seed}
            settings = table.known(self.settings)
            config = table.merge(recipe, settings, own)
            # A setting that cannot change the system is no other recipe for it.
            changes = {k: v for k, v in settings.items() if k not in own}
            label = ", ".join([self.recipe, *(f"{k}={v}" for k, v in changes.items())])
        cases = CASES.get(dataset, SUITES[self.suite].cases)
        if self.protocol is not None:
            cases = tuple({(self.protocol, metric): None for _, metric in cases})
        return Cell(
            suite=self.suite,
            dataset=dataset,
            method=method,
            recipe=label,
            # What has no parameters is the same for every seed.
            seed=0 if table is None else seed,
            config=config,
            cases=cases,
        )

    def _find_recipe(self, dataset: str, method: str) -> dict[str, Any]:
        if self.recipe == DEFAULT:
            return {}
        system, name = SYSTEMS[method], self.recipe
        assert system.parameters is not None
        if not name.endswith(".toml"):
            name = f"{self.recipe}/{system.recipes}/{dataset}"
            if name not in list_recipes():
                raise MissingRecipeError(f"there is no recipe {name}")
        owner = _other_owner(read_recipe(name), method)
        if owner is not None:
            raise MissingRecipeError(f"recipe {name} is for {owner}, not for {method}")
        return load_recipe(name, system.parameters)


def _other_owner(recipe: Mapping[str, Any], method: str) -> str | None:
    """Say whom a recipe is for, if that is not this method."""
    system = SYSTEMS[method]
    augment = system.fixed.get("augment")
    if augment is not None and recipe.get("augment", augment) != augment:
        return f"augment='{recipe['augment']}'"
    tables = [other.parameters for other in SYSTEMS.values() if other.parameters]
    for key in recipe:
        owners = [table.owner for table in tables if table.known({key: None})]
        assert system.parameters is not None
        if owners and system.parameters.owner not in owners:
            return f"{owners[0]} (it sets '{key}')"
    return None


def make_request(
    suite: str,
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    recipe: str,
    settings: Mapping[str, Any],
    protocol: str | None,
    folder: Path | None,
) -> Request:
    """Check what was asked; fill in datasets at hand, the suite's methods, controls.

    Raises:
        InputError: if a name is unknown or a setting cannot work.
    """
    level = SUITES[_known(suite, SUITES, "suite")].level
    names = [name.lower() for name in datasets or ()]
    for name in names:
        if name not in DATASETS:
            raise InputError(f"unknown dataset '{name}'{suggest(name)}")
        if DATASETS[name].level != level:
            raise InputError(
                f"dataset '{name}' is of level '{DATASETS[name].level}', suite "
                f"'{suite}' is for '{level}': choose another dataset or suite"
            )
    for method in methods or ():
        if level not in SYSTEMS[_known(method, SYSTEMS, "method")].levels:
            raise InputError(f"method '{method}' is not meant for suite '{suite}'")
    if not recipe.endswith(".toml"):
        _known(recipe, list_families(), "recipe")
    chosen = with_controls(tuple(methods or SUITES[suite].methods), level)
    _check_settings(settings, chosen)
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


def _check_settings(settings: Mapping[str, Any], methods: Sequence[str]) -> None:
    """See that every setting is a parameter of some method; it is set where it is one.

    Raises:
        InputError: if none of the methods knows a key, or one of them refuses a value.
    """
    found = (SYSTEMS[method].parameters for method in methods)
    tables = {table.owner: table for table in found if table is not None}
    if settings and not tables:
        raise InputError(
            f"unknown key '{next(iter(settings))}': {', '.join(methods)} has no "
            f"parameters to set"
        )
    known = {key: None for table in tables.values() for key in table.defaults()}
    merge(known, settings, owner=" or ".join(tables))
    for table in tables.values():
        try:
            table.check(table.merge(table.known(settings)))
        except InputError as error:
            raise InputError(f"{table.owner}: {error}") from error


def datasets_of(suite: str) -> list[str]:
    """Name the datasets of a suite, at hand or not."""
    return [
        name
        for name, row in DATASETS.items()
        if row.level == SUITES[suite].level and (name in LARGE) == (suite == "large")
    ]


def is_at_hand(dataset: str, folder: Path | None) -> bool:
    """Whether a dataset can be read without fetching it first."""
    row = DATASETS[dataset]
    place = (folder or data_folder()) / row.place
    return row.built_in or any(path.is_file() for path in place.rglob("*"))


def _known(name: str, among: Collection[str], kind: str) -> str:
    if name not in among:
        near = difflib.get_close_matches(name, among, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise InputError(
            f"unknown {kind} '{name}': {hint}expected one of {', '.join(among)}"
        )
    return name
