"""From plain parameters to a method: checked first, then built."""

from collections.abc import Mapping
from typing import Any, get_args

from torch import nn

from dsgrl.augment import FeatureAugmenter
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
)

CHOICES: dict[str, tuple[object, ...]] = {
    "augment": get_args(AugmentName),
    "norm": (None, *get_args(NormName)),
    "jump": get_args(JumpName),
    "aggregate": get_args(AggregateName),
    "invariance": get_args(InvarianceName),
    "regularizer": get_args(RegularizerName),
    "scaling": get_args(ScalingName),
}
AT_LEAST_ONE = (
    "out_channels",
    "num_layers",
    "augment_channels",
    "augment_layers",
    "max_epochs",
    "patience",
    "check_every",
)
AT_LEAST_ZERO = (
    "invariance_weight",
    "variance_weight",
    "covariance_weight",
    "orthogonality_weight",
    "weight_decay",
    "warmup_epochs",
)


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse values that cannot work.

    Raises:
        InputError: naming the parameter, the value given and the values allowed.
    """
    for name, allowed in CHOICES.items():
        if parameters[name] not in allowed:
            _refuse(name, parameters[name], f"one of {_listed(allowed)}")
    encoder = parameters["encoder"]
    if not isinstance(encoder, nn.Module) and encoder not in get_args(EncoderName):
        _refuse("encoder", encoder, f"{_listed(get_args(EncoderName))} or a module")
    for name in AT_LEAST_ONE:
        if not isinstance(parameters[name], int) or parameters[name] < 1:
            _refuse(name, parameters[name], "a whole number from 1")
    for name in AT_LEAST_ZERO:
        if not parameters[name] >= 0:
            _refuse(name, parameters[name], "a number from 0")
    hidden = parameters["hidden_channels"]
    if hidden is not None and (not isinstance(hidden, int) or hidden < 1):
        _refuse("hidden_channels", hidden, "a whole number from 1, or None")
    epochs = parameters["epochs"]
    if epochs != "auto" and (not isinstance(epochs, int) or epochs < 0):
        _refuse("epochs", epochs, "'auto' or a whole number from 0")
    if not 0 <= parameters["dropout"] < 1:
        _refuse("dropout", parameters["dropout"], "a share from 0 to below 1")
    if not 0 < parameters["holdout"] < 1:
        _refuse("holdout", parameters["holdout"], "a share between 0 and 1")
    if not parameters["lr"] > 0:
        _refuse("lr", parameters["lr"], "a number above 0")
    if parameters["jump"] == "sum" and hidden not in (None, parameters["out_channels"]):
        _refuse(
            "hidden_channels",
            hidden,
            f"out_channels={parameters['out_channels']}, since jump='sum' adds layers",
        )


def build_dsgrl(parameters: Mapping[str, Any], in_channels: int) -> DSGRLMethod:
    """Build the method for features of `in_channels` columns.

    Args:
        parameters: as `DSGRL.get_params()`, checked.
        in_channels: F.
    """
    augmenter = FeatureAugmenter(
        in_channels,
        parameters["augment_channels"],
        num_layers=parameters["augment_layers"],
        dropout=parameters["dropout"],
    )
    encoder: nn.Module
    if isinstance(parameters["encoder"], nn.Module):
        encoder = PyGEncoder(parameters["encoder"])
    else:
        encoder = Encoder(
            parameters["augment_channels"],
            parameters["hidden_channels"] or parameters["out_channels"],
            parameters["out_channels"],
            num_layers=parameters["num_layers"],
            layer=parameters["encoder"],
            dropout=parameters["dropout"],
            norm=parameters["norm"],
            jump=parameters["jump"],
        )
    return DSGRLMethod(
        augmenter,
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


def _listed(values: tuple[object, ...]) -> str:
    return ", ".join(repr(value) for value in values)
