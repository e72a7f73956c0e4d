"""Reads a recipe for a system; a recipe for another system is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsgrl.augment import LearnedBoth, LearnedFeatures, LearnedGraph
from dsgrl.bench.legacy import OLDER_KEYS, named_views, upgrade
from dsgrl.bench.recipes import read_recipe
from dsgrl.bench.systems import SYSTEMS, System
from dsgrl.methods import METHODS, all_parameters, expand_names
from dsgrl.typing import InputError, Level


class OtherSystemError(InputError):
    """The recipe is for another system."""


def load_recipe(name_or_path: str | Path, method: str, level: Level) -> dict[str, Any]:
    """Read a recipe for a system.

    A recipe for a learned graph can also be used for its controls, which have another
    graph in its place. They use the parameters that they have.

    Args:
        name_or_path: a name of `list_recipes()`, or a path that ends in ".toml".
        method: a key of `SYSTEMS`.
        level: level of the data.

    Raises:
        OtherSystemError: if it is for another system.
        InputError: if there is no such recipe, or a key or value is invalid.
    """
    system, recipe = SYSTEMS[method], read_recipe(name_or_path)
    _check_owner(recipe, method)
    try:
        settings = upgrade(system.method, recipe, level, own=system.settings)
        settings = _fit_views(settings, method)
        system.configure(settings, level)
    except OtherSystemError:
        raise
    except InputError as error:
        raise InputError(f"recipe {name_or_path}: {error}") from error
    return settings


def _check_owner(recipe: Mapping[str, Any], method: str) -> None:
    """Refuse a recipe with a parameter that only another method has."""
    for key in recipe:
        owners = [name for name in METHODS if _knows(name, key)]
        if owners and SYSTEMS[method].method not in owners:
            raise OtherSystemError(
                f"is for {owners[0]} (it sets '{key}'), not for {method}"
            )


def _knows(method: str, key: str) -> bool:
    known = all_parameters(method)
    (full,) = expand_names(method, {key: None})
    return full in known or ("views" in known and key in OLDER_KEYS)


def _fit_views(settings: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Leave out what the system fixes; refuse parameters of other views."""
    system = SYSTEMS[method]
    own = named_views(system.settings)
    named: Any = named_views(settings)
    is_control = False
    if own is not None and named not in (None, own):
        is_control = named is LearnedGraph and _keeps_features(own)
        if not is_control:
            raise OtherSystemError(f"is for views '{named.name}', not for {method}")
    return {
        key: value
        for key, value in settings.items()
        if not _is_set_by(system, key) and not (is_control and _is_unknown(key, own))
    }


def _keeps_features(views: Any) -> bool:
    return not issubclass(views, LearnedBoth | LearnedFeatures)


def _is_set_by(system: System, key: str) -> bool:
    """Whether the system fixes a parameter or its component."""
    part = key.partition("__")[0]
    return key in system.fixed or (part == "epochs" and "epochs" in system.fixed)


def _is_unknown(key: str, views: Any) -> bool:
    part, _, name = key.partition("__")
    return part == "views" and bool(name) and name not in views.declared()
