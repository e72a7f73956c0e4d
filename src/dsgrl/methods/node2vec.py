r"""node2vec: skip-gram on second-order walks, https://arxiv.org/abs/1607.00653.

With t the node before v, a walk goes on from v to x in proportion to the weight of the
edge and to

.. math:: \alpha_{pq}(t, x) = 1/p \text{ if } x = t, \; 1 \text{ if } x \text{ is a
          neighbour of } t, \; 1/q \text{ otherwise}

Features are not used; edges are taken in both directions, those of a heterogeneous
graph without their types. The authors choose p and q by labels from 1/4, 1/2, 1, 2 and
4; 1 is the default here. They precompute tables over pairs of edges; here proposals are
rejected. `skip_gram.py` says how the objective is computed.
"""

from typing import Any, ClassVar

import numpy as np

from dsgrl.graph import Graph
from dsgrl.graph.relations import Relations
from dsgrl.graph.sampled_walks import NeighborSampler, second_order_walks, undirected
from dsgrl.graph.structural import to_scipy
from dsgrl.methods.skip_gram import SkipGram, WalkConfig, Walker
from dsgrl.parameters import ABOVE_ZERO, COUNT, parameter
from dsgrl.typing import Level


class Node2VecMethod(SkipGram):
    """Biased random walks from every node."""

    class Config(WalkConfig):
        """The parameters of node2vec; the defaults are those of its paper."""

        walk_length: int = parameter(COUNT, "steps of a walk", default=80)
        window: int = parameter(
            COUNT, "largest distance of a pair", default=10, search=(2, 15, "linear")
        )
        p: float = parameter(
            ABOVE_ZERO,
            "a large one makes walks return less often",
            default=1.0,
            search=(0.25, 4.0, "log"),
        )
        q: float = parameter(
            ABOVE_ZERO,
            "a large one keeps walks near their start",
            default=1.0,
            search=(0.25, 4.0, "log"),
        )

    summary: ClassVar[str] = "skip-gram on random walks, edges only"
    levels: ClassVar[frozenset[Level]] = frozenset({"node", "hetero"})

    def walkers(self, graph: Graph, config: Any) -> list[Walker]:
        """Walk from every node, whatever its type."""
        edges = graph.adjacency
        whole = edges.as_one() if isinstance(edges, Relations) else edges
        sampler = NeighborSampler(undirected(to_scipy(whole)))

        def walk(starts: Any, generator: np.random.Generator) -> Any:
            return second_order_walks(
                sampler, starts, config.walk_length, generator, p=config.p, q=config.q
            )

        return [Walker(np.arange(graph.num_nodes), walk)]
