r"""HERec: skip-gram on walks of which only the first type is kept.

https://arxiv.org/abs/1711.10730. A walk along a meta-path visits several types; nodes
of another type than the first are left out, so that a window holds nodes of one type:

.. math:: \max_f \sum_u \log \Pr(N_u \mid f(u))

N_u are the nodes within a window of the filtered walk; noise has the same type.

The authors learn vectors for each meta-path and fuse them by a map that is learned from
ratings. There are no ratings here: the walks of all meta-paths of a type train the same
vectors. Their program walks on the weighted graph of meta-path neighbours; here, as in
the text, each step of the meta-path is taken. `skip_gram.py` says how the objective is
computed.
"""

from typing import Any, ClassVar

from dsgrl.graph import Graph
from dsgrl.graph.metapaths import MetaPath
from dsgrl.methods.metapath_walks import MetaPathConfig, MetaPathSkipGram
from dsgrl.parameters import COUNT, parameter


class HERecMethod(MetaPathSkipGram):
    """Walks that repeat meta-paths; only nodes of the first type are used."""

    class Config(MetaPathConfig):
        """The parameters of HERec; the defaults are those of its paper and program."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=64, search=(32, 256, "log")
        )
        walk_length: int = parameter(
            COUNT, "steps of a walk from one kept node to the next", default=40
        )
        window: int = parameter(
            COUNT, "largest distance of a pair", default=3, search=(2, 15, "linear")
        )

    summary: ClassVar[str] = "skip-gram on walks filtered to one type"

    def kept_steps(self, path: MetaPath, length: int) -> list[int]:
        """Return the positions of the first type."""
        turn = [place for place, kind in enumerate(path[:-1]) if kind == path[0]]
        rounds = 1 + length // len(turn)
        period = len(path) - 1
        kept = [place + period * number for number in range(rounds) for place in turn]
        return kept[: 1 + length]

    def noise_bounds(self, graph: Graph, config: Any) -> list[int]:
        """Take noise from the nodes of each type."""
        return graph.bounds
