"""What a page shows: a plain structure of arrays and text, made by `gather`."""

from dataclasses import dataclass, field
from typing import Any

from dsgrl.explore.columns import Column
from dsgrl.explore.naming import Cluster
from dsgrl.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """A score with its controls beside it.

    Attributes:
        name: what was scored, e.g. "raw features".
        mean: in percent.
        std: over the splits.
        note: what it stands for.
    """

    name: str
    mean: float
    std: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class LearnedEdges:
    """The edges of a learned second graph, both directions as one.

    Attributes:
        count: number of learned edges.
        new: of these, how many the graph does not have.
        own: number of the graph's own edges.
        weights: of the learned edges [count].
        agreement: share of edges that join two equal labels, by kind of edge: new,
            kept, own and random; empty without labels.
        examples: new edges of the largest weight: id, id, weight.
    """

    count: int
    new: int
    own: int
    weights: FloatArray
    agreement: dict[str, float] = field(default_factory=dict)
    examples: list[tuple[str, str, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StressedFeatures:
    """Which columns of the input the two views stress.

    Attributes:
        title: node type, if there are several.
        first: columns that weigh more in the first view: name, share of all weight in
            the first view, and in the second.
        second: columns that weigh more in the second view, shares in the same order.
    """

    title: str
    first: list[tuple[str, float, float]]
    second: list[tuple[str, float, float]]


@dataclass(frozen=True, slots=True)
class LearnedViews:
    """What was learned for the two views, or that nothing was.

    Attributes:
        kind: the views in one sentence.
        alikeness: how alike the features of the two views are, from 0 to 1 (linear
            CKA), by node type; empty where they are the same.
        features: per node type.
        edges: of the learned graph, if there is one.
    """

    kind: str
    alikeness: dict[str, float] = field(default_factory=dict)
    features: list[StressedFeatures] = field(default_factory=list)
    edges: LearnedEdges | None = None

    @property
    def is_learned(self) -> bool:
        """Whether anything was learned for the views."""
        return bool(self.features) or self.edges is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """Everything on a page.

    Attributes:
        title: of the page.
        what: what a row is, in the plural.
        summary: what was learned, in three sentences.
        ids: of the rows, as text [N].
        position: on the map [N, 2].
        layout: how positions were found.
        near: nearest rows [N, k], -1 for none.
        alike: their cosine similarity [N, k].
        columns: to colour by; the first is shown at first.
        features: sparse feature columns to colour by [N, F], or None.
        feature_names: of its columns [F].
        clusters: in words, in the order of the codes of the column "cluster".
        spectrum: share of the variance by direction [D].
        effective_rank: directions in use.
        history: one row per epoch.
        epoch: the epoch that was kept; None if nothing is known of training.
        views: what was learned for the views, if there is a model with views.
        scores: with controls; empty without labels.
        scored: what was predicted, and how, in words.
        settings: parameters of the method.
        versions: of the software.
        command: that makes the page again.
        seed: of the model.
        notes: what a reader should know, e.g. what is left out.
    """

    title: str
    what: str
    summary: list[str]
    ids: list[str]
    position: FloatArray
    layout: str
    near: IntArray
    alike: FloatArray
    columns: list[Column]
    features: Any = None
    feature_names: list[str] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    spectrum: FloatArray
    effective_rank: float
    history: list[dict[str, float]] = field(default_factory=list)
    epoch: int | None = None
    views: LearnedViews | None = None
    scores: list[ScoreLine] = field(default_factory=list)
    scored: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""
    seed: int | None = None
    notes: list[str] = field(default_factory=list)
