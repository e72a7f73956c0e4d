"""What a model, or data that was read before, knows of the columns of its tables."""

from collections.abc import Mapping
from typing import Any

from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.prepare import Preparation
from dsgrl.graph.store import StoredGraph
from dsgrl.io.grouping import DEFAULT_TYPE
from dsgrl.io.node_table import Plans
from dsgrl.typing import InputError


def plans_of(like: Any) -> Plans | None:
    """Return how features were made of the columns of every node type.

    Args:
        like: a fitted model, or data that `read_graph` gave; None for nothing.

    Returns:
        The plans by type, without types that had no features; None if no plan is known.

    Raises:
        InputError: if it is neither.
    """
    if like is None:
        return None
    preparation = _preparation_of(like)
    if preparation is not None:
        kinds: tuple[str, ...] = (DEFAULT_TYPE,)
        if preparation.schema is not None:
            kinds = preparation.schema.types
        known = zip(kinds, preparation.columns, strict=True)
        found = {kind: columns.plan for kind, columns in known}
    elif hasattr(like, "node_types"):
        found = {
            kind: getattr(like[kind], "column_plan", None) for kind in like.node_types
        }
    elif isinstance(like, FlatGraphs | StoredGraph) or hasattr(like, "edge_index"):
        found = {DEFAULT_TYPE: getattr(like, "column_plan", None)}
    else:
        raise InputError(
            f"like: a {type(like).__name__}, expected a fitted model or data that "
            f"read_graph gave"
        )
    plans = {kind: plan for kind, plan in found.items() if plan is not None}
    return plans or None


def roles_of(like: Any) -> Mapping[str, str]:
    """Return the roles of columns that were chosen in training."""
    if like is None:
        return {}
    fitted = getattr(like, "fitted_", like)
    understood = getattr(fitted, "understood", None) or {}
    if not isinstance(understood, dict):
        understood = understood.to_json()
    roles: Mapping[str, str] = understood.get("roles", {})
    return roles


def _preparation_of(like: Any) -> Preparation | None:
    """Return the preparation of a fitted estimator or a `Fitted`."""
    for name in ("preparation_", "preparation"):
        found = getattr(like, name, None)
        if isinstance(found, Preparation):
            return found
    return None
