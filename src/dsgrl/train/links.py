"""When to stop without labels: held-out links.

After the best epoch the loss still falls while the embedding loses structure of the
graph. Links hidden from training show this: `HeldOutLinks.score` is the probability
that a hidden edge has a higher similarity than a random pair.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.graph import Adjacency, Relations
from dsgrl.train.seed import seeded

HOLDOUT_SHARE = 0.05
# Small graphs hide more, up to a tenth: a score of very few links is unreliable.
MIN_HELD_OUT = 10
WANTED_HELD_OUT = 50
MAX_HELD_OUT = 20_000
# Random pairs are cheap: with few hidden links, more pairs reduce the variance.
PAIRS_PER_LINK, ENOUGH_PAIRS = 20, 20_000


class HeldOutLinks:
    """Edges hidden from training, and random pairs to compare them with.

    Embeddings of different node types are not comparable. Where a hidden edge joins
    two types, each of its ends is compared with another neighbour of the other end (a
    film with the other films of the director it was cut from), against a random node
    of its own type.

    Args:
        adjacency: the whole graph [N, N], or its relations.
        share: share of the node pairs with an edge that are hidden, both directions
            of a pair, and all its relations, together.

    Attributes:
        training: the graph without the hidden edges.

    Note:
        The links depend only on the seed last given to torch, not on the random
        numbers drawn since: models of any width are scored on the same links.
    """

    def __init__(
        self, adjacency: Adjacency | Relations, share: float = HOLDOUT_SHARE
    ) -> None:
        with seeded(torch.initial_seed()):
            self._draw(adjacency, share)

    def _draw(self, adjacency: Adjacency | Relations, share: float) -> None:
        num_nodes = adjacency.shape[0]
        numbers = [
            _pair_numbers(part.edge_index, source, target, num_nodes)
            for part, source, target in adjacency.parts()
        ]
        pair = torch.cat(numbers)
        candidates = torch.unique(pair[pair // num_nodes != pair % num_nodes])
        wanted = min(WANTED_HELD_OUT, candidates.numel() // 10)
        count = min(max(round(share * candidates.numel()), wanted), MAX_HELD_OUT)
        chosen = torch.randperm(candidates.numel())[:count].to(candidates.device)
        hidden = candidates[chosen]
        self.training = adjacency.with_parts(
            [
                part.select(~torch.isin(number, hidden))
                for (part, _, _), number in zip(adjacency.parts(), numbers, strict=True)
            ]
        )
        self.edges = torch.stack([hidden // num_nodes, hidden % num_nodes])
        if isinstance(self.training, Relations):
            self.edges, self.pairs = _within_types(self.edges, self.training)
            return
        # A node is never paired with itself.
        drawn = max(min(PAIRS_PER_LINK * count, ENOUGH_PAIRS), count)
        one = torch.randint(num_nodes, (drawn,))
        other = (one + 1 + torch.randint(max(num_nodes - 1, 1), (drawn,))) % num_nodes
        self.pairs = torch.stack([one, other]).to(hidden.device)

    @property
    def usable(self) -> bool:
        """Whether enough links are hidden for a score."""
        return self.edges.size(1) >= MIN_HELD_OUT

    def standard_error(self, score: float) -> float:
        """Standard error of a score, given the number of hidden links."""
        return math.sqrt(score * (1 - score) / self.edges.size(1))

    def score(self, kinds: tuple[Tensor, ...], *, standardize: bool = True) -> float:
        """AUC of hidden edges against random pairs, by cosine similarity.

        Args:
            kinds: embeddings of the nodes of each type [N_type, D]; each column of
                each type is centred first.
            standardize: also give each column deviation 1. Not for columns ordered by
                what they say, such as principal directions: the last ones are noise.
        """
        scale = standardized if standardize else centered
        z = torch.cat([scale(kind) for kind in kinds])
        z = F.normalize(z, dim=1)
        edge, pair = (
            (z[ends[0]] * z[ends[1]]).sum(dim=1) for ends in (self.edges, self.pairs)
        )
        return area_under_curve(edge, pair)


def standardized(z: Tensor) -> Tensor:
    """Give every column mean 0 and deviation 1; a single row becomes zero."""
    if z.size(0) < 2:
        return torch.zeros_like(z)
    return centered(z) / z.std(dim=0).clamp_min(1e-12)


def centered(z: Tensor) -> Tensor:
    """Give every column mean 0."""
    return z - z.mean(dim=0)


def _pair_numbers(edges: Tensor, source: int, target: int, num_nodes: int) -> Tensor:
    """One number per unordered pair; nodes of all types are numbered jointly [E]."""
    one, other = edges[0] + source, edges[1] + target
    return torch.minimum(one, other) * num_nodes + torch.maximum(one, other)


def _within_types(edges: Tensor, training: Relations) -> tuple[Tensor, Tensor]:
    """Turn hidden edges into pairs of one type, and draw random pairs of that type.

    Returns:
        Positive pairs and random pairs [2, P] each.
    """
    bounds = torch.tensor(training.bounds, device=edges.device)
    kind = torch.bucketize(torch.arange(int(bounds[-1])), bounds[1:].cpu(), right=True)
    kind = kind.to(edges.device)
    one, other = torch.cat([edges, edges.flip(0)], dim=1)
    same = kind[one] == kind[other]
    # Reverse relations are included: a row lists all neighbours of its node.
    pattern = training.as_one().pattern
    first, degree = pattern.rowptr[other].long(), pattern.rowptr.diff()[other].long()
    drawn = (torch.rand(one.numel()).to(edges.device) * degree).long()
    last = max(pattern.col.numel() - 1, 0)
    neighbor = pattern.col[(first + drawn).clamp_max(last)].long()
    near = torch.where(same, other, neighbor)
    usable = (kind[near] == kind[one]) & (near != one) & (same | (degree > 0))
    one, near = one[usable], near[usable]
    low, size = bounds[kind[one]], bounds.diff()[kind[one]]
    # An offset of at least 1, so that a node is never paired with itself.
    steps = 1 + (torch.rand(one.numel()).to(edges.device) * (size - 1)).long()
    far = low + (one - low + steps) % size
    return torch.stack([one, near]), torch.stack([one, far])


def area_under_curve(positive: Tensor, negative: Tensor) -> float:
    """Probability that a positive outranks a negative; ties count half."""
    ordered = negative.sort().values
    below = torch.searchsorted(ordered, positive, right=False)
    up_to = torch.searchsorted(ordered, positive, right=True)
    return float((below + up_to).double().mean() / (2 * max(negative.numel(), 1)))
