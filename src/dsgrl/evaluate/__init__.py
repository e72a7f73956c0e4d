"""Honest scores: sees arrays, imports no method.

Splits are seeded and disjoint, everything is chosen on validation rows, and test
rows are looked at once. The package can be called: `from dsgrl import evaluate`
gives `evaluate(z, y)`.
"""

import sys
from types import ModuleType
from typing import Any

from dsgrl.evaluate.manifest import load_manifest, manifest_hash, save_manifest
from dsgrl.evaluate.protocols import evaluate
from dsgrl.evaluate.splits import protocol_splits, stratified_splits

__all__ = [
    "evaluate",
    "load_manifest",
    "manifest_hash",
    "protocol_splits",
    "save_manifest",
    "stratified_splits",
]


class _CallablePackage(ModuleType):
    """The package has the name of its main function, so it acts as that, too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
