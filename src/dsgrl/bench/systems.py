"""What can be benchmarked: one table, derived from the registered methods.

A system takes a dataset and gives one vector per node or per graph. Every form of a
method is one, its untrained form another; raw features and features without structure
are the controls that need no method.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from dsgrl.graph import FlatGraphs, Spec
from dsgrl.methods import (
    METHODS,
    FitConfig,
    Form,
    StopByLinks,
    configure,
    expand_names,
)
from dsgrl.parameters import is_auto, refuse
from dsgrl.train import Fitted, fit_graph
from dsgrl.typing import FloatArray, InputError, IntArray, Level

NODE: Level = "node"
GRAPH: Level = "graph"
HETERO: Level = "hetero"
# Controls that need no method; which of them fits depends on the level.
FEATURES_ONLY = ("raw", "no-structure")
Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a system made of a dataset.

    Attributes:
        z: one row per node or graph [N, D]; under "hetero" of the labelled type.
        epoch: the epoch that was kept; None for what is not trained by epochs.
        epochs_run: how many were trained in all.
        link_auc: best AUC of held-out links; None if none were held out.
    """

    z: FloatArray
    epoch: int | None = None
    epochs_run: int = 0
    link_auc: float | None = None

    @classmethod
    def of(cls, fitted: Fitted, z: FloatArray) -> "Embedded":
        """Take what a fit has recorded."""
        history = fitted.history
        scores = [row["link_auc"] for row in history if "link_auc" in row]
        epochs_run = sum("loss" in row for row in history)
        return cls(z, fitted.epoch, epochs_run, max(scores, default=None))


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """One row of the table.

    Attributes:
        summary: one line for people.
        levels: what it can embed.
        method: the name of its method; empty for what is not a method.
        settings: parameters that make the system what it is; nothing overrides them.
        recipes: the folder of the recipes meant for it.
        controls: what must be shown beside it.
        make: embeds a dataset, for what is not a method.
    """

    summary: str
    levels: frozenset[Level]
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipes: str = ""
    controls: tuple[str, ...] = ()
    make: Callable[[Any, str | None], FloatArray] | None = None

    @property
    def is_trained(self) -> bool:
        """Whether it has epochs that can be chosen."""
        return bool(self.method) and self.settings.get("epochs") != 0

    @property
    def fixed(self) -> frozenset[str]:
        """Names of the parameters that the system sets itself."""
        views = {"augment", "views"}
        return frozenset(self.settings) | (views if views & {*self.settings} else set())

    def configure(self, settings: Mapping[str, Any], level: Level) -> FitConfig:
        """Make the parameters of a fit, checked.

        Args:
            settings: by name, nested ones as `views__edge_drop`.
            level: of the data, which says what views "auto" stands for.

        Raises:
            InputError: if a name is unknown or a value cannot work.
        """
        free = {k: value for k, value in settings.items() if k not in self.fixed}
        return self.restore({**free, **self.settings}, level)

    def restore(self, flat: Mapping[str, Any], level: Level) -> FitConfig:
        """Make the parameters from a complete list of them, as `FitConfig.flat`."""
        declared = METHODS[self.method].Config.declared()
        for name in ("augment", "views"):
            # First: which other names are known depends on these.
            if name in flat and name in declared:
                rule = declared[name].rule
                if not rule.accepts(flat[name]):
                    refuse(name, flat[name], rule.expected)
        config = configure(self.method, flat, typical_spec(level))
        config.check()
        return config

    def complete(self, config: FitConfig, level: Level) -> Settings:
        """Return every parameter of a configuration, components written out."""
        full = config.completed(typical_spec(level))
        if is_auto(full.epochs):
            full = full.replace(epochs=StopByLinks())
        return full.flat()

    def parameters(self, level: Level) -> Settings:
        """Return every parameter with its default, components written out."""
        return self.complete(self.configure({}, level), level)

    def known(self, settings: Mapping[str, Any], level: Level) -> Settings:
        """Take those settings that are parameters of the system, in full names."""
        names = self.parameters(level).keys() | {"augment", "views", "epochs"}
        full = expand_names(self.method, settings)
        return {key: value for key, value in full.items() if key in names}

    @property
    def needs_labels(self) -> bool:
        """Whether it is supervised: refitted for every split."""
        return bool(self.method) and "labels" in METHODS[self.method].needs

    def embed(
        self, data: Any, config: FitConfig | None, target: str | None
    ) -> Embedded:
        """Embed a dataset without labels.

        Args:
            data: the dataset.
            config: from `configure`; None for what is not a method.
            target: the labelled node type, if there are several types.
        """
        if self.make is not None:
            return Embedded(self.make(data, target))
        fitted, graph = fit_graph(self.method, data, config)
        z: Any = fitted.embed_graph(graph)
        return Embedded.of(fitted, z if target is None else z[target])


