"""The page: `dsgrl report`, and `--report` of other commands."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dsgrl.cli.options import (
    DataOption,
    DirectedOption,
    EmbeddedOption,
    NodeTableOption,
    SeedOption,
    UnknownOption,
)
from dsgrl.cli.output import JsonOption, QuietOption, show
from dsgrl.cli.reading import one_or_all

ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report", help="Page to write (.html): map, clusters, scores, training."
    ),
]


class Written(NamedTuple):
    """A page that was written: where, its size in bytes, and what it says."""

    out: Path
    size: int
    summary: list[str]

    def lines(self) -> list[str]:
        """Return all of it in words."""
        size = f"{self.size / 1e6:.1f} MB"
        return [*self.summary, f"Wrote {self.out} ({size}): open it in a browser."]


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder that 'dsgrl demo' wrote, or a file of embeddings.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Page to write (.html).")
    ] = Path("report.html"),
    graph: EmbeddedOption = None,
    nodes: NodeTableOption = None,
    model: Annotated[
        Path | None, typer.Option(help="Folder of the model that was saved with it.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Also write the map as a table (.parquet, .csv): id, cluster, x, y, "
            "neighbors; opens in embedding-atlas."
        ),
    ] = None,
    unknown: UnknownOption = "error",
    directed: DirectedOption = False,
    seed: SeedOption = 0,
    data: DataOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a page that shows what was learned: one HTML file, opens offline.

    The more is given, the more it shows: with a graph also degrees, links and features,
    with a model also its training and views.
    """
    from dsgrl.explore.commands import check_table_path
    from dsgrl.report.page import check_page_path

    check_page_path(out)
    if table is not None:
        check_table_path(table)
    written = write_report(
        source,
        out,
        table,
        seed=seed,
        graph=one_or_all(graph),
        nodes=nodes,
        model=model,
        unknown=unknown,
        directed=directed,
        data_folder=data,
    )
    show(written._asdict(), written.lines(), as_json=as_json, quiet=quiet)


def write_report(
    source: Path, out: Path, table: Path | None = None, *, seed: int, **options: Any
) -> Written:
    """Write the page of files, and the map as a table; see `gather_files`."""
    from dsgrl.report.atlas import write_map
    from dsgrl.report.folder import gather_files
    from dsgrl.report.page import write_page

    contents = gather_files(
        source, command=this_command(), random_state=seed, **options
    )
    if table is not None:
        write_map(table, contents)
    return Written(out, write_page(out, contents), contents.summary)


def report_embedding(
    out: Path,
    data: Any,
    z: Any,
    model: Any,
    *,
    names: Sequence[str],
    nodes: Sequence[Path] | None,
) -> Written:
    """Write the page of a fresh embedding.

    Args:
        out: file to write.
        data: what was embedded.
        z: the embedding, as the estimator gave it.
        model: the fitted estimator.
        names: of the data.
        nodes: tables of nodes; the columns of one table are shown.
    """
    from dsgrl.datasets.rows import collect_rows
    from dsgrl.explore.columns import holds_ids
    from dsgrl.explore.known import read_node_table
    from dsgrl.report.gather import gather
    from dsgrl.report.page import write_page

    rows = collect_rows(data, z)
    table = read_node_table(nodes[0] if nodes and len(nodes) == 1 else None)
    if table is not None and not holds_ids(table, rows.ids):
        # Nodes that only edges name have no row in it.
        table = None
    contents = gather(
        rows,
        data=data,
        model=model,
        table=table,
        title=f"Embedding of {', '.join(Path(name).name for name in names)}",
        command=this_command(),
        random_state=model.seed_,
    )
    return Written(out, write_page(out, contents), contents.summary)


def this_command() -> str:
    """Return the command line as it was typed."""
    return shlex.join(["dsgrl", *sys.argv[1:]])
