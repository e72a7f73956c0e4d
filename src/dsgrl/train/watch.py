"""Which epoch to keep, by what the graph itself says: held-out links."""

import copy
import logging
from dataclasses import dataclass

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.train.links import HeldOutLinks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A state that may be kept, and how well it tells held-out links."""

    epoch: int
    link_auc: float
    state: dict[str, Tensor]


class Watch:
    """Follows a method in training and goes back to the epoch to keep.

    That is the earliest epoch whose AUC is within a standard error of the best, or some
    part of it, the untrained model included: the AUC goes on creeping up long after the
    embedding has begun to spread noise.

    Args:
        method: what is trained.
        batch: the graph it is trained on.
        links: the edges hidden from it.
        tolerance: by how many standard errors to be behind the best.
    """

    def __init__(
        self,
        method: Method,
        batch: Graph,
        links: HeldOutLinks,
        tolerance: float = 1.0,
    ) -> None:
        self.method, self.batch, self.links = method, batch, links
        self.tolerance = tolerance
        self.untrained = self._candidate(0)
        # Trained states whose AUC is near the best, each better than the one before.
        self.near: list[Candidate] = []
        self.seen: dict[int, float] = {}

    def measure(self) -> dict[str, float]:
        """Return what was measured of the untrained model."""
        return {"link_auc": self.untrained.link_auc}

    def look(self, epoch: int) -> dict[str, float]:
        """Measure the present state and remember it if it may be kept."""
        now = self._candidate(epoch)
        self.seen[epoch] = now.link_auc
        if not self.near or now.link_auc > self.near[-1].link_auc:
            least = self._near(now.link_auc)
            self.near = [c for c in self.near if c.link_auc >= least] + [now]
        return {"link_auc": now.link_auc}

    @property
    def kept_if_trained(self) -> int:
        """The epoch to keep were there no untrained model; 0 before the first look.

        Training often makes the AUC fall at first: the untrained model takes part in
        what is kept, not in when to stop.
        """
        return self.near[0].epoch if self.near else 0

    def should_stop(self, epoch: int, patience: int) -> bool:
        """Whether to stop: the epoch to keep lies this far back, and nothing is coming.

        An AUC that is by more than a standard error above the lowest of that time is on
        its way up again.
        """
        if not self.seen or epoch - self.kept_if_trained < patience:
            return False
        last = max(self.seen)
        recent = [auc for at, auc in self.seen.items() if at > last - patience]
        return min(recent) >= recent[-1] - self.links.standard_error(recent[-1])

    def restore(self) -> int:
        """Go back to the epoch to keep and return it."""
        kept = self.untrained
        if self.near and kept.link_auc < self._near(self.near[-1].link_auc):
            kept = self.near[0]
        self.method.load_state_dict(kept.state)
        logger.info(
            "kept epoch %d: held-out links told apart with AUC %.3f",
            kept.epoch,
            kept.link_auc,
        )
        return kept.epoch

    def _near(self, best: float) -> float:
        """The lowest AUC that counts as near this one."""
        return best - self.tolerance * self.links.standard_error(best)

    @torch.no_grad()
    def _candidate(self, epoch: int) -> Candidate:
        self.method.eval()
        z = self.method.embed(self.batch)
        link_auc = self.links.score(self.batch.split(z))
        return Candidate(epoch, link_auc, copy.deepcopy(self.method.state_dict()))
