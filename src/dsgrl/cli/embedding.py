"""The commands that make embeddings: demo, embed, transform, list."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from rich.table import Table

from dsgrl.cli.options import (
    DataOption,
    DeviceOption,
    DirectedOption,
    GraphArgument,
    NodesOption,
    OutOption,
    SeedOption,
    console,
)
from dsgrl.typing import EncoderName, InputError

ROWS = {
    "raw": "raw features",
    "untrained": "untrained model",
    "trained": "trained model",
}

_COUNTS = ("graphs", "nodes", "edges", "columns", "classes")
_LINE = "{:13} {:6} {:>6} {:>7} {:>11} {:>7} {:>7}"


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    level: Annotated[
        Literal["node", "graph", "hetero"],
        typer.Option(
            help="What to embed: Debian's packages (node), images of digits as graphs "
            "(graph), or packages, maintainers and tags (hetero)."
        ),
    ] = "node",
    seed: SeedOption = 0,
) -> None:
    """Embed a built-in graph and judge the result.

    Compares the trained model with the untrained one and with raw features, shows
    neighbours, and writes summary.json, embeddings.parquet and model/.
    """
    from dsgrl.demo import run_demo

    table = Table("", "accuracy", "std")
    for kind, value in run_demo(out, level=level, seed=seed, verbose=True):
        if kind == "data":
            console.print(
                f"{value.described} No label is used to learn; {value.labels} only "
                f"judge ({value.protocol})."
            )
            table.title = f"{value.labels} told from the vector, in %"
        elif kind == "score":
            name, score = value
            table.add_row(ROWS[name], f"{score.mean:.1f}", f"{score.std:.1f}")
        elif kind == "neighbors":
            console.print(table)
            for name, near in value.items():
                console.print(f"{name}: {', '.join(near)}")
        else:
            console.print(
                f"Kept epoch {value['epoch']}; {value['seconds']:.0f} s in all. "
                f"Wrote {out}/summary.json, embeddings.parquet, model/"
            )


def embed(
    graph: GraphArgument,
    out: OutOption,
    nodes: NodesOption = None,
    augment: Annotated[
        Literal["auto", "feature", "topology", "both"],
        typer.Option(
            help="What is learned to make the views; auto: features for many graphs "
            "and where nodes have none; else nothing, the second view is of nodes "
            "alone (several types: of those two steps away).",
        ),
    ] = "auto",
    dim: Annotated[
        int,
        typer.Option(
            min=2,
            help="Columns of the embedding, an even number; of every layer for graphs.",
        ),
    ] = 256,
    epochs: Annotated[
        str,
        typer.Option(help="A number, or auto: by held-out links; 5 for many graphs."),
    ] = "auto",
    encoder: Annotated[
        Literal["auto", "gcn", "sage", "gin"],
        typer.Option(help="Kind of encoder; auto: gcn for nodes, gin for graphs."),
    ] = "auto",
    lr: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Graphs per step, where there are many.")
    ] = 128,
    seed: SeedOption = 0,
    model: Annotated[
        Path | None, typer.Option(help="Folder to save the model to.")
    ] = None,
    views: Annotated[
        Path | None,
        typer.Option(help="Folder for the views' features and edges (parquet)."),
    ] = None,
    directed: DirectedOption = False,
    device: DeviceOption = "auto",
    data: DataOption = None,
) -> None:
    """Learn from a graph, or many, and write one vector per node, or per graph."""
    from dsgrl.datasets.files import read_graph
    from dsgrl.datasets.rows import tabulate_view
    from dsgrl.estimator import DSGRL
    from dsgrl.io.atomic import check_writable
    from dsgrl.io.embeddings import check_embeddings_path, check_views_path, write_views
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
        batch_size=batch_size,
        random_state=seed,
        device=device,
        verbose=True,
    )
    written = _write(out, loaded, estimator.fit_transform(loaded))
    if model is not None:
        estimator.save(model)
    if views is not None:
        made = estimator.views(loaded)
        write_views(views, [tabulate_view(loaded, view) for view in made])
    saved = "".join(f" and {folder}/" for folder in (model, views) if folder)
    console.print(f"{written}, kept epoch {estimator.epoch_}: wrote {out}{saved}")


def transform(
    graph: GraphArgument,
    out: OutOption,
    model: Annotated[Path, typer.Option(help="Folder of a saved model.")],
    nodes: NodesOption = None,
    directed: DirectedOption = False,
    device: DeviceOption = "auto",
    data: DataOption = None,
) -> None:
    """Embed a graph, or many, seen or unseen, with a saved model."""
    from dsgrl.datasets.files import read_graph
    from dsgrl.estimator import DSGRL
    from dsgrl.io.embeddings import check_embeddings_path

    check_embeddings_path(out)
    estimator = DSGRL.load(model, device=device)
    loaded = read_graph(graph, nodes, directed=directed, data_folder=data)
    written = _write(out, loaded, estimator.transform(loaded))
    console.print(f"{written}: wrote {out}")


def _write(out: Path, data: Any, z: Any) -> str:
    """Write embeddings with their ids, and say what they are."""
    from dsgrl.datasets.rows import collect_rows
    from dsgrl.graph.inputs import level_of
    from dsgrl.io.embeddings import write_embeddings

    rows = collect_rows(data, z)
    write_embeddings(out, rows.ids, rows.z, rows.labels, rows.types)
    count, columns = rows.z.shape
    what = "graphs" if level_of(data) == "graph" else "nodes"
    types = "" if rows.types is None else f" of {len(set(rows.types))} types"
    return f"{count} {what}{types}, {columns} columns"


def list_names(data: DataOption = None) -> None:
    """Show the datasets, methods, recipes and encoders known by name."""
    from dsgrl.bench.recipes import list_families
    from dsgrl.bench.systems import SYSTEMS
    from dsgrl.datasets.table import DATASETS, data_folder

    # Plain lines: a terminal that is too narrow folds them, none is cut.
    console.print(_LINE.format("dataset", "level", *_COUNTS))
    for name, row in DATASETS.items():
        counts = (
            row.num_graphs,
            row.num_nodes,
            row.num_edges,
            row.num_features,
            row.num_classes,
        )
        note = row.summary + (" (built in)" if row.built_in else "")
        line = _LINE.format(name, row.level, *(f"{count:,}" for count in counts))
        console.print(f"{line}  {note}")
    console.print(f"data folder: {data or data_folder()}")
    console.print(f"methods: {', '.join(SYSTEMS)}")
    console.print(f"recipes: {', '.join(list_families())}")
    console.print(f"encoders: {', '.join(get_args(EncoderName))}")
