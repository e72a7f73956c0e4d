"""Ranks that are threads of this process: their mathematics without their start."""

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dsgrl.ranks import ManyRanks


class ThreadRank(ManyRanks):
    """One of several threads; tensors are summed by rising rank."""

    def __init__(self, rank: int, count: int, slots: list[Any], barrier: Any) -> None:
        super().__init__(rank, count)
        self.slots, self.barrier = slots, barrier
        self.exchanged = 0

    def reduce(self, value: Tensor) -> Tensor:
        self.slots[self.rank] = value.detach()
        self.barrier.wait(30)
        assert len({part.shape for part in self.slots}) == 1
        total = torch.stack(self.slots).sum(0).to(value.dtype)
        self.barrier.wait(30)
        self.exchanged += value.numel()
        return total

    def generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(7)


def run_ranks(count: int, act: Callable[[ThreadRank], Any]) -> list[Any]:
    """Call a function on every rank at the same time; return the results in order."""
    slots: list[Any] = [None] * count
    barrier = threading.Barrier(count)
    results: list[Any] = [None] * count
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            results[rank] = act(ThreadRank(rank, count, slots, barrier))
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        # The first one is the cause; the others have waited in vain.
        raise errors[0]
    return results
