"""Recipes: parameters as TOML files, and settings of the command line.

The keys of a recipe are the parameters of a method; those of a component are in a
table with its name:

    lr = 0.01
    [views]
    kind = "learned_features"
    edge_drop = 0.2

An unknown key is an error.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dsgrl.io.atomic import atomic_write
from dsgrl.parameters import did_you_mean
from dsgrl.typing import InputError

FOLDER = Path(__file__).parent / "recipes"
# The recipe that changes nothing.
DEFAULT = "default"
# The key of a table that names its component.
KIND = "kind"
NOT_IN_RECIPES = ("random_state", "device", "verbose")
# TOML has no None: "none" stands for it, except for the keys that have such a value.
_NONE = "none"
_NONE_IS_A_NAME = ("scaling", "topology")
# `augment` is short for `views`.
_ROOM = {"augment": "views"}


def list_recipes() -> list[str]:
    """List the recipes of the package, e.g. "paper/feature/photo"."""
    return sorted(
        path.relative_to(FOLDER).with_suffix("").as_posix()
        for path in FOLDER.rglob("*.toml")
    )


def list_families() -> list[str]:
    """List what `--recipe` accepts besides a file: "default", "paper", ..."""
    return [DEFAULT, *sorted({name.split("/")[0] for name in list_recipes()})]


def read_recipe(name_or_path: str | Path) -> dict[str, Any]:
    """Read a recipe.

    Args:
        name_or_path: a name of `list_recipes()`, or a path that ends in ".toml".

    Returns:
        The parameters; those of a component as `views__edge_drop`.

    Raises:
        InputError: if there is no such recipe.
    """
    text = str(name_or_path)
    path = Path(text) if text.endswith(".toml") else FOLDER / f"{text}.toml"
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"recipe {text}: not a TOML file ({error})") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"no recipe '{text}': {did_you_mean(text, list_recipes())}expected a .toml "
            f"file or a name shown by 'dsgrl list'"
        ) from error
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            nested = {f"{key}__{name}": part for name, part in value.items()}
            kind = nested.pop(f"{key}__{KIND}", None)
            flat |= nested if kind is None else {key: kind, **nested}
        else:
            flat[key] = value
    return {key: _read_none(key, value) for key, value in flat.items()}


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge layers of settings; a later layer overrides an earlier one.

    Called as `merge(recipe, command_line)`. A layer that names other views, or a
    number of epochs, removes the parameters of views or epochs in earlier layers.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        replaced = {_ROOM.get(key, key) for key in layer if "__" not in key}
        merged = {
            key: value
            for key, value in merged.items()
            if _ROOM.get(key.partition("__")[0], key.partition("__")[0]) not in replaced
        }
        merged |= layer
    return merged


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Parse settings of the command line, e.g. `["lr=0.01", "views.edge_drop=0.2"]`.

    Raises:
        InputError: if a text does not have the form key=value.
    """
    settings = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"--set {text}: expected key=value, e.g. lr=0.01")
        key = key.replace(".", "__")
        settings[key] = _read_none(key, _read_value(value))
    return settings


def write_recipe(
    path: Path, parameters: Mapping[str, Any], notes: Iterable[str]
) -> None:
    """Write a recipe; `read_recipe` returns the same parameters.

    Args:
        path: the file; it is written atomically.
        parameters: the parameters of the recipe.
        notes: lines of the comment at the top.
    """
    lines = [f"# {note}" for note in notes]
    tables: dict[str, list[str]] = {"": []}
    nested = {key.partition("__")[0] for key in parameters if "__" in key}
    for key, value in parameters.items():
        table, _, name = key.rpartition("__")
        if key in nested:
            # A table cannot have the name of a value.
            table, name = key, KIND
        tables.setdefault(table, []).append(f"{name} = {_as_toml(value)}")
    for table, rows in tables.items():
        lines += [*([f"[{table}]"] if table else []), *rows]
    with atomic_write(path) as part:
        part.write_text("\n".join(lines) + "\n")


def _read_value(text: str) -> Any:
    """Parse a TOML value; anything else is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _read_none(key: str, value: Any) -> Any:
    return None if value == _NONE and key not in _NONE_IS_A_NAME else value


def _as_toml(value: Any) -> str:
    if value is None:
        return f'"{_NONE}"'
    # Strings, numbers and booleans are the same in JSON and TOML.
    return json.dumps(value)
