"""What can be benchmarked: one table, from a name to something that embeds.

A system takes a dataset and gives one vector per node or per graph. Ours, its
untrained forms and the controls stand side by side; a further one is one more row.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch

from dsgrl.bench.baselines import baseline_parameters, fit_baseline
from dsgrl.bench.recipes import DSGRL_TABLE, ParameterTable
from dsgrl.estimator import DSGRL
from dsgrl.graph import FlatGraphs
from dsgrl.methods import Baseline, CCASSGMethod
from dsgrl.methods.space import Range, dsgrl_space
from dsgrl.train import History
from dsgrl.typing import FloatArray, InputError, IntArray

NODE, GRAPH, HETERO = "node", "graph", "hetero"


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a system made of a dataset.

    Attributes:
        z: one row per node or graph [N, D]; under "hetero" of the labelled type.
        epoch: the epoch that was kept; None for what is not trained by epochs.
        epochs_run: how many were trained in all.
        link_auc: how well held-out links were told at best; None if none were held out.
    """

    z: FloatArray
    epoch: int | None = None
    epochs_run: int = 0
    link_auc: float | None = None

    @classmethod
    def trained(cls, z: FloatArray, history: History, epoch: int) -> "Embedded":
        """Take what the one training loop has told."""
        scores = [row["link_auc"] for row in history if "link_auc" in row]
        epochs_run = sum("loss" in row for row in history)
        return cls(z, epoch, epochs_run, max(scores, default=None))


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """One row of the table.

    Attributes:
        embed: from a dataset without labels, the parameters and the labelled node
            type (None unless "hetero") to vectors.
        summary: one line for people.
        levels: what it can embed: "node", "graph", "hetero".
        parameters: those one may set; None for a system without any.
        space: what is varied at a level when it is tuned.
        recipes: the folder of the recipes meant for it.
        fixed: parameters that make the system what it is; nothing beats them.
        controls: what must stand beside it.
    """

    embed: Callable[[Any, dict[str, Any], str | None], Embedded]
    summary: str
    levels: frozenset[str]
    parameters: ParameterTable | None = None
    space: Callable[[str], dict[str, Range]] = lambda _: {}
    recipes: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    controls: tuple[str, ...] = ()


def _fit_dsgrl(data: Any, parameters: dict[str, Any], target: str | None) -> Embedded:
    model = DSGRL(**parameters)
    z: Any = model.fit_transform(data)
    z = z if target is None else z[target]
    return Embedded.trained(z, model.history_, model.epoch_)


def _take_features(data: Any, _: dict[str, Any], target: str | None) -> Embedded:
    x = getattr(data if target is None else data[target], "x", None)
    if x is None:
        raise InputError("there are no node features to take as they are")
    return Embedded(x.to_dense().float().numpy())


def _pool_features(data: Any, _: dict[str, Any], __: str | None) -> Embedded:
    """Sum and mean of each graph's node features; without features, its size."""
    rows = []
    for graph in data:
        x = graph.x
        if x is None:
            x = torch.ones(graph.num_nodes, 1)
        rows.append(torch.cat([x.float().sum(dim=0), x.float().mean(dim=0)]))
    return Embedded(torch.stack(rows).numpy())


def _dsgrl(
    summary: str,
    augment: str,
    *controls: str,
    recipes: str | None = None,
    **fixed: Any,
) -> System:
    return System(
        embed=_fit_dsgrl,
        summary=summary,
        levels=frozenset({NODE, GRAPH, HETERO}),
        parameters=DSGRL_TABLE,
        space=partial(dsgrl_space, recipes or augment),
        recipes=recipes or augment,
        fixed={"augment": augment, **fixed},
        controls=(*controls, "raw", "no-structure"),
    )


def _edges(summary: str, topology: str, *controls: str, **fixed: Any) -> System:
    return _dsgrl(
        summary,
        "topology",
        *controls,
        topology=topology,
        **fixed,
    )


def _baseline(
    name: str, method: type[Baseline], summary: str, *controls: str, **fixed: Any
) -> System:
    """Make a system of a baseline of that name, or of a form of it."""

    def embed(data: Any, parameters: dict[str, Any], _: str | None) -> Embedded:
        return Embedded.trained(*fit_baseline(method, data, parameters))

    return System(
        embed=embed,
        summary=summary,
        levels=method.levels,
        parameters=ParameterTable(
            name, partial(baseline_parameters, method), method.check
        ),
        space=lambda _: dict(method.search_space),
        recipes=name,
        fixed=fixed,
        controls=(*controls, "raw", "no-structure"),
    )


_cca_ssg = partial(_baseline, "cca-ssg", CCASSGMethod)

SYSTEMS: dict[str, System] = {
    "dsgrl-feature": _dsgrl("learned features", "feature", "random-f"),
    "dsgrl-topology": _dsgrl("learned edges", "topology", "random-t"),
    "dsgrl-both": _dsgrl("learned features and edges", "both", "random-both"),
    "random-f": _dsgrl("dsgrl-feature untrained", "feature", epochs=0),
    "random-t": _dsgrl("dsgrl-topology untrained", "topology", epochs=0),
    "random-both": _dsgrl("dsgrl-both untrained", "both", epochs=0),
    "topology-random": _edges(
        "random edges in place of learned ones", "random", "random-t"
    ),
    "topology-knn-x": _edges(
        "nearest neighbours by X in place of them", "knn_x", "random-t"
    ),
    "topology-knn-ax": _edges(
        "nearest neighbours by AX in place of them", "knn_ax", "random-t"
    ),
    "topology-two-hop": _edges(
        "two steps on the graph in place of them", "two_hop", "random-two-hop"
    ),
    "random-two-hop": _edges("topology-two-hop untrained", "two_hop", epochs=0),
    "topology-none": _edges(
        "nodes alone in place of them", "none", "random-none", recipes="none"
    ),
    "random-none": _edges("topology-none untrained", "none", recipes="none", epochs=0),
    "cca-ssg": _cca_ssg("random views, decorrelated", "random-cca-ssg"),
    "random-cca-ssg": _cca_ssg("cca-ssg untrained", epochs=0),
    "raw": System(
        embed=_take_features,
        summary="the node features as they are",
        levels=frozenset({NODE, HETERO}),
    ),
    "no-structure": System(
        embed=_pool_features,
        summary="sum and mean of a graph's node features",
        levels=frozenset({GRAPH}),
    ),
}


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
