"""What comes in and how it is held.

Anything a user has (PyG data, tables, a dataset's name) becomes one checked `Graph`:
features and an `Adjacency` in compressed rows. `propagate` is the engine's one hot
kernel; no other room touches edges one by one.
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
