"""Where the paper's recipe gives another number than the paper, and what explains it.

A gap is a cell of the paper's tables that a run of ours with its recipe misses by more
than two points, up or down. `variants` measures each with one thing
changed; the words for a gap are computed from those result lines.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dsgrl.bench.lines import Line, is_score
from dsgrl.bench.tables import Paper, load_paper

SUITE = "differences"
# Points by which a number may miss the paper's.
TOLERANCE = 2.0
RECIPE = "paper"
BY_SEED = " Another seed alone is enough."


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """A number of ours that misses the paper's.

    Attributes:
        suite: of the table it is in.
        title: the column's title in the paper.
        system: the row's.
        method: its name here.
        paper: the paper's number.
        line: our result line.
    """

    suite: str
    title: str
    system: str
    method: str
    paper: float
    line: Line

    @property
    def dataset(self) -> str:
        """The dataset's name here."""
        return str(self.line["dataset"])

    @property
    def place(self) -> str:
        """The dataset, and how it was judged where that is in several ways."""
        return f"IMDB, {self.title}" if self.dataset == "imdb" else self.title

    @property
    def ours(self) -> float:
        """Our number."""
        return statistics.fmean(self.line["scores"])

    @property
    def points(self) -> float:
        """How far above the paper's it is."""
        return self.ours - self.paper

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the lines of its variants."""
        return (
            self.dataset,
            self.method,
            str(self.line["protocol"]),
            str(self.line["metric"]),
        )


def find_gaps(
    lines: Iterable[Line], paper: Paper | None = None, *, more_than: float = TOLERANCE
) -> list[Gap]:
    """Find the cells of ours, with the paper's recipe, that miss the paper's number.

    Args:
        lines: result lines; those of seed 0 count, of several the last.
        paper: the paper's numbers; those of `paper.toml` by default.
        more_than: points a number may miss without being a gap.
    """
    found: dict[tuple[Any, ...], Line] = {}
    for line in lines:
        if is_score(line) and line["recipe"] == RECIPE and line["seed"] == 0:
            names = ("dataset", "method", "protocol", "metric")
            found[tuple(line[name] for name in names)] = line
    gaps = []
    for table in (load_paper() if paper is None else paper).values():
        for number, column in enumerate(table["columns"]):
            for row in table["rows"]:
                theirs = row["mean"][number]
                where = (
                    column["dataset"],
                    row["method"],
                    column["protocol"],
                    column["metric"],
                )
                if where not in found or isinstance(theirs, str):
                    continue
                gap = Gap(
                    suite=table["suite"],
                    title=column["title"],
                    system=row["system"],
                    method=row["method"],
                    paper=float(theirs),
                    line=found[where],
                )
                if round(abs(gap.points), 4) > more_than:
                    gaps.append(gap)
    return gaps


@dataclass(frozen=True, slots=True)
class Measured:
    """What a variant gave in the place of a gap's number."""

    variant: str
    mean: float
    std: float

    def left(self, gap: Gap) -> float:
        """Points above the paper's number."""
        return self.mean - gap.paper


def measured_for(gap: Gap, lines: Iterable[Line]) -> list[Measured]:
    """Return the variants of a gap in the order they were measured, each once."""
    found: dict[str, Measured] = {}
    for line in lines:
        if line["suite"] != SUITE:
            continue
        names = (line["dataset"], line["method"], line["beside"], line["metric"])
        if names == gap.key:
            name = line["variant"]
            found[name] = Measured(name, line["mean"], line["std"])
    return list(found.values())


def explain(gap: Gap, variants: Sequence[Measured]) -> str:
    """Say which variants move a number to the paper's, and by how much."""
    if not variants:
        return "No variant was measured."
    near = sorted(variants, key=lambda each: abs(each.left(gap)))
    fitting = [each for each in near if abs(each.left(gap)) <= TOLERANCE]
    if fitting:
        listed = "; ".join(f"{each.variant}: {each.mean:.1f}" for each in fitting)
        chance = any(each.variant.startswith("seed") for each in fitting)
        return (
            f"Within {TOLERANCE:g} points of the paper's {gap.paper:.1f}, "
            f"{len(fitting)} of {len(variants)} variants: {listed}."
            f"{BY_SEED if chance else ''}"
        )
    best = near[0]
    closest = (
        f"closest: {best.variant}: {best.mean:.1f} (paper {gap.paper:.1f}, "
        f"{best.left(gap):+.1f} left of {gap.points:+.1f})"
    )
    if abs(best.left(gap)) <= abs(gap.points) / 2:
        return f"Explained in part; {closest}."
    return f"Not explained by what was tried; {closest}."


def verdict(gap: Gap, variants: Sequence[Measured]) -> str:
    """Put `explain` into a word or two for a table."""
    text = explain(gap, variants)
    if text.endswith(BY_SEED):
        return "yes, by another seed"
    for start, word in (
        ("Within", "yes"),
        ("Explained in part", "in part"),
        ("Not explained", "no"),
    ):
        if text.startswith(start):
            return word
    return "not measured"
