"""Reads the flat parameters of recipes and result lines before views were components.

Then `DSGRL` had 49 flat parameters: the second graph was named by `topology`, the
parameters of all views and of the stopping rule stood beside each other, and those of
views that were not used had no effect. `upgrade` gives the same model in today's names.
"""

from collections.abc import Mapping
from typing import Any

from dsgrl.augment import VIEWS, find_views
from dsgrl.bench.systems import typical_spec
from dsgrl.methods import all_parameters, expand_names
from dsgrl.typing import Level

# What `topology` named, but for a learned graph.
_SECOND_GRAPHS: dict[str, dict[str, Any]] = {
    "none": {"views": "node_alone"},
    "two_hop": {"views": "two_steps"},
    "random": {"views": "random"},
    "knn_x": {"views": "nearest", "views__by": "features"},
    "knn_ax": {"views": "nearest", "views__by": "neighbors"},
}
_BESIDE_FEATURES = {"none": "node_alone", "two_hop": "two_steps"}


def is_flat(settings: Mapping[str, Any]) -> bool:
    """Whether settings of `DSGRL` are of the older form."""
    nested = {key.rpartition("__")[2] for key in all_parameters("dsgrl")}
    own = {key for key in all_parameters("dsgrl") if "__" not in key}
    return "topology" in settings or bool((nested - own) & settings.keys())


def upgrade(
    method: str, settings: Mapping[str, Any], level: Level, *, is_complete: bool = False
) -> dict[str, Any]:
    """Return older settings in today's names; what had no effect is left out.

    Args:
        method: a key of `METHODS`.
        settings: of a recipe or of a result line.
        level: of the data.
        is_complete: every parameter is there, as in a result line: those added since
            get the value that the older model had.
    """
    flat = dict(settings)
    if method != "dsgrl":
        return _without_unused_stop(expand_names(method, flat))
    if not is_flat(flat):
        return flat
    flat |= _name_views(flat)
    augment, views = flat.get("augment", "auto"), flat.get("views", "auto")
    kind = type(find_views(views, augment, typical_spec(level)))
    flat = _without_unused_stop(expand_names(method, flat))
    found = {
        key: value
        for key, value in flat.items()
        if not key.startswith("views__") or key.removeprefix("views__") in _names(kind)
    }
    if level == "graph" and "views__refresh" in found:
        # Then it had no effect for many graphs.
        found["views__refresh"] = "auto"
    if is_complete:
        found["views"] = kind.name
        found.pop("augment", None)
        if found.get("views__refresh") == 5:
            found["views__refresh"] = "auto"
        for name in ("weights", "graph"):
            if name in _names(kind):
                default = kind.defaults()[name]
                found.setdefault(f"views__{name}", default)
    return found


def _names(kind: Any) -> set[str]:
    return set(kind.declared())


def _name_views(flat: dict[str, Any]) -> dict[str, Any]:
    """Take `topology` out of older settings; return the views that it meant."""
    topology, augment = flat.pop("topology", "auto"), flat.get("augment", "auto")
    is_fixed = topology in _SECOND_GRAPHS
    if augment == "both" and topology in _BESIDE_FEATURES:
        del flat["augment"]
        graph = _BESIDE_FEATURES[topology]
        return {"views": VIEWS["learned_both"].name, "views__graph": graph}
    if augment in ("topology", "auto") and is_fixed:
        flat.pop("augment", None)
        return _SECOND_GRAPHS[topology]
    if augment == "auto" and topology == "learned":
        return {"augment": "topology"}
    return {}


def _without_unused_stop(flat: dict[str, Any]) -> dict[str, Any]:
    """Leave out when to stop where the number of epochs is given."""
    if flat.get("epochs", "auto") == "auto":
        return flat
    return {k: v for k, v in flat.items() if not k.startswith("epochs__")}
