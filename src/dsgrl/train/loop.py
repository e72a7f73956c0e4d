"""One training loop for every method; its state is one object that can be saved."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.methods.base import Method, Progress
from dsgrl.methods.config import FitConfig, StopByLinks
from dsgrl.train.diagnostics import SAMPLE_ROWS, is_collapsed, measure_health
from dsgrl.train.distributed import average_before_steps
from dsgrl.train.links import HeldOutLinks
from dsgrl.train.own_state import (
    gather_state,
    pick_state,
    random_state,
    set_random_state,
)
from dsgrl.train.watch import Watch
from dsgrl.typing import DivergenceError

logger = logging.getLogger(__name__)

History = list[dict[str, float]]
Report = Callable[[dict[str, float]], None]
# Epochs of training where a graph has too few edges to hold some out.
UNOBSERVED_EPOCHS = 100


class Training:
    """A training run: method, optimisers, random state, history and watch.

    `state_dict` between two epochs holds all of it: a run that is resumed from it
    ends with the same weights, bit for bit, as one that was never interrupted.

    Args:
        method: the method to train, in place.
        graph: all nodes and edges.
        config: how to train; every "auto" replaced.
        links: the edges hidden from training, if training stops by them.

    Attributes:
        epoch: epochs trained so far.
        history: one row per epoch: loss terms, spread of the embedding and, where it
            was taken, the score of the hidden links (the row of epoch 0 has that of
            the untrained model).
        epochs: the maximum number of epochs.
    """

    def __init__(
        self,
        method: Method,
        graph: Graph,
        config: FitConfig,
        links: HeldOutLinks | None = None,
    ) -> None:
        self.method, self.config = method, config
        self.graph = graph if links is None else graph.with_adjacency(links.training)
        self.graph = method.prepare(self.graph)
        stop = config.epochs
        self.watch: Watch | None = None
        if isinstance(stop, StopByLinks):
            assert links is not None
            self.watch = Watch(method, self.graph, links, stop)
            self.epochs = stop.max_epochs
        else:
            self.epochs = int(stop)
        self.optimizers = method.optimizers(config)
        self.ranks = method.ranks
        for optimizer in self.optimizers:
            average_before_steps(optimizer, self.ranks)
        # The learning rates at the end of the warm-up.
        self.rates = [_rates(optimizer) for optimizer in self.optimizers]
        self.epoch = self.steps = 0
        self.has_warned = False
        self.history: History = []
        if self.watch is not None:
            self.history.append({"epoch": 0.0, **self.watch.measure()})

    def compare_with_floor(self) -> None:
        """Add the AUC of what needs no training to the row of epoch 0.

        It is for a person to see what training adds; nothing depends on it.
        """
        if self.watch is None or "floor_auc" in self.history[0]:
            return
        rows = self.method.describe_untrained(self.graph)
        if rows is not None:
            score = self.watch.links.score(self.graph.split(rows))
            self.history[0]["floor_auc"] = score

    @property
    def is_done(self) -> bool:
        """Whether the last epoch has been trained."""
        stopped = self.watch is not None and self.watch.should_stop(self.epoch)
        return self.epoch >= self.epochs or stopped

    def run(self, report: Report | None = None) -> int:
        """Train to the end and go back to the epoch to keep; return that epoch.

        Args:
            report: called with every epoch's row of the history.

        Raises:
            DivergenceError: if the loss is no longer finite.
        """
        while not self.is_done:
            row = self.run_epoch()
            if report:
                report(row)
        self.method.eval()
        kept = self.epochs if self.watch is None else self.watch.restore()
        return kept if self._was_worth_it(kept) else 0

    def _was_worth_it(self, kept: int) -> bool:
        """Whether the kept epoch is used; if not, a method falls back on its floor."""
        if not self.method.has_fallback or not self.epoch:
            return True
        rows = [row for row in self.history if row["epoch"] == kept and "loss" in row]
        reason = ""
        if not rows:
            reason = "held-out links are predicted no better than by chance"
        elif is_collapsed(rows[0]):
            reason = "the embedding has collapsed"
        if reason:
            logger.warning(
                "training was not worth it (%s): returning the training-free embedding",
                reason,
            )
        return not reason

    def run_epoch(self) -> dict[str, float]:
        """Train for one epoch and return its row of the history."""
        self.epoch += 1
        self._set_rates()
        row = {"epoch": float(self.epoch), **self._pass()}
        self.method.after_epoch(self._progress())
        if not self.has_warned and self.epoch >= 10 and is_collapsed(row):
            _warn_of_collapse(row, self.epoch)
            self.has_warned = True
        if self.watch is not None and self.watch.is_due(self.epoch):
            row |= self.watch.look(self.epoch)
        self.history.append(row)
        return row

    def _pass(self) -> dict[str, float]:
        """Take a step on every batch and return the mean of their measurements."""
        self.method.train()
        rows, embedded = [], []
        for batch in self.method.batches(self.graph, self.config):
            try:
                loss = self.method.step(batch, self.optimizers)
            except DivergenceError as error:
                rate = self.optimizers[0].param_groups[0]["lr"]
                raise DivergenceError(
                    f"training diverged at epoch {self.epoch} ({error}): lower lr, now "
                    f"{rate:g}, or scale the features"
                ) from error
            self.steps += 1
            self.method.after_step(self._progress())
            rows.append(loss.numbers())
            embedded.append(loss.z)
        mean = {k: sum(row[k] for row in rows) / len(rows) for k in rows[0]}
        health = measure_health(self._gather_some(torch.cat(embedded)))
        return {**self.ranks.average_row(mean), **health}

    def _gather_some(self, z: Tensor) -> Tensor:
        """Return rows of all processes, enough to measure their spread."""
        if self.ranks.count == 1:
            return z
        return self.ranks.gather(z[:: max(1, z.size(0) // SAMPLE_ROWS)])

    def _progress(self) -> Progress:
        return Progress(self.epoch, self.steps, self.epochs)

    def _set_rates(self) -> None:
        """Set the learning rates: the warm-up, then the schedule of the method."""
        if self.epoch <= self.config.warmup_epochs:
            share = self.epoch / self.config.warmup_epochs
        else:
            share = self.method.rate(self._progress())
        for optimizer, rates in zip(self.optimizers, self.rates, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * share

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the rest of the training depends on.

        With several processes, all of them call it.
        """
        device = self.graph.adjacency.device
        return {
            "epoch": self.epoch,
            "steps": self.steps,
            "has_warned": self.has_warned,
            "history": [dict(row) for row in self.history],
            "method": {k: v.clone() for k, v in self.method.state_dict().items()},
            "method_state": gather_state(self.method.training_state(), self.ranks),
            "optimizers": [_copied(o.state_dict()) for o in self.optimizers],
            "watch": None if self.watch is None else self.watch.state_dict(),
            "random": gather_state(random_state(device), self.ranks),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state_dict`; sets torch's random state."""
        self.epoch, self.steps = state["epoch"], state["steps"]
        self.has_warned = state["has_warned"]
        self.history = [dict(row) for row in state["history"]]
        self.method.load_state_dict(state["method"])
        own = pick_state(state["method_state"], self.ranks)
        self.method.load_training_state(own)
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(_copied(saved))
        if self.watch is not None:
            self.watch.load_state_dict(state["watch"])
        random = pick_state(state["random"], self.ranks)
        set_random_state(random, self.graph.adjacency.device)


def plan_links(
    graph: Graph, config: FitConfig
) -> tuple[FitConfig, HeldOutLinks | None]:
    """Hold out edges for early stopping, if the configuration asks for it.

    Returns:
        The configuration, with a number of epochs if the graph has too few edges, and
        the hidden links.
    """
    stop = config.epochs
    if not isinstance(stop, StopByLinks):
        return config, None
    links = HeldOutLinks(graph.adjacency, stop.holdout)
    if links.usable:
        return config, links
    epochs = min(UNOBSERVED_EPOCHS, stop.max_epochs)
    logger.warning(
        "too few edges to hold any out: training for %d epochs without early stopping "
        "(set epochs to choose the number)",
        epochs,
    )
    return config.replace(epochs=epochs), None


def train(
    method: Method, graph: Graph, config: FitConfig, report: Report | None = None
) -> tuple[History, int]:
    """Train a method, in place, on a full graph or on batches of many graphs.

    Args:
        method: the method to train; left in evaluation mode.
        graph: all nodes and edges.
        config: how to train; every "auto" replaced.
        report: called with every epoch's row of the history.

    Returns:
        The history and the epoch that was kept.

    Raises:
        DivergenceError: if the loss is no longer finite.
    """
    config, links = plan_links(graph, config)
    training = Training(method, graph, config, links)
    epoch = training.run(report)
    return training.history, epoch


def _rates(optimizer: torch.optim.Optimizer) -> list[float]:
    return [group["lr"] for group in optimizer.param_groups]


def _copied(value: Any) -> Any:
    """Copy nested state, with its tensors: optimisers change them in place."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_copied(part) for part in value]
    return value


def _warn_of_collapse(row: dict[str, float], epoch: int) -> None:
    logger.warning(
        "the embedding has collapsed at epoch %d (effective rank %.1f, deviation "
        "%.2g): lower lr, or raise variance_weight and covariance_weight",
        epoch,
        row["effective_rank"],
        row["deviation"],
    )
