"""The commands that measure: evaluate, bench, tables, tune."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from dsgrl.cli.options import DataOption, SeedOption, SetOption, console
from dsgrl.cli.output import JsonOption, QuietOption, show
from dsgrl.cli.suites import (
    bench_anchors,
    bench_scale,
    bench_speed,
    read_seeds,
    refuse_unused,
    split_names,
)
from dsgrl.typing import InputError


def evaluate(
    embeddings: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Embeddings, ours or not: parquet, csv, tsv, npy or npz.",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Table with columns id,label (csv, tsv, parquet) or npy; by default "
            "the column label of FILE."
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="5/15/80, 10/10/80, balanced, folds or 10-fold-svm (default: 5/15/80)."
        ),
    ] = None,
    probe: Annotated[
        Literal["logistic", "knn", "svm"] | None,
        typer.Option(
            help="Classifier of the vectors (default: logistic; svm for 10-fold-svm)."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="accuracy, macro_f1, micro_f1 or roc_auc."),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score embeddings by how well labels can be predicted from them.

    A linear classifier is fitted on training rows, tuned on validation rows and scored
    on test rows, on ten seeded splits. Protocol 10-fold-svm has a support vector
    machine and ten folds instead, as papers on whole graphs report it.
    """
    from dsgrl.evaluation.files import evaluate_files

    found = evaluate_files(
        embeddings,
        labels,
        protocol=protocol,
        probe=probe,
        metric=metric,
        random_state=seed,
    )
    score = found.score
    lines = [
        f"{score.metric} {score.mean:.2f} +- {score.std:.2f} % ({score.protocol}, "
        f"{len(score.scores)} splits): {found.num_rows} rows, {found.num_columns} "
        f"columns, {found.num_classes} classes"
    ]
    if found.left_out:
        lines.append(f"{found.left_out} rows without a label were left out")
    show(found.summary(), lines, as_json=as_json)


SuiteName = Literal["nodes", "graphs", "hetero", "large", "speed", "scale", "anchors"]


def bench(
    suite: Annotated[
        SuiteName,
        typer.Argument(
            metavar="SUITE",
            help="nodes, graphs, hetero or large (scores); speed; scale; anchors "
            "(other libraries beside ours).",
        ),
    ],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            help="Names, separated by commas or given again; for scale topology, "
            "shuffled, edges, or numbers of nodes (default: all)."
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Names of 'dsgrl list', separated by commas or given again; controls "
            "always join. For anchors also node2vec, spectral, fastrp, cleora; for "
            "speed also 'all'."
        ),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            help="default, paper, published, tuned, or a recipe file (.toml)."
        ),
    ] = "default",
    settings: SetOption = None,
    protocol: Annotated[
        str | None,
        typer.Option(help="Another protocol than the suite's: 10/10/80, 10-fold-svm."),
    ] = None,
    seeds: Annotated[
        list[str] | None,
        typer.Option(help="Seeds of the models, separated by commas (default: 0)."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Append the JSON lines to this file; lines it has are not made again."
        ),
    ] = None,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process",
            help="Fit here, not in a process per cell; peak memory is not reported.",
        ),
    ] = False,
    repeats: Annotated[
        int, typer.Option(min=7, help="speed: measured epochs of each kind.")
    ] = 9,
    data: DataOption = None,
) -> None:
    """Measure, and print one JSON line per score.

    Every method is compared with its controls: the training-free floor, its untrained
    model and raw features (for graphs, features without structure). A suite that was
    stopped goes on where it was if given the same --results. A cell that fails is
    reported and the suite continues; the exit code is then 1.
    """
    names = None if datasets is None else split_names(datasets)
    refuse_unused(
        suite,
        {
            "--methods": methods is not None,
            "--recipe": recipe != "default",
            "--set": bool(settings),
            "--protocol": protocol is not None,
            "--seeds": seeds is not None,
            "--in-process": in_process,
            "--repeats": repeats != 9,
        },
    )
    if suite == "speed":
        chosen = None if methods is None else split_names(methods)
        bench_speed(names, chosen, repeats, results, data)
        return
    if suite == "scale":
        bench_scale(names, results)
        return
    if suite == "anchors":
        chosen = None if methods is None else split_names(methods)
        bench_anchors(
            names, chosen, read_seeds(seeds), results, data, in_process=in_process
        )
        return
    from dsgrl.bench.cells import Cell
    from dsgrl.bench.recipes import parse_settings
    from dsgrl.bench.runner import Failure, run_suite

    failures: list[Failure] = []

    def fail(failure: Failure) -> None:
        failures.append(failure)
        typer.echo(f"dsgrl: {failure.where}: {failure.reason}", err=True)

    with Console(stderr=True).status("") as status:

        def start(cell: Cell, number: int, total: int) -> None:
            what = f"{cell.dataset} {cell.method} ({cell.recipe}), seed {cell.seed}"
            status.update(f"{number} of {total}: {what}")

        lines = run_suite(
            suite,
            datasets=names,
            methods=None if methods is None else split_names(methods),
            recipe=recipe,
            settings=parse_settings(settings or ()),
            protocol=protocol,
            seeds=read_seeds(seeds),
            results=results,
            folder=data,
            in_process=in_process,
            on_start=start,
            on_failure=fail,
        )
        for line in lines:
            console.print(json.dumps(line))
    if any(failure.was_asked_for for failure in failures):
        raise typer.Exit(1)


