"""The commands that make embeddings: demo, embed, transform, list."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from dsgrl.cli.options import (
    DataOption,
    DeviceOption,
    DirectedOption,
    FeaturesOption,
    GraphArgument,
    IdOption,
    IgnoreOption,
    KindOption,
    LabelOption,
    NodesOption,
    OutOption,
    SeedOption,
    SetOption,
    SourceOption,
    TargetOption,
    TypeOption,
    UnknownOption,
    WeightOption,
    console,
)
from dsgrl.cli.reading import name_roles, read_input, show_understood
from dsgrl.cli.reporting import ReportOption, report_embedding, write_report
from dsgrl.cli.resuming import (
    CheckpointOption,
    EveryOption,
    ResumeOption,
    make_checkpoints,
    stoppable,
)
from dsgrl.typing import InputError

if TYPE_CHECKING:
    # Loads torch.
    from dsgrl.datasets.rows import EmbeddedRows

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
) -> None:
    """Embed a built-in graph and judge the result.

    Compares the trained model with the training-free floor and with raw features, shows
    neighbours, and writes summary.json, embeddings.parquet and model/.
    """
    from dsgrl.demo import run_demo
    from dsgrl.report.page import check_page_path

    if report is not None:
        check_page_path(report)
    table = Table("", "accuracy", "std")
    for kind, value in run_demo(out, level=level, seed=seed, verbose=True):
        if kind == "data":
            console.print(
                f"{value.described} No label is used to learn; {value.labels} only "
                f"judge ({value.protocol})."
            )
            table.title = f"{value.labels} predicted from the vectors, in %"
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
    if report is not None:
        write_report(out, report, seed=seed)


def embed(
    graph: GraphArgument,
    out: OutOption,
    nodes: NodesOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    kind_of: TypeOption = None,
    node_id: IdOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    ignore: IgnoreOption = None,
    kind: KindOption = None,
    unknown: UnknownOption = "error",
    method: Annotated[
        str, typer.Option(help="A trained method of 'dsgrl list'.")
    ] = "dsgrl",
    augment: Annotated[
        Literal["feature", "topology", "both"] | None,
        typer.Option(
            help="Learn the views: two sets of features, a second graph, or both. "
            "Default: for many graphs and nodes without features, features; else "
            "nothing is learned, the second view has nodes without their neighbours "
            "(several types: those two steps away).",
        ),
    ] = None,
    dim: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Columns of the embedding (default: 256), of every layer for graphs; "
            "an even number where there are two views.",
        ),
    ] = None,
    epochs: Annotated[
        str | None,
        typer.Option(
            help="A number, or auto (default): by held-out links; 5 for many graphs."
        ),
    ] = None,
    encoder: Annotated[
        Literal["gcn", "sage", "gin", "gat"] | None,
        typer.Option(help="Kind of encoder (default: gcn for nodes, gin for graphs)."),
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Graphs per step, where there are many.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="Parameters from a recipe: a file (.toml) or a name such as "
            "tuned/feature/cora."
        ),
    ] = None,
    settings: SetOption = None,
    seed: SeedOption = 0,
    model: Annotated[
        Path | None, typer.Option(help="Folder to save the model to.")
    ] = None,
    views: Annotated[
        Path | None,
        typer.Option(help="Folder for the views' features and edges (parquet)."),
    ] = None,
    align_to: Annotated[
        Path | None,
        typer.Option(
            help="Earlier embeddings of the same ids: the new ones are rotated onto "
            "them, and what has moved is shown."
        ),
    ] = None,
    checkpoint: CheckpointOption = None,
    every: EveryOption = None,
    resume: ResumeOption = False,
    report: ReportOption = None,
    directed: DirectedOption = False,
    device: DeviceOption = "auto",
    data: DataOption = None,
) -> None:
    """Learn from a graph, or many, and write one vector per node, or per graph.

    Options override --set, which overrides --recipe.
    """
    from dsgrl.bench.embedding import make_model
    from dsgrl.datasets.rows import collect_rows, tabulate_view
    from dsgrl.explore.align import align, check_width, measure_drift
    from dsgrl.explore.files import read_rows
    from dsgrl.io.atomic import check_writable
    from dsgrl.io.embeddings import (
        check_embeddings_path,
        check_views_path,
        write_views,
    )
    from dsgrl.report.page import check_page_path
    from dsgrl.train.folder import check_model_path

    options = {
        "augment": augment,
        "epochs": _read_epochs(epochs),
        "encoder": encoder,
        "lr": lr,
        "batch_size": batch_size,
    }
    check_embeddings_path(out)
    if model is not None:
        check_model_path(model)
        check_writable(model.parent)
    if views is not None:
        check_views_path(views)
    if report is not None:
        check_page_path(report)
    for folder in (model, views):
        if folder is not None and folder.resolve() in out.resolve().parents:
            raise InputError(f"{out}: lies inside {folder}, expected another place")
    earlier = None if align_to is None else read_rows(align_to)
    saved_to = make_checkpoints(checkpoint, every, resume, model, views)
    loaded = read_input(
        graph,
        nodes,
        name_roles(source, target, weight, kind_of, node_id, label),
        features=features,
        ignore=ignore,
        kinds=kind,
        unknown=unknown,
        directed=directed,
        data_folder=data,
    )
    estimator = make_model(
        method,
        loaded,
        dim=dim,
        recipe=recipe,
        settings=settings or (),
        options={key: value for key, value in options.items() if value is not None},
        run={"random_state": seed, "device": device, "verbose": True},
    )
    if views is not None and not hasattr(estimator, "views"):
        raise InputError(f"--views: method '{method}' has no views to write")
    if earlier is not None:
        check_width(_width(estimator, loaded) or earlier.z.shape[1], earlier)
    show_understood(loaded)
    with stoppable(saved_to):
        z = estimator.fit_transform(loaded, checkpoint=saved_to)
        rows = collect_rows(loaded, z)
        rows = rows if earlier is None else align(rows, earlier)
        written = _write(out, loaded, rows)
        if model is not None:
            estimator.save(model)
        if views is not None:
            made = estimator.views(loaded)
            write_views(views, [tabulate_view(loaded, view) for view in made])
    saved = "".join(f" and {folder}/" for folder in (model, views) if folder)
    console.print(f"{written}, {_describe_training(estimator)}: wrote {out}{saved}")
    if earlier is not None:
        for line in measure_drift(rows, earlier).lines(str(align_to)):
            console.print(line)
        if model is not None:
            console.print(f"{model}/ gives vectors that are not aligned.")
    if report is not None:
        report_embedding(report, loaded, z, estimator, names=graph, nodes=nodes)


def _width(estimator: Any, data: Any) -> int | None:
    """Return the width of the embedding, where it is known before training."""
    from dsgrl.graph.inputs import level_of

    columns = int(estimator.out_channels)
    if estimator.method_name == "dsgrl":
        return 2 * columns if estimator.floor else None
    # Of whole graphs every layer may have as many.
    return None if level_of(data) == "graph" else columns


def _describe_training(estimator: Any) -> str:
    """Say which epoch was kept and what it adds to what needs no training."""
    if estimator.method_.has_fallback and not estimator.epoch_:
        return "without training"
    how = f"kept epoch {estimator.epoch_}"
    scores: dict[str, float] = {}
    for row in estimator.history_:
        if row["epoch"] in (0, estimator.epoch_):
            scores |= row
    if "floor_auc" not in scores:
        return how
    return (
        f"{how} (AUC of held-out links: {scores['floor_auc']:.3f} without training, "
        f"{scores['link_auc']:.3f} learned)"
    )


def _read_epochs(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"--epochs {text}: expected 'auto' or a whole number")
    return int(text)


def transform(
    graph: GraphArgument,
    out: OutOption,
    model: Annotated[Path, typer.Option(help="Folder of a saved model.")],
    nodes: NodesOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    kind_of: TypeOption = None,
    node_id: IdOption = None,
    label: LabelOption = None,
    unknown: UnknownOption = "error",
    directed: DirectedOption = False,
    device: DeviceOption = "auto",
    data: DataOption = None,
) -> None:
    """Embed a graph, or many, seen or unseen, with a saved model.

    Columns become features as in training.
    """
    from dsgrl.datasets.rows import collect_rows
    from dsgrl.estimator import load_model
    from dsgrl.io.embeddings import check_embeddings_path

    check_embeddings_path(out)
    estimator = load_model(model, device=device)
    loaded = read_input(
        graph,
        nodes,
        name_roles(source, target, weight, kind_of, node_id, label),
        unknown=unknown,
        directed=directed,
        data_folder=data,
        like=estimator,
    )
    embedded = estimator.transform(loaded)
    show_understood(loaded)
    written = _write(out, loaded, collect_rows(loaded, embedded))
    console.print(f"{written}: wrote {out}")


def _write(out: Path, data: Any, rows: "EmbeddedRows") -> str:
    """Write embeddings with their ids, and say what they are."""
    from dsgrl.graph.inputs import level_of
    from dsgrl.io.embeddings import write_embeddings

    write_embeddings(out, rows.ids, rows.z, rows.labels, rows.types)
    count, columns = rows.z.shape
    what = "graphs" if level_of(data) == "graph" else "nodes"
    types = "" if rows.types is None else f" of {len(set(rows.types))} types"
    return f"{count} {what}{types}, {columns} columns"
