"""Makes a configuration from plain settings with nested names."""

from collections.abc import Mapping
from typing import Any

from dsgrl.augment import VIEWS, Views, find_views
from dsgrl.graph import Spec
from dsgrl.methods.config import FitConfig, NodeBatches, StopByLinks
from dsgrl.methods.registry import METHODS
from dsgrl.parameters import Component, did_you_mean, is_auto, is_whole
from dsgrl.typing import InputError


def configure(
    name: str, settings: Mapping[str, Any], spec: Spec | None = None
) -> FitConfig:
    """Make the configuration of a method.

    Args:
        name: a key of `METHODS`.
        settings: parameters by name; nested ones as `views__edge_drop`. A component
            is given by its name or as an object.
        spec: spec of the data. It determines the views if only parameters of the
            views are given.

    Raises:
        InputError: if the method has no such parameter.
    """
    owner = METHODS[name].Config
    plain, nested = _split(name, owner, settings)
    config = owner(**plain)
    for part, values in nested.items():
        component = _component(config, part, spec)
        unknown = [key for key in values if key not in component.declared()]
        if unknown:
            known = component.declared()
            raise InputError(
                f"unknown key '{part}__{unknown[0]}': "
                f"{did_you_mean(unknown[0], known, cutoff=0.4)}expected a parameter of "
                f"{type(component).__name__}: {', '.join(known)}"
            )
        changes: dict[str, Any] = {part: component.replace(**values)}
        if part == "views":
            changes["augment"] = "auto"
        config = config.replace(**changes)
    return config


def expand_names(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Expand nested parameters to full names: `edge_drop` to `views__edge_drop`.

    Parameters of the method itself and unknown names do not change.
    """
    owner = METHODS[name].Config.declared()
    nested = {
        key: part
        for part, kinds in _kinds(owner).items()
        for kind in kinds
        for key in kind.declared()
    }
    return {
        f"{nested[key]}__{key}" if key not in owner and key in nested else key: value
        for key, value in settings.items()
    }


def all_parameters(name: str) -> list[str]:
    """List every parameter of a method, including those of any component."""
    owner = METHODS[name].Config.declared()
    nested = (
        f"{part}__{key}"
        for part, kinds in _kinds(owner).items()
        for kind in kinds
        for key in kind.declared()
    )
    return list(dict.fromkeys([*owner, *nested]))


def _kinds(owner: Mapping[str, Any]) -> dict[str, list[type[Component]]]:
    """Return the possible components of each parameter that is a component."""
    found: dict[str, list[type[Component]]] = {"epochs": [StopByLinks]}
    if owner["batch_size"].rule.accepts(NodeBatches()):
        found["batch_size"] = [NodeBatches]
    if "views" in owner:
        found["views"] = list(VIEWS.values())
    return found


def _split(
    name: str, owner: type[FitConfig], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    known = owner.declared()
    plain: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        part, _, rest = key.partition("__")
        if part not in known or (rest and part not in _kinds(known)):
            near = did_you_mean(key, all_parameters(name), cutoff=0.4)
            raise InputError(
                f"unknown key '{key}': {near}expected a parameter of {name}"
            )
        if rest:
            nested.setdefault(part, {})[rest] = value
        else:
            plain[part] = value
    return plain, nested


def _component(config: Any, part: str, spec: Spec | None) -> Component:
    """Return the component that nested parameters belong to."""
    value = getattr(config, part)
    if isinstance(value, Component):
        return value
    if part == "epochs":
        if not is_auto(value):
            raise InputError(
                f"epochs={value!r}: expected 'auto' beside stopping parameters"
            )
        return StopByLinks()
    if part == "batch_size":
        return NodeBatches(size=value) if is_whole(value, 1) else NodeBatches()
    if spec is None and is_auto(value) and is_auto(config.augment):
        raise InputError(
            "parameters of views without the views: set views or augment as well"
        )
    views: Views = find_views(value, config.augment, spec)  # type: ignore[arg-type]
    return views
