"""Reads the graph that a command was given, and shows what was understood."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsgrl.typing import InputError

logger = logging.getLogger(__name__)


def name_roles(
    source: str | None,
    target: str | None,
    weight: str | None,
    kind: str | None,
    node_id: str | None,
    label: str | None,
) -> dict[str, str]:
    """Return the chosen columns by role; `kind` is that of types."""
    given = {"source": source, "target": target, "weight": weight}
    given |= {"type": kind, "id": node_id, "label": label}
    return {role: name for role, name in given.items() if name is not None}


def read_input(
    graph: Sequence[str],
    nodes: Sequence[Path] | None,
    roles: dict[str, str],
    *,
    features: str | None = None,
    ignore: str | None = None,
    kinds: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Read a graph.

    Args:
        graph: names of files, of a folder or of a dataset.
        nodes: files of nodes.
        roles: names of columns by role.
        features: names of columns, separated by commas.
        ignore: names of columns, separated by commas.
        kinds: `column=kind`.
        options: further options of `read_graph`.
    """
    from dsgrl.datasets import files

    with _muted(files.logger):
        return files.read_graph(
            one_or_all(graph),
            list(nodes) if nodes else None,
            columns=roles,
            features=split_names(features),
            ignore=split_names(ignore) or (),
            kinds=read_kinds(kinds or ()),
            **options,
        )


def one_or_all(names: Sequence[str] | None) -> Any:
    """Return the one name that was given, several as a list, or None."""
    if not names:
        return None
    return names[0] if len(names) == 1 else list(names)


@contextmanager
def _muted(other: logging.Logger) -> Iterator[None]:
    """Leave its messages to `show_understood`, which puts the summary first."""
    level = other.level
    other.setLevel(logging.ERROR)
    try:
        yield
    finally:
        other.setLevel(level)


def show_understood(data: Any) -> None:
    """Show on stderr what was read, assumed and changed."""
    show_summary(data.understood)


def show_summary(understood: Any) -> None:
    """Show the summary of a graph on stderr."""
    for line in (*understood.lines(), *understood.assumed, *understood.changed):
        logger.info("%s", line)


def split_names(names: str | None) -> list[str] | None:
    """Return names that are separated by commas."""
    if names is None:
        return None
    return [name.strip() for name in names.split(",") if name.strip()]


def read_kinds(kinds: Sequence[str]) -> dict[str, str]:
    """Return the chosen kinds of columns, given as `column=kind`."""
    found = {}
    for text in kinds:
        # A name may hold the sign as well.
        column, sign, kind = text.rpartition("=")
        if not sign or not column:
            raise InputError(f"--kind {text}: expected COLUMN=KIND, e.g. zip=category")
        found[column] = kind
    return found
