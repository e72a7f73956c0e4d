import resource

import pytest
import torch

from dsgrl.train import allocator
from dsgrl.train.allocator import kept_memory

BLOCK = 12_000_000  # 48 MB of float32: more than glibc ever keeps by itself


def faults() -> int:
    """Count the pages touched for the first time by making and dropping a tensor."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(BLOCK)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(allocator._glibc() is None, reason="only where there is glibc")
def test_kept_memory__is_not_asked_for_again() -> None:
    with kept_memory():
        faults()
        again = faults()
    outside = min(faults() for _ in range(2))
    assert again < outside / 4


def test_kept_memory__does_nothing_without_glibc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    with kept_memory():
        assert torch.ones(3).sum() == 3


def test_kept_memory__an_error_passes_through() -> None:
    with pytest.raises(RuntimeError, match="boom"), kept_memory():
        raise RuntimeError("boom")
