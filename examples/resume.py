"""Training is killed in the middle, resumed, and ends with the same bits."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

COMMAND = [sys.executable, "-m", "dsgrl", "embed", "debian", "--epochs", "8"]


def embed(out: str, *options: str) -> subprocess.Popen[bytes]:
    """Start the command."""
    return subprocess.Popen([*COMMAND, "-o", out, *options])


embed("whole.parquet").wait()

# Checkpoints are written after every epoch; the process is killed after the first one.
running = embed("resumed.parquet", "--checkpoint", "run", "--every", "1")
while running.poll() is None and not list(Path("run").glob("epoch-*")):
    time.sleep(0.05)
running.send_signal(signal.SIGKILL)
running.wait()
print("killed with", sorted(path.name for path in Path("run").glob("epoch-*")))

embed("resumed.parquet", "--checkpoint", "run", "--every", "1", "--resume").wait()
same = pq.read_table("whole.parquet") == pq.read_table("resumed.parquet")
print("the same bits:", same)
