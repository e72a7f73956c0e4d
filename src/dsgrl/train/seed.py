"""Seeding of torch; the only place where seeds are set."""

from collections.abc import Iterator
from contextlib import contextmanager

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
