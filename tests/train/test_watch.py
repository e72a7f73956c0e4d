"""Which epoch is kept, given what was seen."""

import pytest
import torch
from torch import nn

from dsgrl.train.watch import Candidate, Watch

# (link_auc, slope) per look, the untrained model first; looks are 10 epochs apart. The
# standard error is 0.02.
Seen = list[tuple[float, float]]
CASES: dict[str, tuple[Seen, int]] = {
    "links are near their best before the spectrum turns": (
        [(0.6, 1.0), (0.8, 1.5), (0.89, 1.8), (0.9, 2.0), (0.9, 1.9)],
        20,
    ),
    "the spectrum turns while links creep on": (
        [(0.6, 1.0), (0.8, 1.5), (0.84, 1.8), (0.88, 1.7), (0.92, 1.2)],
        20,
    ),
    "the spectrum never turns": (
        [(0.6, 1.0), (0.8, 1.5), (0.9, 1.8), (0.85, 2.0), (0.8, 2.2)],
        20,
    ),
    "a steep spectrum of a model that is on its way does not count": (
        [(0.6, 1.0), (0.5, 9.0), (0.8, 1.5), (0.9, 1.8), (0.91, 1.6)],
        30,
    ),
    "nothing is better than the untrained model": (
        [(0.6, 1.0), (0.5, 2.0), (0.55, 1.5)],
        0,
    ),
    "what is better by chance alone is not kept": (
        [(0.6, 1.0), (0.5, 2.0), (0.61, 1.5)],
        0,
    ),
}


class Scripted(Watch):
    """Sees what it is told to see."""

    def __init__(self, seen: Seen) -> None:
        self.seen = iter(seen)
        self.method = nn.Linear(1, 1)  # type: ignore[assignment]
        self.links = type("Links", (), {"standard_error": lambda *_: 0.02})()
        self.near, self.steepest = [], None
        self.untrained = self._candidate(0)

    def _candidate(self, epoch: int) -> Candidate:
        link_auc, slope = next(self.seen)
        state = {"weight": torch.full((1, 1), float(epoch)), "bias": torch.zeros(1)}
        return Candidate(epoch, link_auc, slope, state)


@pytest.mark.parametrize("case", CASES)
def test_watch__keeps(case: str) -> None:
    seen, expected = CASES[case]
    watch = Scripted(seen)
    for number in range(1, len(seen)):
        watch.look(10 * number)
    assert watch.restore() == expected
    # The state of that epoch, too.
    assert watch.method.weight.item() == expected


def test_watch__patience_counts_from_the_best_of_training() -> None:
    watch = Scripted([(0.9, 1.0), (0.5, 2.0), (0.6, 1.5), (0.7, 1.2)])
    assert watch.best_trained == 0
    found = []
    for number in (1, 2, 3):
        watch.look(10 * number)
        found.append(watch.best_trained)
    assert found == [10, 20, 30]
    assert watch.restore() == 0
