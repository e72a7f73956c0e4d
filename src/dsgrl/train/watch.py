"""Which epoch to keep, by what the graph itself says.

Two signals turn when an embedding has learned what there is to learn: the AUC of hidden
links stops rising, and the spectrum, steeper and steeper until then, flattens because
the regulariser goes on to spread noise. Each of them alone can be late on some graph;
the earlier of the two is kept (docs/CHOOSING.md measures it).
"""

import copy
import logging
from dataclasses import dataclass

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.train.diagnostics import spectrum_slope
from dsgrl.train.links import HeldOutLinks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A state that may be kept, and what was measured of it."""

    epoch: int
    link_auc: float
    slope: float
    state: dict[str, Tensor]


class Watch:
    """Follows a method in training and goes back to the epoch to keep.

    That is the earlier of two: the earliest epoch whose AUC is within one standard
    error of the best (it goes on creeping up for long), and the epoch of the steepest
    spectrum among those whose AUC is above the untrained model's. The untrained model
    is kept if its AUC is as near the best.

    Args:
        method: what is trained.
        batch: the graph it is trained on.
        links: the edges hidden from it.
    """

    def __init__(self, method: Method, batch: Graph, links: HeldOutLinks) -> None:
        self.method, self.batch, self.links = method, batch, links
        self.untrained = self._candidate(0)
        # Trained states whose AUC is near the best, each better than the one before.
        self.near: list[Candidate] = []
        self.steepest: Candidate | None = None

    def measure(self) -> dict[str, float]:
        """Return what was measured of the untrained model."""
        return _signals(self.untrained)

    def look(self, epoch: int) -> dict[str, float]:
        """Measure the present state and remember it if it may be kept."""
        now = self._candidate(epoch)
        if not self.near or now.link_auc > self.near[-1].link_auc:
            least = self._near(now.link_auc)
            self.near = [c for c in self.near if c.link_auc >= least] + [now]
        # What tells links worse than the untrained model is on its way, not there.
        if now.link_auc > self.untrained.link_auc and (
            self.steepest is None or now.slope > self.steepest.slope
        ):
            self.steepest = now
        return _signals(now)

    @property
    def best_trained(self) -> int:
        """The epoch to keep were there no untrained model; 0 before the first look.

        Training often makes the AUC fall at first: the untrained model takes part in
        what is kept, not in when to stop.
        """
        return self._best().epoch if self.near else 0

    def restore(self) -> int:
        """Go back to the epoch to keep and return it."""
        kept = self.untrained
        if self.near and kept.link_auc < self._near(self.near[-1].link_auc):
            kept = self._best()
        self.method.load_state_dict(kept.state)
        logger.info(
            "kept epoch %d: held-out links told apart with AUC %.3f",
            kept.epoch,
            kept.link_auc,
        )
        return kept.epoch

    def _best(self) -> Candidate:
        earliest = self.near[0]
        if self.steepest is None or earliest.epoch < self.steepest.epoch:
            return earliest
        return self.steepest

    def _near(self, best: float) -> float:
        """The lowest AUC that counts as near this one."""
        return best - self.links.standard_error(best)

    @torch.no_grad()
    def _candidate(self, epoch: int) -> Candidate:
        self.method.eval()
        kinds = self.batch.split(self.method.embed(self.batch))
        slopes = [spectrum_slope(kind) for kind in kinds if len(kind) > 1]
        return Candidate(
            epoch,
            self.links.score(kinds),
            sum(slopes) / max(len(slopes), 1),
            copy.deepcopy(self.method.state_dict()),
        )


def _signals(candidate: Candidate) -> dict[str, float]:
    return {"link_auc": candidate.link_auc, "slope": candidate.slope}
