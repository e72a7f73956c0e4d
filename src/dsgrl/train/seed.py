"""Seeding of torch; the only place where seeds are set."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from `seed` inside the block; restore the global state afterwards.

    Args:
        seed: any whole number from 0 to 2**32 - 1.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def reseed(seed: int, rank: int) -> None:
    """Let every process draw other numbers from here on; the first one goes on.

    Args:
        seed: that of `seeded`, whose block this is called in.
        rank: number of the process.
    """
    if rank:
        (own,) = np.random.SeedSequence([seed, rank]).generate_state(1, np.uint64)
        torch.manual_seed(int(own))


def seeded_generator(seed: int) -> torch.Generator:
    """Return a generator of its own."""
    return torch.Generator().manual_seed(seed)
