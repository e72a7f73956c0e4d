"""What several commands share: their arguments, and where they print."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

console = Console(highlight=False, markup=False, soft_wrap=True)

GraphArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name; a table of edges (csv, tsv, parquet) with columns "
        "source,target[,weight][,type] or from,to or src,dst or u,v; several tables of "
        "edges, one per relation, called as their files; npz, graphml or gml; or a "
        "folder: tables of one graph (those with source and target are edges), files "
        "of one graph each (graphml, gml, npz), edges/*.csv and nodes/*.csv of one "
        "graph each, the text files of a TU set, or what 'dsgrl store' wrote.",
        show_default=False,
    ),
]
EmbeddedOption = Annotated[
    list[str] | None,
    typer.Option(
        "--graph",
        help="What was embedded: a dataset, a table of edges, a stored graph or any "
        "other file or folder. Repeat it for several tables of edges.",
    ),
]
NodeTableOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--nodes",
        help="Table of nodes that the embedding was made from. May be repeated.",
    ),
]
NodesOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Table of nodes: id (or node, name)[, label][, type or graph] and any "
        "other columns, which become features. Repeat it for several types of nodes, "
        "called as their files; a column of edges named after such a file (author: "
        "authors.csv) or its ids tell which type an end has.",
    ),
]
SourceOption = Annotated[
    str | None, typer.Option("--source", help="Column of edges: where they begin.")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", help="Column of edges: where they end.")
]
WeightOption = Annotated[
    str | None, typer.Option("--weight", help="Column of edges: weights.")
]
TypeOption = Annotated[
    str | None, typer.Option("--type", help="Column of edges or nodes: types.")
]
IdOption = Annotated[str | None, typer.Option("--id", help="Column of nodes: ids.")]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label", help="Column of nodes: labels, which are copied and not used."
    ),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(help="Columns of nodes to use as features, e.g. age,city."),
]
IgnoreOption = Annotated[
    str | None, typer.Option(help="Columns of nodes that are no features.")
]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="Kind of a column of nodes where the inferred one is wrong: number, "
        "boolean, category, text, date, list or ignore. May be repeated.",
    ),
]
UnknownOption = Annotated[
    Literal["error", "add", "drop"],
    typer.Option(
        help="Edges to nodes that the table of nodes lacks: stop, add the nodes, or "
        "drop the edges."
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
