"""What values a parameter may have: one table, and one line for all others."""

import math
import numbers
from collections.abc import Callable
from typing import Any, get_args

from torch import nn

from dsgrl.encode.readout import kinds_of
from dsgrl.typing import (
    AggregateName,
    AugmentName,
    CandidatesName,
    EncoderName,
    InputError,
    InvarianceName,
    JumpName,
    NormName,
    ReadoutName,
    RegularizerName,
    ScalingName,
    SimilarityName,
    TopologyName,
)

Rule = tuple[Callable[[Any], bool], str]


def _one_of(*allowed: object) -> Rule:
    listed = ", ".join(repr(value) for value in allowed)
    return lambda value: value in allowed, f"one of {listed}"


def _is_count(value: Any, least: int = 1) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and int(value) >= least


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


COUNT: Rule = (_is_count, "a whole number from 1")
_COUNT_OR_NONE: Rule = (
    lambda value: value is None or _is_count(value),
    "a whole number from 1, or None",
)
_ENCODERS = ("auto", *get_args(EncoderName))
SHARE: Rule = (
    lambda value: _is_number(value) and 0 <= value < 1,
    "a share from 0 to below 1",
)
WEIGHT: Rule = (lambda value: _is_number(value) and value >= 0, "a number from 0")
ABOVE_ZERO: Rule = (lambda value: _is_number(value) and value > 0, "a number above 0")


def _auto_or(rule: Rule) -> Rule:
    accepts, expected = rule
    return lambda value: value == "auto" or accepts(value), f"'auto' or {expected}"


# Per parameter: whether a value can work, and what was expected if not.
RULES: dict[str, Rule] = {
    "augment": _one_of("auto", *get_args(AugmentName)),
    "encoder": (
        lambda value: isinstance(value, nn.Module) or value in _ENCODERS,
        f"one of {', '.join(map(repr, _ENCODERS))}, or a module",
    ),
    "norm": _one_of("auto", None, *get_args(NormName)),
    "jump": _one_of("auto", *get_args(JumpName)),
    "readout": (
        lambda value: isinstance(value, str) and bool(kinds_of(value)),
        f"{_one_of(*get_args(ReadoutName))[1]}, or several joined by '+'",
    ),
    "smoothing": _auto_or((lambda value: _is_count(value, 0), "a whole number from 0")),
    "aggregate": _one_of(*get_args(AggregateName)),
    "invariance": _one_of(*get_args(InvarianceName)),
    "regularizer": _one_of(*get_args(RegularizerName)),
    "structural_columns": (
        lambda value: value is None or _is_count(value, 5),
        "a whole number from 5, or None",
    ),
    "scaling": _one_of("auto", *get_args(ScalingName)),
    "unit_rows": _one_of(False, True),
    "standardize": _one_of("auto", False, True),
    "out_channels": COUNT,
    "hidden_channels": _COUNT_OR_NONE,
    "num_layers": _auto_or(COUNT),
    "augment_channels": COUNT,
    "augment_layers": COUNT,
    "topology_layers": COUNT,
    "topology": _one_of("auto", *get_args(TopologyName)),
    "edges_per_node": _COUNT_OR_NONE,
    "edge_multiplier": (
        lambda value: value is None or (_is_number(value) and value > 0),
        "a number above 0, or None",
    ),
    "symmetric": _one_of(False, True),
    "candidates": _one_of(*get_args(CandidatesName)),
    "batch_size": _COUNT_OR_NONE,
    "refresh": COUNT,
    "similarity": _one_of(*get_args(SimilarityName)),
    "keep_edges": _one_of(False, True),
    "max_epochs": COUNT,
    "patience": COUNT,
    "tolerance": _auto_or(WEIGHT),
    "check_every": COUNT,
    "invariance_weight": WEIGHT,
    "variance_weight": WEIGHT,
    "covariance_weight": _auto_or(WEIGHT),
    "orthogonality_weight": WEIGHT,
    "weight_decay": _auto_or(WEIGHT),
    "warmup_epochs": (lambda value: _is_count(value, 0), "a whole number from 0"),
    "epochs": (
        lambda value: value == "auto" or _is_count(value, 0),
        "'auto' or a whole number from 0",
    ),
    "dropout": _auto_or(SHARE),
    "edge_drop": _auto_or(SHARE),
    "gain": _auto_or(ABOVE_ZERO),
    "feature_drop": _auto_or(SHARE),
    "feature_mask": SHARE,
    "holdout": (
        lambda value: _is_number(value) and 0 < value < 1,
        "a share between 0 and 1",
    ),
    "lr": ABOVE_ZERO,
    "random_state": (
        lambda value: value is None or (_is_count(value, 0) and value < 2**32),
        "a whole number from 0 to 4294967295, or None",
    ),
}


def refuse(name: str, value: object, expected: str) -> None:
    """Say in one line what was given and what was expected."""
    raise InputError(f"{name}={value!r}: expected {expected}")
