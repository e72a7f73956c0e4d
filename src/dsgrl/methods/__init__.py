"""One small file per method, all behind the interface of `base`.

A method turns a graph into loss terms and embeddings; the loop, the data and the
evaluation live elsewhere. `registry.METHODS` is the one list of them, `configure`
makes the parameters of any of them from plain settings.
"""

from dsgrl.methods.base import Form, Method, Progress
from dsgrl.methods.config import FitConfig, StopByLinks
from dsgrl.methods.configure import all_parameters, configure, expand_names
from dsgrl.methods.registry import METHODS

__all__ = [
    "METHODS",
    "FitConfig",
    "Form",
    "Method",
    "Progress",
    "StopByLinks",
    "all_parameters",
    "configure",
    "expand_names",
]
