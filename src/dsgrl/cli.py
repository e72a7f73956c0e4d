"""The command line: `dsgrl`, also `python -m dsgrl`."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from rich.console import Console
from rich.table import Table

import dsgrl
from dsgrl.typing import EncoderName, InputError

app = typer.Typer(
    name="dsgrl",
    help="Embeddings for any graph, learned without labels.",
    epilog="Example: dsgrl embed edges.csv --nodes nodes.csv -o z.parquet",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
console = Console(highlight=False, markup=False, soft_wrap=True)

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A dataset's name, a table of edges with columns source,target[,weight] "
        "(csv, tsv, parquet), or an npz file.",
        show_default=False,
    ),
]
NodesOption = Annotated[
    Path | None,
    typer.Option(help="Table of nodes: id[, label] and numeric feature columns."),
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


@app.command(epilog="Example: dsgrl demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")] = 0,
) -> None:
    """Embed the built-in graph of Debian's packages and judge the result.

    Compares the trained model with the untrained one and with raw features, shows
    neighbours, and writes summary.json, embeddings.parquet and model/.
    """
    from dsgrl.demo import run_demo

    table = Table("", "accuracy", "std", title="section told from the vector, in %")
    names = {
        "raw": "raw features (words)",
        "untrained": "untrained model",
        "trained": "trained model",
    }
    for kind, value in run_demo(out, seed=seed, verbose=True):
        if kind == "graph":
            console.print(
                f"Debian's packages: {value.num_nodes} nodes, {value.num_edges // 2} "
                f"links, {value.num_features} words. No label is used to learn; "
                "sections only judge (ten 5/15/80 splits)."
            )
        elif kind == "score":
            name, score = value
            table.add_row(names[name], f"{score.mean:.1f}", f"{score.std:.1f}")
        elif kind == "neighbors":
            console.print(table)
            for name, near in value.items():
                console.print(f"{name}: {', '.join(near)}")
        else:
            console.print(
                f"Kept epoch {value['epoch']}; {value['seconds']:.0f} s in all. "
                f"Wrote {out}/summary.json, embeddings.parquet, model/"
            )


@app.command(epilog="Example: dsgrl embed edges.csv --nodes nodes.csv -o z.parquet")
def embed(
    graph: GraphArgument,
    out: OutOption,
    nodes: NodesOption = None,
    augment: Annotated[
        Literal["feature", "topology", "both"],
        typer.Option(help="What is learned to make the views."),
    ] = "feature",
    dim: Annotated[
        int, typer.Option(min=2, help="Columns of the embedding, an even number.")
    ] = 256,
    epochs: Annotated[
        str,
        typer.Option(help="A number, or auto: stop by held-out links."),
    ] = "auto",
    encoder: Annotated[
        Literal["gcn", "sage", "gin"], typer.Option(help="Kind of encoder.")
    ] = "gcn",
    lr: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")] = 0,
    model: Annotated[
        Path | None, typer.Option(help="Folder to save the model to.")
    ] = None,
    views: Annotated[
        Path | None,
        typer.Option(help="Folder for the learned features and edges (parquet)."),
    ] = None,
    directed: DirectedOption = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    data: DataOption = None,
) -> None:
    """Learn from a graph and write one vector per node."""
    from dsgrl.estimator import DSGRL
    from dsgrl.graph.files import read_graph
    from dsgrl.graph.saving import (
        check_embeddings_path,
        check_views_path,
        check_writable,
        write_views,
    )
    from dsgrl.train.folder import check_model_path

    if dim % 2:
        raise InputError(f"--dim {dim}: expected an even number (two views)")
    if epochs != "auto" and not (epochs.isascii() and epochs.isdigit()):
        raise InputError(f"--epochs {epochs}: expected 'auto' or a whole number")
    check_embeddings_path(out)
    if model is not None:
        check_model_path(model)
        check_writable(model.parent)
    if views is not None:
        check_views_path(views)
    for folder in (model, views):
        if folder is not None and folder.resolve() in out.resolve().parents:
            raise InputError(f"{out}: lies inside {folder}, expected another place")
    loaded = read_graph(graph, nodes, directed=directed, data_folder=data)
    estimator = DSGRL(
        augment=augment,
        encoder=encoder,
        out_channels=dim // 2,
        epochs="auto" if epochs == "auto" else int(epochs),
        lr=lr,
        random_state=seed,
        device=device,
        verbose=True,
    )
    z = estimator.fit_transform(loaded)
    _write(out, loaded, z)
    if model is not None:
        estimator.save(model)
    if views is not None:
        write_views(views, _ids(loaded, z), estimator.views(loaded))
    saved = "".join(f" and {folder}/" for folder in (model, views) if folder)
    console.print(
        f"{z.shape[0]} nodes, {z.shape[1]} columns, kept epoch {estimator.epoch_}: "
        f"wrote {out}{saved}",
    )


@app.command(
    epilog="Example: dsgrl transform new.csv --nodes new_nodes.csv "
    "--model model -o z.parquet"
)
def transform(
    graph: GraphArgument,
    out: OutOption,
    model: Annotated[Path, typer.Option(help="Folder of a saved model.")],
    nodes: NodesOption = None,
    directed: DirectedOption = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    data: DataOption = None,
) -> None:
    """Embed a graph, seen or unseen, with a saved model."""
    from dsgrl.estimator import DSGRL
    from dsgrl.graph.files import read_graph
    from dsgrl.graph.saving import check_embeddings_path

    check_embeddings_path(out)
    estimator = DSGRL.load(model, device=device)
    loaded = read_graph(graph, nodes, directed=directed, data_folder=data)
    z = estimator.transform(loaded)
    _write(out, loaded, z)
    console.print(f"{z.shape[0]} nodes, {z.shape[1]} columns: wrote {out}")


def _write(out: Path, data: Any, z: Any) -> None:
    from dsgrl.graph.saving import write_embeddings

    names = getattr(data, "label_names", None)
    labels = None
    if names is not None:
        labels = [names[i] if i >= 0 else None for i in data.y.tolist()]
    write_embeddings(out, _ids(data, z), z, labels)


def _ids(data: Any, z: Any) -> list[Any]:
    ids = getattr(data, "ids", None)
    return list(range(len(z))) if ids is None else list(ids)


@app.command("list", epilog="Example: dsgrl list")
def list_names(data: DataOption = None) -> None:
    """Show the datasets, methods and encoders known by name."""
    from dsgrl.graph.datasets import DATASETS, data_folder
    from dsgrl.methods import METHODS

    table = Table("dataset", "nodes", "edges", "columns", "classes", "", box=None)
    for name, row in DATASETS.items():
        counts = (row.num_nodes, row.num_edges, row.num_features, row.num_classes)
        note = row.summary + (" (built in)" if row.built_in else "")
        table.add_row(name, *(f"{count:,}" for count in counts), note)
    console.print(table)
    console.print(f"data folder: {data or data_folder()}")
    console.print(f"methods: {', '.join(METHODS)}")
    console.print(f"encoders: {', '.join(get_args(EncoderName))}")


@app.command(epilog="Example: dsgrl bench speed --results speed.jsonl")
def bench(
    suite: Annotated[
        Literal["speed"],
        typer.Argument(metavar="SUITE", help="What to measure: speed."),
    ],
    datasets: Annotated[
        str, typer.Option(help="Comma-separated shapes: photo, cs, github.")
    ] = "photo,cs,github",
    repeats: Annotated[
        int, typer.Option(min=7, help="Measured epochs of each kind.")
    ] = 9,
    results: Annotated[
        Path | None, typer.Option(help="Append the JSON lines to this file.")
    ] = None,
    data: DataOption = None,
) -> None:
    """Measure, and print one JSON line per case."""
    from dsgrl.bench.speed import CASES, run_speed
    from dsgrl.graph.saving import check_writable

    cases = tuple(name.strip() for name in datasets.split(","))
    for case in cases:
        if case not in CASES:
            raise InputError(f"--datasets {case}: expected some of {', '.join(CASES)}")
    if results is not None:
        check_writable(results.parent)
    for line in run_speed(cases, repeats=repeats, folder=data):
        text = json.dumps(line)
        console.print(text)
        if results is not None:
            with results.open("a") as file:
                file.write(text + "\n")


def _show_version(value: bool) -> None:
    if value:
        console.print(f"dsgrl {dsgrl.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Take the options before the command."""


def main() -> None:
    """Run a command; a user's mistake is one line and exit 2, never a traceback."""
    logging.basicConfig(format="dsgrl: %(message)s", level=logging.WARNING)
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except InputError as error:
        status = _fail(str(error), 2)
    except typer.TyperException as error:
        status = _fail(f"{error.format_message()} ('dsgrl --help' tells more)", 2)
    except (typer.Abort, KeyboardInterrupt):
        status = _fail("stopped", 130)
    except BrokenPipeError:
        # The reader of our output has gone; say nothing, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except RuntimeError as error:
        if type(error).__name__ != "DivergenceError":
            raise
        status = _fail(str(error), 1)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, status: int) -> int:
    print(f"dsgrl: error: {' '.join(message.split())}", file=sys.stderr)
    return status
