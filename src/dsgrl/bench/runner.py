"""Runs suites: datasets x systems x seeds, one JSON line per score, resumable.

Lines that are already in the results file are not computed again. A suite that is
killed and restarted ends with the same lines as one that is not killed.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dsgrl.bench.cells import Case, Cell, MissingDataError, run_cell
from dsgrl.bench.isolation import ProcessLostError, run_isolated
from dsgrl.bench.lines import Line, append_line, is_score, line_key, open_results
from dsgrl.bench.recipes import DEFAULT
from dsgrl.bench.suites import MissingRecipeError, Request, make_request
from dsgrl.io.atomic import check_writable
from dsgrl.typing import DivergenceError, InputError

logger = logging.getLogger(__name__)

# Errors caused by the cell, not by a bug.
EXPECTED_ERRORS = (InputError, DivergenceError, MemoryError, ProcessLostError)


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell without a result.

    Attributes:
        where: dataset and method.
        reason: one line.
        was_asked_for: False if the family has no recipe for the cell and the user did
            not name the method.
    """

    where: str
    reason: str
    was_asked_for: bool = True


def run_suite(
    suite: str,
    *,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    recipe: str = DEFAULT,
    settings: Mapping[str, Any] | None = None,
    protocol: str | None = None,
    seeds: Sequence[int] = (0,),
    results: Path | None = None,
    folder: Path | None = None,
    in_process: bool = False,
    controls: bool = True,
    on_start: Callable[[Cell, int, int], None] | None = None,
    on_failure: Callable[[Failure], None] | None = None,
) -> Iterator[Line]:
    """Run the cells that are not in the results file; yield every new line.

    Args:
        suite: a key of `SUITES`.
        datasets: names; by default all available ones of the suite.
        methods: names of `SYSTEMS`.
        recipe: "default", a family like "paper", or the path of a recipe file.
        settings: parameters that override the recipe.
        protocol: a protocol other than the suite's, e.g. "10/10/80".
        seeds: seeds of the models; the splits are the same for all.
        results: file to append the lines to; a partial line left by a kill is removed.
        folder: folder of the datasets.
        in_process: fit in this process instead of one process per cell; the peak
            memory of a cell is then unknown and None.
        controls: also run the controls of the methods.
        on_start: called with each cell that is run, its number and the number of cells.
        on_failure: called with each cell without a result; the suite continues.

    Raises:
        InputError: if a name is unknown, a setting is invalid, or the results cannot
            be read or written.
    """
    request = make_request(
        suite, datasets, methods, recipe, settings or {}, protocol, folder
    )
    if not controls:
        request = replace(request, methods=tuple(methods or request.methods))
    fail = on_failure or warn_of_failure
    finished = set()
    if results is not None:
        check_writable(results.parent)
        finished = {line_key(line) for line in open_results(results) if is_score(line)}
    cells = _plan(request, seeds, methods is not None, fail)
    absent: set[str] = set()
    for number, cell in enumerate(cells, start=1):
        cases = tuple(case for key, case in cell.lines().items() if key not in finished)
        if not cases or cell.dataset in absent:
            continue
        if on_start:
            on_start(cell, number, len(cells))
        try:
            lines = _attempt(cell, cases, folder, in_process, fail)
        except MissingDataError as error:
            absent.add(cell.dataset)
            fail(Failure(cell.dataset, str(error)))
            continue
        for line in lines:
            if results is not None:
                append_line(results, line)
            yield line


def _plan(
    request: Request,
    seeds: Sequence[int],
    is_named: bool,
    fail: Callable[[Failure], None],
) -> list[Cell]:
    """List the cells in order, without repeats."""
    cells: dict[object, Cell] = {}
    for dataset in request.datasets:
        for method in request.methods:
            try:
                for seed in seeds:
                    cell = request.plan(dataset, method, seed)
                    cells.setdefault(tuple(cell.lines()), cell)
            except MissingRecipeError as error:
                fail(Failure(f"{dataset} {method}", str(error), is_named))
    return list(cells.values())


def _attempt(
    cell: Cell,
    cases: tuple[Case, ...],
    folder: Path | None,
    in_process: bool,
    fail: Callable[[Failure], None],
) -> list[Line]:
    """Run a cell; one that fails is reported and gives no lines.

    Raises:
        MissingDataError: if the dataset is missing, which ends all of its cells.
    """
    try:
        if in_process:
            return run_cell(cell, cases, folder, False)
        lines: list[Line] = run_isolated(run_cell, cell, cases, folder, True)
        return lines
    except MissingDataError:
        raise
    except Exception as error:
        if not isinstance(error, EXPECTED_ERRORS):
            logger.exception("unexpected error")
        fail(Failure(f"{cell.dataset} {cell.method}", one_line(error)))
        return []


def one_line(error: BaseException) -> str:
    """Describe an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return (
        text
        if isinstance(error, EXPECTED_ERRORS)
        else f"{type(error).__name__}: {text}"
    )


def warn_of_failure(failure: Failure) -> None:
    """Log a cell that gave no result."""
    logger.warning("%s: %s", failure.where, failure.reason)
