"""One small file per method, all behind the interface of `base`.

A method turns a graph into loss terms and embeddings; the loop, the data and the
evaluation live elsewhere. `METHODS` is the one list of them.
"""

from dsgrl.methods.base import Method
from dsgrl.methods.build import build_dsgrl, check_parameters
from dsgrl.methods.dsgrl import DSGRLMethod

METHODS: dict[str, type[Method]] = {"dsgrl": DSGRLMethod}

__all__ = ["METHODS", "DSGRLMethod", "Method", "build_dsgrl", "check_parameters"]
