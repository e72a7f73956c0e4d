"""Whether one graph is trained on at once or in parts, and which parts."""

import logging
import math
from dataclasses import dataclass

from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig, NodeBatches, StopByLinks
from dsgrl.parameters import is_auto
from dsgrl.train.memory import (
    available_bytes,
    check_finish,
    in_words,
    missing_bytes,
)
from dsgrl.typing import InputError, SamplingName

logger = logging.getLogger(__name__)

# Random nodes are a batch of their own where so many neighbours are among them.
ENOUGH_NEIGHBORS = 4
# Bytes that need no mention.
SMALL = 1e8
# Neighbourhoods that make up more of the graph than this are no longer small.
LARGEST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """How many nodes a batch needs, roughly.

    Attributes:
        inside: neighbours of a node among as many random nodes as are in a batch.
        share: share of the graph that sampled neighbourhoods reach, 1 at most.
    """

    inside: float
    share: float

    @classmethod
    def of(cls, graph: Graph, batches: NodeBatches, depth: int) -> "Neighborhood":
        """Estimate from the mean degree; no edge is looked at."""
        nodes = max(graph.num_nodes, 1)
        degree = graph.adjacency.num_edges / nodes
        reached = batches.size * (1 + min(degree, batches.num_neighbors)) ** depth
        return cls(degree * batches.size / nodes, min(1.0, reached / nodes))


def plan_batches(
    graph: Graph, method: Method, config: FitConfig, given: FitConfig
) -> FitConfig:
    """Choose parts of the graph if memory is short, and count epochs by their steps.

    An epoch in parts has many steps: under `epochs="auto"` there are as many fewer
    epochs, so that the number of steps is that of training on all nodes at once.

    Args:
        graph: the training data.
        method: the method.
        config: its parameters, resolved.
        given: the parameters as they were given.

    Raises:
        InputError: if the method cannot train on such parts, or if even these, and
            the embedding of all nodes, do not fit.
    """
    batches = config.batch_size
    if is_auto(given.batch_size):
        check_finish(graph, method)
    missing = "" if batches is not None else missing_bytes(graph, method)
    if missing and is_auto(given.batch_size) and config.takes_node_batches():
        logger.warning("%s: training on parts of the graph (batch_size)", missing)
        batches = NodeBatches()
    elif missing:
        logger.warning("%s: set batch_size, or lower out_channels", missing)
    if isinstance(batches, NodeBatches):
        config = in_parts(graph, method, config, given, batches)
    _announce(graph, method, config)
    return config


def _announce(graph: Graph, method: Method, config: FitConfig) -> None:
    """Say how one graph is trained on, and what is free for it, if it takes much."""
    if graph.ptr is not None or config.epochs == 0 or not method.is_trained:
        return
    batches, needed = config.batch_size, method.training_bytes(graph)
    if isinstance(batches, NodeBatches):
        way = f"parts of {batches.size} nodes (sampling: {batches.sampling})"
    elif needed is None or needed < SMALL:
        return
    else:
        way = f"all nodes at once, about {in_words(needed)}"
    logger.info("training on %s; %s are free", way, in_words(available_bytes()))


def in_parts(
    graph: Graph,
    method: Method,
    config: FitConfig,
    given: FitConfig,
    batches: NodeBatches,
) -> FitConfig:
    """Return the parameters for training on parts of a graph; see `plan_batches`.

    Args:
        graph: the training data.
        method: the method.
        config: its parameters, resolved.
        given: the parameters as they were given.
        batches: the parts.

    Raises:
        InputError: if the method cannot train on such parts.
    """
    if batches.sampling == "neighbors" and not method.takes_targets:
        raise InputError(
            "batch_size__sampling='neighbors': expected 'random' or 'clusters', this "
            "method compares all nodes of a batch"
        )
    if batches.sampling == "rows" and method.needs_edges:
        raise InputError(
            "batch_size__sampling='rows': expected another, this method needs edges in "
            "every step (encoder='decoupled' beside learned_features or node_alone "
            "does not)"
        )
    if is_auto(batches.sampling):
        batches = batches.replace(sampling=_pick(graph, method, batches))
    steps = math.ceil(graph.num_nodes / batches.size)
    epochs = config.epochs
    if isinstance(epochs, StopByLinks) and is_auto(given.epochs):
        epochs = _fewer(epochs, steps)
    return config.replace(batch_size=batches, epochs=epochs)


def _pick(graph: Graph, method: Method, batches: NodeBatches) -> SamplingName:
    """Sample neighbours unless they are most of the graph, or not needed at all."""
    if not method.needs_edges:
        return "rows"
    near = Neighborhood.of(graph, batches, method.num_hops)
    is_small = near.share <= LARGEST_SHARE
    if method.takes_targets and (is_small or near.inside < ENOUGH_NEIGHBORS):
        return "neighbors"
    return "random"


def _fewer(rule: StopByLinks, steps: int) -> int | StopByLinks:
    """Return a rule of the same number of steps; one epoch needs no rule."""
    most = math.ceil(rule.max_epochs / steps)
    if most == 1:
        return 1
    return rule.replace(
        max_epochs=most,
        patience=max(2, math.ceil(rule.patience / steps)),
        check_every=max(1, rule.check_every // steps),
    )
