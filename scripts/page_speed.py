"""Measure the page in a browser: size, seconds until ready, frames while panning.

    python scripts/page_speed.py 50000 100000 >> results/page.jsonl

Needs the extra `dev` and chromium. Nodes, links, words and vectors are generated.
"""

import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp
import torch
from playwright.sync_api import sync_playwright
from torch_geometric.data import Data

from dsgrl.datasets.rows import EmbeddedRows
from dsgrl.report.gather import gather
from dsgrl.report.page import write_page

GROUPS, WORDS, WORDS_PER_NODE, LINKS_PER_NODE, COLUMNS = 30, 500, 20, 8, 64
CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAN_SECONDS = 4

# Drags the map in a circle, one step per frame, and counts the frames.
PAN = """async (seconds) => {
  const start = performance.now(), times = [];
  let last = start, angle = 0;
  while (performance.now() - start < seconds * 1000) {
    angle += 0.1;
    pan(8 * Math.cos(angle), 8 * Math.sin(angle));
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - last);
    last = performance.now();
  }
  return {frames: times.length / (last - start) * 1000, count: times.length};
}"""


def make_rows(num_nodes: int) -> tuple[EmbeddedRows, Data]:
    """Generate groups of nodes that share words, links and directions."""
    random = np.random.default_rng(0)
    group = random.integers(GROUPS, size=num_nodes)
    centers = random.normal(size=(GROUPS, COLUMNS))
    z = centers[group] + random.normal(size=(num_nodes, COLUMNS))
    liked = random.integers(WORDS, size=(GROUPS, 40))
    columns = liked[group[:, None], random.integers(40, size=(1, WORDS_PER_NODE))]
    rows = np.repeat(np.arange(num_nodes), WORDS_PER_NODE)
    ones = np.ones(rows.size, dtype=np.float32)
    shape = (num_nodes, WORDS)
    words = sp.csr_matrix((ones, (rows, columns.ravel())), shape=shape).toarray()
    ends = random.integers(num_nodes, size=(2, LINKS_PER_NODE * num_nodes // 2))
    data = Data(
        x=torch.from_numpy((words > 0).astype(np.float32)),
        edge_index=torch.from_numpy(ends),
        feature_names=[f"word{i}" for i in range(WORDS)],
    )
    ids = [f"node-{i:06d}" for i in range(num_nodes)]
    labels: list[Any] = [f"group {i}" for i in group]
    return EmbeddedRows(ids, z.astype(np.float32), labels), data


def busy_seconds() -> float:
    """Return the processor time of the browser so far, whatever else is running."""
    times = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times.append(sum(process.cpu_times()[:2]))
    return sum(times)


def measure(num_nodes: int) -> dict[str, Any]:
    """Make a page of so many nodes, open it and pan."""
    rows, data = make_rows(num_nodes)
    start = time.perf_counter()
    contents = gather(rows, data=data, scores=([], ""))
    made = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        path = Path(folder) / "page.html"
        size = write_page(path, contents)
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        before = busy_seconds()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        ready = page.evaluate("Number(document.documentElement.dataset.ready)")
        opened = busy_seconds()
        panned = page.evaluate(PAN, PAN_SECONDS)
        worked = busy_seconds() - opened
        version = browser.version
        browser.close()
    return {
        "nodes": num_nodes,
        "made_seconds": round(made, 1),
        "megabytes": round(size / 1e6, 2),
        "ready_seconds": round(ready / 1000, 2),
        "frames_per_second": round(panned["frames"], 1),
        "processor_seconds_until_ready": round(opened - before, 2),
        "processor_ms_per_frame": round(1000 * worked / panned["count"], 1),
        "busy_processes": round(psutil.getloadavg()[0], 1),
        "layout": contents.layout,
        "browser": f"chromium {version}, no graphics card",
    }


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(json.dumps(measure(int(argument))) + "\n")
