"""Makes an estimator of any method from the arguments of the command line."""

from collections.abc import Iterable, Mapping
from typing import Any

from dsgrl.bench.loading import load_recipe
from dsgrl.bench.recipes import merge, parse_settings
from dsgrl.bench.suites import known_name
from dsgrl.bench.systems import SYSTEMS
from dsgrl.estimator import embedder
from dsgrl.graph.inputs import level_of
from dsgrl.methods import expand_names
from dsgrl.typing import InputError


def make_model(
    method: str,
    data: Any,
    *,
    dim: int | None = None,
    recipe: str | None = None,
    settings: Iterable[str] = (),
    options: Mapping[str, Any] | None = None,
    run: Mapping[str, Any] | None = None,
) -> Any:
    """Make an estimator of a registered method with checked parameters.

    Args:
        method: a form of a method, a key of `SYSTEMS`; not an untrained one.
        data: the data to embed.
        dim: width of the embedding.
        recipe: a recipe file, or the name of a recipe.
        settings: `key=value`; they override the recipe.
        options: parameters that override the settings.
        run: seed, device and whether to show a progress bar.

    Raises:
        InputError: if a name is unknown or a value is invalid.
    """
    usable = [
        name
        for name, system in SYSTEMS.items()
        if system.is_trained or system.is_training_free
    ]
    system = SYSTEMS[known_name(method, usable, "method")]
    if system.needs_labels:
        raise InputError(
            f"--method {method}: learns from labels and cannot embed without them, use "
            f"'dsgrl bench'"
        )
    level = level_of(data)
    layers = [{} if recipe is None else load_recipe(recipe, method, level)]
    layers.append(expand_names(system.method, parse_settings(settings)))
    layers.append(expand_names(system.method, options or {}))
    if dim is not None:
        layers.append(_width(system.method, dim))
    chosen = merge(*layers)
    for key in sorted(system.fixed):
        if key in chosen:
            raise InputError(
                f"{key}={chosen[key]!r}: method '{method}' fixes it, leave it out"
            )
    config = system.configure({**chosen, **(run or {})}, level)
    return embedder(system.method)(**config.values())


def _width(method: str, dim: int) -> dict[str, int]:
    """Return the parameter that gives embeddings of this width."""
    if method != "dsgrl":
        return {"out_channels": dim}
    if dim % 2:
        raise InputError(f"--dim {dim}: expected an even number (two views)")
    return {"out_channels": dim // 2}
