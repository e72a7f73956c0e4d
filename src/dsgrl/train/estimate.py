"""What a fit takes, before it is made: time and peak memory, measured on a part.

Two epochs on a small graph of the same shape (`graph/shrink.py`), and half of it, are
fitted in this process. Time grows in proportion to nodes and edges, memory by a line
through both sizes. Batches of nodes are drawn from the graph itself and have their real
size. Memory that the process holds anyway, with its imports and the data, comes on top.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dsgrl.graph import Graph
from dsgrl.graph.shrink import shrink
from dsgrl.methods import METHODS
from dsgrl.methods.config import FitConfig, NodeBatches
from dsgrl.train.batching import in_parts, plan_batches
from dsgrl.train.memory import (
    available_bytes,
    held_bytes,
    peak_bytes,
    reset_peak,
)
from dsgrl.train.rehearsal import (
    SEED,
    Rehearsal,
    Spent,
    epochs_of,
    hushed,
    rehearse,
    rehearse_batches,
)
from dsgrl.train.seed import seeded
from dsgrl.train.setting import Setting

# The part that is fitted: of graphs up to this size all of it. Pairs are compared
# exactly in graphs of up to 20,000 nodes, and the time of that is no proportion.
WHOLE_NODES, WHOLE_ENTRIES = 20_000, 1 << 18
PART_NODES, PART_ENTRIES = 10_000, 1 << 18
# Entries of the graph from which batches of nodes are drawn.
BATCHED_ENTRIES = 1 << 24
# Nodes of the fit before the others: what it loads is not counted as a step's.
WARM_NODES = 64


@dataclass(frozen=True, slots=True)
class Cost:
    """Time and peak memory of one way to embed a graph.

    Attributes:
        epochs: the fewest and most epochs; held-out links decide between them.
        seconds: the time of these and of all around them.
        bytes: peak memory of the process; None where the system does not tell.
    """

    epochs: tuple[int, int]
    seconds: tuple[float, float]
    bytes: float | None

    def plus(self, spent: Spent) -> "Cost":
        """Add what comes afterwards, with all of this still held."""
        low, high = self.seconds
        total = None if self.bytes is None else self.bytes + spent.bytes
        return replace(
            self, seconds=(low + spent.seconds, high + spent.seconds), bytes=total
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """The ways to embed a graph and what each takes.

    Attributes:
        costs: by name: "floor", "full", "parts"; only those that there are.
        chosen: the way that a fit takes.
        available: free memory, in bytes, this process's own included.
    """

    costs: dict[str, Cost]
    chosen: str
    available: float

    def fits(self, name: str) -> bool | None:
        """Whether there is enough memory; None if it is unknown."""
        needed = self.costs[name].bytes
        return None if needed is None else needed <= self.available

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        costs = {
            name: {**asdict(cost), "fits": self.fits(name)}
            for name, cost in self.costs.items()
        }
        return {
            "chosen": self.chosen,
            "available_bytes": self.available,
            "estimates": costs,
        }


def estimate_fit(
    name: str,
    data: Any,
    config: FitConfig | None = None,
    write: Callable[[int, int], Spent] | None = None,
    began: float | None = None,
) -> Estimate:
    """Estimate what a fit takes, and embedding its data.

    Args:
        name: of the method, a key of `METHODS`.
        data: see `train.begin`.
        config: parameters of the method; the defaults if left out.
        write: measures writing so many rows of so many columns.
        began: when the work began that the time is counted from (`time.time`), e.g.
            reading the data; now if left out.

    Raises:
        InputError: if the data or a parameter is invalid, or nothing fits.
    """
    began = time.time() if began is None else began
    setting = Setting.of(name, data, config)
    with seeded(SEED):
        return _estimate(setting, data, write, time.time() - began)


def _estimate(
    setting: Setting,
    data: Any,
    write: Callable[[int, int], Spent] | None,
    elapsed: float,
) -> Estimate:
    """Measure every way and add what the process holds and has taken until now."""
    reached = peak_bytes() or 0.0
    planned = _plan(setting)
    rehearse(setting, setting.config.replace(epochs=0), _warm(setting.graph))
    gc.collect()
    knows_peak = reset_peak()
    base = held_bytes() + _mapped_bytes(data)
    available = available_bytes() + held_bytes()
    costs: dict[str, Cost] = {}
    for way, chosen, found in _measure(setting, planned):
        cost = _cost(found, chosen)
        low, high = cost.seconds
        costs[way] = Cost(
            cost.epochs,
            (elapsed + low, elapsed + high),
            max(reached, base + found.bytes) if knows_peak else None,
        )
    if write is not None:
        written = write(setting.graph.num_rows, _columns(setting, planned))
        costs = {way: cost.plus(written) for way, cost in costs.items()}
    return Estimate(costs=costs, chosen=_name(setting, planned), available=available)


def _plan(setting: Setting) -> FitConfig:
    """Return the parameters that a fit would choose."""
    method = setting.build()
    return plan_batches(setting.graph, method, setting.config, setting.given)


def _name(setting: Setting, planned: FitConfig) -> str:
    if not METHODS[setting.name].is_trained or planned.epochs == 0:
        return "floor"
    return "parts" if isinstance(planned.batch_size, NodeBatches) else "full"


def _measure(
    setting: Setting, planned: FitConfig
) -> list[tuple[str, FitConfig, Rehearsal]]:
    """Rehearse every way that there is."""
    config, found = setting.config, []
    still = config.replace(epochs=0)
    if setting.build(still).has_fallback:
        found.append(("floor", still, _rehearse(setting, still)))
    if _name(setting, planned) == "floor":
        return found
    if isinstance(config.batch_size, NodeBatches):
        config = config.replace(batch_size=None)
    full = _rehearse(setting, config)
    found.append(("full", config, full))
    parts = _in_parts(setting, planned)
    if parts is not None:
        found.append(("parts", parts, _replace_steps(setting, parts, full)))
    return found


def _in_parts(setting: Setting, planned: FitConfig) -> FitConfig | None:
    """Return the parameters of training in parts; None if there is no such way."""
    if isinstance(planned.batch_size, NodeBatches):
        return planned
    if setting.spec.level == "graph" or not setting.config.takes_node_batches():
        return None
    graph, method = setting.graph, setting.build()
    given, batches = setting.given, NodeBatches()
    with hushed():
        return in_parts(graph, method, setting.config, given, batches)


def _rehearse(setting: Setting, config: FitConfig) -> Rehearsal:
    """Rehearse on the graph, or on a part and half of it."""
    graph = setting.graph
    share = _share(graph)
    if share == 1:
        return rehearse(setting, config, graph)
    half = rehearse(setting, config, shrink(graph, share / 2))
    return rehearse(setting, config, shrink(graph, share)).grown(share, half)


def _replace_steps(setting: Setting, parts: FitConfig, full: Rehearsal) -> Rehearsal:
    """Return a rehearsal whose epochs are in parts."""
    graph, batches = setting.graph, parts.batch_size
    assert isinstance(batches, NodeBatches)
    share = float(min(1.0, BATCHED_ENTRIES / max(graph.adjacency.num_edges, 1)))
    begun, step = rehearse_batches(setting, parts, shrink(graph, share))
    steps = -(-graph.num_nodes // batches.size)
    seconds = begun.seconds / share + steps * step.seconds
    epoch = Spent(seconds, max(step.bytes, begun.bytes / share))
    return replace(full, first=epoch, epoch=epoch, cycle=1)


def _cost(found: Rehearsal, config: FitConfig) -> Cost:
    fewest, most, check_every = epochs_of(config)
    seconds = [found.seconds(epochs, check_every) for epochs in (fewest, most)]
    return Cost((fewest, most), (seconds[0], seconds[1]), None)


def _share(graph: Graph) -> float:
    """Return the share of a graph that is fitted."""
    nodes, entries = graph.num_nodes, graph.adjacency.num_edges
    if nodes <= WHOLE_NODES and entries <= WHOLE_ENTRIES:
        return 1.0
    return float(min(1.0, PART_NODES / nodes, PART_ENTRIES / max(entries, 1)))


def _warm(graph: Graph) -> Graph:
    return shrink(graph, min(1.0, WARM_NODES / max(graph.num_nodes, 1)))


def _columns(setting: Setting, planned: FitConfig) -> int:
    """Return the columns of the embedding, by embedding a few rows."""
    method = setting.build(planned)
    part = _warm(setting.graph)
    with hushed():
        graph = method.prepare(part)
        method.eval()
        method.finish(graph, 0)
        return int(method.embed(graph).size(1))


def _mapped_bytes(data: Any) -> float:
    """Return the size of the files of a stored graph: training reads all of them."""
    manifest = getattr(data, "manifest", None)
    if manifest is None:
        return 0.0
    return float(sum(entry["bytes"] for entry in manifest.files.values()))
