"""One small file per method; `base` has their interface.

A method maps a graph to loss terms and embeddings. The loop, the data and the
evaluation are in other rooms. `registry.METHODS` lists all methods, `configure` makes
the parameters of any of them from plain settings.
"""

from dsgrl.methods.base import Form, Method, Progress
from dsgrl.methods.config import FitConfig, NodeBatches, StopByLinks
from dsgrl.methods.configure import all_parameters, configure, expand_names
from dsgrl.methods.registry import METHODS

__all__ = [
    "METHODS",
    "FitConfig",
    "Form",
    "Method",
    "NodeBatches",
    "Progress",
    "StopByLinks",
    "all_parameters",
    "configure",
    "expand_names",
]
