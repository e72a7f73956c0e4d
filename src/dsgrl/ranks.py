r"""The processes that train one model together, and sums over all of them.

Each process (a rank) has its share of every batch. What a loss takes from a whole batch
(numbers of rows, means, Gram matrices) is summed over the ranks, so that the loss is
that of one process on the whole batch. `Ranks` is a single process: each of its methods
returns what it is given, at no cost and to the last bit. `ManyRanks` has several
processes; a subclass only says how a tensor is summed over them.

Gradients: every rank computes its own copy L_r of the loss, and the gradients of the
parameters are averaged over the ranks before a step. What is averaged is thus that of

.. math:: \bar L = \frac{1}{R} \sum_r L_r

The derivative of a sum over the ranks is the sum of the derivatives of all ranks: the
backward pass of `sum` is a sum, too. Where all L_r are the loss L of the whole batch,
the average is its gradient.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from dsgrl.typing import InputError

Result = TypeVar("Result")


class Ranks:
    """A single process, and the interface of several.

    Attributes:
        rank: number of this process, from 0.
        count: number of processes.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.rank == 0

    def sum(self, value: Tensor) -> Tensor:
        """Add up a tensor of the same shape on all ranks; has a gradient."""
        return value

    def count_rows(self, z: Tensor) -> int:
        """Return the number of rows of all ranks."""
        return z.size(0)

    def mean(self, z: Tensor) -> tuple[Tensor, int]:
        """Return the mean of the rows of all ranks [...], and how many they are.

        Args:
            z: the rows of this rank [N, ...]; other ranks may have more or fewer.
        """
        return z.mean(dim=0), z.size(0)

    def average(self, value: Tensor, rows: int) -> Tensor:
        """Return the mean over the rows of all ranks; has a gradient.

        Args:
            value: a mean over the rows of this rank.
            rows: how many they are.
        """
        return value

    def norm(self, length: Tensor) -> Tensor:
        """Return the length of a vector whose parts lie on the ranks; has a gradient.

        Args:
            length: of the part of this rank.
        """
        return length

    def gather(self, rows: Tensor) -> Tensor:
        """Return the rows of all ranks, by rising rank [N, ...]; has a gradient."""
        return rows

    def share(self, numbers: Tensor) -> Tensor:
        """Return the part of some numbers that is for this rank [n].

        Parts are consecutive and differ by one number at most.
        """
        return numbers

    def generator(self) -> torch.Generator | None:
        """Return a generator that draws the same numbers on all ranks.

        None is torch's own.
        """
        return None

    def stack(self, value: Tensor) -> Tensor:
        """Return the tensors of all ranks, one below the other [R, ...]."""
        return value[None]

    def from_first(self, number: float) -> float:
        """Return the number of the first rank."""
        return number

    def largest(self, number: int) -> int:
        """Return the largest number of all ranks."""
        return number

    def average_row(self, row: Mapping[str, float]) -> dict[str, float]:
        """Return the mean of all ranks by name."""
        return dict(row)

    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors with those of the first rank."""

    def send_bytes(self, content: bytes | None) -> bytes | None:
        """Return the bytes of the first rank, if it has any."""
        return content

    def on_first(self, act: Callable[[], Result]) -> Result | None:
        """Let the first rank do something; a mistake of the user stops all ranks.

        Returns:
            Its result on the first rank, None on the others.

        Raises:
            InputError: on every rank, if the first one has raised it.
        """
        return act()

    def average_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Replace every gradient by its mean over the ranks."""


ALONE = Ranks()


