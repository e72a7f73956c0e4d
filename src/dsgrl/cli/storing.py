"""The command that stores a graph larger than memory."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from dsgrl.cli.options import (
    DirectedOption,
    FeaturesOption,
    IdOption,
    IgnoreOption,
    KindOption,
    LabelOption,
    SourceOption,
    TargetOption,
    UnknownOption,
    WeightOption,
    console,
)
from dsgrl.cli.reading import name_roles, read_kinds, show_summary, split_names
from dsgrl.typing import InputError

UNITS = {"": 1, "MB": 10**6, "GB": 10**9, "MIB": 2**20, "GIB": 2**30}


def store(
    edges: Annotated[
        Path | None,
        typer.Argument(
            metavar="EDGES",
            help="Table of edges (csv, tsv, parquet) with columns source,target"
            "[,weight] or from,to or src,dst or u,v.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write.")
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of nodes: id (or node, name)[, label] and any other columns, "
            "which become features.",
        ),
    ] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    node_id: IdOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    ignore: IgnoreOption = None,
    kind: KindOption = None,
    unknown: UnknownOption = "error",
    directed: DirectedOption = False,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a saved model: columns become features as in its training."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory for sorting, e.g. 500MB or 4GB (default: 2GB, at most a "
            "quarter of what there is)."
        ),
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Compare the checksums of a stored graph and stop."
        ),
    ] = None,
) -> None:
    """Store a graph larger than memory as memory-mapped arrays.

    embed, transform, neighbors --why and check take the folder as GRAPH; opening it
    loads nothing. Killed, the command leaves nothing that looks finished: run it again.
    """
    from dsgrl import __version__
    from dsgrl.io.choices import Choices
    from dsgrl.io.summary import Understood
    from dsgrl.store.build import build_store

    if verify is not None:
        if edges is not None or out is not None:
            raise InputError("--verify DIR: goes without EDGES and --out")
        _verify(verify)
        return
    if edges is None or out is None:
        raise InputError("expected EDGES and --out DIR, or --verify DIR")
    plan: Any = None
    remembered: dict[str, str] = {}
    if model is not None:
        if features is not None or ignore is not None or kind:
            raise InputError(
                "--model: features, ignore and kinds are those of the model"
            )
        plan, remembered = _like(model)
    choices = Choices(
        columns=name_roles(source, target, weight, None, node_id, label),
        features=_tuple(split_names(features)),
        ignore=_tuple(split_names(ignore)) or (),
        kinds=read_kinds(kind or ()),
        unknown=unknown,
        remembered=remembered,
    )
    with _progress() as report:
        manifest = build_store(
            edges,
            nodes,
            out,
            version=__version__,
            choices=choices,
            directed=directed,
            memory=None if memory is None else read_memory(memory),
            plan=plan,
            report=report,
        )
    show_summary(Understood(**manifest.understood))
    size = sum(entry["bytes"] for entry in manifest.files.values())
    console.print(
        f"{manifest.num_nodes:,} nodes, {manifest.num_edges:,} entries, "
        f"{manifest.num_features:,} features, {size / 1e6:,.1f} MB: wrote {out}/"
    )


def _verify(folder: Path) -> None:
    from dsgrl.store.manifest import Manifest

    manifest = Manifest.read(folder)
    manifest.verify(folder)
    console.print(f"{folder}: {len(manifest.files)} files as they were written")


def _like(folder: Path) -> tuple[Any, dict[str, str]]:
    """Return the plan of a saved model's features, and its roles of columns."""
    from dsgrl.datasets.known import plans_of, roles_of
    from dsgrl.estimator import load_model
    from dsgrl.io.grouping import DEFAULT_TYPE

    estimator = load_model(folder, device="cpu")
    plans = plans_of(estimator) or {}
    if set(plans) - {DEFAULT_TYPE}:
        raise InputError(f"{folder}: the model is of several node types, expected one")
    return plans.get(DEFAULT_TYPE), dict(roles_of(estimator))


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def read_memory(text: str) -> int:
    """Return a number of bytes that is written with a unit."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if match is None or match[2].upper() not in UNITS:
        raise InputError(f"--memory {text}: expected a size such as 500MB or 4GB")
    return int(float(match[1]) * UNITS[match[2].upper()])


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show what is being done; silent when not on a terminal."""
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield lambda _: None
        return
    with errors.status("") as status:
        yield lambda line: status.update(line)
