"""The commands that make embeddings: embed, transform."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dsgrl.cli.aligning import Alignment
from dsgrl.cli.estimating import DryRunOption, announced, describe, time_writing
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
)
from dsgrl.cli.output import Embedded, JsonOption, QuietOption, show
from dsgrl.cli.reading import name_roles, read_input, show_understood
from dsgrl.cli.reporting import ReportOption, report_embedding
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
    method: Annotated[str, typer.Option(help="A method of 'dsgrl list'.")] = "dsgrl",
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
        int | None,
        typer.Option(
            min=1,
            help="Graphs per step where there are many; nodes per step of one graph "
            "(default: all nodes, if memory allows).",
        ),
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
    dry_run: DryRunOption = False,
    directed: DirectedOption = False,
    device: DeviceOption = "auto",
    data: DataOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn from a graph, or many, and write one vector per node, or per graph.

    Options override --set, which overrides --recipe.
    """
    from dsgrl.bench.embedding import make_model
    from dsgrl.datasets.rows import collect_rows, tabulate_view
    from dsgrl.io.embeddings import write_views
    from dsgrl.train.distributed import current_ranks

    ranks = current_ranks()
    options = {
        "augment": augment,
        "epochs": _read_epochs(epochs),
        "encoder": encoder,
        "lr": lr,
        "batch_size": batch_size,
    }
    # The others may be on machines that do not have these folders.
    ranks.on_first(partial(_check_outputs, out, model, views, report))
    target_space = Alignment.read(align_to) if ranks.is_first else None
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
        run={"random_state": seed, "device": device, "verbose": not quiet},
    )
    if views is not None and not hasattr(estimator, "views"):
        raise InputError(f"--views: method '{method}' has no views to write")
    if target_space is not None:
        target_space.check(_width(estimator, loaded))
    show_understood(loaded)
    if dry_run:
        _estimate(estimator, loaded, out, as_json=as_json)
        return
    with stoppable(saved_to), announced("dsgrl.train.batching"):
        z = estimator.fit_transform(loaded, checkpoint=saved_to)
        if not ranks.is_first:
            return
        rows = collect_rows(loaded, z)
        rows = rows if target_space is None else target_space.align(rows)
        written = _write(out, loaded, rows)
        if model is not None:
            estimator.save(model)
        if views is not None:
            made = estimator.views(loaded)
            write_views(views, [tabulate_view(loaded, view) for view in made])
    saved = "".join(f" and {folder}/" for folder in (model, views) if folder)
    how = _describe_training(estimator)
    lines = [f"{written.words}, {how}: wrote {out}{saved}"]
    document = {**written.document(out), **_training(estimator), "seed": seed}
    document |= {"model": model, "views": views}
    if target_space is not None:
        drift = target_space.measure(rows)
        lines += drift.lines(str(align_to))
        if model is not None:
            lines.append(f"{model}/ gives vectors that are not aligned.")
        document["alignment"] = drift.summary()
    if report is not None:
        page = report_embedding(report, loaded, z, estimator, names=graph, nodes=nodes)
        lines += page.lines()
        document["report"] = page.out
    show(document, lines, as_json=as_json, quiet=quiet)


def _estimate(estimator: Any, data: Any, out: Path, *, as_json: bool) -> None:
    """Show what a fit would take."""
    import psutil

    from dsgrl.graph.inputs import level_of
    from dsgrl.train.estimate import estimate_fit

    found = estimate_fit(
        estimator.method_name,
        data,
        estimator._config(),
        write=time_writing(out.suffix, 0),
        began=psutil.Process().create_time(),
    )
    document = {"out": out, "method": estimator.method_name, **found.to_json()}
    show(document, describe(found, level_of(data)), as_json=as_json)


def _check_outputs(
    out: Path, model: Path | None, views: Path | None, report: Path | None
) -> None:
    """Fail before any work is done if something could not be written."""
    from dsgrl.io.atomic import check_writable
    from dsgrl.io.embeddings import check_embeddings_path, check_views_path
    from dsgrl.report.page import check_page_path
    from dsgrl.train.folder import check_model_path

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


def _width(estimator: Any, data: Any) -> int | None:
    """Return the width of the embedding, where it is known before training."""
    from dsgrl.graph.inputs import level_of

    columns = int(estimator.out_channels)
    if estimator.method_name == "dsgrl":
        return 2 * columns if estimator.floor else None
    # Of whole graphs every layer may have as many.
    return None if level_of(data) == "graph" else columns


def _training(estimator: Any) -> dict[str, Any]:
    """Return the kept epoch, and how it finds held-out links."""
    found: dict[str, Any] = {"method": estimator.method_name}
    if estimator.method_.has_fallback and not estimator.epoch_:
        return {**found, "epoch": 0}
    scores: dict[str, float] = {}
    for row in estimator.history_:
        if row["epoch"] in (0, estimator.epoch_):
            scores |= row
    known = {k: scores[k] for k in ("floor_auc", "link_auc") if "floor_auc" in scores}
    return {**found, "epoch": estimator.epoch_, **known}


def _describe_training(estimator: Any) -> str:
    """Say which epoch was kept and what it adds to what needs no training."""
    if estimator.method_.has_fallback and not estimator.epoch_:
        return "without training"
    found = _training(estimator)
    how = f"kept epoch {found['epoch']}"
    if "floor_auc" not in found:
        return how
    return (
        f"{how} (AUC of held-out links: {found['floor_auc']:.3f} without training, "
        f"{found['link_auc']:.3f} learned)"
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
    as_json: JsonOption = False,
    quiet: QuietOption = False,
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
    lines = [f"{written.words}: wrote {out}"]
    show(written.document(out), lines, as_json=as_json, quiet=quiet)


def _write(out: Path, data: Any, rows: "EmbeddedRows") -> Embedded:
    """Write embeddings with their ids."""
    from dsgrl.graph.inputs import level_of
    from dsgrl.io.embeddings import write_embeddings

    write_embeddings(out, rows.ids, rows.z, rows.labels, rows.types)
    types = None if rows.types is None else list(dict.fromkeys(rows.types))
    return Embedded(len(rows.z), rows.z.shape[1], level_of(data), types)
