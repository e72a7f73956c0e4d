"""What was learned, in three sentences: the data, the vectors, how good they are."""

from typing import Any

import numpy as np

from dsgrl.explore.naming import Cluster
from dsgrl.report.contents import ScoreLine
from dsgrl.typing import IntArray

LARGEST_SHOWN = 3
# An effective rank below this share of the columns is worth a word.
FEW_DIRECTIONS = 0.05


def count(number: int, what: str) -> str:
    """Return a number with its noun: 1 edge, 12,345 edges."""
    noun = what.removesuffix("s") if number == 1 else what
    return f"{number:,} {noun}"


def describe_data(
    what: str,
    shape: tuple[int, ...],
    sizes: dict[str, int],
    trained: str,
) -> str:
    """Say what was embedded, from what, and how.

    Args:
        what: what a row is, in the plural.
        shape: rows and columns of the embedding.
        sizes: number of links, columns and the like that were there to learn from.
        trained: how the vectors were made, a clause.
    """
    known = [count(number, name) for name, number in sizes.items() if number]
    given = f" from {_listed(known)}" if known else ""
    rows, columns = shape
    return (
        f"Each of {count(rows, what)} has a vector of {columns} numbers"
        f"{given}{trained}."
    )


def describe_training(
    method: str, epoch: int | None, history: list[dict[str, float]], *, is_floor: bool
) -> str:
    """Say how the vectors were made, as a clause that follows the data."""
    if epoch is None:
        return ""
    if is_floor or not history:
        return ", computed without training and without labels"
    auc = [
        row["link_auc"] for row in history if row["epoch"] == epoch if "link_auc" in row
    ]
    reason = (
        f", where hidden links ranked above random pairs in {100 * auc[-1]:.0f} % of "
        f"the cases (chance: 50 %)"
        if auc
        else ""
    )
    return f", learned by {method} without labels; epoch {epoch} was kept{reason}"


def describe_clusters(
    clusters: list[Cluster], rank: float, num_columns: int, what: str
) -> str:
    """Say which groups there are and how much of the space they use."""
    largest = sorted(clusters, key=lambda each: -each.size)[:LARGEST_SHOWN]
    named = "; ".join(f"{each.name} ({each.size:,})" for each in largest)
    if rank < 1.1:
        spread = "the vectors have collapsed: they all lie on one line"
    elif rank < FEW_DIRECTIONS * num_columns:
        spread = f"the vectors use few directions, about {rank:.0f} of {num_columns}"
    else:
        spread = f"the vectors use about {rank:.0f} of {num_columns} directions"
    return (
        f"The {what} fall into {count(len(clusters), 'clusters')}, the largest named "
        f"by what they have more of than others: {named}; {spread}."
    )


def describe_scores(scores: list[ScoreLine]) -> str:
    """Say how well labels are predicted, against the controls."""
    *controls, ours = scores
    against = _listed([f"{each.mean:.1f} % from {_source(each)}" for each in controls])
    beside = f", against {against}" if controls else ""
    return (
        f"A linear classifier finds the label from the vector in {ours.mean:.1f} % of "
        f"the test cases{beside}."
    )


def describe_links(linked: float, expected: float, what: str) -> str:
    """Say how many nearest neighbours are linked, where there are no labels."""
    more = f"{linked / expected:,.0f} times as many as" if expected > 0 else "against"
    return (
        f"No labels were given; of the ten nearest neighbours of the {what}, "
        f"{100 * linked:.1f} % are linked in the graph, {more} random pairs "
        f"({100 * expected:.2g} %)."
    )


def link_share(near: IntArray, links: Any) -> float:
    """Return the share of nearest rows that are linked.

    Args:
        near: nearest rows [N, k], -1 for none.
        links: matrix of links [N, N].
    """
    rows = np.repeat(np.arange(len(near)), near.shape[1])
    columns = near.ravel()
    there = columns >= 0
    linked = links[rows[there], columns[there]]
    return float(np.asarray(linked).mean()) if there.any() else 0.0


def _source(line: ScoreLine) -> str:
    return {"raw features": "the raw features"}.get(
        line.name, f"the vectors {line.name}"
    )


def _listed(parts: list[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
