import subprocess
import sys

import pytest

from dsgrl import allocator
from dsgrl.allocator import retain_heap

# In a process of its own: the setting is that of the whole process. 48 MB of float32
# are more than glibc ever keeps by itself.
COUNT_NEW_PAGES = """
import resource, torch, dsgrl.estimator
from dsgrl.allocator import retain_heap

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(12_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = min(new_pages() for _ in range(3))
assert retain_heap()
after = min(new_pages() for _ in range(5))
print(after, before)
"""
FITS = """
import ctypes
from unittest import mock
import torch
from torch_geometric.data import Data
from dsgrl import DSGRL

data = Data(x=torch.randn(9, 3), edge_index=torch.randint(9, (2, 20)))
with mock.patch("ctypes.CDLL", side_effect=AssertionError):
    DSGRL(epochs=1).fit(data)
"""


@pytest.mark.slow
@pytest.mark.skipif(allocator._glibc() is None, reason="only where there is glibc")
def test_retain_heap__memory_is_not_asked_for_again() -> None:
    command = [sys.executable, "-c", COUNT_NEW_PAGES]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    after, before = map(int, run.stdout.split())
    assert after < before / 4


def test_retain_heap__does_nothing_without_glibc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    assert not retain_heap()


@pytest.mark.slow
def test_fit__of_a_library_user_leaves_the_process_alone() -> None:
    subprocess.run([sys.executable, "-c", FITS], check=True)
