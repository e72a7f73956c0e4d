"""Which epoch is kept, given what was seen."""

import pytest
import torch
from torch import nn

from dsgrl.train.watch import Candidate, Watch

# AUC per look, the untrained model first; looks are 10 epochs apart. The standard error
# is 0.02.
CASES: dict[str, tuple[list[float], int]] = {
    "the best": ([0.6, 0.8, 0.9, 0.7], 20),
    "the earliest near the best": ([0.6, 0.8, 0.89, 0.9, 0.91], 20),
    "a model that first gets worse": ([0.6, 0.5, 0.55, 0.8, 0.9], 40),
    "the untrained model if nothing is better": ([0.6, 0.5, 0.55], 0),
    "the untrained model if chance alone is better": ([0.6, 0.5, 0.61], 0),
}


class Scripted(Watch):
    """Sees what it is told to see."""

    def __init__(self, seen: list[float]) -> None:
        self.seen = iter(seen)
        self.method = nn.Linear(1, 1)  # type: ignore[assignment]
        self.links = type("Links", (), {"standard_error": lambda *_: 0.02})()
        self.near = []
        self.untrained = self._candidate(0)

    def _candidate(self, epoch: int) -> Candidate:
        state = {"weight": torch.full((1, 1), float(epoch)), "bias": torch.zeros(1)}
        return Candidate(epoch, next(self.seen), state)


@pytest.mark.parametrize("case", CASES)
def test_watch__keeps(case: str) -> None:
    seen, expected = CASES[case]
    watch = Scripted(seen)
    for number in range(1, len(seen)):
        watch.look(10 * number)
    assert watch.restore() == expected
    # The state of that epoch, too.
    assert watch.method.weight.item() == expected


def test_watch__patience_counts_from_what_training_would_keep() -> None:
    watch = Scripted([0.9, 0.5, 0.6, 0.7])
    assert watch.kept_if_trained == 0
    found = []
    for number in (1, 2, 3):
        watch.look(10 * number)
        found.append(watch.kept_if_trained)
    assert found == [10, 20, 30]
    assert watch.restore() == 0
