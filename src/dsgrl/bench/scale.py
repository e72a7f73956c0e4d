"""Time and memory of the learned topology by graph size: one line per size.

Each size runs in its own process and has its own peak memory. The generated graph has
communities of constant size: the neighbourhood of a node stays the same, and only the
number of nodes to search grows.
"""

import resource
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.allocator import retain_heap
from dsgrl.augment import LearnedGraph, TopologyAugmenter
from dsgrl.augment.nearest import nearest_by_hops, nearest_by_index
from dsgrl.augment.topology import REFRESH
from dsgrl.bench.cells import git_revision
from dsgrl.graph import Graph
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import begin, seeded
from dsgrl.typing import CandidatesName

SIZES = (25_000, 50_000, 100_000, 200_000)
COMMUNITY, DEGREE, COLUMNS, INSIDE = 50, 10, 128, 0.8
EDGES_PER_NODE = 16
RECALL_ROWS = 1000
REPEATS = 2


def run_scale(
    sizes: tuple[int, ...] = SIZES,
    search: CandidatesName = "index",
    *,
    shuffled: bool = False,
) -> Iterator[dict[str, Any]]:
    """Measure every size; yields one result line each.

    Args:
        sizes: numbers of nodes, in ascending order.
        search: how learned edges are found.
        shuffled: number the nodes at random instead of community by community. The
            rows that a step reads are then far apart in memory.
    """
    before: dict[str, Any] | None = None
    for size in sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            line = pool.submit(measure_size, size, search, shuffled=shuffled).result()
        if before is not None:
            line["doubling"] = round(line["seconds"] / before["seconds"], 3)
        before = line
        yield line


def measure_size(
    num_nodes: int, search: CandidatesName, *, shuffled: bool = False
) -> dict[str, Any]:
    """Time training with learned topology on one generated graph.

    `seconds` is the time of one training step, including its share of the search that
    runs every `REFRESH` steps; `lookup_seconds` is the time of one search.
    """
    with seeded(0):
        data = make_communities(num_nodes, shuffled=shuffled)
    views = LearnedGraph(
        edges_per_node=EDGES_PER_NODE, refresh=REFRESH, candidates=search
    )
    config = DSGRLConfig(views=views, epochs=1, scaling="none")
    retain_heap()
    with begin("dsgrl", data, config) as begun:
        training, graph = begun.training, begun.training.graph
        topology = training.method.get_submodule("topology")
        assert isinstance(topology, TopologyAugmenter)
        training.method.train()
        rounds, lookups = [], []
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            for _ in range(REFRESH):
                training.method.step(graph, training.optimizers)
            rounds.append((time.perf_counter() - start) / REFRESH)
            h = _represent(topology, graph)
            start = time.perf_counter()
            found = find_nearest(h, graph, search)
            lookups.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "suite": "scale",
        "case": "topology",
        "candidates": search,
        "numbering": "shuffled" if shuffled else "communities",
        "nodes": num_nodes,
        # The first round warms up.
        "seconds": round(statistics.median(rounds[1:]), 4),
        "lookup_seconds": round(statistics.median(lookups[1:]), 4),
        "refresh": REFRESH,
        "peak_rss_mb": round(peak),
        "recall": round(measure_recall(h, found), 4),
        "threads": torch.get_num_threads(),
        "git": git_revision(),
    }


@torch.no_grad()
def _represent(topology: TopologyAugmenter, graph: Graph) -> Tensor:
    topology.eval()
    h = topology.represent(graph)
    topology.train()
    return h


@torch.no_grad()
def find_nearest(h: Tensor, graph: Graph, search: CandidatesName) -> Tensor:
    """Return the rows found for every row [N, k]."""
    if search == "index":
        return nearest_by_index(h, EDGES_PER_NODE)
    if search == "hops":
        return nearest_by_hops(h, graph.adjacency, EDGES_PER_NODE)
    return (h @ h.t()).topk(EDGES_PER_NODE, dim=1).indices


def measure_recall(h: Tensor, found: Tensor) -> float:
    """Return the recall of the nearest rows, over a sample of rows."""
    step = max(1, h.size(0) // RECALL_ROWS)
    rows = torch.arange(0, h.size(0), step)
    exact = (h[rows] @ h.t()).topk(found.size(1), dim=1).indices
    there = (exact[:, :, None] == found[rows][:, None, :]).any(dim=2)
    return float(there.float().mean())


def make_communities(
    num_nodes: int,
    *,
    shuffled: bool = False,
    degree: int = DEGREE,
    columns: int = COLUMNS,
) -> Data:
    """Generate a graph of communities of 50 nodes with noisy features of each."""
    community = torch.arange(num_nodes) // COMMUNITY
    source = torch.randint(num_nodes, (num_nodes * degree // 2,))
    # Four of five links stay in the community.
    members = source // COMMUNITY * COMMUNITY + torch.randint(COMMUNITY, source.shape)
    anyone = torch.randint(num_nodes, source.shape)
    inside = torch.rand(source.shape) < INSIDE
    target = torch.where(inside, members.clamp_max(num_nodes - 1), anyone)
    edges = torch.stack([source, target])
    center = torch.randn(int(community[-1]) + 1, columns)
    x = 0.5 * center[community] + torch.randn(num_nodes, columns)
    if shuffled:
        order = torch.randperm(num_nodes)
        edges, x = order[edges], x[order.argsort()]
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1))
