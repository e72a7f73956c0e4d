"""Declared parameters: default, allowed values, search range and meaning in one place.

A subclass of `Component` is a dataclass whose fields are made by `parameter`. Views,
the stopping rule and the configuration of every method are components. scikit-learn's
nested parameters, checking, tuning, recipes and the help text follow from the fields.

    class Config(FitConfig):
        out_channels: int = parameter(COUNT, "width D", default=512)
"""

import dataclasses
import difflib
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Self, dataclass_transform

from dsgrl.typing import InputError, Level

AUTO = "auto"
# Lowest and highest value and the scale of a search; whole numbers where both ends are.
Range = tuple[float, float, Literal["linear", "log"]]
SearchRange = Range | Mapping[Level, Range]


class Rule(NamedTuple):
    """What a parameter accepts, and the same in words."""

    accepts: Callable[[Any], bool]
    expected: str


def did_you_mean(name: str, among: Iterable[str], cutoff: float = 0.5) -> str:
    """Suggest the closest known name; empty if none is close.

    Args:
        name: the given name.
        among: the known names.
        cutoff: least similarity, from 0 to 1; 0 for the closest in any case.
    """
    near = difflib.get_close_matches(name, list(among), n=1, cutoff=cutoff)
    return f"did you mean '{near[0]}'? " if near else ""


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number of at least `least`; True is not a number."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and int(value) >= least


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def one_of(*allowed: object) -> Rule:
    """Accept some values only."""
    listed = ", ".join(repr(value) for value in allowed)
    kinds = {type(value) for value in allowed}
    return Rule(
        lambda value: type(value) in kinds and value in allowed, f"one of {listed}"
    )


def either(*rules: Rule) -> Rule:
    """Accept what any of the rules accepts."""
    return Rule(
        lambda value: any(rule.accepts(value) for rule in rules),
        " or ".join(rule.expected for rule in rules),
    )


def auto_or(rule: Rule) -> Rule:
    """Accept "auto" as well."""
    return either(Rule(is_auto, "'auto'"), rule)


def none_or(rule: Rule) -> Rule:
    """Accept None as well."""
    return Rule(
        lambda value: value is None or rule.accepts(value), f"{rule.expected}, or None"
    )


def is_auto(value: Any) -> bool:
    """Whether a value is left open."""
    return isinstance(value, str) and value == AUTO


ANYTHING = Rule(lambda _: True, "anything")
SWITCH = one_of(False, True)
COUNT = Rule(lambda value: is_whole(value, 1), "a whole number from 1")
COUNT_OR_ZERO = Rule(is_whole, "a whole number from 0")
SHARE = Rule(
    lambda value: is_number(value) and 0 <= value < 1, "a share from 0 to below 1"
)
OPEN_SHARE = Rule(
    lambda value: is_number(value) and 0 < value < 1, "a share between 0 and 1"
)
WEIGHT = Rule(lambda value: is_number(value) and value >= 0, "a number from 0")
ABOVE_ZERO = Rule(lambda value: is_number(value) and value > 0, "a number above 0")


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of a parameter besides its default."""

    rule: Rule
    meaning: str
    search: SearchRange | None


def parameter(
    rule: Rule,
    meaning: str,
    *,
    default: Any,
    search: SearchRange | None = None,
) -> Any:
    """Declare a parameter as a dataclass field.

    Args:
        rule: the values it may have.
        meaning: one sentence for people.
        default: its value if none is given.
        search: what `dsgrl tune` varies, for all levels or by level; None for nothing.
    """
    declared = Declared(rule, meaning, search)
    return field(default=default, metadata={"declared": declared})


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
class Component:
    """An object described by its parameters alone; subclasses become dataclasses.

    The constructor takes keywords and only stores. `check` refuses values that cannot
    work. Nested components are reached as in scikit-learn: `views__edge_drop`.
    """

    # What it is called in recipes and on the command line.
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    @classmethod
    def declared(cls) -> dict[str, Declared]:
        """Return what is declared of every parameter."""
        return {each.name: each.metadata["declared"] for each in _fields(cls)}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every parameter with its default."""
        return {each.name: each.default for each in _fields(cls)}

    def values(self) -> dict[str, Any]:
        """Return every parameter with its value; nested components as they are."""
        return {name: getattr(self, name) for name in self.declared()}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values."""
        return type(self)(**{**self.values(), **changes})

    def check(self, prefix: str = "") -> None:
        """Refuse values that cannot work.

        Raises:
            InputError: naming the parameter, the value given and the values allowed.
        """
        for name, declared in self.declared().items():
            value = getattr(self, name)
            if isinstance(value, Component):
                value.check(f"{prefix}{name}__")
            if not declared.rule.accepts(value):
                refuse(prefix + name, value, declared.rule.expected)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as scikit-learn does."""
        found = self.values()
        if deep:
            for name, value in self.values().items():
                if isinstance(value, Component):
                    nested = value.get_params().items()
                    found |= {f"{name}__{key}": part for key, part in nested}
        return found

    def set_params(self, **changes: Any) -> Self:
        """Set parameters as scikit-learn does."""
        for key, value in changes.items():
            name, _, rest = key.partition("__")
            if name not in self.declared():
                raise ValueError(
                    f"{type(self).__name__} has no parameter '{name}', expected one "
                    f"of {', '.join(self.declared())}"
                )
            if rest:
                getattr(self, name).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Component) or type(other) is not type(self):
            return NotImplemented
        return self.values() == other.values()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        default = self.defaults()
        changed = (
            f"{name}={value!r}"
            for name, value in self.values().items()
            if value != default[name]
        )
        return f"{type(self).__name__}({', '.join(changed)})"


def _fields(component: type[Component]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(component)  # type: ignore[arg-type]


def flatten(component: Component) -> dict[str, Any]:
    """Return the parameters as plain values, nested ones as `views__edge_drop`.

    A nested component is given by its name, its parameters follow.
    """
    flat: dict[str, Any] = {}
    for name, value in component.values().items():
        if isinstance(value, Component):
            flat[name] = value.name
            flat |= {f"{name}__{key}": part for key, part in flatten(value).items()}
        else:
            flat[name] = value
    return flat


def search_space(component: Component, level: Level) -> dict[str, Range]:
    """Return what is varied at a level, nested parameters included."""
    return dict(_searched(component, level, ""))


def _searched(
    component: Component, level: Level, prefix: str
) -> Iterator[tuple[str, Range]]:
    for name, declared in component.declared().items():
        search: Any = declared.search
        if isinstance(search, Mapping):
            search = search.get(level)
        if search is not None:
            yield prefix + name, search
        value = getattr(component, name)
        if isinstance(value, Component):
            yield from _searched(value, level, f"{prefix}{name}__")


def describe(component: type[Component]) -> str:
    """List the parameters as the `Args` of a docstring."""
    lines = []
    for each in _fields(component):
        text = each.metadata["declared"].meaning
        lines.append(f"{each.name} (default {each.default!r}): {text}")
    return "\n".join(lines)


def refuse(name: str, value: object, expected: str) -> None:
    """Say in one line what was given and what was expected."""
    raise InputError(f"{name}={value!r}: expected {expected}")
