"""How similar nodes are looked for in a graph of some size."""

import importlib.util
import logging

from dsgrl.typing import CandidatesName

logger = logging.getLogger(__name__)

# Multiplications of one exact look-up up to which "auto" compares all pairs: a few
# seconds on two cores, 20,000 nodes at width 256. Beyond, the index is faster (three
# to five times at 18,000 to 38,000 nodes, and growing).
EXACT_PRODUCTS = 20_000**2 * 256


def pick_search(candidates: CandidatesName, largest: int, width: int) -> CandidatesName:
    """Choose how learned edges are found.

    Args:
        candidates: what was asked for.
        largest: nodes of the largest graph or node type.
        width: columns that are compared.

    Returns:
        "exact", "index" or "hops".
    """
    if candidates != "auto":
        return candidates
    if largest**2 * width <= EXACT_PRODUCTS:
        return "exact"
    if importlib.util.find_spec("faiss") is not None:
        return "index"
    logger.warning(
        "comparing all pairs of %d nodes takes long, and faiss is not installed: "
        "looking for learned edges two steps around each node (pip install "
        "'dsgrl[scale]')",
        largest,
    )
    return "hops"
