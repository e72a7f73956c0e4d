"""What fits, estimated before it starts: comparing all pairs, and training at all."""

import importlib.util
import itertools
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from dsgrl.augment.similar import Search
from dsgrl.graph import Graph
from dsgrl.typing import CandidatesName

logger = logging.getLogger(__name__)

# Multiplications of one exact look-up up to which "auto" compares all pairs: a few
# seconds on two cores, 20,000 nodes at width 256. Beyond, the index is faster (three
# to five times at 18,000 to 38,000 nodes, and growing).
EXACT_PRODUCTS = 20_000**2 * 256
NUMBER_BYTES, INDEX_BYTES = 4, 12
GIGABYTE = 1e9


def pick_search(candidates: CandidatesName, graph: Graph, width: int) -> Search:
    """Say how learned edges are found.

    Args:
        candidates: what was asked for.
        graph: the training data.
        width: columns D1 that are compared.
    """
    if candidates != "auto":
        return candidates
    largest = max(b - a for a, b in itertools.pairwise(graph.bounds))
    if largest**2 * width <= EXACT_PRODUCTS:
        return "exact"
    if importlib.util.find_spec("faiss") is not None:
        return "index"
    logger.warning(
        "%d nodes are many to compare all pairs of, and faiss is not there: looking "
        "for learned edges two steps around each node (pip install 'dsgrl[scale]')",
        largest,
    )
    return "hops"


def estimate_training_bytes(graph: Graph, parameters: Mapping[str, Any]) -> float:
    """Estimate what training on all of a graph at once takes beyond the imports.

    Both views of the augmented features and of every layer, each with its gradient,
    and the edges with their transpose and normalised form; what is dropped from dense
    input is a copy for each view. On GitHub's graph, with learned features, it says 484
    MB where 433 were measured.

    Args:
        graph: what is trained on.
        parameters: of `DSGRL`, with what "auto" stands for.
    """
    layers = parameters["num_layers"]
    layers = layers if isinstance(layers, int) else 2
    hidden = parameters["hidden_channels"] or parameters["out_channels"]
    width = 4 * layers * hidden
    if parameters["augment"] in ("feature", "both"):
        width += 2 * parameters["augment_channels"]
    if parameters["feature_drop"] and isinstance(graph.x, Tensor):
        width += graph.x.shape[1]
    edges = 3 * INDEX_BYTES * graph.adjacency.num_edges
    return float(2 * NUMBER_BYTES * graph.num_nodes * width + edges)


def available_bytes() -> float | None:
    """Memory this process may still take, by the system and its own limits."""
    found = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024.0 * int(line.split()[1]))
    limit, used = (
        Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current")
    )
    if limit.exists() and used.exists() and limit.read_text().strip() != "max":
        found.append(float(limit.read_text()) - float(used.read_text()))
    return min(found) if found else None


def warn_if_too_large(graph: Graph, parameters: Mapping[str, Any]) -> None:
    """Tell before a long run that it will hardly fit."""
    available = available_bytes()
    # Many graphs are trained on a batch at a time.
    if available is None or graph.ptr is not None:
        return
    needed = estimate_training_bytes(graph, parameters)
    if needed > available:
        logger.warning(
            "training on %d nodes and %d edges at once takes about %.1f GB, %.1f are "
            "free: lower out_channels, augment_channels or feature_drop",
            graph.num_nodes,
            graph.adjacency.num_edges,
            needed / GIGABYTE,
            available / GIGABYTE,
        )