def tables(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Result files of 'dsgrl bench'."),
    ],
) -> None:
    """Print results as Markdown tables in the paper's layout.

    Every cell has our number, the paper's and the difference; rows are systems and
    recipes, the controls below. All of it is computed from the result lines. Those of
    suite 'anchors' have tables of their own, with scores and seconds.
    """
    from dsgrl.bench.anchor_tables import render_anchors
    from dsgrl.bench.lines import read_lines
    from dsgrl.bench.tables import render_tables

    lines = read_lines(files)
    anchors = [line for line in lines if line["suite"] == "anchors"]
    parts = [render_anchors(anchors)] if anchors else []
    if not anchors or len(anchors) < len(lines):
        parts.insert(0, render_tables(lines))
    console.print("\n".join(parts), end="")


def tune(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="A name shown by 'dsgrl list'.")
    ],
    method: Annotated[
        str, typer.Option(help="A trained one of 'dsgrl list', e.g. cca-ssg.")
    ] = "dsgrl-feature",
    trials: Annotated[
        int, typer.Option(min=1, help="Trials in all; a study goes on up to it.")
    ] = 50,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Recipe to write (default: tune/STUDY.toml)."),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="File or Optuna storage URL, which several machines may share "
            "(default: tune/STUDY.journal)."
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(help="Name of the study (default: DATASET-METHOD).")
    ] = None,
    without_labels: Annotated[
        bool,
        typer.Option(
            "--without-labels", help="Judge by held-out links, not by validation rows."
        ),
    ] = False,
    settings: SetOption = None,
    seed: SeedOption = 0,
    data: DataOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Search for better parameters and write them as a recipe.

    The score is that of the training and validation rows of one split, dealt again
    and again to fit, choose and judge by; test labels are never read.
    Started again, a study goes on where it was left.
    """
    try:
        from dsgrl.tune import Tuned
        from dsgrl.tune import tune as run_tune
    except ModuleNotFoundError as error:
        raise InputError(
            "Optuna is not installed: pip install 'dsgrl[tune]'"
        ) from error
    from dsgrl.bench.recipes import parse_settings

    with Console(stderr=True, quiet=quiet).status("") as status:

        def report(progress: Tuned) -> None:
            status.update(
                f"{progress.trials} of {trials} trials, best {progress.value:.4f}"
            )

        tuned = run_tune(
            dataset,
            method=method,
            trials=trials,
            storage=storage,
            study=study,
            seed=seed,
            folder=data,
            out=out,
            settings=parse_settings(settings or ()),
            without_labels=without_labels,
            report=report,
        )
    words = (
        f"{tuned.trials} trials ({tuned.given_up} given up early), best score "
        f"{tuned.value:.4f}: wrote {tuned.out}"
    )
    document = {"out": tuned.out, "trials": tuned.trials, "score": tuned.value}
    document["given_up"] = tuned.given_up
    show(document, [words], as_json=as_json, quiet=quiet)
