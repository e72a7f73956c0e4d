"""From the parameters of DSGRL to the parts of the method."""

import copy
import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from dsgrl.augment import Perturbation, TopologyAugmenter
from dsgrl.encode import DecoupledEncoder, Encoder, PyGEncoder, Readout
from dsgrl.encode.readout import kinds_of
from dsgrl.floor import Joined, build_floor
from dsgrl.graph import Graph, Spec
from dsgrl.parameters import refuse
from dsgrl.typing import Level

logger = logging.getLogger(__name__)

# Weight of what is learned against each part of the floor.
LEARNED_WEIGHT: dict[Level, float] = {"node": 2.0, "graph": 1.0, "hetero": 2.0}
NUMBER_BYTES, INDEX_BYTES = 4, 12


def build_parts(config: Any, spec: Spec) -> dict[str, Any]:
    """Build what `DSGRLMethod` is made of.

    Args:
        config: a resolved `DSGRLConfig`.
        spec: of the training data.
    """
    views: Any = config.views
    if config.smoothing and spec.level != "node":
        refuse("smoothing", config.smoothing, "0 unless nodes are of one type")
    features = views.build_features(spec, config.dropout)
    topology = views.build_graph(spec, config.dropout)
    widths = spec.widths if features is None else views.augment_channels
    encoder = _build_encoder(config, widths, spec)
    if config.encoder == "decoupled" and isinstance(topology, TopologyAugmenter):
        # What is similar is learned from the same hops.
        topology.decouple(config.num_layers)
    _scale_weights([features, encoder], config.gain)
    return {
        "features": features,
        "topology": topology,
        "encoder": encoder,
        "readout": Readout(config.readout) if spec.level == "graph" else None,
        "perturb": views.build_perturbation(),
        "aggregate": config.aggregate,
        "smoothing": config.smoothing,
        "joined": _build_joined(config, encoder, spec) if config.floor else None,
        "objective_options": {
            "invariance_form": config.invariance,
            "regularizer": config.regularizer,
            "invariance_weight": config.invariance_weight,
            "variance_weight": config.variance_weight,
            "covariance_weight": config.covariance_weight,
            "orthogonality_weight": getattr(views, "orthogonality_weight", 0.0),
            "unit_rows": getattr(views, "unit_rows", False),
            "standardize": config.standardize,
        },
    }


def _build_joined(config: Any, encoder: nn.Module, spec: Spec) -> Joined | None:
    """Build what joins the learned embedding and the floor.

    None for an encoder of the user's own whose width is not known.
    """
    width: Any = getattr(encoder, "out_channels", None)
    if not isinstance(width, int):
        logger.warning("your encoder has no out_channels: it is used without the floor")
        return None
    views = 2 if config.aggregate == "concat" else 1
    if spec.level == "graph":
        width *= len(kinds_of(config.readout))
    return Joined(
        build_floor(spec, weighs_own=True),
        # Without training there is nothing to put beside the floor.
        0 if config.epochs == 0 else views * width,
        views * config.out_channels,
        spec.num_types,
        weight=LEARNED_WEIGHT[spec.level],
    )


def _build_encoder(config: Any, widths: Any, spec: Spec) -> nn.Module:
    if isinstance(config.encoder, nn.Module):
        if spec.schema is not None:
            refuse("encoder", "your own module", "'gcn', 'sage' or 'gin' for relations")
        # A copy: training must not change what the user passed.
        return PyGEncoder(copy.deepcopy(config.encoder))
    if config.encoder == "decoupled":
        return _build_decoupled(config, widths, spec)
    return Encoder(
        widths,
        config.hidden_channels or config.out_channels,
        config.out_channels,
        num_layers=config.num_layers,
        layer=config.encoder,
        dropout=config.dropout,
        norm=config.norm,
        jump=config.jump,
        schema=spec.schema,
        last_bias=_sees_shifts(config, spec),
    )


def _build_decoupled(config: Any, width: Any, spec: Spec) -> DecoupledEncoder:
    if spec.level != "node":
        refuse("encoder", "decoupled", "another: it is for one graph of one type")
    for name, plain in (("norm", None), ("jump", "last")):
        if getattr(config, name) != plain:
            wanted = f"{plain!r} beside encoder='decoupled'"
            refuse(name, getattr(config, name), wanted)
    if config.views.edge_drop:
        wanted = "0 beside encoder='decoupled', whose hops are computed once"
        refuse("views__edge_drop", config.views.edge_drop, wanted)
    return DecoupledEncoder(
        width,
        config.hidden_channels or config.out_channels,
        config.out_channels,
        num_hops=config.num_layers,
        dropout=config.dropout,
        last_bias=_sees_shifts(config, spec),
    )


def _sees_shifts(config: Any, spec: Spec) -> bool:
    """Whether a shift common to all nodes changes the objective.

    Eqs. 1 to 4 compare, or centre, the columns; a sum over the nodes of a graph
    multiplies the shift by their number, which differs.
    """
    sums = spec.level == "graph" and "sum" in config.readout
    return sums or config.regularizer != "covariance"


@torch.no_grad()
def _scale_weights(parts: Sequence[nn.Module | None], gain: float) -> None:
    """Make the weight matrices on the way from features to embedding smaller.

    An encoder of the user's own stays as it is.
    """
    for part in parts:
        if part is not None and not isinstance(part, PyGEncoder):
            for weight in part.parameters():
                # Biases start at 0, and those of a normalisation are not its size.
                if weight.dim() > 1:
                    weight.mul_(gain)


def estimate_bytes(
    features: nn.Module | None,
    encoder: nn.Module,
    perturb: Perturbation,
    graph: Graph,
) -> float | None:
    """Estimate what training on all of a graph at once takes beyond the imports.

    Both views of the augmented features and of every layer, each with its gradient,
    and the edges with their transpose and normalised form; what is dropped from dense
    input is a copy for each view. On GitHub's graph, with learned features, it says 484
    MB where 433 were measured. None for an encoder of the user's own.
    """
    if not isinstance(encoder, Encoder | DecoupledEncoder):
        return None
    width = 4 * sum(encoder.widths)
    # Features are augmented, and held, once for every hop.
    tables = 1 + encoder.num_hops if isinstance(encoder, DecoupledEncoder) else 1
    if features is not None:
        augmented: Any = encoder.in_channels
        width += 2 * tables * augmented
    if tables > 1:
        width += tables * graph.x.shape[1]
    if perturb.feature_drop and isinstance(graph.x, Tensor):
        width += graph.x.shape[1]
    edges = 3 * INDEX_BYTES * graph.adjacency.num_edges
    return float(2 * NUMBER_BYTES * graph.num_nodes * width + edges)
