"""Honest scores: sees arrays, imports no method.

Splits are seeded and disjoint, everything is chosen on validation rows, and test
rows are looked at once. The package can be called: `from dsgrl import evaluate`
gives `evaluate(z, y)`.
"""

import sys
from types import ModuleType
from typing import Any

from dsgrl.evaluate.protocols import evaluate
from dsgrl.evaluate.splits import stratified_splits

__all__ = ["evaluate", "stratified_splits"]


class _CallablePackage(ModuleType):
    """The package has the name of its main function, so it acts as that, too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
