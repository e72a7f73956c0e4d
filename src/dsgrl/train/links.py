"""When to stop without labels: held-out links.

Past its best epoch an embedding keeps lowering the loss while it loses what the
graph says. Links hidden from training notice: `HeldOutLinks.score` is the chance
that a hidden edge looks closer than a random pair.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.graph import Adjacency

HOLDOUT_SHARE = 0.05
# Small graphs hide more, up to a tenth: a score needs some links to be worth anything.
MIN_HELD_OUT = 10
WANTED_HELD_OUT = 50
MAX_HELD_OUT = 20_000


class HeldOutLinks:
    """Some edges hidden from training, and as many random pairs to tell them from.

    Args:
        adjacency: the whole graph [N, N].
        share: share of the node pairs with an edge that are hidden, both directions
            of a pair together.

    Attributes:
        training: the graph without the hidden edges.
    """

    def __init__(self, adjacency: Adjacency, share: float = HOLDOUT_SHARE) -> None:
        num_nodes = adjacency.shape[0]
        source, target = adjacency.edge_index
        # One number per unordered pair.
        pair = torch.minimum(source, target) * num_nodes + torch.maximum(source, target)
        candidates = torch.unique(pair[source != target])
        wanted = min(WANTED_HELD_OUT, candidates.numel() // 10)
        count = min(max(round(share * candidates.numel()), wanted), MAX_HELD_OUT)
        chosen = torch.randperm(candidates.numel())[:count].to(candidates.device)
        hidden = candidates[chosen]
        keep = ~torch.isin(pair, hidden)
        self.training = Adjacency.from_edge_index(
            torch.stack([source, target])[:, keep],
            adjacency.value[keep],
            num_nodes=num_nodes,
        )
        self.edges = torch.stack([hidden // num_nodes, hidden % num_nodes])
        # A node is never paired with itself.
        one = torch.randint(num_nodes, (count,))
        other = (one + 1 + torch.randint(max(num_nodes - 1, 1), (count,))) % num_nodes
        self.pairs = torch.stack([one, other]).to(hidden.device)

    @property
    def usable(self) -> bool:
        """Whether enough links are hidden to judge by."""
        return self.edges.size(1) >= MIN_HELD_OUT

    def standard_error(self, score: float) -> float:
        """How far chance alone may move a score, given how many links are hidden."""
        return math.sqrt(score * (1 - score) / self.edges.size(1))

    def score(self, z: Tensor) -> float:
        """AUC of hidden edges against random pairs, by cosine similarity.

        Args:
            z: embeddings [N, D]; each column is standardised first.
        """
        z = z - z.mean(dim=0)
        z = F.normalize(z / z.std(dim=0).clamp_min(1e-12), dim=1)
        edge, pair = (
            (z[ends[0]] * z[ends[1]]).sum(dim=1) for ends in (self.edges, self.pairs)
        )
        return area_under_curve(edge, pair)


def area_under_curve(positive: Tensor, negative: Tensor) -> float:
    """Chance that a positive outranks a negative; ties count half."""
    ordered = negative.sort().values
    below = torch.searchsorted(ordered, positive, right=False)
    up_to = torch.searchsorted(ordered, positive, right=True)
    return float((below + up_to).double().mean() / (2 * max(negative.numel(), 1)))
