"""Early stopping by held-out links: which epoch to keep."""

import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.methods.config import StopByLinks
from dsgrl.train.links import HeldOutLinks

logger = logging.getLogger(__name__)

# AUC of an embedding that knows nothing of the links, and how many standard errors
# above it say that something was learned.
CHANCE, CLEARLY = 0.5, 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A state of the method that may be kept, and its AUC on the held-out links."""

    epoch: int
    link_auc: float
    state: dict[str, Tensor]


class Watch:
    """Scores a method during training and restores the epoch to keep.

    The epoch to keep is the earliest whose AUC is within some standard errors of the
    best, the untrained model included: the AUC still rises slowly long after noise
    has begun to spread in the embedding. A method with a fallback is compared with
    chance, not with its untrained state: where links hardly follow the features, a
    random projection may predict them as well as a good embedding. It has to be a
    standard error above chance at least.

    Args:
        method: the method in training.
        batch: the graph it is trained on.
        links: the edges hidden from it.
        rule: tolerance, patience and how often to score.
    """

    def __init__(
        self, method: Method, batch: Graph, links: HeldOutLinks, rule: StopByLinks
    ) -> None:
        self.method, self.batch, self.links = method, batch, links
        self.rule = rule
        self.untrained = self._candidate(0)
        self.selection = self._select()
        # The states of the epochs that may be kept.
        self.states: dict[int, Candidate] = {0: self.untrained}

    def measure(self) -> dict[str, float]:
        """Return the score of the untrained model."""
        return {"link_auc": self.untrained.link_auc}

    def is_due(self, epoch: int) -> bool:
        """Whether this epoch is scored."""
        return epoch % self.rule.check_every == 0

    def look(self, epoch: int) -> dict[str, float]:
        """Score the current state and store it if it may be kept."""
        now = self._candidate(epoch)
        self.selection.add(epoch, now.link_auc)
        self.states[epoch] = now
        keep = {0, *self.selection.near}
        self.states = {e: state for e, state in self.states.items() if e in keep}
        return {"link_auc": now.link_auc}

    def should_stop(self, epoch: int) -> bool:
        """Whether to stop training; see `Selection.should_stop`."""
        return self.selection.should_stop(epoch)

    def restore(self) -> int:
        """Restore the epoch to keep and return its number."""
        kept = self.states[self.selection.kept]
        self.method.load_state_dict(kept.state)
        logger.info(
            "kept epoch %d: held-out links predicted with AUC %.3f",
            kept.epoch,
            kept.link_auc,
        )
        return kept.epoch

    def state_dict(self) -> dict[str, Any]:
        """Return the scores and the states that may be kept."""
        return {
            "seen": dict(self.selection.seen),
            # Not copied: a candidate's state never changes.
            "states": [
                {"epoch": c.epoch, "link_auc": c.link_auc, "state": c.state}
                for c in self.states.values()
            ],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the scores and states of a `state_dict`."""
        found = [Candidate(**candidate) for candidate in state["states"]]
        self.states = {candidate.epoch: candidate for candidate in found}
        self.untrained = self.states[0]
        self.selection = self._select()
        for epoch, link_auc in state["seen"].items():
            self.selection.add(epoch, link_auc)

    def _select(self) -> "Selection":
        if not self.method.has_fallback:
            return Selection(self.links, self.rule, self.untrained.link_auc)
        return Selection(self.links, self.rule, CHANCE, margin=CLEARLY)

    @torch.no_grad()
    def _candidate(self, epoch: int) -> Candidate:
        self.method.eval()
        z = self.method.watched(self.batch)
        # All processes decide by the same number.
        score = self.links.score(self.batch.split(z))
        link_auc = self.method.ranks.from_first(score)
        return Candidate(epoch, link_auc, copy.deepcopy(self.method.state_dict()))


class Selection:
    """The stopping rule on scores: which epoch is kept and when to stop.

    Args:
        links: gives the standard error of a score.
        rule: tolerance and patience.
        untrained: AUC of the untrained model, or of what else must be exceeded.
        margin: by how many standard errors, at least; or the rule's tolerance.

    Attributes:
        seen: AUC by epoch, of the scored states.
        near: epochs whose AUC is near the best, each better than the one before.
    """

    def __init__(
        self, links: Any, rule: StopByLinks, untrained: float, margin: float = 0.0
    ) -> None:
        self.links, self.untrained = links, untrained
        self.tolerance, self.patience = rule.tolerance, rule.patience
        self.margin: Any = max(margin, rule.tolerance)
        self.seen: dict[int, float] = {}
        self.near: list[int] = []

    def add(self, epoch: int, link_auc: float) -> None:
        """Add the score of an epoch."""
        self.seen[epoch] = link_auc
        if not self.near or link_auc > self.seen[self.near[-1]]:
            least = self._least(link_auc)
            self.near = [e for e in self.near if self.seen[e] >= least] + [epoch]

    @property
    def kept_if_trained(self) -> int:
        """The epoch to keep without the untrained model; 0 before the first score.

        Training often lowers the AUC at first: the untrained model counts for what is
        kept, not for when to stop.
        """
        return self.near[0] if self.near else 0

    @property
    def kept(self) -> int:
        """The epoch to keep."""
        if not self.near:
            return 0
        best = self.seen[self.near[-1]]
        least = best - self.margin * self.links.standard_error(best)
        return self.near[0] if self.untrained < least else 0

    def should_stop(self, epoch: int) -> bool:
        """Whether the epoch to keep is `patience` epochs back and the AUC stays flat.

        The AUC rises if the last value is more than a standard error above the lowest
        of the last `patience` epochs.
        """
        if not self.seen or epoch - self.kept_if_trained < self.patience:
            return False
        last = max(self.seen)
        recent = [auc for at, auc in self.seen.items() if at > last - self.patience]
        lowest: float = recent[-1] - self.links.standard_error(recent[-1])
        return min(recent) >= lowest

    def _least(self, best: float) -> float:
        """The lowest AUC that counts as near the best."""
        tolerance: Any = self.tolerance
        least: float = best - tolerance * self.links.standard_error(best)
        return least
