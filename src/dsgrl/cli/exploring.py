"""Next steps from an embedding file: neighbors, cluster, classify, check."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dsgrl.cli.options import (
    DataOption,
    DirectedOption,
    EmbeddedOption,
    GraphArgument,
    NodeTableOption,
    SeedOption,
    UnknownOption,
)
from dsgrl.cli.output import JsonOption, QuietOption, show
from dsgrl.cli.reading import one_or_all
from dsgrl.typing import InputError

EmbeddingsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Embeddings, ours or not: parquet, csv, tsv, npy or npz.",
        show_default=False,
    ),
]
TableOption = Annotated[
    Path, typer.Option("--out", "-o", help="Table to write: .parquet or .csv.")
]


def neighbors(
    embeddings: EmbeddingsArgument,
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="Whose neighbours.", show_default=False)
    ],
    count: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    kind: Annotated[
        str | None, typer.Option("--type", help="Node type of ID, if there are more.")
    ] = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why", help="Say what they share: links and features. Needs --graph."
        ),
    ] = False,
    graph: EmbeddedOption = None,
    nodes: NodeTableOption = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Folder of the model that made FILE: tables are read alike."),
    ] = None,
    unknown: UnknownOption = "error",
    directed: DirectedOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show the rows whose vectors are most similar to that of ID."""
    from dsgrl.explore.commands import find_neighbors

    if why and graph is None:
        raise InputError("--why: needs the graph that was embedded: give --graph")
    found = find_neighbors(
        embeddings,
        wanted,
        count,
        kind=kind,
        graph=one_or_all(graph) if why else None,
        nodes=nodes,
        model=model,
        unknown=unknown,
        directed=directed,
        data_folder=data,
    )
    width = max(len(str(line.id)) for line in found)
    lines = [
        f"{line.similarity:.3f}  {line.id!s:{width}}  {line.why}".rstrip()
        for line in found
    ]
    show([line._asdict() for line in found], lines, as_json=as_json)


def cluster(
    embeddings: EmbeddingsArgument,
    out: TableOption,
    number: Annotated[
        int | None,
        typer.Option("-k", min=1, help="Number of clusters (default: by the rows)."),
    ] = None,
    method: Annotated[
        Literal["kmeans", "hdbscan"],
        typer.Option(help="hdbscan finds the number and leaves out rows in between."),
    ] = "kmeans",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Group rows with similar vectors and write the group of every row."""
    from dsgrl.explore.commands import write_clusters

    if method == "hdbscan" and number is not None:
        raise InputError("-k: method 'hdbscan' finds the number itself, leave it out")
    sizes, left_out = write_clusters(
        embeddings, out, number, method=method, random_state=seed
    )
    rest = f", {left_out} rows in none" if left_out else ""
    words = f"{len(sizes)} clusters of {min(sizes)} to {max(sizes)} rows{rest}"
    document = {"out": out, "clusters": len(sizes), "sizes": sizes}
    document["in_none"] = left_out
    show(document, [f"{words}: wrote {out}"], as_json=as_json, quiet=quiet)


def classify(
    embeddings: EmbeddingsArgument,
    out: TableOption,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Table with columns id,label for a few rows; by default the column "
            "label of FILE."
        ),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict the label of every row from a few, with calibrated probabilities."""
    from dsgrl.explore.commands import write_predictions

    found = write_predictions(embeddings, labels, out, random_state=seed)
    lines = [
        _describe(found),
        f"Probabilities: {100 * found['sure']:.0f} % of the rows have 0.9 or more for "
        f"one class, the mean is {found['mean_probability']:.2f}. Wrote {out}",
    ]
    show({"out": out, **found}, lines, as_json=as_json, quiet=quiet)


def _describe(found: dict[str, Any]) -> str:
    learned = (
        f"Learned from {found['labels']} labels of {found['classes']} classes "
        f"({found['fewest_labels']} to {found['most_labels']} each)."
    )
    if found["accuracy"] is None:
        return (
            f"{learned} Too few to check: {found['checked']} could be left out, 10 are "
            f"needed. Take the probabilities as a guess."
        )
    return (
        f"{learned} Of {found['checked']} labels left out of the fit, "
        f"{100 * found['accuracy']:.1f} % are predicted right (the largest class has "
        f"{100 * found['largest_class']:.1f} %); probabilities are off by "
        f"{100 * found['calibration_error']:.1f} points on average."
    )


def check(
    embeddings: EmbeddingsArgument,
    graph: GraphArgument,
    nodes: NodeTableOption = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the model that made FILE: links are then hidden from it."
        ),
    ] = None,
    unknown: UnknownOption = "error",
    directed: DirectedOption = False,
    seed: SeedOption = 0,
    data: DataOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say whether an embedding is good, without labels.

    Links of the graph against random pairs, how many directions are in use, and the
    same of the training-free floor.
    """
    from dsgrl.explore.commands import check_file

    found = check_file(
        embeddings,
        one_or_all(graph),
        nodes=nodes,
        model=model,
        unknown=unknown,
        directed=directed,
        data_folder=data,
        random_state=seed,
    )
    show(found.summary(), found.lines(), as_json=as_json)
