"""The table of systems that can be benchmarked, derived from the registered methods.

A system maps a dataset to one vector per node or per graph. Every form of a method is a
system, and so is its untrained form. Raw features and pooled features are controls that
need no method.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from dsgrl.graph import FlatGraphs, Spec
from dsgrl.graph.store import StoredGraph
from dsgrl.methods import (
    METHODS,
    FitConfig,
    Form,
    configure,
    expand_names,
)
from dsgrl.parameters import is_auto, refuse
from dsgrl.train import Fitted, fit_graph
from dsgrl.typing import FloatArray, InputError, IntArray, Level

NODE: Level = "node"
GRAPH: Level = "graph"
HETERO: Level = "hetero"
# Controls that need no method; `with_controls` selects by level.
FEATURES_ONLY = ("raw", "no-structure")
# Training-free methods that every other is compared with, by level.
FLOORS = ("hops", "histograms")
Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedding of a dataset by a system.

    Attributes:
        z: one row per node or graph [N, D]; for "hetero", nodes of the labelled type.
        epoch: the kept epoch; None without training.
        epochs_run: number of trained epochs.
        link_auc: best AUC of held-out links; None if none were held out.
    """

    z: FloatArray
    epoch: int | None = None
    epochs_run: int = 0
    link_auc: float | None = None

    @classmethod
    def of(cls, fitted: Fitted, z: FloatArray) -> "Embedded":
        """Add the record of a fit to its embedding."""
        history = fitted.history
        scores = [row["link_auc"] for row in history if "link_auc" in row]
        epochs_run = sum("loss" in row for row in history)
        return cls(z, fitted.epoch, epochs_run, max(scores, default=None))


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """One row of the table.

    Attributes:
        summary: one line of description.
        levels: what it can embed.
        method: the name of its method; empty if it has none.
        settings: parameters that define the system and cannot be overridden.
        recipes: the folder of its recipes.
        controls: systems that tables show beside it.
        make: embeds a dataset, for a system without a method.
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
        """Whether it is trained."""
        if not self.method or self.settings.get("epochs") == 0:
            return False
        return METHODS[self.method].is_trained

    @property
    def is_training_free(self) -> bool:
        """Whether it is a method without training: no recipe, the same for any seed."""
        return bool(self.method) and not METHODS[self.method].is_trained

    @property
    def fixed(self) -> frozenset[str]:
        """Names of the parameters that the system fixes."""
        views = {"augment", "views"}
        return frozenset(self.settings) | (views if views & {*self.settings} else set())

    def configure(self, settings: Mapping[str, Any], level: Level) -> FitConfig:
        """Return the checked parameters of a fit.

        Args:
            settings: by name, nested ones as `views__edge_drop`.
            level: level of the data; it determines the views that "auto" stands for.

        Raises:
            InputError: if a name is unknown or a value is invalid.
        """
        free = {k: value for k, value in settings.items() if k not in self.fixed}
        return self.restore({**free, **self.settings}, level)

    def restore(self, flat: Mapping[str, Any], level: Level) -> FitConfig:
        """Return the parameters of a fit from a complete list, as `FitConfig.flat`."""
        declared = METHODS[self.method].Config.declared()
        for name in ("augment", "views"):
            # Checked first: the names of the other parameters depend on these.
            if name in flat and name in declared:
                rule = declared[name].rule
                if not rule.accepts(flat[name]):
                    refuse(name, flat[name], rule.expected)
        config = configure(self.method, flat, typical_spec(level))
        config.check()
        return config

    def complete(self, config: FitConfig, level: Level) -> Settings:
        """Return every parameter of a configuration, with those of its components."""
        full = config.completed(typical_spec(level))
        if is_auto(full.epochs):
            full = full.replace(epochs=full.stop_rule(typical_spec(level)))
        return full.flat()

    def parameters(self, level: Level) -> Settings:
        """Return the default of every parameter, with those of the components."""
        return self.complete(self.configure({}, level), level)

    def known(self, settings: Mapping[str, Any], level: Level) -> Settings:
        """Return the settings that are parameters of the system, with full names."""
        if self.is_training_free:
            # A control is the same for every setting of what it is compared with.
            return {}
        names = self.parameters(level).keys() | {"augment", "views", "epochs"}
        full = expand_names(self.method, settings)
        return {key: value for key, value in full.items() if key in names}

    @property
    def needs_labels(self) -> bool:
        """Whether it is supervised, and therefore refitted for every split."""
        return bool(self.method) and "labels" in METHODS[self.method].needs

    def embed(
        self, data: Any, config: FitConfig | None, target: str | None
    ) -> Embedded:
        """Embed a dataset without labels.

        Args:
            data: the dataset.
            config: from `configure`; None without a method.
            target: the labelled node type, if there are several types.
        """
        if self.make is not None:
            return Embedded(self.make(data, target))
        fitted, graph = fit_graph(self.method, data, config)
        z: Any = fitted.embed_graph(graph)
        return Embedded.of(fitted, z if target is None else z[target])


def typical_spec(level: Level) -> Spec:
    """Return a spec of a level, for use where only the level matters."""
    return Spec(level=level, in_channels=(1,), num_nodes=1, largest=1)


def _take_features(data: Any, target: str | None) -> FloatArray:
    x = getattr(data if target is None else data[target], "x", None)
    if x is None:
        raise InputError("raw: expected node features, the dataset has none")
    features: FloatArray = x.to_dense().float().numpy()
    return features


def _pool_features(data: Any, _: str | None) -> FloatArray:
    """Return sum and mean of each graph's node features; its size if it has none."""
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
        controls = (*FLOORS, *FEATURES_ONLY)
        same: dict[str, Any] = {
            "levels": method.levels,
            "method": name,
            "recipes": form.recipes or name,
        }
        found[form_name] = System(
            summary=form.summary,
            settings=form.settings,
            controls=(untrained, *controls) if method.is_trained else FEATURES_ONLY,
            **same,
        )
        if untrained not in found and method.is_trained:
            found[untrained] = System(
                summary=f"{form_name} untrained",
                settings={**form.settings, "epochs": 0},
                controls=controls,
                **same,
            )
    return found


