"""One training loop for every method."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.methods.base import Method
from dsgrl.train.batches import shuffled_batches
from dsgrl.train.diagnostics import is_collapsed, measure_health
from dsgrl.train.links import HOLDOUT_SHARE, HeldOutLinks
from dsgrl.train.watch import Watch
from dsgrl.typing import LossTerms

logger = logging.getLogger(__name__)

History = list[dict[str, float]]
# Passes over a set of graphs under "auto", where no link tells when to stop.
GRAPH_EPOCHS = 5
Report = Callable[[dict[str, float]], None]


class DivergenceError(RuntimeError):
    """The loss is no longer a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """How to train.

    Attributes:
        epochs: a number, or "auto": follow held-out links and go back to the
            epoch that `Watch` says, the untrained model included.
        max_epochs: the most that "auto" takes.
        patience: "auto" stops when the epoch to keep, were there no untrained model,
            lies this many back, and the score is not rising from a low.
        tolerance: by how many standard errors an epoch may be behind the best.
        check_every: epochs between two looks at the held-out links.
        holdout: share of the edges hidden by "auto".
        batch_size: graphs per step where there are many; None for all at once.
        lr: learning rate of Adam.
        weight_decay: its L2 penalty; "auto": as `pick_decay` says.
        warmup_epochs: epochs over which the rate rises to `lr`.
    """

    epochs: int | Literal["auto"] = "auto"
    max_epochs: int = 500
    patience: int = 100
    tolerance: float = 1.0
    check_every: int = 5
    holdout: float = HOLDOUT_SHARE
    batch_size: int | None = 128
    lr: float = 1e-3
    weight_decay: float | Literal["auto"] = 0.0
    warmup_epochs: int = 0


def pick_decay(num_nodes: int) -> float:
    """Choose the L2 penalty: the more nodes speak, the less it is needed."""
    return min(1e-4, 0.3 / num_nodes)


def train(
    method: Method, graph: Graph, config: TrainConfig, report: Report | None = None
) -> tuple[History, int]:
    """Train a method, in place: on a full graph, or on batches of many graphs.

    Args:
        method: what to train; left in evaluation mode.
        graph: all nodes and edges.
        config: how to train.
        report: called with every epoch's row of the history.

    Returns:
        The history, one row per epoch: loss terms, spread of the embedding and,
        under "auto", the score of the held-out links where it was taken (the row
        of epoch 0 has that of the untrained model). And the epoch that was kept.

    Raises:
        DivergenceError: if the loss is no longer finite.
    """
    epochs, links = _plan(graph, config)
    batch = graph if links is None else graph.with_adjacency(links.training)
    watch = Watch(method, batch, links, config.tolerance) if links else None
    decay = config.weight_decay
    optimizer = torch.optim.Adam(
        method.parameters(),
        config.lr,
        weight_decay=pick_decay(graph.num_nodes) if decay == "auto" else decay,
        fused=True,
    )
    history: History = [] if watch is None else [{"epoch": 0.0, **watch.measure()}]
    warned = False
    for epoch in range(1, epochs + 1):
        _warm_up(optimizer, config, epoch)
        row = {"epoch": float(epoch), **_pass(method, batch, optimizer, config, epoch)}
        if not warned and epoch >= 10 and is_collapsed(row):
            _warn_of_collapse(row, epoch)
            warned = True
        stop = watch is not None and _look(watch, epoch, row, config)
        history.append(row)
        if report:
            report(row)
        if stop:
            break
    method.eval()
    if watch is None:
        return history, epochs
    return history, watch.restore()


def _look(watch: Watch, epoch: int, row: dict[str, float], config: TrainConfig) -> bool:
    """Measure where due; tell whether it is time to stop."""
    if epoch % config.check_every == 0:
        row |= watch.look(epoch)
    return watch.should_stop(epoch, config.patience)


def _plan(graph: Graph, config: TrainConfig) -> tuple[int, HeldOutLinks | None]:
    """Say how long to train at most, and by which hidden links to stop."""
    if config.epochs != "auto":
        return config.epochs, None
    if graph.ptr is not None:
        return min(GRAPH_EPOCHS, config.max_epochs), None
    links = HeldOutLinks(graph.adjacency, config.holdout)
    if links.usable:
        return config.max_epochs, links
    epochs = min(100, config.max_epochs)
    logger.warning(
        "too few edges to hold any out: training for %d epochs unobserved (set epochs "
        "to choose yourself)",
        epochs,
    )
    return epochs, None


def _pass(
    method: Method,
    graph: Graph,
    optimizer: torch.optim.Optimizer,
    config: TrainConfig,
    epoch: int,
) -> dict[str, float]:
    """Take a step on every batch and return what they measured, on average."""
    method.train()
    rows, embedded = [], []
    for batch in shuffled_batches(graph, config.batch_size):
        row, z = _step(method, batch, optimizer, epoch)
        rows.append(row)
        embedded.append(z)
    mean = {k: sum(row[k] for row in rows) / len(rows) for k in rows[0]}
    return {**mean, **measure_health(torch.cat(embedded))}


def _step(
    method: Method, batch: Graph, optimizer: torch.optim.Optimizer, epoch: int
) -> tuple[dict[str, float], Tensor]:
    """Take one step and return what it measured, and the embedding it saw."""
    optimizer.zero_grad()
    loss: LossTerms = method.training_loss(batch)
    total = loss.total
    row = {"loss": total.item(), **{k: v.item() for k, v in loss.terms.items()}}
    if not math.isfinite(row["loss"]):
        terms = ", ".join(f"{k} {v:.3g}" for k, v in row.items())
        raise DivergenceError(
            f"training diverged at epoch {epoch} ({terms}): lower lr, now "
            f"{optimizer.param_groups[0]['lr']:g}, or scale the features"
        )
    total.backward()
    optimizer.step()
    return row, loss.z


def _warm_up(optimizer: torch.optim.Optimizer, config: TrainConfig, epoch: int) -> None:
    if epoch <= config.warmup_epochs:
        for group in optimizer.param_groups:
            group["lr"] = config.lr * epoch / config.warmup_epochs


def _warn_of_collapse(row: dict[str, float], epoch: int) -> None:
    logger.warning(
        "the embedding has collapsed at epoch %d (effective rank %.1f, deviation "
        "%.2g): lower lr, or raise variance_weight and covariance_weight",
        epoch,
        row["effective_rank"],
        row["deviation"],
    )
