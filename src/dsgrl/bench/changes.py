"""What is changed to explain a gap: the model, its features or the way it is judged.

A variant is a fit (`FITS`) and a way to judge it (`JUDGES`); one of the two is the
paper's recipe or our protocol, only "program" changes all at once. `plan` says which
variants can matter for a gap.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from dsgrl.bench import program
from dsgrl.bench.differences import Gap
from dsgrl.bench.program import Change
from dsgrl.bench.suites import SUITES

Config = dict[str, Any]
# Seconds of a fit beyond which fewer variants are measured, and beyond which fewest.
LONG, VERY_LONG, TOO_LONG = 12, 60, 150


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A change of the model.

    Attributes:
        config: of its parameters, given those of the recipe.
        data: of the graphs it is trained on.
        change: of what is built.
    """

    config: Callable[[Config], Config] = field(default=lambda _: {})
    data: Callable[[list[Any]], list[Any]] | None = None
    change: Change | None = None


def _set(**settings: Any) -> Fit:
    return Fit(config=lambda _: settings)


def _with_features(make: Callable[[Any], torch.Tensor]) -> Any:
    def change(graphs: list[Any]) -> list[Any]:
        changed = [copy.copy(graph) for graph in graphs]
        for graph in changed:
            graph.x = make(graph)
        return changed

    return change


def _ones(graph: Any) -> torch.Tensor:
    return torch.ones(graph.num_nodes, 1)


def _degree_shares(graph: Any) -> torch.Tensor:
    """Degree profile of plain degrees, each row divided by its sum."""
    from torch_geometric.data import Data
    from torch_geometric.transforms import LocalDegreeProfile

    bare = Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes)
    x: torch.Tensor = LocalDegreeProfile()(bare).x
    return x / x.sum(dim=1, keepdim=True).clamp_min(1)


def _numbers(graph: Any) -> torch.Tensor:
    number: torch.Tensor = graph.x.argmax(dim=1, keepdim=True)
    return number.float()


def _binary_columns(graph: Any) -> torch.Tensor:
    """Labels of ENZYMES, behind its 18 attributes."""
    labels: torch.Tensor = graph.x[:, 18:]
    return labels


