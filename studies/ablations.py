"""`dsgrl bench ablations`: what each part of the default is worth.

The default, and the default with one part taken out or put in (training is one of
them), over several seeds; and, of learned topology, the same model with another second
graph in its place. Lines are those of the suites, docs/ABLATIONS.md is made from them.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dsgrl.bench.cells import Cell
from dsgrl.bench.lines import Line
from dsgrl.bench.recipes import DEFAULT
from dsgrl.bench.runner import Failure, run_suite
from dsgrl.datasets.table import DATASETS, suggest
from dsgrl.methods.build import ALONE as HELP_ALONE
from dsgrl.typing import InputError

ALONE, FEATURE, TOPOLOGY = "topology-none", "dsgrl-feature", "dsgrl-topology"
# Quick ones: every part is taken out of every one of them, for every seed.
SETS = ("cora", "citeseer", "debian", "photo", "enzymes", "imdb-b", "imdb-m")
SUITE_OF = {"node": "nodes", "graph": "graphs", "hetero": "hetero"}


class Base(NamedTuple):
    """What is changed: a method at a level, and its name in words."""

    method: str
    level: str
    title: str
    name: str = "the default"


NODES = Base(ALONE, "node", "Nodes")
GRAPHS = Base(FEATURE, "graph", "Whole graphs")
FEATURES = Base(FEATURE, "node", "Nodes: learned features", "learned features")
SECOND_GRAPHS = tuple(
    Base(TOPOLOGY, level, f"{title}: the second graph", "the learned graph")
    for level, title in (
        ("node", "Nodes"),
        ("graph", "Whole graphs"),
        ("hetero", "Several types of nodes"),
    )
)
ALL_NODES, ALL = (NODES, FEATURES), (NODES, GRAPHS, FEATURES)
# What "auto" adds where the second view has nodes alone.
HELP = {
    name: HELP_ALONE[name]
    for name in ("dropout", "feature_drop", "tolerance", "smoothing")
}
BASES = (*ALL, *SECOND_GRAPHS)
DEFAULTS = {base.level: base.method for base in (NODES, GRAPHS)}


class Part(NamedTuple):
    """A part of the method, and what the base becomes without it.

    Attributes:
        name: in words.
        changes: parameters to set.
        bases: where the change is one; elsewhere the base is as it would be.
    """

    name: str
    changes: dict[str, Any]
    bases: tuple[Base, ...] = ALL


# What a base has, taken out.
PARTS = (
    Part("training", {"epochs": 0}),
    Part("invariance term (Eq. 1)", {"invariance_weight": 0.0}),
    # Columns of deviation 1, as those of graphs are made, have none to lose.
    Part("variance term (Eq. 2)", {"variance_weight": 0.0}, ALL_NODES),
    Part("covariance term (Eq. 3)", {"covariance_weight": 0.0}),
    Part("dropout", {"dropout": 0.0}),
    Part("so much dropout", {"dropout": 0.5}, (NODES,)),
    Part("dropped features", {"feature_drop": 0.0}, (NODES,)),
    Part("later epochs", {"tolerance": 1.0}, (NODES,)),
    Part("smoothing at read-out", {"smoothing": 0}, (NODES,)),
    Part("smaller start", {"gain": 1.0}, ALL_NODES),
    Part("dropped edges", {"edge_drop": 0.0}, (FEATURES,)),
    Part("weight decay", {"weight_decay": 0.0}, (FEATURES,)),
    Part("lengthened rows", {"scaling": "columns"}, (FEATURES,)),
    # One by one they hardly pay; do they together?
    Part(
        "all three, and the weight of 2 of the covariance term",
        {
            "edge_drop": 0.0,
            "weight_decay": 0.0,
            "scaling": "columns",
            "covariance_weight": 1.0,
        },
        (FEATURES,),
    ),
    Part(
        "wide augmenters: 64 columns each",
        {"augment_channels": 64},
        (FEATURES, GRAPHS),
    ),
    Part("both views in the result: their mean", {"aggregate": "mean"}),
    Part("stopping by links: 300 epochs", {"epochs": 300}, ALL_NODES),
    Part("standardised embeddings", {"standardize": False}, (GRAPHS,)),
    Part("batch norm", {"norm": None}, (GRAPHS,)),
    Part("all layers in the result: the last", {"jump": "last"}, (GRAPHS,)),
    Part("depth: one layer", {"num_layers": 1}),
)
# What it lacks, put in.
OPTIONS = (
    Part(
        "augmenter orthogonality (Eq. 5)",
        {"orthogonality_weight": 1.0},
        (FEATURES, GRAPHS),
    ),
    Part("orthogonality form (Eq. 7)", {"regularizer": "orthogonality"}),
    Part("masked columns", {"feature_mask": 0.2}),
    Part("dropped edges", {"edge_drop": 0.3}, (NODES, GRAPHS)),
    Part("weight decay", {"weight_decay": 1e-4}, (NODES, GRAPHS)),
    Part("lengthened rows", {"scaling": "length"}, (NODES,)),
    Part("standardised embeddings", {"standardize": True}, ALL_NODES),
    Part("batch norm", {"norm": "batch"}, ALL_NODES),
    Part("all layers in the result", {"jump": "cat"}, ALL_NODES),
    Part("logarithms of sums", {"readout": "log_sum"}, (GRAPHS,)),
    Part("maxima beside sums", {"readout": "sum+max"}, (GRAPHS,)),
    Part("maxima beside logarithms", {"readout": "log_sum+max"}, (GRAPHS,)),
    Part("wider augmenters", {"augment_channels": 512}, (FEATURES, GRAPHS)),
    Part("weaker covariance term", {"covariance_weight": 1.0}, (FEATURES,)),
    Part("stronger covariance term", {"covariance_weight": 4.0}),
    Part("width 64 per view", {"out_channels": 64}),
    Part("width 256 per view", {"out_channels": 256}),
)
# What learned topology could have in the place of the learned graph, all else equal.
OTHERS = (
    Part("random edges", {"topology": "random"}, SECOND_GRAPHS),
    Part("nearest by features", {"topology": "knn_x"}, SECOND_GRAPHS),
    Part("nearest by neighbours' features", {"topology": "knn_ax"}, SECOND_GRAPHS),
    Part("two steps away", {"topology": "two_hop"}, SECOND_GRAPHS),
    Part(
        "no edges: nodes alone",
        {
            "topology": "none",
            "dropout": 0.5,
            "feature_drop": 0.0,
            "tolerance": 1.0,
            "smoothing": 0,
            "scaling": "columns",
        },
        SECOND_GRAPHS,
    ),
    Part("the graph's own edges as well", {"keep_edges": True}, SECOND_GRAPHS),
    Part("training", {"epochs": 0}, SECOND_GRAPHS),
    # And with what nodes alone have by default: is it that which does it?
    Part("the learned graph, helped", HELP, SECOND_GRAPHS[:1]),
    *(
        Part(f"{name}, helped", {"topology": topology, **HELP}, SECOND_GRAPHS[:1])
        for name, topology in (
            ("random edges", "random"),
            ("two steps away", "two_hop"),
            ("nodes alone", "none"),
        )
    ),
)


def run_ablations(
    datasets: Sequence[str] | None = None,
    *,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    results: Path | None = None,
    folder: Path | None = None,
    in_process: bool = False,
    on_start: Callable[[Cell, int, int], None] | None = None,
    on_failure: Callable[[Failure], None] | None = None,
) -> Iterator[Line]:
    """Run the default and every change; lines in the results file are not made again.

    Args:
        datasets: names; `SETS` by default.
        methods: whose parts, those of `BASES`; by default of what is the default there.
        seeds: of the models.
        results: file to append the lines to.
        folder: where datasets live.
        in_process: as that of `run_suite`.
        on_start: as that of `run_suite`.
        on_failure: as that of `run_suite`.

    Raises:
        InputError: if a name cannot work.
    """
    names = [name.lower() for name in datasets or SETS]
    runs = [
        (name, _find(name, method))
        for name in names
        for method in methods or [""]
        if datasets or not method or _is_meant_for(method, name)
    ]
    absent: set[str] = set()

    def fail(failure: Failure) -> None:
        # A dataset that is not there is told once, not for every part.
        absent.update({failure.where} & {*names})
        if on_failure:
            on_failure(failure)

    for name, base in runs:
        for changes in ({}, *(part.changes for part in parts_of(base))):
            if name in absent:
                break
            yield from run_suite(
                SUITE_OF[base.level],
                datasets=[name],
                methods=[base.method],
                settings=changes,
                seeds=seeds,
                results=results,
                folder=folder,
                in_process=in_process,
                controls=False,
                on_start=on_start,
                on_failure=fail,
            )


def _is_meant_for(method: str, name: str) -> bool:
    known = {base.method for base in BASES}
    pairs = {(base.method, base.level) for base in BASES}
    # An unknown method is told, not passed over.
    return method not in known or (method, DATASETS[name].level) in pairs


def _find(name: str, method: str) -> Base:
    """Say what is changed on a dataset; without a method, what is the default there."""
    if name not in DATASETS:
        raise InputError(f"unknown dataset '{name}'{suggest(name)}")
    level = DATASETS[name].level
    here = {base.method: base for base in BASES if base.level == level}
    base = here.get(method or DEFAULTS.get(level, ""))
    if base is None:
        given = f"ablations of '{method}'" if method else "ablations"
        raise InputError(
            f"{given} on '{name}', which is of level '{level}': expected "
            f"--methods {' or '.join(here)}"
        )
    return base


def parts_of(base: Base) -> list[Part]:
    """List what is changed of a base."""
    return [part for part in (*PARTS, *OPTIONS, *OTHERS) if base in part.bases]


def render_ablations(lines: Sequence[Line]) -> str:
    """Write the tables, one per base and kind of change, in Markdown."""
    sections = []
    for base in BASES:
        scores = _scores(lines, base.method)
        # Changes of what is not there cannot be told.
        found = dict.fromkeys(name for name, recipe in scores if recipe == DEFAULT)
        names = [name for name in found if DATASETS[name].level == base.level]
        if not names:
            continue
        sections.append(f"## {base.title}\n")
        for parts, head in (
            (PARTS, "without"),
            (OPTIONS, "with"),
            (OTHERS, "in its place"),
        ):
            here = [part for part in parts if base in part.bases]
            if here:
                sections.append(_table(here, head, base.name, names, scores))
    return "\n".join(sections)


def _scores(
    lines: Sequence[Line], method: str
) -> dict[tuple[str, str], dict[int, float]]:
    """Dataset and setting -> score by seed, the first of several kinds of score."""
    scores: dict[tuple[str, str], dict[int, float]] = {}
    for line in lines:
        if line.get("method") == method:
            key = (str(line["dataset"]), str(line["recipe"]))
            scores.setdefault(key, {}).setdefault(int(line["seed"]), line["mean"])
    return scores


def _table(
    parts: Sequence[Part],
    head: str,
    base: str,
    names: Sequence[str],
    scores: Mapping[tuple[str, str], Mapping[int, float]],
) -> str:
    rows = [
        [head, *names, "mean change"],
        ["---"] * (len(names) + 2),
        [f"*{base}*", *(_level(scores.get((n, DEFAULT), {})) for n in names), ""],
    ]
    for part in parts:
        label = ", ".join([DEFAULT, *(f"{k}={v}" for k, v in part.changes.items())])
        cells, changes = [], []
        for name in names:
            before, after = (scores.get((name, key), {}) for key in (DEFAULT, label))
            pairs = [after[seed] - before[seed] for seed in after if seed in before]
            cells.append(_change(pairs))
            changes += [statistics.mean(pairs)] if pairs else []
        mean = f"{statistics.mean(changes):+.1f}" if changes else ""
        setting = ", ".join(f"`{k}={v!r}`" for k, v in part.changes.items())
        rows.append([f"{part.name} ({setting})", *cells, mean])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _level(scores: Mapping[int, float]) -> str:
    return f"{statistics.mean(scores.values()):.1f}" if scores else ""


def _change(pairs: Sequence[float]) -> str:
    """Mean over the seeds, and their deviation if there are several."""
    if len(pairs) < 2:
        return "".join(f"{pair:+.1f}" for pair in pairs)
    return f"{statistics.mean(pairs):+.1f} ± {statistics.pstdev(pairs):.1f}"
