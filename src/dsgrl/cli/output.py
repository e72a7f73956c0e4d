"""What a command prints: words, one JSON document, or nothing."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dsgrl.cli.options import console


def _hush(is_quiet: bool) -> bool:
    """Keep notices from stderr; `main` undoes it for the next command."""
    if is_quiet:
        for handler in logging.getLogger().handlers:
            if type(handler) is logging.StreamHandler:
                handler.setLevel(logging.ERROR)
    return is_quiet


JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON document.")
]
QuietOption = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=_hush,
        help="No notices, no progress, no words about files that were written.",
    ),
]


def show(
    document: Any, lines: Sequence[str], *, as_json: bool, quiet: bool = False
) -> None:
    """Print a result.

    Args:
        document: for --json.
        lines: in words.
        as_json: print the document.
        quiet: leave out the words; for commands whose result is a file.
    """
    if as_json:
        console.print(json.dumps(document, default=str))
    elif not quiet:
        for line in lines:
            console.print(line)


@dataclass(frozen=True, slots=True)
class Embedded:
    """Embeddings that were written: how many, of what, and their width."""

    num_rows: int
    num_columns: int
    level: str
    types: list[str] | None

    @property
    def words(self) -> str:
        """All of it in words."""
        what = "graphs" if self.level == "graph" else "nodes"
        types = ""
        if self.types is not None:
            plural = "s" if len(self.types) > 1 else ""
            types = f" of {len(self.types)} type{plural}"
        return f"{self.num_rows} {what}{types}, {self.num_columns} columns"

    def document(self, out: Path) -> dict[str, Any]:
        """Return all of it for --json."""
        return {
            "out": out,
            "rows": self.num_rows,
            "columns": self.num_columns,
            "level": self.level,
            "types": self.types,
        }
