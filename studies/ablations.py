"""What each part of the default is worth.

The default, and the default with one part removed or added (training is one of them),
over several seeds; and learned topology with another second graph in its place. Lines
are those of the suites; the page ABLATIONS.md is computed from them.

example: python -m studies.ablations cora enzymes --methods topology-none --seeds 0,1,2
"""

import argparse
import logging
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dsgrl.bench.lines import (
    Key,
    Line,
    config_of,
    is_score,
    line_key,
    open_results,
    read_lines,
)
from dsgrl.bench.recipes import DEFAULT
from dsgrl.bench.runner import Failure, run_suite
from dsgrl.bench.suites import make_request, name_recipe
from dsgrl.bench.systems import SYSTEMS, typical_spec
from dsgrl.datasets.table import DATASETS, suggest
from dsgrl.typing import InputError
from studies import RESULTS
from studies.parts import (
    BASES,
    DEFAULTS,
    FEATURE,
    HELP,
    NODE_ALONE,
    OPTIONS,
    OTHERS,
    PARTS,
    RECORDED_AS,
    SETS,
    SUITE_OF,
    TOPOLOGY,
    Base,
    Part,
    parts_of,
)

logger = logging.getLogger(__name__)


def in_todays_names(line: Line) -> Line:
    """Return a line of a second graph under the system that it is today."""
    for system, setting in RECORDED_AS.items():
        words = str(line.get("recipe")).split(", ")
        if line.get("method") == TOPOLOGY and setting in words:
            recipe = ", ".join(word for word in words if word != setting)
            return {**line, "method": system, "recipe": recipe}
    return line


def run_ablations(
    datasets: Sequence[str] | None = None,
    *,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    results: Path | None = None,
    folder: Path | None = None,
    in_process: bool = False,
    on_failure: Callable[[Failure], None] | None = None,
) -> Iterator[Line]:
    """Run the default and every change; lines in the results file are not made again.

    Args:
        datasets: names; `SETS` by default.
        methods: whose parts, those of `BASES`; by default those of the default.
        seeds: of the models.
        results: file to append the lines to.
        folder: where datasets live.
        in_process: as that of `run_suite`.
        on_failure: as that of `run_suite`.

    Raises:
        InputError: if a name cannot work.
    """
    names = [name.lower() for name in datasets or SETS]
    runs = [
        (name, _find_base(name, method))
        for name in names
        for method in methods or [""]
        if datasets or not method or _fits(method, name)
    ]
    absent: set[str] = set()

    def fail(failure: Failure) -> None:
        # A dataset that is not there is reported once, not for every part.
        absent.update({failure.where} & {*names})
        if on_failure:
            on_failure(failure)

    lines = [] if results is None else open_results(results)
    known = {model_key(line) for line in lines if is_score(line)}
    for name, base in runs:
        for part in (Part("", {}), *parts_of(base)):
            if name in absent:
                break
            suite, method = SUITE_OF[base.level], part.system(base)
            missing = find_missing(suite, name, method, part.changes, seeds, known)
            if not missing:
                continue
            yield from run_suite(
                suite,
                datasets=[name],
                methods=[method],
                settings=part.changes,
                seeds=missing,
                results=results,
                folder=folder,
                in_process=in_process,
                controls=False,
                on_failure=fail,
            )


def model_key(line: Line) -> Key:
    """Return what a line is the result of, by the parameters that had an effect."""
    line = in_todays_names(line)
    system, level = SYSTEMS[line["method"]], DATASETS[line["dataset"]].level
    flat = config_of(line)
    if "smoothing" not in flat:
        flat = {**flat, "smoothing": 0, "views__feature_drop": 0.0}
        flat |= {"epochs__tolerance": 1.0} if flat["epochs"] == "auto" else {}
        if flat["views"] == "node_alone" and flat["scaling"] == "auto":
            flat["scaling"] = "columns"
    config = system.restore(flat, level).resolved(typical_spec(level))
    return line_key({**line, "config": config.flat()})


def find_missing(
    suite: str,
    dataset: str,
    method: str,
    changes: Mapping[str, Any],
    seeds: Sequence[int],
    known: set[Key],
) -> list[int]:
    """Return the seeds whose lines are not all known; see `run_suite`."""
    request = make_request(suite, [dataset], [method], DEFAULT, changes, None, None)
    missing = []
    for seed in seeds:
        cell = request.plan(dataset, method, seed)
        names = ("suite", "dataset", "method", "recipe", "seed", "config")
        line = {name: getattr(cell, name) for name in names}
        cases = ({"protocol": case[0], "metric": case[1]} for case in cell.cases)
        if not known.issuperset(model_key({**line, **case}) for case in cases):
            missing.append(seed)
    return missing


def _fits(method: str, name: str) -> bool:
    """Whether a method is ablated at the level of a dataset; an unknown one fails."""
    levels = [base.level for base in BASES if base.method == method]
    return not levels or DATASETS[name].level in levels


