"""Names of clusters: the columns and words they have more of than the rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dsgrl.explore.columns import Column, Terms
from dsgrl.explore.vectors import unit_rows
from dsgrl.typing import FloatArray, IntArray

TERMS_SHOWN, NAME_TERMS, CENTRAL_SHOWN = 8, 3, 6
# A term names a cluster if its correlation with belonging to it is this large.
LEAST_CORRELATION = 0.1


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster in words.

    Attributes:
        name: short, unique among the clusters.
        size: number of rows.
        terms: what is over-represented, the strongest first.
        central: row numbers nearest to the centre.
        label: the most common label and its share of the labelled rows, if any.
    """

    name: str
    size: int
    terms: list[str]
    central: list[int]
    label: tuple[str, float] | None = None


def describe_clusters(
    cluster: IntArray,
    z: FloatArray,
    ids: list[Any],
    terms: Terms,
    label: Column | None = None,
    types: list[str] | None = None,
) -> list[Cluster]:
    """Describe every cluster.

    Args:
        cluster: of every row [N], -1 for none.
        z: embeddings [N, D].
        ids: of the rows [N].
        terms: what is known of the rows.
        label: of the rows, shown beside the name; never part of it.
        types: of the rows, if there are several: a cluster is compared with the other
            rows of its type, and has the type in its name.
    """
    unit = unit_rows(z)
    number = int(cluster.max(initial=-1)) + 1
    found = over_represented(cluster, number, terms, types)
    described: list[Cluster] = []
    for i in range(number):
        rows = np.flatnonzero(cluster == i)
        center = unit[rows].mean(axis=0)
        order = np.argsort(-(unit[rows] @ center), kind="stable")
        central = rows[order[:CENTRAL_SHOWN]].tolist()
        name = ", ".join(found[i][:NAME_TERMS])
        name = name or f"around {ids[central[0]]}"
        name = name if types is None else f"{types[central[0]]}: {name}"
        if name in {other.name for other in described}:
            name = f"{name} (around {ids[central[0]]})"
        described.append(
            Cluster(name, len(rows), found[i], central, _main_label(label, rows))
        )
    return described


def over_represented(
    cluster: IntArray, number: int, terms: Terms, types: list[str] | None = None
) -> list[list[str]]:
    """Return what every cluster has more of than the rest, the strongest first.

    A term is ranked by its correlation with belonging to the cluster: common inside
    and rare outside. A number may also be lower than elsewhere. With types, inside
    and outside are those of the type.
    """
    if terms.matrix is None:
        return [[] for _ in range(number)]
    correlation = np.zeros((number, len(terms.names)), dtype=np.float32)
    kinds = np.array(types or [""] * len(cluster))
    for kind in dict.fromkeys(kinds.tolist()):
        rows = np.flatnonzero(kinds == kind)
        part = _correlations(cluster[rows], number, terms.matrix[rows])
        correlation = np.where(part != 0, part, correlation)
    # A word that a cluster lacks does not describe it.
    strength = np.where(terms.is_number, np.abs(correlation), correlation)
    named = []
    for row, signed in zip(strength, correlation, strict=True):
        best = np.argsort(-row, kind="stable")[:TERMS_SHOWN]
        best = best[row[best] >= LEAST_CORRELATION]
        named.append([_in_words(terms, int(j), signed[j]) for j in best])
    return named


def _in_words(terms: Terms, term: int, correlation: float) -> str:
    name = terms.names[term]
    if not terms.is_number[term]:
        return name
    return f"{'high' if correlation > 0 else 'low'} {name}"


def _correlations(cluster: IntArray, number: int, matrix: Any) -> FloatArray:
    """Correlate every term with belonging to every cluster [C, T]."""
    num_rows = matrix.shape[0]
    mean = np.asarray(matrix.mean(axis=0)).ravel().astype(np.float64)
    square = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    result = np.zeros((number, matrix.shape[1]), dtype=np.float32)
    for i in range(number):
        rows = np.flatnonzero(cluster == i)
        share = len(rows) / num_rows
        if not 0 < share < 1:
            continue
        inside = np.asarray(matrix[rows].mean(axis=0)).ravel()
        scale = deviation * np.sqrt((1 - share) / share)
        usable = deviation > 1e-6 * np.maximum(np.abs(mean), 1e-12)
        result[i, usable] = ((inside - mean) / np.maximum(scale, 1e-30))[usable]
    return result


def _main_label(label: Column | None, rows: IntArray) -> tuple[str, float] | None:
    if label is None or label.names is None:
        return None
    codes = label.values[rows]
    codes = codes[codes >= 0]
    if not len(codes):
        return None
    counts = np.bincount(codes)
    return label.names[int(counts.argmax())], float(counts.max() / counts.sum())
