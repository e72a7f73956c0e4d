"""The fit of every method: from data and parameters to a `Fitted`."""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dsgrl.graph import Graph
from dsgrl.graph.prepare import Preparation
from dsgrl.methods import Method
from dsgrl.methods.config import FitConfig, chosen_values
from dsgrl.ranks import ALONE
from dsgrl.train.batching import plan_batches
from dsgrl.train.checkpoint import Checkpoints, Keeper
from dsgrl.train.device import pick_device
from dsgrl.train.distributed import (
    check_same,
    check_shardable,
    current_ranks,
    share_ranks,
)
from dsgrl.train.fitted import Fitted, edge_hash
from dsgrl.train.identity import Identity
from dsgrl.train.loop import Report, Training, plan_links
from dsgrl.train.progress import progress_bar
from dsgrl.train.seed import reseed, seeded
from dsgrl.train.setting import Labels, Setting

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """A fit that has been set up: data read, method built, nothing trained yet.

    Attributes:
        name: of the method in `METHODS`.
        training: the loop and its state, with the method and the training graph.
        graph: the whole graph, hidden links included.
        raw: the same before scaling, as it was read.
        preparation: scaling and columns of the input.
        given: the parameters as they were given.
        config: the parameters with every "auto" replaced.
        seed: of the random numbers.
        understood: summary of the files that were read, if it was from files.
    """

    name: str
    training: Training
    graph: Graph
    raw: Graph
    preparation: Preparation
    given: FitConfig
    config: FitConfig
    seed: int
    understood: dict[str, Any] | None = None

    def identify(self, data: Any) -> Identity:
        """Describe the run, so that its checkpoints resume no other.

        Args:
            data: as it was given.
        """
        return Identity.of(self.name, self.config, self.seed, self.raw, data)

    def finish(self, epoch: int) -> tuple[Fitted, Graph]:
        """Return the trained method and the data as the method sees it."""
        method, training = self.training.method, self.training
        graph = training.graph if training.watch is None else method.prepare(self.graph)
        method.finish(graph, epoch)
        # What was fitted after training is the same up to rounding, or up to signs.
        training.ranks.copy_from_first(method.state_dict().values())
        fitted = Fitted(
            name=self.name,
            method=method,
            preparation=self.preparation,
            given=self.given,
            config=self.config,
            chosen=chosen_values(self.given, self.config, self.preparation.spec),
            seed=self.seed,
            history=training.history,
            epoch=epoch,
            edge_hash=None if method.inductive else edge_hash(graph),
            understood=self.understood,
        )
        return fitted, graph


@contextmanager
def begin(
    name: str,
    data: Any,
    config: FitConfig | None = None,
    *,
    labels: Labels | None = None,
    change: Callable[[Method, FitConfig], None] | None = None,
    seed: int | None = None,
) -> Iterator[Begun]:
    """Set up a fit; random numbers come from its seed inside the block.

    Args:
        name: of the method, a key of `METHODS`.
        data: a `Data`, a `HeteroData`, or a list or dataset of `Data`.
        config: its parameters, a `Config` of the method; the defaults if left out.
        labels: of the training rows, for a method that needs them.
        change: called with the method and its resolved parameters before training, to
            replace a component (studies).
        seed: of the random numbers where `random_state` is None; drawn if left out.

    Raises:
        InputError: if the data or a parameter is invalid.
    """
    setting = Setting.of(name, data, config, labels)
    given, resolved, graph = setting.given, setting.config, setting.graph
    device = pick_device(given.device)
    if given.random_state is not None:
        seed = int(given.random_state)
    elif seed is None:
        seed = secrets.randbits(32)
    ranks = current_ranks()
    check_shardable(graph, resolved, ranks)
    seed = int(ranks.from_first(seed))
    with seeded(seed):
        method = setting.build().to(device)
        graph = graph.to(device)
        if labels is not None and "labels" in method.needs:
            graph = replace(graph, labels=_label_rows(labels, graph))
        _note_unused_attributes(graph, method)
        if change is not None:
            change(method, resolved)
        share_ranks(method, ranks)
        _note_inexact(name, method)
        resolved = plan_batches(graph, method, resolved, given)
        resolved, links = plan_links(graph, resolved)
        training = Training(method, graph, resolved, links)
        reseed(seed, ranks.rank)
        begun = Begun(
            name=name,
            training=training,
            graph=graph,
            raw=replace(setting.raw, labels=graph.labels),
            preparation=setting.preparation,
            given=given,
            config=resolved.replace(device=str(device)),
            seed=seed,
            understood=_understood(data),
        )
        if ranks.count > 1:
            check_same(begun.identify(data).parts(), ranks)
        try:
            yield begun
        finally:
            # What the method is used for later is done by each process for itself.
            share_ranks(method, ALONE)