def _find_base(name: str, method: str) -> Base:
    """Find what is changed on a dataset; without a method, the default."""
    if name not in DATASETS:
        raise InputError(f"unknown dataset '{name}'{suggest(name)}")
    level = DATASETS[name].level
    here = {base.method: base for base in BASES if base.level == level}
    base = here.get(method or DEFAULTS.get(level, ""))
    if base is None:
        given = f"ablations of '{method}'" if method else "ablations"
        raise InputError(
            f"{given} on '{name}', which is of level '{level}': expected "
            f"--methods {' or '.join(here)}"
        )
    return base


def render_ablations(lines: Sequence[Line]) -> str:
    """Write the tables, one per base and kind of change, in Markdown."""
    sections, scores = [], _scores(lines)
    for base in BASES:
        # Without the base there is nothing to compare with.
        found = [name for name, *key in scores if key == [base.method, DEFAULT]]
        names = [name for name in found if DATASETS[name].level == base.level]
        if not names:
            continue
        sections.append(f"## {base.title}\n")
        for parts, head in (
            (PARTS, "without"),
            (OPTIONS, "with"),
            (OTHERS, "in its place"),
        ):
            here = [part for part in parts if base in part.bases]
            if here:
                sections.append(_table(here, head, base, names, scores))
    return "\n".join(sections)


# Dataset, system and recipe -> score by seed.
Scores = dict[tuple[str, str, str], dict[int, float]]


def _scores(lines: Sequence[Line]) -> Scores:
    """Collect the scores; the first where a model was judged in several ways."""
    scores: Scores = {}
    for line in map(in_todays_names, lines):
        key = (str(line["dataset"]), str(line["method"]), str(line["recipe"]))
        scores.setdefault(key, {}).setdefault(int(line["seed"]), line["mean"])
    return scores


def _table(
    parts: Sequence[Part],
    head: str,
    base: Base,
    names: Sequence[str],
    scores: Scores,
) -> str:
    before = {name: scores[name, base.method, DEFAULT] for name in names}
    levels = (f"{statistics.mean(found.values()):.1f}" for found in before.values())
    rows = [
        [head, *names, "mean change"],
        ["---"] * (len(names) + 2),
        [f"*{base.name}*", *levels, ""],
    ]
    for part in parts:
        cells, changes = [], []
        for name in names:
            after = scores.get((name, part.system(base), part.label), {})
            here = before[name]
            pairs = [after[seed] - here[seed] for seed in after if seed in here]
            cells.append(_change(pairs))
            changes += [statistics.mean(pairs)] if pairs else []
        mean = f"{statistics.mean(changes):+.1f}" if changes else ""
        settings = {**(SYSTEMS[part.method].settings if part.method else {})}
        settings.pop("floor", None)  # The studies are of what is learned.
        listed = ", ".join(f"`{k}={v!r}`" for k, v in (settings | part.changes).items())
        rows.append([f"{part.name} ({listed})", *cells, mean])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _change(pairs: Sequence[float]) -> str:
    """Mean over the seeds, and their deviation if there are several."""
    if len(pairs) < 2:
        return "".join(f"{pair:+.1f}" for pair in pairs)
    return f"{statistics.mean(pairs):+.1f} ± {statistics.pstdev(pairs):.1f}"


def readout_table(lines: Sequence[Line]) -> str:
    """Return the scores of whole graphs with maxima beside logarithms of sums."""
    scores, readout = _scores(lines), f"{DEFAULT}, readout=log_sum+max"
    rows = {
        "learned features": (FEATURE, readout),
        "learned features, untrained": (FEATURE, f"{readout}, epochs=0"),
        "learned graph": (TOPOLOGY, readout),
        "learned graph, untrained": (TOPOLOGY, f"{readout}, epochs=0"),
    }
    for part in OTHERS:
        if part.method and part.changes != HELP:
            label = name_recipe(readout, part.changes)
            rows[part.name] = (part.method, label)
    names = [name for name, *key in scores if key == [TOPOLOGY, readout]]
    table = ["| views | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for title, key in rows.items():
        found = (scores.get((name, *key), {}).values() for name in names)
        cells = (f"{statistics.mean(each):.1f}" if each else "" for each in found)
        table.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(table)


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    lines = read_lines([RESULTS / "ablations.jsonl"])
    return {"tables": render_ablations(lines), "readout": readout_table(lines)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.ablations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("datasets", nargs="*", help=f"by default {' '.join(SETS)}")
    parser.add_argument("--methods", help=f"of {NODE_ALONE}, {FEATURE}, {TOPOLOGY}")
    parser.add_argument("--seeds", default="0", help="e.g. 0,1,2")
    parser.add_argument("--results", type=Path, default=RESULTS / "ablations.jsonl")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for line in run_ablations(
        options.datasets or None,
        methods=options.methods.split(",") if options.methods else None,
        seeds=[int(seed) for seed in options.seeds.split(",")],
        results=options.results,
        on_failure=lambda failed: logger.warning("%s: %s", failed.where, failed.reason),
    ):
        names = ("dataset", "method", "recipe", "seed", "mean")
        logger.info("%s %s (%s), seed %s: %.1f", *(line[name] for name in names))


if __name__ == "__main__":
    main()
