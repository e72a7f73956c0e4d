"""One small file per method, all behind the interface of `base`.

A method turns a graph into loss terms and embeddings; the loop, the data and the
evaluation live elsewhere. `METHODS` is the one list of them.
"""

from dsgrl.methods.base import Method
from dsgrl.methods.baseline import Baseline
from dsgrl.methods.build import (
    PLAIN,
    build_dsgrl,
    build_for,
    check_parameters,
    note_unused_attributes,
    resolve_auto,
)
from dsgrl.methods.cca_ssg import CCASSGMethod
from dsgrl.methods.dsgrl import DSGRLMethod

METHODS: dict[str, type[Method]] = {"dsgrl": DSGRLMethod, "cca-ssg": CCASSGMethod}

__all__ = [
    "METHODS",
    "PLAIN",
    "Baseline",
    "CCASSGMethod",
    "DSGRLMethod",
    "Method",
    "build_dsgrl",
    "build_for",
    "check_parameters",
    "note_unused_attributes",
    "resolve_auto",
]
