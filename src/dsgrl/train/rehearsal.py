"""A fit in small: what training, finishing and embedding take on a part of the data."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dsgrl.graph import Graph
from dsgrl.methods.config import FitConfig, NodeBatches, StopByLinks
from dsgrl.train.batches import embed_all
from dsgrl.train.loop import Training, plan_links
from dsgrl.train.memory import held_bytes, peak_bytes, reset_peak
from dsgrl.train.seed import seeded
from dsgrl.train.setting import Setting

SEED = 0
# Steps on sampled batches that are timed, after one that is not.
TIMED_STEPS = 3
# Nodes of a batch that steps are taken on.
MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds, and how far memory rose; 0 where the system does not tell."""

    seconds: float = 0.0
    bytes: float = 0.0

    def grown(self, share: float, half: "Spent | None") -> "Spent":
        """Return what the whole takes, of which this was a share.

        Time is in proportion. Memory grows by a line through two sizes.

        Args:
            share: of the whole that was measured, at most 1.
            half: what half of that part took.
        """
        slope = 0.0 if half is None else 2 * max(0.0, self.bytes - half.bytes) / share
        return Spent(self.seconds / share, self.bytes + slope * (1 - share))


@dataclass(kw_only=True, slots=True)
class Rehearsal:
    """What the steps of a fit take.

    Attributes:
        setup: held-out links, and what is computed once.
        first: the first epoch, in which caches are filled.
        epoch: an epoch after it.
        look: scoring the held-out links.
        finish: what has a closed form, and the embedding of all rows.
        cycle: epochs after which one is as costly as the first.
    """

    setup: Spent
    first: Spent
    epoch: Spent
    look: Spent
    finish: Spent
    cycle: int = 1

    def seconds(self, epochs: int, check_every: int | None) -> float:
        """Return the time of a fit with so many epochs.

        Args:
            epochs: how many are trained.
            check_every: epochs between two scores, if there are any.
        """
        costly = -(-epochs // self.cycle) if self.cycle > 1 else min(epochs, 1)
        training = costly * self.first.seconds + (epochs - costly) * self.epoch.seconds
        looks = 0 if check_every is None else epochs // check_every
        around = self.setup.seconds + self.finish.seconds
        return around + training + looks * self.look.seconds

    @property
    def bytes(self) -> float:
        """The most memory of all steps."""
        steps = (self.setup, self.first, self.epoch, self.look, self.finish)
        return max(step.bytes for step in steps)

    def grown(self, share: float, half: "Rehearsal | None") -> "Rehearsal":
        """Return what the whole takes; see `Spent.grown`."""
        names = ("setup", "first", "epoch", "look", "finish")
        grown = {
            name: getattr(self, name).grown(share, half and getattr(half, name))
            for name in names
        }
        return Rehearsal(**grown, cycle=self.cycle)


class Meter:
    """Measures one step after the other: time, and memory above that of the start."""

    def __init__(self) -> None:
        self.knows_peak = reset_peak()
        self.held = held_bytes()
        self.began = time.perf_counter()

    def lap(self) -> Spent:
        """Return what the step that ends here took, and begin the next."""
        seconds = time.perf_counter() - self.began
        risen = 0.0
        if self.knows_peak:
            risen = max(0.0, (peak_bytes() or 0.0) - self.held)
            reset_peak()
        self.began = time.perf_counter()
        return Spent(seconds, risen)


@contextmanager
def hushed() -> Iterator[None]:
    """Keep the notices of a rehearsal to itself."""
    package = logging.getLogger("dsgrl")
    level = package.level
    package.setLevel(logging.ERROR)
    try:
        yield
    finally:
        package.setLevel(level)


def rehearse(setting: Setting, config: FitConfig, part: Graph) -> Rehearsal:
    """Fit to a part of the data for two epochs and measure every step.

    Args:
        setting: of the fit.
        config: its parameters, e.g. without epochs for the floor alone.
        part: the graph, or a smaller one of the same shape.
    """
    with hushed(), seeded(SEED):
        method = setting.build(config.pinned(setting.spec))
        meter = Meter()
        planned, links = plan_links(part, config)
        training = Training(method, part, planned, links)
        training.compare_with_floor()
        found = {"setup": meter.lap()}
        for name in ("first", "epoch"):
            if training.epochs:
                training.run_epoch()
            found[name] = meter.lap()
        if training.watch is not None:
            training.watch.look(training.epoch)
        found["look"] = meter.lap()
        method.eval()
        graph = part if training.watch is None else method.prepare(part)
        method.finish(graph, training.epoch)
        embed_all(method, graph).numpy()
        found["finish"] = meter.lap()
        return Rehearsal(**found, cycle=method.cycle)


def rehearse_batches(
    setting: Setting, config: FitConfig, part: Graph
) -> tuple[Spent, Spent]:
    """Train on some batches of nodes.

    Steps are taken on a smaller batch where one of the real size has many nodes; time
    and memory are in proportion.

    Args:
        setting: of the fit.
        config: its parameters, with `NodeBatches`.
        part: the graph, or a part that is large enough for batches of the real size.

    Returns:
        What it takes to begin an epoch, and to take a step.
    """
    assert isinstance(config.batch_size, NodeBatches)
    with hushed(), seeded(SEED):
        method = setting.build(config.pinned(setting.spec))
        optimizers = method.optimizers(config)
        graph = method.prepare(part)
        method.train()
        meter = Meter()
        batches = method.batches(graph, config)
        nodes = next(batches).num_nodes
        begun = meter.lap()
        again = next(batches, None)
        drawn = Spent() if again is None else meter.lap()
        config = _lessened(config, nodes)
        batches = method.batches(graph, config)
        batch = next(batches)
        ratio = max(1.0, nodes / batch.num_nodes)
        method.step(batch, optimizers)
        meter.lap()
        stepped = Spent()
        for _ in range(TIMED_STEPS):
            method.step(batch, optimizers)
            now = meter.lap()
            stepped = Spent(stepped.seconds + now.seconds, now.bytes)
    seconds = ratio * stepped.seconds / TIMED_STEPS + drawn.seconds
    each = Spent(seconds, max(drawn.bytes, ratio * stepped.bytes))
    return Spent(max(0.0, begun.seconds - drawn.seconds), begun.bytes), each


def _lessened(config: FitConfig, nodes: int) -> FitConfig:
    """Return parameters for batches that have at most `MOST_NODES` nodes."""
    batches = config.batch_size
    assert isinstance(batches, NodeBatches)
    size = max(2, round(batches.size * min(1.0, MOST_NODES / nodes)))
    return config.replace(batch_size=batches.replace(size=size))


def epochs_of(config: FitConfig) -> tuple[int, int, int | None]:
    """Return the fewest and most epochs, and those between two scores, if any."""
    stop = config.epochs
    if isinstance(stop, StopByLinks):
        fewest = min(stop.max_epochs, stop.patience + stop.check_every)
        return fewest, stop.max_epochs, stop.check_every
    return int(stop), int(stop), None
