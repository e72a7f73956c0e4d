"""The floor: what the data says without training, in seconds.

`hops` smooths features over the graph, for nodes of one type or along relations;
`walks` has only edges; `histograms` describes whole graphs. Each is a `Floor`: it is
fitted once to the training data and describes any data of the same columns. `joined`
puts a learned embedding beside it. The floor is the control of every table and part of
the default.
"""

from dsgrl.floor.base import Floor
from dsgrl.floor.build import build_floor
from dsgrl.floor.histograms import GraphFloor
from dsgrl.floor.hops import HopsFloor
from dsgrl.floor.joined import Joined
from dsgrl.floor.projection import Projection
from dsgrl.floor.relations import RelationsFloor
from dsgrl.floor.walks import WalksFloor

__all__ = [
    "Floor",
    "GraphFloor",
    "HopsFloor",
    "Joined",
    "Projection",
    "RelationsFloor",
    "WalksFloor",
    "build_floor",
]
