import subprocess
import sys

import pytest
import torch

from dsgrl.train import allocator
from dsgrl.train.allocator import retain_heap

# In a process of its own: what else was allocated before decides where a block lies.
# 48 MB of float32 are more than glibc ever keeps by itself.
COUNT_NEW_PAGES = """
import resource, torch
from dsgrl.train.allocator import retain_heap

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(12_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = min(new_pages() for _ in range(3))
with retain_heap():
    inside = min(new_pages() for _ in range(5))
print(inside, before)
"""


@pytest.mark.skipif(allocator._glibc() is None, reason="only where there is glibc")
def test_retain_heap__is_not_asked_for_again() -> None:
    command = [sys.executable, "-c", COUNT_NEW_PAGES]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    inside, before = map(int, run.stdout.split())
    assert inside < before / 4


def test_retain_heap__does_nothing_without_glibc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    with retain_heap():
        assert torch.ones(3).sum() == 3


def test_retain_heap__an_error_passes_through() -> None:
    with pytest.raises(RuntimeError, match="boom"), retain_heap():
        raise RuntimeError("boom")
