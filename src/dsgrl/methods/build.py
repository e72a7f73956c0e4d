"""From plain parameters to a method: checked first, then built."""

import copy
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, get_args

from torch import nn

from dsgrl.augment import FeatureAugmenter, TopologyAugmenter
from dsgrl.encode import Encoder, PyGEncoder
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.typing import (
    AggregateName,
    AugmentName,
    EncoderName,
    InputError,
    InvarianceName,
    JumpName,
    NormName,
    RegularizerName,
    ScalingName,
    SimilarityName,
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


_COUNT: Rule = (_is_count, "a whole number from 1")
_WEIGHT: Rule = (lambda value: _is_number(value) and value >= 0, "a number from 0")

# Per parameter: whether a value can work, and what was expected if not.
_RULES: dict[str, Rule] = {
    "augment": _one_of(*get_args(AugmentName)),
    "encoder": (
        lambda value: isinstance(value, nn.Module) or value in get_args(EncoderName),
        f"one of {', '.join(map(repr, get_args(EncoderName)))}, or a module",
    ),
    "norm": _one_of(None, *get_args(NormName)),
    "jump": _one_of(*get_args(JumpName)),
    "aggregate": _one_of(*get_args(AggregateName)),
    "invariance": _one_of(*get_args(InvarianceName)),
    "regularizer": _one_of(*get_args(RegularizerName)),
    "scaling": _one_of(*get_args(ScalingName)),
    "unit_rows": _one_of(False, True),
    "out_channels": _COUNT,
    "hidden_channels": (
        lambda value: value is None or _is_count(value),
        "a whole number from 1, or None",
    ),
    "num_layers": _COUNT,
    "augment_channels": _COUNT,
    "augment_layers": _COUNT,
    "topology_layers": _COUNT,
    "edges_per_node": (
        lambda value: value is None or _is_count(value),
        "a whole number from 1, or None",
    ),
    "refresh": _COUNT,
    "similarity": _one_of(*get_args(SimilarityName)),
    "keep_edges": _one_of(False, True),
    "max_epochs": _COUNT,
    "patience": _COUNT,
    "check_every": _COUNT,
    "invariance_weight": _WEIGHT,
    "variance_weight": _WEIGHT,
    "covariance_weight": _WEIGHT,
    "orthogonality_weight": _WEIGHT,
    "weight_decay": _WEIGHT,
    "warmup_epochs": (lambda value: _is_count(value, 0), "a whole number from 0"),
    "epochs": (
        lambda value: value == "auto" or _is_count(value, 0),
        "'auto' or a whole number from 0",
    ),
    "dropout": (
        lambda value: _is_number(value) and 0 <= value < 1,
        "a share from 0 to below 1",
    ),
    "holdout": (
        lambda value: _is_number(value) and 0 < value < 1,
        "a share between 0 and 1",
    ),
    "lr": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "random_state": (
        lambda value: value is None or (_is_count(value, 0) and value < 2**32),
        "a whole number from 0 to 4294967295, or None",
    ),
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse values that cannot work.

    Raises:
        InputError: naming the parameter, the value given and the values allowed.
    """
    for name, (accepts, expected) in _RULES.items():
        if not accepts(parameters[name]):
            _refuse(name, parameters[name], expected)
    hidden, out = parameters["hidden_channels"], parameters["out_channels"]
    adds = parameters["jump"] == "sum" and parameters["num_layers"] > 1
    if adds and hidden not in (None, out):
        _refuse("hidden_channels", hidden, f"{out}, since jump='sum' adds layers")


def build_dsgrl(parameters: Mapping[str, Any], in_channels: int) -> DSGRLMethod:
    """Build the method for features of `in_channels` columns.

    Args:
        parameters: as `DSGRL.get_params()`, checked.
        in_channels: F.
    """
    augment, width = parameters["augment"], parameters["augment_channels"]
    features = topology = None
    if augment in ("feature", "both"):
        features = FeatureAugmenter(
            in_channels,
            width,
            num_layers=parameters["augment_layers"],
            dropout=parameters["dropout"],
        )
    if augment in ("topology", "both"):
        topology = TopologyAugmenter(
            in_channels,
            width,
            num_layers=parameters["topology_layers"],
            edges_per_node=parameters["edges_per_node"],
            similarity=parameters["similarity"],
            keep_edges=parameters["keep_edges"],
            refresh=parameters["refresh"],
            dropout=parameters["dropout"],
        )
    encoder: nn.Module
    if isinstance(parameters["encoder"], nn.Module):
        # A copy: training must not change what the user passed.
        encoder = PyGEncoder(copy.deepcopy(parameters["encoder"]))
    else:
        encoder = Encoder(
            in_channels if features is None else width,
            parameters["hidden_channels"] or parameters["out_channels"],
            parameters["out_channels"],
            num_layers=parameters["num_layers"],
            layer=parameters["encoder"],
            dropout=parameters["dropout"],
            norm=parameters["norm"],
            jump=parameters["jump"],
        )
    return DSGRLMethod(
        features,
        topology,
        encoder,
        aggregate=parameters["aggregate"],
        objective_options={
            "invariance_form": parameters["invariance"],
            **{
                name: parameters[name]
                for name in (
                    "regularizer",
                    "invariance_weight",
                    "variance_weight",
                    "covariance_weight",
                    "orthogonality_weight",
                    "unit_rows",
                )
            },
        },
    )


def _refuse(name: str, value: object, expected: str) -> None:
    raise InputError(f"{name}={value!r}: expected {expected}")
