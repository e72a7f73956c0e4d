"""Embeddings for any graph, learned without labels.

    from dsgrl import DSGRL, read_graph, evaluate

The names are loaded when first used, so that `import dsgrl` and `dsgrl --help` stay
quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsgrl.datasets.files import read_graph
    from dsgrl.estimator import DSGRL, embedder, load_model
    from dsgrl.evaluation.protocols import evaluate
    from dsgrl.train.checkpoint import Checkpoints

__all__ = [
    "DSGRL",
    "Checkpoints",
    "embedder",
    "evaluate",
    "load_model",
    "read_graph",
]
__version__ = "0.1.0"

_HOMES = {
    "Checkpoints": "dsgrl.train.checkpoint",
    "DSGRL": "dsgrl.estimator",
    "embedder": "dsgrl.estimator",
    "evaluate": "dsgrl.evaluation.protocols",
    "load_model": "dsgrl.estimator",
    "read_graph": "dsgrl.datasets.files",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dsgrl' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
