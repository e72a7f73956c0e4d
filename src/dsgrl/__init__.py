"""Embeddings for any graph, learned without labels.

    from dsgrl import DSGRL, read_graph, evaluate

The three names are loaded when first used, so that `import dsgrl` and
`dsgrl --help` stay quick.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsgrl.estimator import DSGRL
    from dsgrl.evaluate.protocols import evaluate
    from dsgrl.graph.files import read_graph

__all__ = ["DSGRL", "evaluate", "read_graph"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "DSGRL":
        from dsgrl.estimator import DSGRL

        return DSGRL
    if name == "read_graph":
        from dsgrl.graph.files import read_graph

        return read_graph
    raise AttributeError(f"module 'dsgrl' has no attribute '{name}'")
