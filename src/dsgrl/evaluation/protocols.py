"""Scores an embedding with labels, under a standard protocol."""

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from dsgrl.evaluation.labels import Targets, encode_labels
from dsgrl.evaluation.manifest import manifest_hash
from dsgrl.evaluation.metrics import METRICS
from dsgrl.evaluation.probes import PROBES, logistic_probe
from dsgrl.evaluation.shared import SharedAxes, are_worth_sharing
from dsgrl.evaluation.splits import (
    DEFAULT_PROTOCOL,
    SVM_PROTOCOL,
    checked_splits,
    protocol_splits,
)
from dsgrl.typing import FloatArray, InputError, Score, Split


def evaluate(
    z: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    splits: Sequence[Split] | None = None,
    protocol: str | None = None,
    probe: str | None = None,
    metric: str | None = None,
    num_splits: int | None = None,
    random_state: int = 0,
    ids: npt.ArrayLike | None = None,
) -> Score:
    """Score embeddings by a simple classifier over many splits.

    Args:
        z: embeddings [N, D].
        y: class of every row [N], any kind of labels; rows without one (None, NaN or
            a negative number) are left out. Several labels a row: 0 and 1 [N, C].
        splits: training, validation and test rows, where the protocol needs more than
            labels (`protocol_splits` draws them).
        protocol: how to split (see `protocol_splits`), "5/15/80" if not given; beside
            `splits`, their name.
        probe: "logistic", "knn" or "svm"; if not given, "svm" for "10-fold-svm" and
            "logistic" for all else.
        metric: "accuracy", "macro_f1", "micro_f1" or "roc_auc"; if not given,
            micro F1 for several labels a row, macro F1 for IMDB's protocols and
            accuracy for all else.
        num_splits: number of splits; if not given, as many as the protocol has.
        random_state: seed of the splits.
        ids: number of every row [N], if rows come in another order than the
            dataset's (from a shuffled loader): rows and labels are put in order by it.

    Returns:
        Test scores in percent, one per split, with `mean` and `std`; also the
        validation scores of the same probes, and a hash of the splits.
    """
    if probe is not None:
        _require("probe", probe, PROBES)
    rows = _embeddings(z)
    labels = np.asarray(y)
    if len(rows) != len(labels):
        raise InputError(
            f"embeddings of shape {list(rows.shape)} for {len(labels)} labels, "
            f"expected [labels, columns]"
        )
    if ids is not None:
        order = _order(ids, len(rows))
        rows, labels = rows[order], labels[order]
    targets = encode_labels(labels)
    if splits is None:
        protocol = protocol or DEFAULT_PROTOCOL
        splits = protocol_splits(
            protocol, labels, num_splits=num_splits, random_state=random_state
        )
    else:
        protocol = protocol or "given"
        splits = checked_splits(splits[:num_splits], targets)
    metric = metric or _default_metric(targets, protocol)
    _require("metric", metric, METRICS)
    probe = _probe_of(protocol, probe)
    # Such small matrix products are ten times slower with several threads.
    with threadpool_limits(1):
        judge = PROBES[probe]
        if judge is logistic_probe and are_worth_sharing(rows.shape[1], splits):
            judge = partial(logistic_probe, shared=SharedAxes.of(rows))
        results = [judge(rows, targets, split, metric) for split in splits]
    return Score(
        scores=[result.test for result in results],
        validation=[result.validation for result in results],
        metric=metric,
        protocol=protocol,
        manifest=manifest_hash(splits, protocol),
    )


def _embeddings(z: npt.ArrayLike) -> FloatArray:
    rows = np.asarray(z, dtype=np.float32)
    if rows.ndim != 2 or rows.size == 0:
        raise InputError(
            f"embeddings of shape {list(rows.shape)}, expected [rows, columns], at "
            f"least one of each"
        )
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise InputError(
            f"embeddings with NaN or infinite numbers in {(~finite).sum()} of "
            f"{len(rows)} rows, the first in row {int(finite.argmin())}: leave them out"
        )
    return rows


def _order(ids: npt.ArrayLike, num_rows: int) -> npt.NDArray[np.intp]:
    numbers = np.asarray(ids)
    if len(np.unique(numbers)) != num_rows or numbers.shape != (num_rows,):
        raise InputError(
            f"{len(np.unique(numbers))} different ids for {num_rows} rows of "
            f"embeddings, expected one each"
        )
    return np.argsort(numbers, kind="stable")


def _probe_of(protocol: str, given: str | None) -> str:
    if protocol != SVM_PROTOCOL:
        return given or "logistic"
    if given not in (None, "svm"):
        raise InputError(
            f"probe '{given}' for protocol '{protocol}', expected 'svm': for ten folds "
            f"with another probe choose 'folds'"
        )
    return "svm"


def _default_metric(targets: Targets, protocol: str) -> str:
    if targets.is_multi_label:
        return "micro_f1"
    return "macro_f1" if protocol.startswith("imdb-") else "accuracy"


def _require(kind: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise InputError(f"unknown {kind} '{name}', expected {', '.join(known)}")
