"""Reads recipes and result lines written before views were components.

At that time `DSGRL` had up to 49 flat parameters: `topology` named the second graph,
and the parameters of all views and of the stopping rule were at the same level. The
parameters of unused views had no effect. `upgrade` returns the same model in today's
names.
"""

from collections.abc import Mapping
from typing import Any

from dsgrl.augment import FIGURES, VIEWS, NodeAlone, Views
from dsgrl.augment.views import default_views
from dsgrl.bench.systems import typical_spec
from dsgrl.methods import METHODS, all_parameters, expand_names
from dsgrl.methods.config import GRAPHS_PER_STEP
from dsgrl.parameters import AUTO, is_auto
from dsgrl.typing import InputError, Level

# What `topology` named, except for a learned graph.
_SECOND_GRAPHS: dict[str, dict[str, Any]] = {
    "none": {"views": "node_alone"},
    "two_hop": {"views": "two_steps"},
    "random": {"views": "random"},
    "knn_x": {"views": "nearest", "views__by": "features"},
    "knn_ax": {"views": "nearest", "views__by": "neighbors"},
}
_BESIDE_FEATURES = {"none": "node_alone", "two_hop": "two_steps"}
# Parameters of DSGRL that the oldest result lines lack, with the value that gives the
# same model. Other missing parameters, e.g. `structural_columns`, have their default.
_BEFORE: dict[str, Any] = {
    "edge_drop": 0.0,
    "feature_drop": 0.0,
    "feature_mask": 0.0,
    "gain": 1.0,
    "smoothing": 0,
    "tolerance": 1.0,
}
# Keys of DSGRL that are no longer parameters.
OLDER_KEYS = ("topology",)
# Default number of steps between two searches for learned edges.
_REFRESH = 5


def is_flat(method: str, settings: Mapping[str, Any]) -> bool:
    """Whether settings of a method are in the older, flat form.

    Args:
        method: a key of `METHODS`.
        settings: those of a recipe or of a result line.
    """
    own = METHODS[method].Config.declared().keys()
    names = (key.partition("__") for key in all_parameters(method))
    nested = {name for _, _, name in names if name} - own
    return bool(({*OLDER_KEYS} | nested) & settings.keys())


def upgrade(
    method: str,
    settings: Mapping[str, Any],
    level: Level,
    *,
    own: Mapping[str, Any] | None = None,
    is_complete: bool = False,
) -> dict[str, Any]:
    """Return older settings in today's names, without those that had no effect.

    Args:
        method: a key of `METHODS`.
        settings: those of a recipe or of a result line.
        level: level of the data.
        own: settings of the system; they name the views if the older settings do not.
        is_complete: whether every parameter of that time is given, as in a result
            line. Parameters added since then get the value of the older model.

    Raises:
        InputError: if such views no longer exist.
    """
    flat = dict(settings)
    if not is_flat(method, flat):
        return flat
    if "views" not in METHODS[method].Config.declared():
        found = _without_unused_stop(expand_names(method, flat))
        return _with_auto(method, found, level) if is_complete else found
    if is_complete:
        flat = _with_later_parameters(flat)
    is_older = "views" not in flat
    flat |= _name_views(flat)
    kind = named_views(flat) or named_views(own or {})
    if kind is None:
        kind = type(default_views(typical_spec(level)))
    found = _without_unused_stop(expand_names(method, flat))
    if is_older:
        found = {k: v for k, v in found.items() if _has_effect(kind, k)}
    if level == "graph" and "views__refresh" in found:
        # It had no effect on many graphs.
        found["views__refresh"] = AUTO
    if is_complete:
        found["views"] = kind.name
        found.pop("augment", None)
        if found.get("views__refresh") == _REFRESH:
            found["views__refresh"] = AUTO
    return found


def with_floor_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Write out what lines of before there was a floor leave out.

    "auto" of `lr` and `readout` is a number and a name there, and in the lines of today
    that have no floor it stands for the same.
    """
    if config.get("floor", False):
        return dict(config)
    before = {"lr": 1e-3, "readout": "sum"}
    open_ones = {k: v for k, v in before.items() if is_auto(config.get(k))}
    return {**config, "floor": False, **open_ones}


def with_batch_size(method: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Write 128 graphs per step as "auto", which it stands for.

    It was the default for one graph as well, where it had no effect.
    """
    default = METHODS[method].Config.defaults()["batch_size"]
    is_same = is_auto(default) and config.get("batch_size") == GRAPHS_PER_STEP
    return {**config, "batch_size": AUTO} if is_same else dict(config)


def named_views(settings: Mapping[str, Any]) -> type[Views] | None:
    """Return the kind of views that settings name; None if they name no known kind."""
    views, augment = settings.get("views", AUTO), settings.get("augment", AUTO)
    if isinstance(views, str) and views in VIEWS:
        return VIEWS[views]
    return FIGURES.get(augment) if isinstance(augment, str) else None


def _has_effect(kind: Any, key: str) -> bool:
    part, _, name = key.partition("__")
    return part != "views" or not name or name in kind.declared()


def _name_views(flat: dict[str, Any]) -> dict[str, Any]:
    """Remove `topology` from older settings and return the views it stands for."""
    topology, augment = flat.pop("topology", AUTO), flat.get("augment", AUTO)
    is_fixed = topology in _SECOND_GRAPHS
    if augment == "both" and is_fixed:
        if topology not in _BESIDE_FEATURES:
            raise InputError(
                f"augment='both' with topology='{topology}': these views no longer "
                f"exist, expected one of {', '.join(VIEWS)}"
            )
        del flat["augment"]
        graph = _BESIDE_FEATURES[topology]
        return {"views": VIEWS["learned_both"].name, "views__graph": graph}
    if augment in ("topology", AUTO) and is_fixed:
        flat.pop("augment", None)
        return _SECOND_GRAPHS[topology]
    if augment == AUTO and topology == "learned":
        return {"augment": "topology"}
    return {}


def _with_later_parameters(flat: dict[str, Any]) -> dict[str, Any]:
    """Add the parameters that a result line of DSGRL lacks.

    "auto" keeps its name and has today's meaning, except for `scaling`. It meant
    "columns" for learned features before edges were dropped by default, and for
    `node_alone` before `smoothing` existed.
    """
    found = {**_BEFORE, **flat}
    by_default = ("edge_drop", "covariance_weight", "weight_decay")
    is_first = "structural_columns" not in flat and not any(
        is_auto(found[name]) for name in by_default
    )
    is_second = "smoothing" not in flat and flat["topology"] == NodeAlone.kind
    if is_auto(found["scaling"]) and (is_first or is_second):
        found["scaling"] = "columns"
    return found


def _with_auto(method: str, found: dict[str, Any], level: Level) -> dict[str, Any]:
    """Write "auto" where a result line has the value that "auto" stands for today.

    The defaults of methods other than DSGRL were numbers.
    """
    config = METHODS[method].Config()
    standard = config.fill_auto(typical_spec(level))
    defaults = config.defaults()
    for name, value in standard.items():
        full = "epochs__tolerance" if name == "tolerance" else name
        is_default = full != name or is_auto(defaults[name])
        if is_default and found.get(full) == value:
            found[full] = AUTO
    return found


def _without_unused_stop(flat: dict[str, Any]) -> dict[str, Any]:
    """Leave out the stopping rule if the number of epochs is given."""
    if flat.get("epochs", AUTO) == AUTO:
        return flat
    return {k: v for k, v in flat.items() if not k.startswith("epochs__")}
