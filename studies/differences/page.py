"""The tables of DIFFERENCES.md: every gap, what was tried and what it changed."""

import statistics
from collections.abc import Sequence

from dsgrl.bench.lines import Line
from dsgrl.bench.tables import markdown
from studies.differences.changes import WORDS, plan
from studies.differences.gaps import (
    TOLERANCE,
    Gap,
    Measured,
    explain,
    measured_for,
    verdict,
)

# What no variant can measure.
NOTES = dict.fromkeys(
    ("github", "deezer"),
    "The graph and the labels are the paper's, the 128 columns of features are not: "
    "ours are a truncated SVD of the public binary features.",
)
# Variants spoken of first.
HEADLINES = {
    "program": "With model, features, probe and splits as in the authors' published "
    "program (*program*)",
    "seed 1": "With another seed, that is by chance (*seed 1*)",
}


Found = Sequence[tuple[Gap, list[Measured]]]


def render_tables(gaps: Sequence[Gap], lines: Sequence[Line]) -> dict[str, str]:
    """Return the tables and sections of the page by name.

    Args:
        gaps: what is to be explained.
        lines: result lines of the variants.
    """
    found = [(gap, measured_for(gap, lines)) for gap in gaps]
    return {
        "overview": _overview(found),
        "variants": _by_variant(found),
        "cells": _cells(found),
        "details": "\n\n".join(_section(gap, variants) for gap, variants in found),
        "legend": _legend(found),
    }


def _overview(found: Found) -> str:
    words = [verdict(gap, variants) for gap, variants in found]
    near = sum(word.startswith("yes") for word in words)
    by_seed = near - words.count("yes")
    text = (
        f"{len(words)} cells: for {near} some variant comes within {TOLERANCE:g} "
        f"points of the paper's number (for {by_seed} of them another seed alone "
        f"does), for {words.count('in part')} one closes half of the gap or more, for "
        f"{words.count('no')} none of those tried does, and "
        f"{words.count('not measured')} were not measured."
    )
    for name, words_for in HEADLINES.items():
        if pairs := _tried(found).get(name):
            before, after = _mean_gaps(pairs)
            text += (
                f"\n\n{words_for}: the mean distance from the paper's numbers goes "
                f"from {before:.1f} to {after:.1f} points over {len(pairs)} cells."
            )
    return text


Pairs = list[tuple[Gap, Measured]]


def _tried(found: Found) -> dict[str, Pairs]:
    """Return the gaps every variant was tried on."""
    tried: dict[str, Pairs] = {}
    for gap, variants in found:
        for each in variants:
            tried.setdefault(each.variant, []).append((gap, each))
    return tried


def _mean_gaps(pairs: Pairs) -> tuple[float, float]:
    """Return the mean distance from the paper's numbers as recorded, and then."""
    return (
        statistics.fmean(abs(gap.points) for gap, _ in pairs),
        statistics.fmean(abs(each.left(gap)) for gap, each in pairs),
    )


def _by_variant(found: Found) -> str:
    """Count how each variant does over all gaps it was tried on."""
    rows = []
    for name, pairs in _tried(found).items():
        before, after = _mean_gaps(pairs)
        near = sum(abs(each.left(gap)) <= TOLERANCE for gap, each in pairs)
        cells = [name, str(len(pairs)), f"{before:.1f}", f"{after:.1f}", str(near)]
        rows.append((after - before, cells))
    rows.sort(key=lambda row: row[0])
    head = ["variant", "cells", "mean gap as recorded", "mean gap", "within"]
    return (
        "Mean distance from the paper's numbers, in points, over the cells a variant "
        f"was measured on, and how many come within {TOLERANCE:g}.\n\n"
        f"{markdown(head, [cells for _, cells in rows])}"
    )


def _cells(found: Found) -> str:
    body = []
    for gap, variants in found:
        near = min(variants, key=lambda each: abs(each.left(gap)), default=None)
        body.append(
            [
                gap.place,
                gap.system,
                f"{gap.ours:.1f}",
                f"{gap.paper:.1f}",
                f"{gap.points:+.1f}",
                verdict(gap, variants),
                "" if near is None else f"{near.variant}: {near.mean:.1f}",
            ]
        )
    head = ["dataset", "system", "ours", "paper", "gap", "a variant fits", "closest"]
    return markdown(head, body)


def _section(gap: Gap, variants: Sequence[Measured]) -> str:
    title = f"### {gap.place}, {gap.system}: {gap.ours:.1f} (paper {gap.paper:.1f})"
    parts = [title, explain(gap, variants)]
    if gap.dataset in NOTES:
        parts.append(NOTES[gap.dataset])
    if variants:
        near = sorted(variants, key=lambda each: abs(each.left(gap)))
        listed = "; ".join(f"{each.variant}: {_number(each)}" for each in near)
        parts.append(f"Measured, nearest to the paper first: {listed}.")
    names = {each.variant for each in variants}
    missing = [each.name for each in plan(gap) if each.name not in names]
    if missing:
        parts.append(f"Not measured: {'; '.join(missing)}.")
    return "\n\n".join(parts)


def _number(each: Measured) -> str:
    return f"{each.mean:.1f} ± {each.std:.1f}" if each.std else f"{each.mean:.1f}"


def _legend(found: Found) -> str:
    used = {each.variant for _, variants in found for each in variants}
    used |= {each.name for gap, _ in found for each in plan(gap)}
    rows = [[name, text] for name, text in WORDS.items() if name in used]
    return (
        "P marks what the authors' published program does; all else is one change of "
        f"the recipe.\n\n{markdown(['variant', 'change'], rows)}"
    )
