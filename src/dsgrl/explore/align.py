"""Retrained vectors rotated onto earlier ones, and how far they have drifted.

Two runs give two spaces that differ by any rotation. Orthogonal Procrustes finds the
rotation and the shift that bring the rows of both files closest; distances within the
new vectors do not change, so rows that are only in the new file come along.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.explore.files import row_keys, take_rows
from dsgrl.explore.vectors import nearest_rows
from dsgrl.typing import FloatArray, InputError, IntArray

NEIGHBORS, MOVED_SHOWN = 10, 5
# Rows whose neighbours are compared, spread over the file.
MOST_COMPARED = 2000


@dataclass(frozen=True, slots=True)
class Drift:
    """How new vectors differ from earlier ones of the same ids.

    Attributes:
        num_shared: ids in both.
        num_new: ids that only the new vectors have.
        num_gone: ids that only the earlier vectors have.
        mean_cosine: mean cosine similarity of an id's two vectors, columns centred.
        neighbors_kept: share of the nearest rows that are the same in both, from 0 to
            1; None if there are too few rows.
        moved: ids with the lowest similarity, the lowest first.
        num_columns: width of the vectors.
    """

    num_shared: int
    num_new: int
    num_gone: int
    mean_cosine: float
    neighbors_kept: float | None
    moved: list[tuple[Any, float]]
    num_columns: int

    def summary(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        kept = self.neighbors_kept
        return {
            "shared": self.num_shared,
            "new": self.num_new,
            "gone": self.num_gone,
            "mean_cosine": round(self.mean_cosine, 4),
            "neighbors_kept": None if kept is None else round(kept, 4),
            "moved": [[name, round(value, 4)] for name, value in self.moved],
        }

    def lines(self, name: str) -> list[str]:
        """Return all of it in words; `name` is that of the earlier file."""
        found = [
            f"Aligned with {name}: {self.num_shared} ids in both, {self.num_new} new, "
            f"{self.num_gone} gone."
        ]
        if self.num_shared < self.num_columns:
            found.append(
                f"Fewer ids in both than columns ({self.num_columns}): directions in "
                f"which those ids do not differ are not determined."
            )
        kept = self.neighbors_kept
        found.append(
            f"Mean cosine similarity of old and new vectors: {self.mean_cosine:.3f}"
            + ("." if kept is None else f"; {100 * kept:.0f} % of neighbours kept.")
        )
        moved = ", ".join(f"{name} ({value:.2f})" for name, value in self.moved)
        return [*found, f"Moved most: {moved}."]


def align(rows: EmbeddedRows, onto: EmbeddedRows) -> EmbeddedRows:
    """Rotate and shift vectors so that ids in both come closest; each type by itself.

    Args:
        rows: the new vectors.
        onto: the earlier ones.

    Returns:
        The new rows with other vectors; a type without common ids stays as it is.

    Raises:
        InputError: if the widths differ, or no id is in both.
    """
    check_width(rows.z.shape[1], onto)
    new, old = _match(rows, onto)
    z = rows.z.copy()
    types = np.array(rows.types or [""] * len(rows.ids))
    for kind in dict.fromkeys(types[new].tolist()):
        of_kind = types[new] == kind
        turned, target = (
            part.astype(np.float64)
            for part in (rows.z[new[of_kind]], onto.z[old[of_kind]])
        )
        center, goal = turned.mean(axis=0), target.mean(axis=0)
        rotation, _ = orthogonal_procrustes(turned - center, target - goal)
        members = types == kind
        z[members] = (rows.z[members] - center) @ rotation + goal
    return rows._replace(z=z)


def check_width(width: int, onto: EmbeddedRows) -> None:
    """Refuse vectors of another width."""
    if width != onto.z.shape[1]:
        raise InputError(
            f"cannot align {width} columns with the {onto.z.shape[1]} columns of the "
            f"earlier file: embed with --dim {onto.z.shape[1]}"
        )


def measure_drift(rows: EmbeddedRows, earlier: EmbeddedRows) -> Drift:
    """Compare aligned vectors with earlier ones.

    Args:
        rows: the new vectors, aligned.
        earlier: the earlier ones.
    """
    new, old = _match(rows, earlier)
    shared, before = (take_rows(rows, new.tolist()), take_rows(earlier, old.tolist()))
    cosine, kept = np.zeros(len(new)), []
    types = np.array(shared.types or [""] * len(new))
    for kind in dict.fromkeys(types.tolist()):
        part = np.flatnonzero(types == kind)
        now, then = shared.z[part], before.z[part]
        cosine[part] = _cosine(now, then)
        if len(part) > 2:
            kept.append(_neighbors_kept(now, then))
    lowest = np.argsort(cosine, kind="stable")[:MOVED_SHOWN]
    return Drift(
        num_shared=len(new),
        num_new=len(rows.ids) - len(new),
        num_gone=len(earlier.ids) - len(new),
        mean_cosine=float(cosine.mean()),
        neighbors_kept=float(np.concatenate(kept).mean()) if kept else None,
        moved=[(shared.ids[i], float(cosine[i])) for i in lowest],
        num_columns=rows.z.shape[1],
    )


def _match(rows: EmbeddedRows, other: EmbeddedRows) -> tuple[IntArray, IntArray]:
    """Return the row numbers of ids in both, in the order of the first."""
    place = {key: i for i, key in enumerate(row_keys(other))}
    pairs = [(i, place[k]) for i, k in enumerate(row_keys(rows)) if k in place]
    if not pairs:
        raise InputError(
            f"cannot align: none of the {len(rows.ids)} ids is in the earlier file, "
            f"whose first is '{other.ids[0]}'"
        )
    new, old = np.array(pairs).T
    return new, old


def _cosine(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the cosine similarity of rows, both centred by the mean of the second."""
    one, two = one - two.mean(axis=0), two - two.mean(axis=0)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    cosine: FloatArray = (one * two).sum(axis=1) / np.maximum(lengths, 1e-12)
    return cosine


def _neighbors_kept(now: FloatArray, then: FloatArray) -> FloatArray:
    """Return the share of the nearest rows that are the same, for some rows [M]."""
    rows = np.unique(np.linspace(0, len(now) - 1, MOST_COMPARED).astype(np.int64))
    one, two = (nearest_rows(z, NEIGHBORS, rows)[0] for z in (now, then))
    same = (one[:, :, None] == two[:, None, :]).any(axis=2)
    share: FloatArray = same.mean(axis=1).astype(np.float32)
    return share
