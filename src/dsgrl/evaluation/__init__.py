"""Evaluation of embeddings given as arrays; imports no method.

Splits are seeded and disjoint, everything is chosen on validation rows, and test
rows are scored once.
"""

from dsgrl.evaluation.manifest import load_manifest, manifest_hash, save_manifest
from dsgrl.evaluation.protocols import evaluate
from dsgrl.evaluation.splits import protocol_splits, stratified_splits

__all__ = [
    "evaluate",
    "load_manifest",
    "manifest_hash",
    "protocol_splits",
    "save_manifest",
    "stratified_splits",
]