def make_systems() -> dict[str, System]:
    """Derive all systems from `METHODS`."""
    found: dict[str, System] = {}
    for name in METHODS:
        found |= _systems_of(name)
    found["raw"] = System(
        summary="the raw node features",
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
    """Add the controls of the methods; remove systems of other levels."""
    wanted = dict.fromkeys(methods)
    for method in methods:
        wanted.update(dict.fromkeys(SYSTEMS[method].controls))
    return tuple(name for name in wanted if level in SYSTEMS[name].levels)


def unlabelled(data: Any) -> Any:
    """Return a shallow copy of a dataset without labels and masks."""
    if isinstance(data, FlatGraphs):
        return data.without_labels()
    if isinstance(data, StoredGraph):
        # No method reads a file of labels.
        return data
    if isinstance(data, list):
        return [unlabelled(graph) for graph in data]
    data = copy.copy(data)
    for store in data.stores:
        for name in ("y", "train_mask", "val_mask", "test_mask"):
            if name in store:
                del store[name]
    return data


def labels_of(data: Any, target: str | None) -> IntArray:
    """Return the labels [N], or [N, C] if a row can have several."""
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
    if isinstance(data, StoredGraph):
        split = data.split
        if split is None:
            return None
        parts = enumerate(("train_mask", "val_mask", "test_mask"))
        return {name: np.asarray(split == number) for number, name in parts}
    store = data if target is None else data[target]
    names = ("train_mask", "val_mask", "test_mask")
    if any(name not in store for name in names):
        return None
    return {name: np.asarray(store[name]) for name in names}
