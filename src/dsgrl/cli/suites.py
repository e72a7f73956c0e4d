"""The suites of `dsgrl bench` without recipes: speed, scale and anchors."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from dsgrl.cli.options import console
from dsgrl.typing import InputError

# Which options mean something to these suites, besides --datasets and --results; the
# others take all but --repeats.
USED = {
    "speed": ("--repeats", "--methods"),
    "scale": (),
    "anchors": ("--methods", "--seeds", "--in-process"),
}


def refuse_unused(suite: str, given: Mapping[str, bool]) -> None:
    """Refuse an option that would silently do nothing.

    Args:
        suite: its name.
        given: per option, whether it was set to anything but its default.
    """
    for option, is_given in given.items():
        used = option in USED[suite] if suite in USED else option != "--repeats"
        if is_given and not used:
            raise InputError(
                f"{option} has no meaning for suite '{suite}': leave it out"
            )


def split_names(texts: Sequence[str]) -> list[str]:
    """Take names apart at their commas; an option may be given several times."""
    parts = (name.strip() for text in texts for name in text.split(","))
    return [name for name in parts if name]


def read_seeds(texts: Sequence[str] | None) -> list[int]:
    """Read seeds, whole numbers separated by commas."""
    seeds = split_names(["0"] if texts is None else texts)
    if not seeds or not all(seed.isascii() and seed.isdigit() for seed in seeds):
        given = ",".join(texts or ())
        raise InputError(f"--seeds {given}: expected whole numbers, e.g. 0,1,2")
    return [int(seed) for seed in seeds]


def bench_speed(
    names: list[str] | None,
    methods: list[str] | None,
    repeats: int,
    results: Path | None,
    data: Path | None,
) -> None:
    """Time training epochs: of every method, or of DSGRL and of stock layers."""
    if methods is not None:
        from dsgrl.bench.method_speed import TIMED_DATASETS, run_method_speed

        chosen = TIMED_DATASETS if names is None else names
        lines = run_method_speed(methods, chosen, repeats=repeats, folder=data)
        _print_lines(lines, results)
        return
    from dsgrl.bench.speed import SHAPES, run_speed

    cases = SHAPES if names is None else tuple(names)
    for case in cases:
        if case not in SHAPES:
            raise InputError(f"--datasets {case}: expected some of {', '.join(SHAPES)}")
    _print_lines(run_speed(cases, repeats=repeats, folder=data), results)


def bench_scale(names: list[str] | None, results: Path | None) -> None:
    """Time learned topology, and an epoch by number of edges, as graphs grow."""
    from dsgrl.bench.growth import run_edges
    from dsgrl.bench.scale import run_scale

    cases: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "topology": run_scale,
        "shuffled": partial(run_scale, shuffled=True),
        "edges": run_edges,
    }
    if names is None or cases.keys() >= {*names}:
        for name in names or cases:
            _print_lines(cases[name](), results)
        return
    if not all(name.isdigit() and int(name) for name in names):
        raise InputError(
            f"--datasets {','.join(names)}: expected numbers of nodes, or some of "
            f"{', '.join(cases)}"
        )
    _print_lines(run_scale(tuple(int(name) for name in names)), results)


def bench_anchors(
    names: list[str] | None,
    methods: list[str] | None,
    seeds: list[int],
    results: Path | None,
    data: Path | None,
    *,
    in_process: bool,
) -> None:
    """Compare ours with the embeddings of other libraries."""
    from dsgrl.bench.anchor_cells import AnchorCell, run_anchors
    from dsgrl.bench.runner import Failure

    failures: list[Failure] = []

    def fail(failure: Failure) -> None:
        failures.append(failure)
        typer.echo(f"dsgrl: {failure.where}: {failure.reason}", err=True)

    with Console(stderr=True).status("") as status:

        def start(cell: AnchorCell, number: int, total: int) -> None:
            what = f"{cell.dataset} {cell.method}, seed {cell.seed}"
            status.update(f"{number} of {total}: {what}")

        lines = run_anchors(
            datasets=names,
            methods=methods,
            seeds=seeds,
            results=results,
            folder=data,
            in_process=in_process,
            on_start=start,
            on_failure=fail,
        )
        for line in lines:
            console.print(json.dumps(line))
    if failures:
        raise typer.Exit(1)


def _print_lines(lines: Iterator[dict[str, Any]], results: Path | None) -> None:
    """Print lines as they come; append them to a file, if one is given."""
    from dsgrl.io.atomic import check_writable

    if results is not None:
        check_writable(results.parent)
    for line in lines:
        text = json.dumps(line)
        console.print(text)
        if results is not None:
            with results.open("a") as file:
                file.write(text + "\n")
