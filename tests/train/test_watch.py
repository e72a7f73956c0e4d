"""Which epoch is kept, given what was seen."""

from typing import TYPE_CHECKING, Any, cast

import pytest
import torch
from torch import nn

from dsgrl.methods import StopByLinks
from dsgrl.train.watch import Candidate, Watch

if TYPE_CHECKING:
    from dsgrl.graph import Graph

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
    """Sees what the script says."""

    def __init__(
        self, script: list[float], *, has_fallback: bool = False, **rule: Any
    ) -> None:
        self.script = iter(script)
        method: Any = nn.Linear(1, 1)
        method.has_fallback = has_fallback
        links = type("Links", (), {"standard_error": lambda *_: 0.02})()
        super().__init__(
            method,
            cast("Graph", None),
            links,
            StopByLinks(tolerance=1.0).replace(**rule),
        )

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


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # The untrained model may predict links as well as any, and be worth nothing.
        ([0.66, 0.62, 0.64, 0.65], 20),
        ([0.9, 0.55, 0.6, 0.7], 30),
        # Nothing has been learned of the links.
        ([0.6, 0.5, 0.51, 0.49], 0),
    ],
)
def test_watch__with_a_fallback_compares_with_chance(
    seen: list[float], expected: int
) -> None:
    watch = Scripted(seen, has_fallback=True)
    for number in range(1, len(seen)):
        watch.look(10 * number)
    assert watch.restore() == expected


@pytest.mark.parametrize(("best", "expected"), [(0.515, 0), (0.525, 10)])
def test_watch__with_a_fallback_is_a_standard_error_above_chance(
    best: float, expected: int
) -> None:
    watch = Scripted([0.6, best, 0.5], has_fallback=True, tolerance=0.25)
    for number in (1, 2):
        watch.look(10 * number)
    assert watch.restore() == expected


@pytest.mark.parametrize(("tolerance", "expected"), [(0.0, 40), (0.6, 30), (1.0, 20)])
def test_watch__less_tolerance_keeps_a_later_epoch(
    tolerance: float, expected: int
) -> None:
    watch = Scripted([0.6, 0.8, 0.891, 0.9, 0.91], tolerance=tolerance)
    for number in range(1, 5):
        watch.look(10 * number)
    assert watch.restore() == expected


def test_watch__patience_counts_from_what_training_would_keep() -> None:
    watch = Scripted([0.9, 0.5, 0.6, 0.7])
    assert watch.selection.kept_if_trained == 0
    found = []
    for number in (1, 2, 3):
        watch.look(10 * number)
        found.append(watch.selection.kept_if_trained)
    assert found == [10, 20, 30]
    assert watch.restore() == 0


STOPS: dict[str, tuple[list[float], int | None]] = {
    "after a best epoch": ([0.6, 0.9, 0.8, 0.7, 0.6, 0.5], 40),
    "on a plain": ([0.6, 0.9, 0.89, 0.9, 0.91, 0.9], 40),
    # Once the lowest point is more than `patience` epochs back, training stops.
    "after a low that leads nowhere": ([0.6, 0.9, 0.6, 0.7, 0.8, 0.8, 0.8, 0.8], 60),
    "not on the way up": ([0.9, 0.85, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9], None),
}


@pytest.mark.parametrize("case", STOPS)
def test_watch__stops(case: str) -> None:
    script, expected = STOPS[case]
    watch = Scripted(script, patience=30)
    stopped = None
    for number in range(1, len(script)):
        watch.look(10 * number)
        if stopped is None and watch.should_stop(10 * number):
            stopped = 10 * number
    assert stopped == expected


def test_watch__does_not_stop_before_the_first_look() -> None:
    watch = Scripted([0.6, 0.8], patience=20)
    assert not watch.should_stop(30)
    watch.look(50)
    assert not watch.should_stop(60)
    assert watch.should_stop(70)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_watch__goes_on_from_a_saved_state(case: str, at: int) -> None:
    seen, expected = CASES[case]
    watch = Scripted(seen)
    for number in range(1, len(seen)):
        if number == at + 1:
            again = Scripted([0.5, *seen[number:]])
            again.load_state_dict(watch.state_dict())
            watch = again
        watch.look(10 * number)
    assert watch.restore() == expected
    assert watch.method.weight.item() == expected
    assert watch.measure() == {"link_auc": seen[0]}