FITS: dict[str, Fit] = {
    "paper": Fit(),
    "seed 1": _set(random_state=1),
    "seed 2": _set(random_state=2),
    "features as they are": _set(scaling="none"),
    "standardised features": _set(scaling="standard"),
    "ones as features": Fit(data=_with_features(_ones)),
    "shares of the degree profile": Fit(data=_with_features(_degree_shares)),
    "atom numbers as features": Fit(data=_with_features(_numbers)),
    "labels without attributes": Fit(data=_with_features(_binary_columns)),
    "small weights": Fit(change=program.start_small),
    "linear augmenters": Fit(change=program.augment_linearly),
    "norms inside layers": Fit(change=program.normalize_inside),
    "one layer less": Fit(change=program.drop_last_layer),
    "same start": Fit(change=program.start_alike),
    "unit rows": _set(unit_rows=True),
    "no orthogonality": _set(orthogonality_weight=0.0),
    "dropout 0.5": _set(dropout=program.DROPOUT),
    "no dropout": _set(dropout=0.0),
    "lr / 10": Fit(config=lambda config: {"lr": config["lr"] / 10}),
    "fifth of the epochs": Fit(
        config=lambda config: {"epochs": max(1, config["epochs"] // 5)}
    ),
    "Frobenius norm": _set(invariance="frobenius"),
    "orthogonality form": _set(regularizer="orthogonality"),
    "standardised embeddings": _set(standardize=True),
    "last layer": _set(jump="last"),
    "batch norm": _set(norm="batch"),
    "unweighted edges": Fit(change=program.ignore_weights),
    "largest pairs": Fit(change=program.take_largest),
    "cosine": _set(similarity="cosine"),
    "keep_edges turned": Fit(
        config=lambda config: {"keep_edges": not config["keep_edges"]}
    ),
    "one edge for each": _set(edge_multiplier=1.0),
    "node program": Fit(
        config=lambda _: {"unit_rows": True}, change=program.node_program
    ),
    "graph program": Fit(
        config=lambda _: {"unit_rows": True, "scaling": "none"},
        change=program.graph_program,
    ),
    "hetero program": Fit(
        config=lambda _: {"unit_rows": True}, change=program.hetero_program
    ),
}


def _reseeded(fit: Fit, seed: int) -> Fit:
    return replace(
        fit, config=lambda config: {**fit.config(config), "random_state": seed}
    )


FITS |= {
    f"{level} program, seed {seed}": _reseeded(FITS[f"{level} program"], seed)
    for level in ("node", "graph", "hetero")
    for seed in (1, 2)
}
# What the program feeds graphs without features, and NCI1.
PROGRAM_DATA = {
    "nci1": FITS["atom numbers as features"].data,
    **dict.fromkeys(
        ("imdb-b", "imdb-m", "reddit-b", "collab"), FITS["ones as features"].data
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """A fit and a way to judge it.

    Attributes:
        name: for people.
        fit: a key of `FITS`.
        judge: a key of `JUDGES`.
    """

    name: str
    fit: str = "paper"
    judge: str = "ours"


def _probes(*names: str) -> list[Variant]:
    return [Variant(name=name, judge=name) for name in names]


def _models(*names: str) -> list[Variant]:
    return [Variant(name=name, fit=name) for name in names]


_JUDGED = {
    "node": ("strength 1", "raw columns", "100 steps", "first split", "balanced"),
    "graph": ("strength 1", "raw columns", "shuffled rows"),
    "hetero": ("strength 1", "raw columns", "100 steps", "judged rows choose"),
}
_PROGRAM = {
    "node": "node program",
    "graph": "graph program",
    "hetero": "judged rows choose",
}
# By dataset: other features.
_FEATURES = {
    "enzymes": ("features as they are", "labels without attributes"),
    "nci1": ("atom numbers as features",),
    **dict.fromkeys(
        ("imdb-b", "imdb-m", "reddit-b", "collab"),
        ("ones as features", "shares of the degree profile"),
    ),
    **dict.fromkeys(("deezer", "github"), ("standardised features",)),
}
_BUILT = {
    ("node", "feature"): ("linear augmenters", "small weights"),
    ("graph", "feature"): ("norms inside layers", "same start"),
    ("hetero", "feature"): ("linear augmenters", "one layer less"),
    ("node", "topology"): ("unweighted edges", "largest pairs"),
    ("graph", "topology"): (
        "unweighted edges",
        "largest pairs",
        "norms inside layers",
    ),
}
_EDGES = ("cosine", "keep_edges turned", "one edge for each")
_TRAINED = {
    "feature": ("no orthogonality", "unit rows"),
    "topology": (),
}
_FORMS = ("Frobenius norm", "orthogonality form", "fifth of the epochs")
_LEVEL_FORMS = {
    "node": ("last layer", "batch norm"),
    "graph": ("standardised embeddings", "dropout 0.5", "no dropout"),
    "hetero": ("no dropout",),
}


def plan(gap: Gap) -> list[Variant]:
    """Say what can matter for a gap; what is dear comes last."""
    level = SUITES[gap.suite].level
    augment = str(gap.line["config"]["augment"])
    trained = bool(gap.line["config"]["epochs"])
    models = [*_FEATURES.get(gap.dataset, ()), *_BUILT[level, augment]]
    if trained:
        models += ["lr / 10", *_TRAINED[augment]]
    models += ["seed 1", "seed 2"]
    if augment == "topology":
        models += _EDGES
    if trained:
        models += [*_FORMS, *_LEVEL_FORMS[level]]
    programs = [
        Variant(
            name=f"program{seed}", fit=f"{level} program{seed}", judge=_PROGRAM[level]
        )
        for seed in ("", ", seed 1", ", seed 2")
    ]
    return [
        *_probes(*_JUDGED[level]),
        programs[0],
        *_models(*models),
        *programs[1:],
    ]


def affordable(gap: Gap) -> list[Variant]:
    """Take those variants of a gap that a fit of its length leaves time for."""
    seconds, variants = float(gap.line["fit_seconds"]), plan(gap)
    if seconds > TOO_LONG:
        return [each for each in variants if each.name == "first split"]
    fits = list(dict.fromkeys(each.fit for each in variants))
    if seconds > VERY_LONG:
        fits = ["paper", *(fit for fit in fits if fit in ("lr / 10", "node program"))]
    elif seconds > LONG:
        fits = fits[: fits.index("seed 1") + 1]
    return [each for each in variants if each.fit in fits]