def typical_spec(level: Level) -> Spec:
    """Describe data of a level, where only the level matters."""
    return Spec(level=level, in_channels=(1,), num_nodes=1, largest=1)


def _take_features(data: Any, target: str | None) -> FloatArray:
    x = getattr(data if target is None else data[target], "x", None)
    if x is None:
        raise InputError("there are no node features to take as they are")
    features: FloatArray = x.to_dense().float().numpy()
    return features


def _pool_features(data: Any, _: str | None) -> FloatArray:
    """Sum and mean of each graph's node features; without features, its size."""
    rows = []
    for graph in data:
        x = graph.x
        if x is None:
            x = torch.ones(graph.num_nodes, 1)
        rows.append(torch.cat([x.float().sum(dim=0), x.float().mean(dim=0)]))
    pooled: FloatArray = torch.stack(rows).numpy()
    return pooled


def _systems_of(name: str) -> dict[str, System]:
    """Derive the systems of a method: its forms, each with its untrained control."""
    method = METHODS[name]
    found: dict[str, System] = {}
    forms = method.forms or {name: Form(summary=method.summary)}
    for form_name, form in forms.items():
        untrained = form.untrained or f"random-{form_name}"
        same: dict[str, Any] = {
            "levels": method.levels,
            "method": name,
            "recipes": form.recipes or name,
        }
        found[form_name] = System(
            summary=form.summary,
            settings=form.settings,
            controls=(untrained, *FEATURES_ONLY),
            **same,
        )
        if untrained not in found:
            found[untrained] = System(
                summary=f"{form_name} untrained",
                settings={**form.settings, "epochs": 0},
                controls=FEATURES_ONLY,
                **same,
            )
    return found


def make_systems() -> dict[str, System]:
    """Derive all systems from `METHODS`."""
    found: dict[str, System] = {}
    for name in METHODS:
        found |= _systems_of(name)
    found["raw"] = System(
        summary="the node features as they are",
        levels=frozenset({NODE, HETERO}),
        make=_take_features,
    )
    found["no-structure"] = System(
        summary="sum and mean of a graph's node features",
        levels=frozenset({GRAPH}),
        make=_pool_features,
    )
    return found


SYSTEMS: dict[str, System] = make_systems()


def with_controls(methods: tuple[str, ...], level: str) -> tuple[str, ...]:
    """Add what must stand beside the methods; those not meant for the level go."""
    wanted = dict.fromkeys(methods)
    for method in methods:
        wanted.update(dict.fromkeys(SYSTEMS[method].controls))
    return tuple(name for name in wanted if level in SYSTEMS[name].levels)


def unlabelled(data: Any) -> Any:
    """Copy a dataset (its arrays are shared) without any label in it."""
    if isinstance(data, FlatGraphs):
        return data.without_labels()
    if isinstance(data, list):
        return [unlabelled(graph) for graph in data]
    data = copy.copy(data)
    for store in data.stores:
        for name in ("y", "train_mask", "val_mask", "test_mask"):
            if name in store:
                del store[name]
    return data


def labels_of(data: Any, target: str | None) -> IntArray:
    """Return the labels [N], or [N, C] where a row has several."""
    if isinstance(data, FlatGraphs):
        y = data.y
    elif isinstance(data, list):
        y = torch.cat([graph.y.reshape(-1) for graph in data])
    else:
        y = (data if target is None else data[target]).y
    return np.asarray(y)


def masks_of(data: Any, target: str | None) -> dict[str, Any] | None:
    """Return the public split of a dataset, if it has one."""
    if isinstance(data, list | FlatGraphs):
        return None
    store = data if target is None else data[target]
    names = ("train_mask", "val_mask", "test_mask")
    if any(name not in store for name in names):
        return None
    return {name: np.asarray(store[name]) for name in names}