def fit_graph(
    name: str,
    data: Any,
    config: FitConfig | None = None,
    *,
    labels: Labels | None = None,
    change: Callable[[Method, FitConfig], None] | None = None,
    report: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> tuple[Fitted, Graph]:
    """Fit a method to data; return also the data as the method sees it.

    Args:
        name: see `begin`.
        data: see `begin`.
        config: see `begin`.
        labels: see `begin`.
        change: see `begin`.
        report: called with every epoch's row of the history.
        checkpoints: where training is saved and resumed from, if anywhere.

    Raises:
        InputError: if the data or a parameter is invalid, or the checkpoints are of
            another run.
        DivergenceError: if the loss is no longer finite.
    """
    keeper = None if checkpoints is None else Keeper(checkpoints)
    seed = None if keeper is None else keeper.seed
    with begin(name, data, config, labels=labels, change=change, seed=seed) as begun:
        training = begun.training
        reports = [report]
        if keeper is not None:
            keeper.start(training, begun.identify(data))
            reports.append(lambda _: keeper.after_epoch(training))
        shown = begun.given.verbose
        if shown:
            training.compare_with_floor()
        shown = shown and training.ranks.is_first
        first = training.history[0] if training.history else {}
        bar = progress_bar(training.epochs, first, shown=shown, done=training.epoch)
        with bar as show, nullcontext() if keeper is None else keeper.listening():
            epoch = training.run(_all(show, *reports))
        return begun.finish(epoch)


def fit(
    name: str,
    data: Any,
    config: FitConfig | None = None,
    *,
    labels: Labels | None = None,
    report: Report | None = None,
    checkpoints: Checkpoints | None = None,
) -> Fitted:
    """Fit a method to data; see `fit_graph`."""
    return fit_graph(
        name, data, config, labels=labels, report=report, checkpoints=checkpoints
    )[0]


def _understood(data: Any) -> dict[str, Any] | None:
    """Return the summary of the files that data was read from, if it was."""
    found = getattr(data, "understood", None)
    return None if found is None else found.to_json()


def _label_rows(labels: Labels, graph: Graph) -> Tensor:
    """Return the class of every row of the graph, -1 where it is hidden."""
    y = torch.full((graph.num_rows,), -1, device=graph.adjacency.device)
    start = 0
    if labels.target is not None:
        types = list(graph.adjacency.schema.types)
        start = graph.bounds[types.index(labels.target)]
    known = torch.as_tensor(np.asarray(labels.y), device=y.device).clamp_min(-1)
    y[start : start + len(known)] = known
    return y


def _all(*reports: Report | None) -> Report:
    """Return a function that calls each of those given."""

    def call(row: dict[str, float]) -> None:
        for report in reports:
            if report is not None:
                report(row)

    return call


def _note_inexact(name: str, method: Method) -> None:
    """Warn if several processes do not compute the loss of one."""
    if method.ranks.count > 1 and method.is_trained and not method.is_exact:
        logger.warning(
            "method '%s' compares the graphs of a batch with each other: each of %d "
            "processes compares those of its own share",
            name,
            method.ranks.count,
        )


def _note_unused_attributes(graph: Graph, method: Method) -> None:
    """Warn if the edges have attributes that have no effect."""
    given = any(part.attr is not None for part, _, _ in graph.adjacency.parts())
    if given and not method.uses_edge_attr:
        logger.warning(
            "edge_attr is ignored: this encoder uses edge_weight only; a custom "
            "encoder may use edge_attr, unless there are several node types"
        )
