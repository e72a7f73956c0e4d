"""Training in the processes that torchrun has started, on one machine or several.

Every process reads the same data and trains on its share of every batch. Sums over the
processes (`dsgrl.ranks`) make loss and gradients those of one process. Only the first
process writes and prints.

Gradients are averaged by a hook before every step of an optimiser, not by
`DistributedDataParallel`. That class wraps `forward` and expects one backward pass
through all parameters after it. A method here has no `forward`: it has `training_loss`,
and may override `step`. AD-GCL takes two steps of two optimisers per batch, each of
which changes some of the parameters and computes the gradients of those only; the
wrapper would wait for the others. The hook sees what is about to be used, whatever the
method does. It cannot send gradients while others are computed; the models are small
(a few MB), and the loss itself waits for the other processes anyway.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous
from torch.nn.modules.batchnorm import _BatchNorm

from dsgrl.encode import BatchNorm
from dsgrl.graph import Graph
from dsgrl.graph.batches import count_batches
from dsgrl.methods.base import Method
from dsgrl.methods.config import NodeBatches
from dsgrl.ranks import ALONE, ManyRanks, Ranks
from dsgrl.train.seed import seeded_generator
from dsgrl.typing import InputError, LostProcessError

# Seconds that a process waits for another one, unless this variable has a number.
TIMEOUT, TIMEOUT_VARIABLE = 600, "DSGRL_TIMEOUT"

_current: ContextVar[Ranks] = ContextVar("ranks", default=ALONE)


class Processes(ManyRanks):
    """The processes of torchrun: gloo for tensors on a CPU, nccl on GPUs.

    Args:
        store: a table that all of them see, a `torch.distributed.Store`.
        rank: number of this process.
        count: number of processes.
    """

    def __init__(self, store: Any, rank: int, count: int) -> None:
        super().__init__(rank, count)
        self.store = store

    def reduce(self, value: Tensor) -> Tensor:
        """Return the sum over all processes.

        Raises:
            LostProcessError: if another process has ended, or does not answer.
        """
        value = value.contiguous()
        try:
            dist.all_reduce(value)
        except RuntimeError as error:
            # The first sentence, without the place in gloo's source.
            reason = str(error).split("] ", 1)[-1].split(". ")[0].splitlines()[0]
            raise LostProcessError(
                f"another process of this run has ended or does not answer ({reason})"
            ) from error
        return value

    def generator(self) -> torch.Generator:
        """Return a generator of a seed that the first process draws."""
        drawn = torch.randint(2**62, ()) if self.is_first else torch.tensor(0)
        return seeded_generator(int(self.stack(drawn)[0]))

    def is_first_to_say(self, message: str) -> bool:
        """Whether no other process of this machine has said the same before."""
        machine = os.environ.get("GROUP_RANK", "0")
        name = f"said/{machine}/{hashlib.sha256(message.encode()).hexdigest()}"
        try:
            return int(self.store.add(name, 1)) == 1
        except RuntimeError:
            # The store has ended with the run.
            return True


def current_ranks() -> Ranks:
    """Return the processes that `processes` has joined; `ALONE` outside of it."""
    return _current.get()


def is_started_by_torchrun() -> bool:
    """Whether this process is one of several that torchrun has started."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ


@contextmanager
def processes() -> Iterator[Ranks]:
    """Train together with the other processes of torchrun inside the block.

    Yields:
        The processes; `ALONE` if torchrun has started one, or none.

    Raises:
        LostProcessError: if the others cannot be reached.
    """
    if not is_started_by_torchrun():
        yield ALONE
        return
    wait = timedelta(seconds=_seconds_to_wait())
    try:
        table, rank, count = next(rendezvous("env://", timeout=wait))
        # The table outlives a restart of torchrun: addresses in it are then old.
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"dsgrl/{start}", table)  # type: ignore[attr-defined]
        dist.init_process_group(
            _backend(), store=store, rank=rank, world_size=count, timeout=wait
        )
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise LostProcessError(
            f"the other processes cannot be reached ({reason})"
        ) from error
    joined = Processes(store, rank, count)
    token = _current.set(joined)
    try:
        yield joined
    finally:
        _current.reset(token)
        dist.destroy_process_group()


def _seconds_to_wait() -> float:
    given = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        seconds = float(given or TIMEOUT)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise InputError(f"{TIMEOUT_VARIABLE}={given}: expected a number of seconds")
    return seconds


def _backend() -> str:
    """Choose the engines, and the GPU of this process if there are any."""
    if not torch.cuda.is_available():
        return "gloo"
    number, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if number >= there:
        raise InputError(
            f"torchrun has started more than {there} processes on a machine with "
            f"{there} CUDA devices: start as many, or hide them (CUDA_VISIBLE_DEVICES=)"
        )
    torch.cuda.set_device(number)
    return "cpu:gloo,cuda:nccl"


def is_shardable(graph: Graph, config: Any) -> bool:
    """Whether batches can be divided: those of many graphs, or of nodes."""
    return graph.ptr is not None or isinstance(config.batch_size, NodeBatches)


def check_shardable(graph: Graph, config: Any, ranks: Ranks) -> None:
    """Refuse data that cannot be divided among processes.

    Raises:
        InputError: if there is nothing to divide, or too little for each of them.
    """
    if ranks.count == 1:
        return
    if not is_shardable(graph, config):
        raise InputError(
            f"a single graph in one batch cannot be divided among {ranks.count} "
            f"processes: set batch_size, or train in one, without torchrun"
        )
    count, size, what = graph.num_graphs, config.batch_size, "graphs"
    if isinstance(size, NodeBatches):
        count, size, what = graph.num_nodes, size.size, "nodes"
    smallest = count // count_batches(count, size)
    if smallest < ranks.count:
        raise InputError(
            f"batch_size={size}: batches of {smallest} {what} cannot be "
            f"divided among {ranks.count} processes: raise it, or start fewer"
        )


def share_ranks(method: Method, ranks: Ranks) -> None:
    """Let a method and its normalisation layers know the processes.

    Raises:
        InputError: if an encoder has a batch norm of its own, whose statistics would be
            those of each process.
    """
    for name, module in method.named_modules():
        if isinstance(module, Method | BatchNorm):
            module.ranks = ranks
        elif isinstance(module, _BatchNorm) and ranks.count > 1:
            raise InputError(
                f"{name}: a {type(module).__name__} has the statistics of one process: "
                f"use dsgrl.encode.BatchNorm in your encoder, or train in one process"
            )


def average_before_steps(optimizer: torch.optim.Optimizer, ranks: Ranks) -> None:
    """Average the gradients of an optimiser's parameters before each of its steps."""

    def average(found: torch.optim.Optimizer, *_: Any) -> None:
        groups = found.param_groups
        ranks.average_gradients([p for group in groups for p in group["params"]])

    if ranks.count > 1:
        optimizer.register_step_pre_hook(average)


def check_same(parts: dict[str, str], ranks: Ranks) -> None:
    """Refuse processes that have different data or parameters.

    Args:
        parts: hash or text of each part, by name; the same names on all processes.
        ranks: the processes.

    Raises:
        InputError: on every process, naming one of those that differ.
    """
    digests = [hashlib.sha256(part.encode()).digest()[:7] for part in parts.values()]
    numbers = torch.tensor([int.from_bytes(digest) for digest in digests])
    for rank, other in enumerate(found := ranks.stack(numbers)):
        for name, differs in zip(parts, (other != found[0]).tolist(), strict=True):
            if differs:
                raise InputError(
                    f"process {rank} has other {name} than process 0: give all of them "
                    f"the same files and options"
                )
