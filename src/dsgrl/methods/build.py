"""From plain parameters to a method: checked first, then built."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from dsgrl.augment import (
    FeatureAugmenter,
    FixedTopology,
    Perturbation,
    PerTypeAugmenter,
    Topology,
    TopologyAugmenter,
)
from dsgrl.encode import Encoder, PyGEncoder, Readout
from dsgrl.graph import Schema
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.methods.rules import RULES, refuse
from dsgrl.typing import Level


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse values that cannot work.

    Raises:
        InputError: naming the parameter, the value given and the values allowed.
    """
    for name, (accepts, expected) in RULES.items():
        if not accepts(parameters[name]):
            refuse(name, parameters[name], expected)
    hidden, out = parameters["hidden_channels"], parameters["out_channels"]
    adds = parameters["jump"] == "sum" and parameters["num_layers"] != 1
    if adds and hidden not in (None, out):
        refuse("hidden_channels", hidden, f"{out}, since jump='sum' adds layers")


# Views that differ in more than their learned features need no other help.
PLAIN: dict[str, Any] = {
    "edge_drop": 0.0,
    "covariance_weight": 1.0,
    "weight_decay": 0.0,
    "scaling": "columns",
}
# What "auto" stands for, by what is embedded. The decay of nodes hangs on how many
# there are, and is left to training.
AUTO: dict[Level, dict[str, Any]] = {
    "node": {
        "augment": "feature",
        "topology": "learned",
        "encoder": "gcn",
        "num_layers": 2,
        "norm": None,
        "jump": "last",
        "standardize": False,
        "gain": 0.7,
        "edge_drop": 0.3,
        "covariance_weight": 2.0,
        "scaling": "length",
    },
    "graph": {
        "augment": "feature",
        "topology": "learned",
        "encoder": "gin",
        "num_layers": 3,
        "norm": "batch",
        "jump": "cat",
        "standardize": True,
        "gain": 1.0,
        **PLAIN,
    },
}
AUTO["hetero"] = {
    **AUTO["node"],
    "augment": "topology",
    "topology": "two_hop",
    "gain": 1.0,
    **PLAIN,
}


def resolve_auto(parameters: Mapping[str, Any], level: Level) -> dict[str, Any]:
    """Replace "auto" by what it stands for at this level."""
    standard = AUTO[level]
    if parameters["augment"] in ("topology", "both"):
        standard = {**standard, **PLAIN, "topology": "learned"}
    chosen = {
        name: value
        for name, value in standard.items()
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
    encoder = _build_encoder(parameters, in_channels, schema)
    _scale_weights([features, encoder], parameters["gain"])
    return DSGRLMethod(
        features,
        topology,
        encoder,
        Readout(parameters["readout"]) if level == "graph" else None,
        Perturbation(
            edge_drop=parameters["edge_drop"],
            # Learned features hide columns themselves, others from each view.
            feature_mask=0.0 if features else parameters["feature_mask"],
        ),
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


@torch.no_grad()
def _scale_weights(parts: Sequence[nn.Module | None], gain: float) -> None:
    """Make the weight matrices on the way from features to embedding smaller.

    An encoder of the user's own stays as it is.
    """
    for part in parts:
        if part is not None and not isinstance(part, PyGEncoder):
            for parameter in part.parameters():
                # Biases start at 0, and those of a normalisation are not its size.
                if parameter.dim() > 1:
                    parameter.mul_(gain)


def _build_features(
    parameters: Mapping[str, Any], in_channels: int | Sequence[int]
) -> FeatureAugmenter | PerTypeAugmenter:
    width = parameters["augment_channels"]
    options = {
        "num_layers": parameters["augment_layers"],
        "dropout": parameters["dropout"],
        "mask": parameters["feature_mask"],
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
            refuse("encoder", "your own module", "'gcn', 'sage' or 'gin' for relations")
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
