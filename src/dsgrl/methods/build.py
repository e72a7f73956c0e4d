"""From plain parameters to a method: checked first, then built."""

import copy
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from torch import nn

from dsgrl.augment import (
    FeatureAugmenter,
    FixedTopology,
    PerTypeAugmenter,
    Topology,
    TopologyAugmenter,
)
from dsgrl.encode import Encoder, PyGEncoder, Readout
from dsgrl.graph import Schema
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.typing import (
    AggregateName,
    AugmentName,
    CandidatesName,
    EncoderName,
    InputError,
    InvarianceName,
    JumpName,
    Level,
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


_COUNT: Rule = (_is_count, "a whole number from 1")
_COUNT_OR_NONE: Rule = (
    lambda value: value is None or _is_count(value),
    "a whole number from 1, or None",
)
_ENCODERS = ("auto", *get_args(EncoderName))
_WEIGHT: Rule = (lambda value: _is_number(value) and value >= 0, "a number from 0")

# Per parameter: whether a value can work, and what was expected if not.
_RULES: dict[str, Rule] = {
    "augment": _one_of(*get_args(AugmentName)),
    "encoder": (
        lambda value: isinstance(value, nn.Module) or value in _ENCODERS,
        f"one of {', '.join(map(repr, _ENCODERS))}, or a module",
    ),
    "norm": _one_of("auto", None, *get_args(NormName)),
    "jump": _one_of("auto", *get_args(JumpName)),
    "readout": _one_of(*get_args(ReadoutName)),
    "aggregate": _one_of(*get_args(AggregateName)),
    "invariance": _one_of(*get_args(InvarianceName)),
    "regularizer": _one_of(*get_args(RegularizerName)),
    "scaling": _one_of(*get_args(ScalingName)),
    "unit_rows": _one_of(False, True),
    "standardize": _one_of("auto", False, True),
    "out_channels": _COUNT,
    "hidden_channels": _COUNT_OR_NONE,
    "num_layers": (
        lambda value: value == "auto" or _is_count(value),
        "'auto' or a whole number from 1",
    ),
    "augment_channels": _COUNT,
    "augment_layers": _COUNT,
    "topology_layers": _COUNT,
    "topology": _one_of(*get_args(TopologyName)),
    "edges_per_node": _COUNT_OR_NONE,
    "edge_multiplier": (
        lambda value: value is None or (_is_number(value) and value > 0),
        "a number above 0, or None",
    ),
    "symmetric": _one_of(False, True),
    "candidates": _one_of(*get_args(CandidatesName)),
    "batch_size": _COUNT_OR_NONE,
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
    adds = parameters["jump"] == "sum" and parameters["num_layers"] != 1
    if adds and hidden not in (None, out):
        _refuse("hidden_channels", hidden, f"{out}, since jump='sum' adds layers")


# What "auto" stands for, by what is embedded.
AUTO: dict[Level, dict[str, Any]] = {
    "node": {
        "encoder": "gcn",
        "num_layers": 2,
        "norm": None,
        "jump": "last",
        "standardize": False,
    },
    "graph": {
        "encoder": "gin",
        "num_layers": 3,
        "norm": "batch",
        "jump": "cat",
        "standardize": True,
    },
}
AUTO["hetero"] = AUTO["node"]


def resolve_auto(parameters: Mapping[str, Any], level: Level) -> dict[str, Any]:
    """Replace "auto" by what it stands for at this level."""
    chosen = {
        name: value
        for name, value in AUTO[level].items()
        if isinstance(parameters[name], str) and parameters[name] == "auto"
    }
    return {**parameters, **chosen}


def build_dsgrl(
    parameters: Mapping[str, Any],
    in_channels: int | Sequence[int],
    *,
    level: Level = "node",
    schema: Schema | None = None,
) -> DSGRLMethod:
    """Build the method for features of `in_channels` columns.

    Args:
        parameters: as `DSGRL.get_params()`, checked.
        in_channels: F; one per node type for "hetero".
        level: what is embedded.
        schema: types and relations for "hetero".
    """
    parameters = resolve_auto(parameters, level)
    augment = parameters["augment"]
    features = topology = None
    if augment in ("feature", "both"):
        features = _build_features(parameters, in_channels)
    if augment in ("topology", "both"):
        topology = _build_topology(parameters, in_channels, schema)
    return DSGRLMethod(
        features,
        topology,
        _build_encoder(parameters, in_channels, schema),
        Readout(parameters["readout"]) if level == "graph" else None,
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
                    "standardize",
                )
            },
        },
    )


def _build_features(
    parameters: Mapping[str, Any], in_channels: int | Sequence[int]
) -> FeatureAugmenter | PerTypeAugmenter:
    width = parameters["augment_channels"]
    options = {
        "num_layers": parameters["augment_layers"],
        "dropout": parameters["dropout"],
    }
    if isinstance(in_channels, int):
        return FeatureAugmenter(in_channels, width, **options)
    return PerTypeAugmenter(in_channels, width, **options)


def _build_topology(
    parameters: Mapping[str, Any],
    in_channels: int | Sequence[int],
    schema: Schema | None,
) -> Topology:
    names = ("edges_per_node", "edge_multiplier", "symmetric", "keep_edges", "refresh")
    options = {name: parameters[name] for name in names}
    if parameters["topology"] != "learned":
        return FixedTopology(parameters["topology"], **options)
    return TopologyAugmenter(
        in_channels,
        parameters["augment_channels"],
        num_layers=parameters["topology_layers"],
        similarity=parameters["similarity"],
        dropout=parameters["dropout"],
        schema=schema,
        **options,
    )


def _build_encoder(
    parameters: Mapping[str, Any],
    in_channels: int | Sequence[int],
    schema: Schema | None,
) -> nn.Module:
    if isinstance(parameters["encoder"], nn.Module):
        if schema is not None:
            _refuse(
                "encoder", "your own module", "'gcn', 'sage' or 'gin' for relations"
            )
        # A copy: training must not change what the user passed.
        return PyGEncoder(copy.deepcopy(parameters["encoder"]))
    augmented = parameters["augment"] != "topology"
    return Encoder(
        parameters["augment_channels"] if augmented else in_channels,
        parameters["hidden_channels"] or parameters["out_channels"],
        parameters["out_channels"],
        num_layers=parameters["num_layers"],
        layer=parameters["encoder"],
        dropout=parameters["dropout"],
        norm=parameters["norm"],
        jump=parameters["jump"],
        schema=schema,
    )


def _refuse(name: str, value: object, expected: str) -> None:
    raise InputError(f"{name}={value!r}: expected {expected}")
