"""What several commands share: their arguments, and where they print."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

console = Console(highlight=False, markup=False, soft_wrap=True)

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name, a table of edges with columns "
        "source,target[,weight][,type] (csv, tsv, parquet), or an npz file.",
        show_default=False,
    ),
]
NodesOption = Annotated[
    Path | None,
    typer.Option(
        help="Table of nodes: id[, label][, type or graph] and numeric columns."
    ),
]
OutOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="Embeddings: .parquet, .npy, .npz or .csv."),
]
DirectedOption = Annotated[
    bool, typer.Option("--directed", help="Keep the direction of the edges.")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the datasets (default: DSGRL_DATA)."),
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu, cuda, ...")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A parameter of the method, e.g. lr=0.01 or views.edge_drop=0.2; "
        "overrides the recipe. May be repeated; of several methods, those that have "
        "it take it.",
    ),
]
