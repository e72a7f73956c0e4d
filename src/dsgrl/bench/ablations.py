"""`dsgrl bench ablations`: what each part of the default is worth.

The default, and the default with one part taken out or put in (training is one of
them), over several seeds; and, of learned topology, the same model with another second
graph in its place. Lines are those of the suites, docs/ABLATIONS.md is made from them.
"""

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dsgrl.bench.cells import Cell
from dsgrl.bench.lines import Line
from dsgrl.bench.recipes import DEFAULT
from dsgrl.bench.runner import Failure, run_suite
from dsgrl.graph.datasets import DATASETS, suggest
from dsgrl.typing import InputError

FEATURE, TOPOLOGY = "dsgrl-feature", "dsgrl-topology"
# Quick ones: every part is taken out of every one of them, for every seed.
SETS = ("cora", "citeseer", "debian", "photo", "enzymes", "imdb-b", "imdb-m")
LEVELS = ("node", "graph")
# Where second graphs are compared: several types of nodes have one by default.
ALL_LEVELS = (*LEVELS, "hetero")
SUITE_OF = {"node": "nodes", "graph": "graphs", "hetero": "hetero"}


class Part(NamedTuple):
    """A part of the method, and what the default becomes without it.

    Attributes:
        name: in words.
        changes: parameters to set.
        levels: where the change is one; elsewhere the default is as it would be.
    """

    name: str
    changes: dict[str, Any]
    levels: tuple[str, ...] = LEVELS


# What the default has, taken out.
PARTS = (
    Part("training", {"epochs": 0}),
    Part("invariance term (Eq. 1)", {"invariance_weight": 0.0}),
    # Columns of deviation 1, as those of graphs are made, have none to lose.
    Part("variance term (Eq. 2)", {"variance_weight": 0.0}, ("node",)),
    Part("covariance term (Eq. 3)", {"covariance_weight": 0.0}),
    Part("dropout", {"dropout": 0.0}),
    Part("smaller start", {"gain": 1.0}, ("node",)),
    Part("dropped edges", {"edge_drop": 0.0}, ("node",)),
    Part("weight decay", {"weight_decay": 0.0}, ("node",)),
    Part("lengthened rows", {"scaling": "columns"}, ("node",)),
    Part("wide augmenters: 64 columns each", {"augment_channels": 64}),
    Part("both views in the result: their mean", {"aggregate": "mean"}),
    Part("stopping by links: 300 epochs", {"epochs": 300}, ("node",)),
    Part("standardised embeddings", {"standardize": False}, ("graph",)),
    Part("batch norm", {"norm": None}, ("graph",)),
    Part("all layers in the result: the last", {"jump": "last"}, ("graph",)),
    Part("depth: one layer", {"num_layers": 1}),
)
# What the default lacks, put in.
OPTIONS = (
    Part("augmenter orthogonality (Eq. 5)", {"orthogonality_weight": 1.0}),
    Part("orthogonality form (Eq. 7)", {"regularizer": "orthogonality"}),
    Part("masked columns", {"feature_mask": 0.2}),
    Part("dropped edges", {"edge_drop": 0.3}, ("graph",)),
    Part("weight decay", {"weight_decay": 1e-4}, ("graph",)),
    Part("standardised embeddings", {"standardize": True}, ("node",)),
    Part("batch norm", {"norm": "batch"}, ("node",)),
    Part("all layers in the result", {"jump": "cat"}, ("node",)),
    Part("wider augmenters", {"augment_channels": 512}),
    Part("weaker covariance term", {"covariance_weight": 1.0}, ("node",)),
    Part("stronger covariance term", {"covariance_weight": 4.0}),
    Part("width 64 per view", {"out_channels": 64}),
    Part("width 256 per view", {"out_channels": 256}),
)
# What learned topology could have in the place of the learned graph.
GRAPHS = (
    Part("random edges", {"topology": "random"}, ALL_LEVELS),
    Part("nearest by features", {"topology": "knn_x"}, ALL_LEVELS),
    Part("nearest by neighbours' features", {"topology": "knn_ax"}, ALL_LEVELS),
    Part("two steps away", {"topology": "two_hop"}, ALL_LEVELS),
    Part("no edges: nodes alone", {"topology": "none"}, ALL_LEVELS),
    Part("the graph's own edges as well", {"keep_edges": True}, ALL_LEVELS),
    Part("training", {"epochs": 0}, ALL_LEVELS),
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
        datasets: names of node or graph level, of topology any; `SETS` by default.
        methods: whose parts: "dsgrl-feature", the default, and "dsgrl-topology".
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
    methods = methods or [FEATURE]
    _check(names, methods)
    absent: set[str] = set()

    def fail(failure: Failure) -> None:
        # A dataset that is not there is told once, not for every part.
        absent.update({failure.where} & {*names})
        if on_failure:
            on_failure(failure)

    for name, method in itertools.product(names, methods):
        level = DATASETS[name].level
        for changes in ({}, *(part.changes for part in parts_of(level, method))):
            if name in absent:
                break
            yield from run_suite(
                SUITE_OF[level],
                datasets=[name],
                methods=[method],
                settings=changes,
                seeds=seeds,
                results=results,
                folder=folder,
                in_process=in_process,
                controls=False,
                on_start=on_start,
                on_failure=fail,
            )


def _check(names: Sequence[str], methods: Sequence[str]) -> None:
    for method in methods:
        if method not in (FEATURE, TOPOLOGY):
            raise InputError(
                f"ablations of '{method}', expected {FEATURE} or {TOPOLOGY}"
            )
    for name in names:
        if name not in DATASETS:
            raise InputError(f"unknown dataset '{name}'{suggest(name)}")
        level = DATASETS[name].level
        if level not in LEVELS and FEATURE in methods:
            raise InputError(
                f"dataset '{name}' is of level '{level}', ablations of {FEATURE} are "
                f"for 'node' and 'graph'"
            )


def parts_of(level: str, method: str = FEATURE) -> list[Part]:
    """List what is changed at a level."""
    parts = (*PARTS, *OPTIONS) if method == FEATURE else GRAPHS
    return [part for part in parts if level in part.levels]


def render_ablations(lines: Sequence[Line]) -> str:
    """Write the tables, one per level and kind of change, in Markdown."""
    sections = []
    for method, title, base, tables in (
        (FEATURE, "{}", "the default", ((PARTS, "without"), (OPTIONS, "with"))),
        (
            TOPOLOGY,
            "{}: the second graph",
            "the learned graph",
            ((GRAPHS, "in its place"),),
        ),
    ):
        scores = _scores(lines, method)
        for level, of_what in (
            ("node", "Nodes"),
            ("graph", "Whole graphs"),
            ("hetero", "Several types of nodes"),
        ):
            names = [name for name, _ in scores if DATASETS[name].level == level]
            names = list(dict.fromkeys(names))
            if not names:
                continue
            sections.append(f"## {title.format(of_what)}\n")
            for parts, head in tables:
                here = [part for part in parts if level in part.levels]
                sections.append(_table(here, head, base, names, scores))
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
