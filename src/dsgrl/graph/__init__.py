"""The engine: the data structures of a graph and the product on its edges.

`as_graph` converts every accepted input to one checked `Graph`: features and an
`Adjacency` in compressed rows. `propagate` is the one hot kernel; no other room loops
over edges.
"""

from dsgrl.graph.adjacency import Adjacency, propagate
from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.graph import Features, Graph
from dsgrl.graph.inputs import as_graph
from dsgrl.graph.kernels import Pattern, dot_ends
from dsgrl.graph.relations import Relations, Schema
from dsgrl.graph.spec import Spec

__all__ = [
    "Adjacency",
    "Features",
    "FlatGraphs",
    "Graph",
    "Pattern",
    "Relations",
    "Schema",
    "Spec",
    "as_graph",
    "dot_ends",
    "propagate",
]
