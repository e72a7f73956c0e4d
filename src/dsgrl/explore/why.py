"""Why two rows are near: what they share in the graph and in their columns."""

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsgrl.explore.columns import Terms
from dsgrl.typing import FloatArray, InputError

SHARED_SHOWN, TERMS_SHOWN = 5, 8
# A number says that two rows are alike if both are this many deviations from the mean.
LEAST_DEVIATIONS = 1.0


@dataclass(frozen=True, slots=True)
class Why:
    """What two rows have in common.

    Attributes:
        is_linked: whether they are linked.
        num_shared: number of neighbours they share.
        shared: row numbers of shared neighbours, those with few links first.
        terms: columns and words they share, the rarest first.
    """

    is_linked: bool
    num_shared: int
    shared: list[int]
    terms: list[str]

    def in_words(self, ids: list[Any]) -> str:
        """Return all of it in one line."""
        parts = ["linked" if self.is_linked else "not linked"]
        if self.num_shared:
            named = ", ".join(str(ids[i]) for i in self.shared)
            more = ", ..." if self.num_shared > len(self.shared) else ""
            parts.append(f"{self.num_shared} shared neighbours ({named}{more})")
        else:
            parts.append("no shared neighbours")
        if self.terms:
            parts.append(f"both: {', '.join(self.terms)}")
        return "; ".join(parts)


def explain(row: int, other: int, links: Any, terms: Terms) -> Why:
    """Say what two rows share.

    Args:
        row: a row number.
        other: another one.
        links: matrix of links [N, N].
        terms: what is known of the rows.
    """
    one, two = (links.indices[slice(*links.indptr[i : i + 2])] for i in (row, other))
    both = np.intersect1d(one, two)
    degree = np.diff(links.indptr)
    order = both[np.argsort(degree[both], kind="stable")]
    return Why(
        is_linked=other in one,
        num_shared=len(both),
        shared=order[:SHARED_SHOWN].tolist(),
        terms=_shared_terms(row, other, terms),
    )


def _shared_terms(row: int, other: int, terms: Terms) -> list[str]:
    """Return words that both have, and numbers in which both stand out."""
    if terms.matrix is None:
        return []
    matrix = terms.matrix
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    square = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    one, two = (_standard(matrix[i], mean, deviation) for i in (row, other))
    # Rare words are many deviations from the mean, as are unusual numbers.
    strength = np.where(one * two > 0, np.minimum(np.abs(one), np.abs(two)), 0)
    strength[~terms.is_number & (one < 0)] = 0
    strength[terms.is_number & (strength < LEAST_DEVIATIONS)] = 0
    best = np.argsort(-strength, kind="stable")[:TERMS_SHOWN]
    side = np.where(one > 0, "high", "low")
    return [
        f"{side[j]} {terms.names[j]}" if terms.is_number[j] else terms.names[j]
        for j in best
        if strength[j] > 0
    ]


def _standard(row: Any, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return how many deviations a row is from the mean in every column [T]."""
    values = np.asarray(row.todense()).ravel()
    usable = deviation > 1e-6 * np.maximum(np.abs(mean), 1e-12)
    result: FloatArray = np.zeros_like(values)
    result[usable] = (values - mean)[usable] / deviation[usable]
    return result


def find_row(
    ids: list[Any], wanted: str, types: list[str] | None = None, kind: str | None = None
) -> int:
    """Return the row number of an id.

    Args:
        ids: of the rows.
        wanted: the id, as text.
        types: of the rows, if there are several.
        kind: the type that is meant.

    Raises:
        InputError: if there is no such row, or more than one.
    """
    names = [str(i) for i in ids]
    rows = [i for i, name in enumerate(names) if name == wanted]
    if kind is not None and types is not None:
        rows = [i for i in rows if types[i] == kind]
    if not rows:
        close = difflib.get_close_matches(wanted, names, 3, 0.6)
        hint = f": did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise InputError(f"no row has the id '{wanted}' ({len(ids)} rows){hint}")
    if len(rows) > 1:
        found = ", ".join(sorted({types[i] for i in rows})) if types else "rows"
        raise InputError(
            f"{len(rows)} rows have the id '{wanted}' ({found}): say which with --type"
        )
    return rows[0]
