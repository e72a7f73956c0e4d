"""From plain parameters to a method: checked first, then built."""

import copy
import logging
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
from dsgrl.graph import Graph, Schema
from dsgrl.graph.prepare import Preparation
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.methods.rules import RULES, refuse
from dsgrl.typing import Level

logger = logging.getLogger(__name__)


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


# What "auto" stands for, by what is embedded.
AUTO: dict[Level, dict[str, Any]] = {
    "node": {
        # A node among its neighbours, and the same node alone: no second graph, learned
        # or not, does better on most graphs (docs/ABLATIONS.md).
        "augment": "topology",
        "topology": "none",
        "encoder": "gcn",
        "num_layers": 2,
        "norm": None,
        "jump": "last",
        "standardize": False,
        "gain": 0.7,
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
    },
}
AUTO["hetero"] = {**AUTO["node"], "topology": "two_hop", "gain": 1.0}
# And by how the two views differ.
PLAIN: dict[str, Any] = {
    "dropout": 0.5,
    "edge_drop": 0.0,
    "feature_drop": 0.0,
    "covariance_weight": 1.0,
    "weight_decay": 0.0,
    "scaling": "columns",
    "tolerance": 1.0,
    "smoothing": 0,
}
# Nodes alone in one of them: what tells a node must not hang on a few of its features.
ALONE = {
    **PLAIN,
    "dropout": 0.6,
    "feature_drop": 0.4,
    "scaling": "unit",
    "tolerance": 0.5,
    "smoothing": 2,
}
# Learned features on the same edges differ least, and need help to. The decay hangs on
# how many nodes there are, and is left to training.
SAME_EDGES = {
    **PLAIN,
    "edge_drop": 0.3,
    "covariance_weight": 2.0,
    "scaling": "length",
    "weight_decay": "auto",
}


def resolve_auto(
    parameters: Mapping[str, Any], level: Level, *, bare: bool = False
) -> dict[str, Any]:
    """Say what "auto" stands for, wherever it stands.

    Args:
        parameters: as `DSGRL.get_params()`.
        level: what is embedded.
        bare: the features are made from the edges.
    """
    standard = dict(AUTO[level])
    if bare:
        # A node alone has nothing of its own then.
        standard["augment"] = "feature"
    if parameters["topology"] != "auto":
        # A second graph that is named is taken.
        standard["augment"] = "topology"
    if parameters["augment"] != "auto" or standard["augment"] == "feature":
        # A second graph that is asked for is learned.
        standard["topology"] = "learned"
    chosen = {**parameters, **_open(parameters, standard)}
    if level == "node" and chosen["augment"] == "feature":
        standard |= SAME_EDGES
    elif level == "node" and chosen["topology"] == "none":
        standard |= ALONE
    else:
        standard |= PLAIN
    return _open(parameters, standard)


def _open(parameters: Mapping[str, Any], standard: Mapping[str, Any]) -> dict[str, Any]:
    """Take from the standard what the parameters leave open."""
    return {
        name: value
        for name, value in standard.items()
        if isinstance(parameters[name], str)
        and parameters[name] == "auto"
        and value != "auto"
    }


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
    parameters = {**parameters, **resolve_auto(parameters, level)}
    augment = parameters["augment"]
    if parameters["smoothing"] and level != "node":
        refuse("smoothing", parameters["smoothing"], "0 unless nodes are of one kind")
    if parameters["keep_edges"] and parameters["topology"] == "none":
        refuse("keep_edges", True, "False, or a topology that has edges, not 'none'")
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
            feature_drop=parameters["feature_drop"],
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


def build_for(parameters: Mapping[str, Any], preparation: Preparation) -> DSGRLMethod:
    """Build the method for data like that a preparation was made for."""
    counts = [columns.count for columns in preparation.columns]
    return build_dsgrl(
        parameters,
        counts if preparation.level == "hetero" else counts[0],
        level=preparation.level,
        schema=preparation.schema,
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


def note_unused_attributes(graph: Graph, method: DSGRLMethod) -> None:
    """Say so if the edges have attributes that the encoder does not take."""
    given = any(part.attr is not None for part, _, _ in graph.adjacency.parts())
    if given and not getattr(method.encoder, "accepts_attr", False):
        logger.warning(
            "edge_attr is ignored: this encoder takes weights (edge_weight) only; one "
            "of your own may take edge_attr, unless there are several node types"
        )
