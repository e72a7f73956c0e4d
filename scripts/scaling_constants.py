"""Measure what docs/SCALING.md reckons with, and fill its tables.

    python scripts/scaling_constants.py measure   # adds a line to results/scaling.jsonl
    python scripts/scaling_constants.py render    # fills the page from the last line

Two processes are started for the all-reduce; give them a core each.
"""

import json
import multiprocessing
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dsgrl.bench.cells import git_revision
from dsgrl.graph import Adjacency, propagate
from dsgrl.losses.objective import objective
from dsgrl.train.distributed import Processes, processes

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "results" / "scaling.jsonl", ROOT / "docs" / "SCALING.md"
# The generated graph that is measured on.
NODES, DEGREE, WIDTH = 200_000, 20, 128
BIG, SMALL_TIMES = 1 << 23, 200

# The run that is reckoned with: 20 neighbours per node, 128 features, two layers of
# width 128, 1,024 nodes per process and step, 10 neighbours sampled per hop.
MEAN_DEGREE, FEATURES, LAYERS, SEEDS, SAMPLED = 20, 128, 2, 1024, 10
SIZES, RANKS = (10**8, 10**9, 10**10), (1, 2, 8)


def fastest(act: Callable[[], Any], times: int = 5) -> float:
    """Return the seconds of the fastest of some calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return min(found)


def measure_engine() -> dict[str, float]:
    """Measure the memory of edges, and the speed of `propagate` and of products."""
    torch.manual_seed(0)
    edges = torch.randint(NODES, (2, NODES * DEGREE))
    graph = Adjacency.from_edge_index(edges, num_nodes=NODES).normalized("sum")
    h = torch.randn(NODES, WIDTH, requires_grad=True)
    pull = torch.randn(NODES, WIDTH)
    stored = sum(
        table.numel() * table.element_size()
        for table in (graph.pattern.rowptr, graph.pattern.col, graph.value)
    )
    with torch.no_grad():
        forward = fastest(lambda: propagate(graph, h))
    both = fastest(lambda: propagate(graph, h).backward(pull))
    weight = torch.randn(WIDTH, WIDTH)
    dense = fastest(lambda: pull @ weight)
    read = 4 * graph.num_edges * WIDTH
    return {
        "edges": graph.num_edges,
        "bytes_per_edge": stored / graph.num_edges,
        "propagate_gb_per_second": read / forward / 1e9,
        "propagate_backward_gb_per_second": read / (both - forward) / 1e9,
        "dense_gflop_per_second": 2 * NODES * WIDTH**2 / dense / 1e9,
    }


class Counted(Processes):
    """Counts what is exchanged."""

    calls = numbers = 0

    def reduce(self, value: Tensor) -> Tensor:
        """Return the sum over all processes."""
        self.calls += 1
        self.numbers += value.numel()
        return super().reduce(value)


def count_exchanges(ranks: Processes) -> tuple[int, int]:
    """Count the sums, and the numbers in them, of one step without those of gradients.

    The averaging of the gradients is one sum of all of them, and one of a number for
    each parameter.
    """
    counted = Counted(ranks.store, ranks.rank, ranks.count)
    z = torch.randn(1000, 2, WIDTH, requires_grad=True)
    counted.count_rows(z)
    terms = objective(z[:, 0], z[:, 1], [], ranks=counted)
    sum(terms.values(), start=torch.zeros(())).backward()
    return counted.calls, counted.numbers


def exchange(rank: int, port: int, answers: Any) -> None:
    """Be one of two processes and measure the all-reduce."""
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
    }
    torch.set_num_threads(1)
    with processes() as ranks:
        assert isinstance(ranks, Processes)
        small, big = torch.zeros(1), torch.zeros(BIG)
        ranks.reduce(big)
        latency = fastest(lambda: [ranks.reduce(small) for _ in range(SMALL_TIMES)])
        seconds = fastest(lambda: ranks.reduce(big))
        counts = count_exchanges(ranks)
    if rank == 0:
        answers.put((latency / SMALL_TIMES, seconds, *counts))


def measure_exchange() -> dict[str, float]:
    """Measure latency and bandwidth of an all-reduce between two local processes."""
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    started = [spawn.Process(target=exchange, args=(r, port, answers)) for r in (0, 1)]
    for process in started:
        process.start()
    latency, seconds, calls, numbers = answers.get(timeout=300)
    for process in started:
        process.join()
    return {
        "all_reduce_microseconds": 1e6 * latency,
        "all_reduce_gb_per_second": 4 * BIG / seconds / 1e9,
        "sums_per_loss": calls,
        "numbers_per_loss": numbers,
    }


def measure() -> dict[str, Any]:
    """Measure everything; return a line of results."""
    line: dict[str, Any] = {"suite": "scaling", "threads": torch.get_num_threads()}
    line["cores"] = len(os.sched_getaffinity(0))
    for name, value in (measure_engine() | measure_exchange()).items():
        line[name] = value if isinstance(value, int) else float(f"{value:.4g}")
    return {**line, "torch": torch.__version__, "git": git_revision()}


def reckon(line: dict[str, Any], edges: int, ranks: int) -> dict[str, float]:
    """Reckon one training by the formulae of docs/SCALING.md.

    Args:
        line: the measured constants.
        edges: stored edges, every one in both directions.
        ranks: number of processes, each with a core of its own.
    """
    nodes = edges / MEAN_DEGREE
    hops = [SEEDS * SAMPLED**hop for hop in range(1 + LAYERS)]
    rows, sampled = sum(hops), sum(hops[1:])
    # An augmenter for each view, then layers that both share.
    parameters = (2 * FEATURES + LAYERS * WIDTH) * WIDTH
    # Two views; a layer reads a row per sampled edge.
    read = 2 * 4 * sampled * WIDTH * LAYERS
    flop = 2 * 3 * 2 * rows * WIDTH**2 * LAYERS
    compute = (
        read / line["propagate_gb_per_second"] / 1e9
        + read / line["propagate_backward_gb_per_second"] / 1e9
        + flop / line["dense_gflop_per_second"] / 1e9
    )
    traffic = 4 * (parameters + line["numbers_per_loss"]) if ranks > 1 else 0
    exchanges = line["sums_per_loss"] + 2 if ranks > 1 else 0
    sending = exchanges * line["all_reduce_microseconds"] / 1e6
    sending += traffic / line["all_reduce_gb_per_second"] / 1e9
    steps = nodes / (SEEDS * ranks)
    return {
        "stored_gb": (line["bytes_per_edge"] * edges + 4 * FEATURES * nodes) / 1e9,
        "step_mb": 2 * 2 * 4 * rows * (FEATURES + LAYERS * WIDTH) / 1e6,
        "traffic_mb": traffic / 1e6,
        "step_ms": 1e3 * (compute + sending),
        "sending_ms": 1e3 * sending,
        "epoch_hours": steps * (compute + sending) / 3600,
    }


def render_constants(line: dict[str, Any]) -> str:
    """Return the table of what was measured."""
    rows = [
        ("edge in memory", f"{line['bytes_per_edge']:.1f} bytes"),
        ("`propagate`, forward", f"{line['propagate_gb_per_second']:.2f} GB/s"),
        (
            "`propagate`, backward",
            f"{line['propagate_backward_gb_per_second']:.2f} GB/s",
        ),
        ("dense product", f"{line['dense_gflop_per_second']:.0f} GFLOP/s"),
        ("all-reduce, latency", f"{line['all_reduce_microseconds']:.0f} us"),
        ("all-reduce, bandwidth", f"{line['all_reduce_gb_per_second']:.2f} GB/s"),
        ("sums of one loss and its gradient", f"{line['sums_per_loss']}"),
        ("numbers in them, for D = 128", f"{line['numbers_per_loss']:,}"),
    ]
    made = (
        f"{line['cores']} core(s), {line['threads']} thread(s) for the engine, torch "
        f"{line['torch']}, revision {line['git']}"
    )
    table = [
        "| constant | measured |",
        "|---|---|",
        *(f"| {a} | {b} |" for a, b in rows),
    ]
    return "\n".join([*table, "", f"Measured with {made}."])


def render_reckoning(line: dict[str, Any]) -> str:
    """Return the table of what is reckoned."""
    table = [
        "| edges | processes | stored graph | memory of a step | traffic per step | "
        "step | of it sending | epoch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for edges in SIZES:
        for ranks in RANKS:
            found = reckon(line, edges, ranks)
            power = f"10^{len(str(edges)) - 1}"
            table.append(
                f"| {power} | {ranks} | {found['stored_gb']:,.0f} GB "
                f"| {found['step_mb']:,.0f} MB | {found['traffic_mb']:.2f} MB "
                f"| {found['step_ms']:,.0f} ms | {found['sending_ms']:.1f} ms "
                f"| {found['epoch_hours']:,.1f} h |"
            )
    return "\n".join(table)


def render() -> str:
    """Return the page with its tables filled from the last line of results."""
    line = json.loads(RESULTS.read_text().splitlines()[-1])
    page = PAGE.read_text()
    parts = {"constants": render_constants(line), "reckoning": render_reckoning(line)}
    for name, text in parts.items():
        block = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        page = re.sub(
            block, lambda m, text=text: f"{m[1]}{text}\n{m[2]}", page, flags=re.S
        )
    return page


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        with RESULTS.open("a") as file:
            file.write(json.dumps(measure()) + "\n")
    elif sys.argv[1:] == ["render"]:
        PAGE.write_text(render())
    else:
        sys.exit("usage: scaling_constants.py measure|render")
