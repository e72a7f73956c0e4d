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

    def __init__(self, script: list[float]) -> None:
        self.script = iter(script)
        self.seen = {}
        self.method = nn.Linear(1, 1)  # type: ignore[assignment]
        self.links = type("Links", (), {"standard_error": lambda *_: 0.02})()
        self.near, self.tolerance = [], 1.0
        self.untrained = self._candidate(0)

    def _candidate(self, epoch: int) -> Candidate:
        state = {"weight": torch.full((1, 1), float(epoch)), "bias": torch.zeros(1)}
        return Candidate(epoch, next(self.script), state)


@pytest.mark.parametrize("case", CASES)
def test_watch__keeps(case: str) -> None:
    seen, expected = CASES[case]
    watch = Scripted(seen)
    for number in range(1, len(seen)):
        watch.look(10 * number)
    assert watch.restore() == expected
    # The state of that epoch, too.
    assert watch.method.weight.item() == expected


@pytest.mark.parametrize(("tolerance", "expected"), [(0.0, 40), (0.6, 30), (1.0, 20)])
def test_watch__less_tolerance_keeps_a_later_epoch(
    tolerance: float, expected: int
) -> None:
    watch = Scripted([0.6, 0.8, 0.891, 0.9, 0.91])
    watch.tolerance = tolerance
    for number in range(1, 5):
        watch.look(10 * number)
    assert watch.restore() == expected


def test_watch__patience_counts_from_what_training_would_keep() -> None:
    watch = Scripted([0.9, 0.5, 0.6, 0.7])
    assert watch.kept_if_trained == 0
    found = []
    for number in (1, 2, 3):
        watch.look(10 * number)
        found.append(watch.kept_if_trained)
    assert found == [10, 20, 30]
    assert watch.restore() == 0


STOPS: dict[str, tuple[list[float], int | None]] = {
    "after a best epoch": ([0.6, 0.9, 0.8, 0.7, 0.6, 0.5], 40),
    "on a plain": ([0.6, 0.9, 0.89, 0.9, 0.91, 0.9], 40),
    # Once the lowest point is out of sight, nothing is coming any more.
    "after a low that leads nowhere": ([0.6, 0.9, 0.6, 0.7, 0.8, 0.8, 0.8, 0.8], 60),
    "not on the way up": ([0.9, 0.85, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9], None),
}


@pytest.mark.parametrize("case", STOPS)
def test_watch__stops(case: str) -> None:
    script, expected = STOPS[case]
    watch = Scripted(script)
    stopped = None
    for number in range(1, len(script)):
        watch.look(10 * number)
        if stopped is None and watch.should_stop(10 * number, patience=30):
            stopped = 10 * number
    assert stopped == expected


def test_watch__does_not_stop_before_the_first_look() -> None:
    watch = Scripted([0.6, 0.8])
    assert not watch.should_stop(30, patience=20)
    watch.look(50)
    assert not watch.should_stop(60, patience=20)
    assert watch.should_stop(70, patience=20)
