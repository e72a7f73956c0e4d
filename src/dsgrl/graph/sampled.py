"""Edges sampled from a larger graph, normalised as the larger one is."""

from torch import Tensor

from dsgrl.graph.adjacency import Adjacency, add_missing_self_loops, inverse_or_zero
from dsgrl.graph.kernels import Pattern
from dsgrl.typing import NormalizationName


class SampledAdjacency(Adjacency):
    """Some entries of a larger matrix, with the degrees of the larger one.

    Args:
        pattern: positions of the entries, in local numbers.
        value: their weights [E].
        into: sum of every row of the whole matrix [R]; with its self-loop, if the
            matrix is square.
        outof: sum of every column [C], for a bipartite matrix.
        attr: attributes of the entries [E, K], if any.
    """

    def __init__(
        self,
        pattern: Pattern,
        value: Tensor,
        into: Tensor,
        outof: Tensor | None,
        attr: Tensor | None = None,
    ) -> None:
        super().__init__(pattern, value, bipartite=outof is not None, attr=attr)
        self.into, self.outof = into, outof

    def with_value(self, value: Tensor) -> "SampledAdjacency":
        """Return other weights; the degrees shrink with the sum of the weights."""
        total = float(self.value.detach().sum())
        share = float(value.detach().sum()) / total if total else 1.0
        into, outof = self.into * share, self.outof
        if outof is None:
            into += 1 - share  # the self-loop stays
        else:
            outof = outof * share
        return SampledAdjacency(self.pattern, value, into, outof, self.attr)

    def normalized(self, kind: NormalizationName) -> Adjacency:
        """Return the normalised matrix; "gcn" uses the degrees of the whole graph."""
        if kind != "gcn":
            return super().normalized(kind)
        if kind not in self._normalized:
            looped = add_missing_self_loops(self)
            outof = self.into if self.outof is None else self.outof
            into, outof = (inverse_or_zero(d, 0.5) for d in (self.into, outof))
            scale = into[looped.pattern.row] * outof[looped.pattern.col]
            self._normalized[kind] = Adjacency(
                looped.pattern, looped.value * scale, bipartite=self.bipartite
            )
        return self._normalized[kind]
