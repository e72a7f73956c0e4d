"""The few types that travel from room to room, and the legend of letters.

Letters in shapes: N nodes, E edges, V views (2), F input columns, D1 augmented
columns, D embedding columns per view, C classes, S splits.

The paper's symbols and our names (one hyper-parameter, one name, everywhere):

=========  =========================  ==========================================
symbol     name                       meaning
=========  =========================  ==========================================
X [N, F]   x                          input features
Z1, Z2     z1, z2 [N, D]              the two views' embeddings
alpha      invariance_weight          weight of Eq. 1
beta       variance_weight            weight of Eq. 2
gamma      covariance_weight          weight of Eq. 3 (and of Eq. 7)
lambda     orthogonality_weight       weight of Eq. 5
D1         augment_channels           width of an augmented view
D          out_channels               width of a view's embedding
L          num_layers                 layers of the encoder
=========  =========================  ==========================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    # Loading torch takes a second; `dsgrl --help` need not wait for it.
    from torch import Tensor

Level = Literal["node", "graph", "hetero"]
# Source type, name and target type of a relation.
Relation = tuple[str, str, str]
AugmentName = Literal["feature", "topology", "both"]
SimilarityName = Literal["cosine", "inner"]
EdgeWeightsName = Literal["normalized", "raw"]
TopologyName = Literal["learned", "random", "knn_x", "knn_ax", "two_hop", "none"]
CandidatesName = Literal["auto", "exact", "index", "hops"]
LayerName = Literal["gcn", "sage", "gin", "gat"]
EncoderName = Literal["gcn", "sage", "gin", "gat", "decoupled"]
NormName = Literal["batch", "layer"]
ActivationName = Literal["relu", "leaky_relu", "prelu"]
JumpName = Literal["last", "sum", "cat"]
ReadoutName = Literal["sum", "log_sum", "mean", "max"]
AggregateName = Literal["concat", "mean", "sum"]
InvarianceName = Literal["mse", "frobenius"]
RegularizerName = Literal["covariance", "orthogonality"]
ScalingName = Literal[
    "length", "unit", "comparable", "columns", "standard", "rows", "none"
]
SamplingName = Literal["neighbors", "random", "clusters", "rows"]
NormalizationName = Literal["gcn", "mean", "sum", "loops"]
DiffusionName = Literal["ppr", "heat"]

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


class DivergenceError(RuntimeError):
    """The loss is no longer a finite number."""


class LostProcessError(RuntimeError):
    """Another process of the run has ended, or cannot be reached."""


class InputError(ValueError):
    """A user's mistake: one line saying what was given, expected, and what to do."""


class View(NamedTuple):
    """One view of a graph, learned or not, as plain tensors in PyG's vocabulary.

    Attributes:
        x: its features, augmented or not [N, D1].
        edge_index: source and target of every edge [2, E].
        edge_weight: weight of every edge [E].
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor


class HeteroView(NamedTuple):
    """One view, learned or not, of a graph with several types of nodes.

    Attributes:
        x: its features of every type [N_type, D1].
        edge_index: source and target of every edge, by relation [2, E].
        edge_weight: weight of every edge, by relation [E].
    """

    x: dict[str, Tensor]
    edge_index: dict[tuple[str, str, str], Tensor]
    edge_weight: dict[tuple[str, str, str], Tensor]


@dataclass(frozen=True, slots=True)
class LossTerms:
    """What a method's training step returns.

    Attributes:
        terms: weighted terms by name; their sum is minimised.
        z: an embedding of this step [N, D], detached, for collapse diagnostics.
    """

    terms: dict[str, Tensor]
    z: Tensor

    @property
    def total(self) -> Tensor:
        """The value to minimise."""
        values = list(self.terms.values())
        return sum(values[1:], start=values[0])

    def numbers(self) -> dict[str, float]:
        """Return the total, as `loss`, and every term as plain numbers."""
        terms = {name: value.item() for name, value in self.terms.items()}
        return {"loss": self.total.item(), **terms}

    def backward(self, inputs: Sequence[Tensor] | None = None) -> None:
        """Compute the gradients of the total.

        Args:
            inputs: what gets a gradient; by default all that it depends on.

        Raises:
            DivergenceError: if it is not a finite number.
        """
        total = self.total
        if not math.isfinite(total.item()):
            terms = (f"{name} {value:.3g}" for name, value in self.numbers().items())
            raise DivergenceError(", ".join(terms))
        total.backward(inputs=inputs)


class Split(NamedTuple):
    """Disjoint row numbers for fitting, choosing and judging a probe."""

    train: IntArray
    val: IntArray
    test: IntArray


@dataclass(frozen=True, slots=True)
class Score:
    """Test scores of one embedding over all splits, in percent.

    Attributes:
        scores: one per split.
        validation: scores of the same probes on their validation rows; what
            anything is to be chosen by.
        metric: what the scores are.
        protocol: how the rows were split.
        manifest: short hash of the splits.
    """

    scores: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    metric: str = "accuracy"
    protocol: str = ""
    manifest: str = ""

    @property
    def mean(self) -> float:
        """Mean over the splits."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """Population deviation over the splits."""
        return float(np.std(self.scores))
