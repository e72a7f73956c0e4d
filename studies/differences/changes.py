"""What is changed to explain a gap: the model, its features or the way it is judged.

A variant is a fit (`FITS`) and a way to judge it (`JUDGES`); one of the two is the
paper's recipe or our protocol, only "program" changes all at once. `plan` lists the
variants that can matter for a gap.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from dsgrl.bench.lines import config_of
from dsgrl.bench.suites import SUITES
from studies.differences import program
from studies.differences.gaps import Gap
from studies.differences.program import Change

Config = dict[str, Any]
# Seconds of a fit beyond which fewer variants are measured, and beyond which fewest.
LONG, VERY_LONG, TOO_LONG = 12, 60, 150
FIRST_SPLIT = "first split"


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

    def settings(self, config: Config) -> Config:
        """Return those of its parameters that the recipe has as well."""
        changed = self.config(config).items()
        return {key: value for key, value in changed if key in config}

    def changes(self, config: Config) -> bool:
        """Whether it differs from the recipe at all."""
        settings = self.settings(config).items()
        other = any(config[key] != value for key, value in settings)
        return other or self.data is not None or self.change is not None


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
    "unit rows": _set(views__unit_rows=True),
    "no orthogonality": _set(views__orthogonality_weight=0.0),
    "wider": _set(views__orthogonality_weight=0.0, out_channels=128),
    "stopped by links": _set(views__orthogonality_weight=0.0, epochs="auto"),
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
    "cosine": _set(views__similarity="cosine"),
    "keep_edges turned": Fit(
        config=lambda config: {"views__keep_edges": not config["views__keep_edges"]}
    ),
    "one edge for each": _set(views__edge_multiplier=1.0),
    "node program": Fit(
        config=lambda _: {"views__unit_rows": True}, change=program.node_program
    ),
    "graph program": Fit(
        config=lambda _: {"views__unit_rows": True, "scaling": "none"},
        change=program.graph_program,
    ),
    "hetero program": Fit(
        config=lambda _: {"views__unit_rows": True}, change=program.hetero_program
    ),
}


def _with_seed(fit: Fit, seed: int) -> Fit:
    return replace(
        fit, config=lambda config: {**fit.config(config), "random_state": seed}
    )


FITS |= {
    f"{level} program, seed {seed}": _with_seed(FITS[f"{level} program"], seed)
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
    ("node", "learned_features"): ("linear augmenters", "small weights"),
    ("graph", "learned_features"): ("norms inside layers", "same start"),
    ("hetero", "learned_features"): ("linear augmenters", "one layer less"),
    ("node", "learned_graph"): ("unweighted edges", "largest pairs"),
    ("graph", "learned_graph"): (
        "unweighted edges",
        "largest pairs",
        "norms inside layers",
    ),
}
_EDGES = ("cosine", "keep_edges turned", "one edge for each")
_TRAINED = {
    "learned_features": ("no orthogonality", "unit rows"),
    "learned_graph": (),
}
_FORMS = ("Frobenius norm", "orthogonality form", "fifth of the epochs")
_LEVEL_FORMS = {
    "node": ("last layer", "batch norm"),
    "graph": ("standardised embeddings", "dropout 0.5", "no dropout"),
    "hetero": ("wider", "stopped by links", "no dropout"),
}


def plan(gap: Gap) -> list[Variant]:
    """List what can matter for a gap; what takes long comes last."""
    level, config = SUITES[gap.suite].level, config_of(gap.line)
    views = str(config["views"])
    trained = bool(config["epochs"])
    models = [*_FEATURES.get(gap.dataset, ()), *_BUILT[level, views]]
    if trained:
        models += ["lr / 10", *_TRAINED[views]]
    models += ["seed 1", "seed 2"]
    if views == "learned_graph":
        models += _EDGES
    if trained:
        models += [*_FORMS, *_LEVEL_FORMS[level]]
    programs = [
        Variant(
            name=f"program{seed}", fit=f"{level} program{seed}", judge=_PROGRAM[level]
        )
        for seed in ("", ", seed 1", ", seed 2")
    ]
    changing = [name for name in models if FITS[name].changes(config)]
    return [
        *_probes(*_JUDGED[level]),
        programs[0],
        *_models(*changing),
        *programs[1:],
    ]


def affordable(gap: Gap) -> list[Variant]:
    """Take those variants of a gap that a fit of its length leaves time for."""
    seconds, variants = float(gap.line["fit_seconds"]), plan(gap)
    fits = list(dict.fromkeys(each.fit for each in variants))
    if seconds > TOO_LONG:
        fits = ["no orthogonality", "fifth of the epochs"]
    elif seconds > VERY_LONG:
        fits = ["paper", "lr / 10", "node program", "graph program"]
    elif seconds > LONG:
        fits = fits[: fits.index("seed 1") + 1]
    # The first split needs no fit.
    return [each for each in variants if each.fit in fits or each.name == FIRST_SPLIT]


# What each variant changes, for people. "P" marks what the authors' program does.
WORDS = {
    "strength 1": "the probe's strength is 1, columns standardised, one class against "
    "the rest: nothing is chosen (P, graphs)",
    "raw columns": "the probe's strength is 1, columns as they are",
    "100 steps": "the probe is a linear layer, columns as they are, a hundred steps of "
    "Adam at 0.01; validation chooses the step (P, nodes)",
    "judged rows choose": "the same, but the rows that are judged choose the step "
    "(P, IMDB)",
    "first split": "the first split alone (P, nodes)",
    "balanced": "training rows divided equally among the classes (P, nodes)",
    "shuffled rows": "rows in another order than the public folds mean (P, graphs)",
    "seed 1": "another seed of the model",
    "seed 2": "another seed of the model",
    "features as they are": "no scaling of feature columns (P, graphs: untrained, its "
    "batch norms do nothing yet)",
    "standardised features": "feature columns of mean 0 and deviation 1",
    "ones as features": "1 for every node in place of the degree profile (P, unless "
    "asked for a profile)",
    "shares of the degree profile": "plain degrees, each row divided by its sum (P, if "
    "asked for a profile), in place of logarithms",
    "atom numbers as features": "the number of the atom's kind, one column (as the "
    "paper's F = 1 says), in place of one column for each (P)",
    "labels without attributes": "3 columns of labels in place of 21 columns",
    "small weights": "augmenters start with the weights of `torch.nn.Linear` (P)",
    "linear augmenters": "no ReLU in the augmenters (P, nodes)",
    "norms inside layers": "batch norm and ReLU behind both maps of every GIN layer "
    "and augmenter, and one more map at the end (P, graphs)",
    "one layer less": "the last layer is left out (P, IMDB)",
    "same start": "both augmenters start with the same weights (P, graphs)",
    "unit rows": "Eq. 5 with rows of unit length (P)",
    "no orthogonality": "without Eq. 5 (lambda = 0)",
    "wider": "without Eq. 5, and 128 columns per view",
    "stopped by links": 'without Eq. 5, and `epochs="auto"`',
    "dropout 0.5": "dropout 0.5 whatever the recipe says (P, graphs)",
    "no dropout": "dropout 0",
    "lr / 10": "a tenth of the learning rate",
    "fifth of the epochs": "a fifth of the epochs, one at least",
    "Frobenius norm": "Eq. 1 as in the text",
    "orthogonality form": "Eq. 7 in place of Eq. 4, as in the appendix (nodes)",
    "standardised embeddings": "embeddings standardised inside the objective",
    "last layer": 'jump = "last" in place of the sum of the layers',
    "batch norm": "batch norm between the layers",
    "unweighted edges": "learned edges all weigh 1, so nothing of them is learned (P)",
    "largest pairs": "the most similar pairs of all, also across the graphs of a "
    "batch, in place of every row's (P)",
    "cosine": "cosine in place of the inner product",
    "keep_edges turned": "original edges kept where the recipe drops them, or dropped",
    "one edge for each": "as many learned edges as the graph has",
    "program": "all of P at once, but for when it stops (nodes: when a validation "
    "score no longer rises) and Eq. 5 on biases",
    "program, seed 1": "the same, another seed",
    "program, seed 2": "the same, another seed",
}
