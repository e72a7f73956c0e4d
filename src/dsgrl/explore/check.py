"""Is an embedding good, without labels: links, spread, and the floor beside it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from dsgrl.estimator import embedder
from dsgrl.explore.vectors import effective_rank, spectrum
from dsgrl.graph import as_graph
from dsgrl.graph.inputs import level_of
from dsgrl.train.fit import begin
from dsgrl.train.links import HOLDOUT_SHARE, HeldOutLinks
from dsgrl.train.seed import seeded
from dsgrl.typing import FloatArray, Level

# The training-free method of every level.
FLOORS: dict[Level, str] = {"node": "hops", "graph": "histograms", "hetero": "hops"}
# Share of the links that are looked for where none has to be hidden.
SEEN_SHARE = 0.5
# A lower rank, or more rows that repeat another, are a collapse.
LEAST_RANK = 1.1
MOST_REPEATED = 0.5


def embed_floor(data: Any) -> Any:
    """Embed data with the training-free method of its level."""
    return embedder(FLOORS[level_of(data)])().fit_transform(data)


@dataclass(frozen=True, slots=True)
class Check:
    """What can be said of an embedding without labels.

    Attributes:
        num_rows: rows of the embedding.
        num_columns: its width.
        effective_rank: directions in use, from 1 to the width.
        main_directions: number of directions that have 90 % of the variance.
        repeated: share of rows that are equal to another row.
        link_auc: probability that two linked nodes are more alike than a random pair;
            None without usable links.
        floor_auc: the same for the training-free floor.
        error: standard error of both.
        is_held_out: whether the links were hidden from both.
    """

    num_rows: int
    num_columns: int
    effective_rank: float
    main_directions: int
    repeated: float
    link_auc: float | None = None
    floor_auc: float | None = None
    error: float = 0.0
    is_held_out: bool = False

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.effective_rank < LEAST_RANK or self.repeated > MOST_REPEATED:
            return "Bad: the embedding has collapsed, rows can hardly be told apart."
        if self.link_auc is None or self.floor_auc is None:
            return "The embedding has not collapsed; there are no links to check it by."
        ahead = self.link_auc - self.floor_auc
        if self.link_auc < 0.5 + 2 * self.error:
            return "Bad: links are found no better than by chance."
        if ahead > 2 * self.error:
            return "Good: it finds links better than the training-free floor."
        if ahead < -2 * self.error:
            return (
                "It finds links worse than the training-free floor: it may know other "
                "things, check it with some labels ('dsgrl evaluate')."
            )
        return "Good: it finds links as well as the training-free floor."

    def summary(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        numbers = {k: v if v is None else round(v, 4) for k, v in asdict(self).items()}
        return {**numbers, "verdict": self.verdict}

    def lines(self) -> list[str]:
        """Return all of it in words, the verdict first."""
        found = [
            self.verdict,
            f"spread: {self.effective_rank:.1f} of {self.num_columns} directions are "
            f"in use (effective rank), {self.main_directions} have 90 % of the "
            f"variance; {100 * self.repeated:.1f} % of {self.num_rows} rows repeat "
            f"another",
        ]
        if self.link_auc is not None and self.floor_auc is not None:
            how = "hidden from both" if self.is_held_out else "seen by both"
            found.append(
                f"links, {how}: ranked above random pairs in "
                f"{100 * self.link_auc:.1f} % of the cases, by the training-free floor "
                f"in {100 * self.floor_auc:.1f} % (chance 50, standard error "
                f"{100 * self.error:.1f})"
            )
            if not self.is_held_out:
                found.append(
                    "give --model to hide links from the embedding before they are "
                    "looked for"
                )
        return found


def check_embedding(
    z: FloatArray, data: Any = None, model: Any = None, random_state: int = 0
) -> Check:
    """Check an embedding without labels.

    Args:
        z: embeddings in the order of the data's rows [N, D].
        data: the graph; without it only the spread is checked.
        model: the estimator that made the embedding. With it some links are hidden
            from the model and from the floor, and both have to find them. Without it
            both have seen the links, and only their difference says something.
        random_state: seed of the links; of the model, if there is one, so that the
            links are those that were hidden in its training.
    """
    share = spectrum(z)
    repeated = 1 - len(np.unique(z, axis=0)) / len(z)
    measured = {
        "num_rows": len(z),
        "num_columns": z.shape[1],
        "effective_rank": effective_rank(share),
        "main_directions": int(np.searchsorted(np.cumsum(share), 0.9)) + 1,
        "repeated": float(repeated),
    }
    if data is None or level_of(data) == "graph":
        return Check(**measured)
    seed = random_state if model is None else model.seed_
    links = draw_links(data, seed, SEEN_SHARE if model is None else HOLDOUT_SHARE)
    if not links.usable:
        return Check(**measured)
    rows = torch.from_numpy(z) if model is None else _embed_without(model, data, links)
    floor = _floor_rows(data, None if model is None else links)
    graph = as_graph(data, structural_columns=5)
    # By the similarity of `nearest_rows`: the leading columns say most.
    auc, floor_auc = (
        links.score(graph.split(part), standardize=False) for part in (rows, floor)
    )
    return Check(
        **measured,
        link_auc=auc,
        floor_auc=floor_auc,
        error=links.standard_error(max(auc, floor_auc)),
        is_held_out=model is not None,
    )


def draw_links(data: Any, seed: int, share: float = HOLDOUT_SHARE) -> HeldOutLinks:
    """Draw links and random pairs to compare them with; the same for one seed."""
    graph = as_graph(data, structural_columns=5)
    with seeded(seed):
        return HeldOutLinks(graph.adjacency, share)


@torch.no_grad()
def _embed_without(model: Any, data: Any, links: HeldOutLinks) -> torch.Tensor:
    """Embed the graph without the hidden links [N, D]."""
    fitted = model.fitted_
    graph = fitted.prepare(data).with_adjacency(links.training).to(fitted.device)
    rows: torch.Tensor = fitted.method.embed(fitted.method.prepare(graph))
    return rows.cpu()


@torch.no_grad()
def _floor_rows(data: Any, links: HeldOutLinks | None) -> torch.Tensor:
    """Describe the graph, without the hidden links if there are some [N, D]."""
    with begin(FLOORS[level_of(data)], data) as begun:
        method, graph = begun.training.method, begun.graph
        if links is not None:
            graph = graph.with_adjacency(links.training)
        graph = method.prepare(graph.to(begun.training.graph.adjacency.device))
        method.finish(graph, 0)
        rows: torch.Tensor = method.embed(graph)
        return rows.cpu()
