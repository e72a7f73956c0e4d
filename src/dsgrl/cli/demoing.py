"""The command that shows all of it on a built-in graph."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from dsgrl.cli.options import SeedOption, console
from dsgrl.cli.output import JsonOption, QuietOption, show
from dsgrl.cli.reporting import ReportOption, write_report

ROWS = {
    "raw": "raw features",
    "floor": "without training",
    "trained": "trained model",
}


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    level: Annotated[
        Literal["node", "graph", "hetero"],
        typer.Option(
            help="What to embed: Debian's packages (node), images of digits as graphs "
            "(graph), or packages, maintainers and tags (hetero)."
        ),
    ] = "node",
    report: ReportOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Embed a built-in graph and judge the result.

    Compares the trained model with the training-free floor and with raw features, shows
    neighbours, and writes summary.json, embeddings.parquet and model/.
    """
    from dsgrl.demo import run_demo
    from dsgrl.report.page import check_page_path

    if report is not None:
        check_page_path(report)
    words = Console(quiet=True) if as_json or quiet else console
    table, summary = Table("", "accuracy", "std"), {}
    for kind, value in run_demo(out, level=level, seed=seed, verbose=not quiet):
        if kind == "data":
            words.print(
                f"{value.described} No label is used to learn; {value.labels} only "
                f"judge ({value.protocol})."
            )
            table.title = f"{value.labels} predicted from the vectors, in %"
        elif kind == "score":
            name, score = value
            table.add_row(ROWS[name], f"{score.mean:.1f}", f"{score.std:.1f}")
        elif kind == "neighbors":
            words.print(table)
            for name, near in value.items():
                words.print(f"{name}: {', '.join(near)}")
        else:
            summary = value
    lines = [
        f"Kept epoch {summary['epoch']}; {summary['seconds']:.0f} s in all. "
        f"Wrote {out}/summary.json, embeddings.parquet, model/"
    ]
    if report is not None:
        lines += write_report(out, report, seed=seed).lines()
    show({**summary, "out": out, "report": report}, lines, as_json=as_json, quiet=quiet)