class ManyRanks(Ranks):
    """Several processes; `reduce` is all that they exchange.

    Args:
        rank: number of this process.
        count: number of processes.
    """

    # Numbers of gradients that are sent at once: 32 MB.
    BUCKET = 1 << 23

    def __init__(self, rank: int, count: int) -> None:
        self.rank, self.count = rank, count

    def reduce(self, value: Tensor) -> Tensor:
        """Return the sum over all ranks, without a gradient; `value` may change."""
        raise NotImplementedError

    def sum(self, value: Tensor) -> Tensor:
        """Add up a tensor of the same shape on all ranks; has a gradient."""
        total: Tensor = _Sum.apply(value, self)  # type: ignore[no-untyped-call]
        return total

    def count_rows(self, z: Tensor) -> int:
        """Return the number of rows of all ranks."""
        return int(self.reduce(torch.tensor(z.size(0))))

    def mean(self, z: Tensor) -> tuple[Tensor, int]:
        """Return the mean of the rows of all ranks, and how many they are."""
        total, rows = self._sum_with_rows(z.sum(dim=0), z.size(0))
        return total / max(rows, 1), rows

    def average(self, value: Tensor, rows: int) -> Tensor:
        """Return the mean over the rows of all ranks; has a gradient."""
        # The mean over no rows is not a number.
        share = value * rows if rows else value.nan_to_num() * 0
        total, all_rows = self._sum_with_rows(share, rows)
        return total / max(all_rows, 1)

    def _sum_with_rows(self, value: Tensor, rows: int) -> tuple[Tensor, int]:
        """Add up a tensor and a number of rows in one exchange."""
        # Two numbers: float32 holds whole numbers to 2^24 only.
        digits = value.new_tensor(divmod(rows, 1 << 16))
        total = self.sum(torch.cat([value.flatten(), digits]))
        high, low = total[-2:].tolist()
        return total[:-2].view(value.shape), (int(high) << 16) + int(low)

    def norm(self, length: Tensor) -> Tensor:
        """Return the length of a vector whose parts lie on the ranks."""
        parts = F.pad(length[None], (self.rank, self.count - self.rank - 1))
        total: Tensor = torch.linalg.vector_norm(self.sum(parts))
        return total

    def gather(self, rows: Tensor) -> Tensor:
        """Return the rows of all ranks, by rising rank [N, ...]."""
        sizes = self.stack(torch.tensor(rows.size(0))).tolist()
        before, after = sum(sizes[: self.rank]), sum(sizes[self.rank + 1 :])
        # Zeros in the place of the others' rows: the sum has all of them.
        padded = F.pad(rows, (0, 0) * (rows.dim() - 1) + (before, after))
        return self.sum(padded)

    def share(self, numbers: Tensor) -> Tensor:
        """Return the part of some numbers that is for this rank."""
        return numbers.tensor_split(self.count)[self.rank]

    def stack(self, value: Tensor) -> Tensor:
        """Return the tensors of all ranks, one below the other [R, ...]."""
        parts = value.new_zeros(self.count, *value.shape)
        parts[self.rank] = value
        return self.reduce(parts)

    def from_first(self, number: float) -> float:
        """Return the number of the first rank."""
        return float(self.stack(torch.tensor(number, dtype=torch.float64))[0])

    def largest(self, number: int) -> int:
        """Return the largest number of all ranks."""
        return int(self.stack(torch.tensor(number)).max())

    def average_row(self, row: Mapping[str, float]) -> dict[str, float]:
        """Return the mean of all ranks by name; they have the same names."""
        values = torch.tensor(list(row.values()), dtype=torch.float64)
        means = self.reduce(values).div(self.count).tolist()
        return dict(zip(row, means, strict=True))

    @torch.no_grad()
    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors with those of the first rank."""
        for tensor in tensors:
            # Truth values have no sum.
            sent = tensor.byte() if tensor.dtype == torch.bool else tensor
            sent = sent.clone() if self.is_first else torch.zeros_like(sent)
            tensor.copy_(self.reduce(sent))

    def send_bytes(self, content: bytes | None) -> bytes | None:
        """Return the bytes of the first rank, if it has any."""
        own = content if self.is_first else None
        size = self.largest(-1 if own is None else len(own))
        if size < 0:
            return None
        sent = torch.zeros(size, dtype=torch.uint8)
        if own:
            sent.copy_(torch.frombuffer(bytearray(own), dtype=torch.uint8))
        return self.reduce(sent).numpy().tobytes()

    def on_first(self, act: Callable[[], Result]) -> Result | None:
        """Let the first rank do something; a mistake of the user stops all ranks."""
        result, message = None, b""
        if self.is_first:
            try:
                result = act()
            except InputError as error:
                message = str(error).encode()
        if failed := self.send_bytes(message):
            raise InputError(failed.decode())
        return result

    @torch.no_grad()
    def average_gradients(self, parameters: Sequence[Tensor]) -> None:
        """Replace every gradient by its mean over the ranks.

        A parameter without a gradient here counts as zeros; one that has none on any
        rank stays without.
        """
        has_gradient = [p.grad is not None for p in parameters]
        used = self.reduce(torch.tensor(has_gradient, dtype=torch.int64))
        kept = [p for p, ranks in zip(parameters, used.tolist(), strict=True) if ranks]
        for bucket in self._buckets(kept):
            found = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
            means = self.reduce(torch.cat([g.flatten() for g in found])) / self.count
            parts = means.split([p.numel() for p in bucket])
            for parameter, part in zip(bucket, parts, strict=True):
                parameter.grad = part.view_as(parameter)

    def _buckets(self, parameters: Sequence[Tensor]) -> Iterable[list[Tensor]]:
        """Group parameters of one type, each group of not too many numbers."""
        bucket: list[Tensor] = []
        for parameter in sorted(parameters, key=lambda p: str(p.dtype)):
            size = sum(p.numel() for p in bucket) + parameter.numel()
            other = bool(bucket) and bucket[0].dtype != parameter.dtype
            if bucket and (size > self.BUCKET or other):
                yield bucket
                bucket = []
            bucket.append(parameter)
        if bucket:
            yield bucket


class _Sum(torch.autograd.Function):
    """The sum over the ranks; its gradient is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx: FunctionCtx, value: Tensor, ranks: ManyRanks) -> Tensor:
        ctx.ranks = ranks  # type: ignore[attr-defined]
        return ranks.reduce(value.detach().clone())

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        ranks: Any = ctx.ranks  # type: ignore[attr-defined]
        return ranks.reduce(grad.clone()), None
