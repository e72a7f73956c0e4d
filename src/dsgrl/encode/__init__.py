"""The shared encoder: from features on a graph to one vector per node.

`dense` has the fast row-wise steps, `layers` the four kinds of message passing,
`relational` one of them per relation, `encoder` their stack, `decoupled` a network on
precomputed hops, `readout` the step from nodes to graphs. All of them take several
views side by side [N, V, C]. `pooled` has the encoders of whole graphs that several
baselines share.
"""

from dsgrl.encode.decoupled import DecoupledEncoder
from dsgrl.encode.dense import activate, drop, linear
from dsgrl.encode.encoder import Encoder, PyGEncoder
from dsgrl.encode.layers import GATLayer, GCNLayer, GINLayer, GraphLayer, SAGELayer
from dsgrl.encode.norm import BatchNorm
from dsgrl.encode.pooled import PooledEncoder, SummedEncoder
from dsgrl.encode.readout import Readout, merge_views, smooth
from dsgrl.encode.relational import RelationalLayer

__all__ = [
    "BatchNorm",
    "DecoupledEncoder",
    "Encoder",
    "GATLayer",
    "GCNLayer",
    "GINLayer",
    "GraphLayer",
    "PooledEncoder",
    "PyGEncoder",
    "Readout",
    "RelationalLayer",
    "SAGELayer",
    "SummedEncoder",
    "activate",
    "drop",
    "linear",
    "merge_views",
    "smooth",
]
