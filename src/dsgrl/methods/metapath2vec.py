r"""metapath2vec: skip-gram on walks along meta-paths.

https://doi.org/10.1145/3097983.3098036. A walk repeats the types of a meta-path A_1,
A_2, ..., A_1. From a node v of type A_i it goes on to each of its neighbours of the
next type with the same probability:

.. math:: p(v_{i+1} | v_i) = 1 / |N_{A_{i+1}}(v_i)|

All types share one space. With `typed_noise` (metapath2vec++), the noise of a pair has
the type of its context.

The authors use one meta-path; here the walks of several train the same vectors. They
take 1,000 walks per node; 40 are the default here. Weights of edges count.
`skip_gram.py` says how the objective is computed.
"""

from typing import Any, ClassVar

from dsgrl.graph import Graph
from dsgrl.methods.metapath_walks import MetaPathConfig, MetaPathSkipGram
from dsgrl.parameters import COUNT, SWITCH, parameter


class MetaPath2VecMethod(MetaPathSkipGram):
    """Walks that repeat meta-paths; every node they visit is used."""

    class Config(MetaPathConfig):
        """The parameters of metapath2vec; but for the walks, those of its paper."""

        walk_length: int = parameter(COUNT, "steps of a walk", default=100)
        walks_per_node: int = parameter(
            COUNT,
            "walks of each meta-path from every node of its first type in an epoch",
            default=40,
            search=(10, 80, "log"),
        )
        window: int = parameter(
            COUNT, "largest distance of a pair", default=7, search=(2, 15, "linear")
        )
        typed_noise: bool = parameter(
            SWITCH, "noise of the type of the context: metapath2vec++", default=False
        )

    summary: ClassVar[str] = "skip-gram on walks along meta-paths"

    def noise_bounds(self, graph: Graph, config: Any) -> list[int]:
        """Take noise from all nodes, or from those of each type."""
        return graph.bounds if config.typed_noise else [0, graph.num_nodes]
