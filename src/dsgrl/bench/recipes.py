"""Recipes: hyper-parameters as TOML files, and what beats what.

The keys of a recipe are the parameters of a system: of `DSGRL`, or of a baseline. An
unknown key fails: a setting that silently does nothing is worse than none.
"""

import difflib
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgrl.estimator import DSGRL
from dsgrl.io.atomic import atomic_write
from dsgrl.methods import check_parameters
from dsgrl.typing import InputError

FOLDER = Path(__file__).parent / "recipes"
# The recipe that changes nothing.
DEFAULT = "default"
NOT_IN_RECIPES = ("random_state", "device", "verbose")
# TOML has no None; "none" is a value of its own for these.
_NONE = "none"
_NONE_IS_A_NAME = ("scaling", "topology")


def default_parameters() -> dict[str, Any]:
    """Return every parameter of `DSGRL` with its default."""
    parameters: dict[str, Any] = DSGRL().get_params(deep=False)
    return parameters


@dataclass(frozen=True, slots=True)
class ParameterTable:
    """The parameters of a system.

    Attributes:
        owner: whose they are, for people.
        defaults: gives all of them.
        check: refuses values that cannot work.
    """

    owner: str
    defaults: Callable[[], dict[str, Any]]
    check: Callable[[Mapping[str, Any]], None]

    def merge(self, *layers: Mapping[str, Any]) -> dict[str, Any]:
        """Lay settings over the defaults, see `merge`."""
        return merge(self.defaults(), *layers, owner=self.owner)

    def known(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Take those settings that are in the table."""
        defaults = self.defaults()
        return {key: value for key, value in settings.items() if key in defaults}


DSGRL_TABLE = ParameterTable("DSGRL", default_parameters, check_parameters)


def list_recipes() -> list[str]:
    """Name the recipes that ship with the package, e.g. "paper/feature/photo"."""
    return sorted(
        path.relative_to(FOLDER).with_suffix("").as_posix()
        for path in FOLDER.rglob("*.toml")
    )


def list_families() -> list[str]:
    """Name what `--recipe` takes besides a file: "default", "paper", ..."""
    return [DEFAULT, *sorted({name.split("/")[0] for name in list_recipes()})]


def load_recipe(
    name_or_path: str | Path, table: ParameterTable = DSGRL_TABLE
) -> dict[str, Any]:
    """Read and check a recipe.

    Args:
        name_or_path: a name of `list_recipes()`, or a path that ends in ".toml".
        table: the parameters of the system it is for.

    Returns:
        The parameters it sets, by name.

    Raises:
        InputError: if there is no such recipe, or a key or value cannot work.
    """
    parameters = read_recipe(name_or_path)
    try:
        table.check(table.merge(parameters))
    except InputError as error:
        raise InputError(f"recipe {name_or_path}: {error}") from error
    return parameters


def read_recipe(name_or_path: str | Path) -> dict[str, Any]:
    """Read a recipe as it is, whosever it may be.

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
        raise InputError(f"no recipe '{text}'{_suggest(text)}") from error
    return {key: _read_none(key, value) for key, value in values.items()}


def merge(
    defaults: Mapping[str, Any], *layers: Mapping[str, Any], owner: str = "DSGRL"
) -> dict[str, Any]:
    """Lay settings over defaults; a later layer beats an earlier one.

    Called as `merge(defaults, recipe, command_line)`; `owner` is whose they are.

    Raises:
        InputError: if a layer has a key that the defaults do not know.
    """
    merged = dict(defaults)
    for layer in layers:
        for key, value in layer.items():
            if key not in defaults:
                near = difflib.get_close_matches(key, defaults, n=1, cutoff=0.0)
                raise InputError(
                    f"unknown key '{key}': did you mean '{near[0]}'? "
                    f"expected a parameter of {owner}"
                )
            merged[key] = value
    return merged


def parse_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Read settings of the command line, e.g. `["lr=0.01", "norm=batch"]`.

    Raises:
        InputError: if a text is not of the form key=value.
    """
    settings = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"--set {text}: expected key=value, e.g. lr=0.01")
        settings[key] = _read_none(key, _read_value(value))
    return settings


def write_recipe(
    path: Path, parameters: Mapping[str, Any], notes: Iterable[str]
) -> None:
    """Write a recipe that `load_recipe` reads back to the same parameters.

    Args:
        path: where to; renamed into place when whole.
        parameters: what it sets.
        notes: lines of the comment on top.
    """
    lines = [f"# {note}" for note in notes]
    lines += [f"{key} = {_as_toml(value)}" for key, value in parameters.items()]
    with atomic_write(path) as part:
        part.write_text("\n".join(lines) + "\n")


def _read_value(text: str) -> Any:
    """Read numbers and truth values as TOML does, anything else as a word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _read_none(key: str, value: Any) -> Any:
    return None if value == _NONE and key not in _NONE_IS_A_NAME else value


def _as_toml(value: Any) -> str:
    if value is None:
        return f'"{_NONE}"'
    # JSON writes words, numbers and truth values as TOML does.
    return json.dumps(value)


def _suggest(name: str) -> str:
    near = difflib.get_close_matches(name, list_recipes(), n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f": {hint}expected a .toml file or a name shown by 'dsgrl list'"
