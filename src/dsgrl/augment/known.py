"""Pairs found in earlier training steps, kept per graph.

A single graph, of one or several node types, is a set of one. Batches of many graphs
are new objects in every step: what is known of a graph is found by its number in the
set the batch was taken from (`Graph.origin`).
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dsgrl.graph import Adjacency, Graph, Pattern
from dsgrl.typing import InputError


class KnownPairs:
    """The pairs of every graph of a set, and how often each graph was visited."""

    def __init__(self) -> None:
        # The edges of the set: another object is another set.
        self._whole: Any = None
        self._visits: list[int] = []
        # (similar node, row) of every graph [2, E], numbered from its first node.
        self._pairs: list[Tensor] = []
        self._last: tuple[list[int], Pattern] | None = None

    def visit(
        self,
        graph: Graph,
        h: Tensor,
        refresh: int,
        find: Callable[[Graph, Tensor], Tensor],
    ) -> Pattern:
        """Return the pairs of a graph or batch; look up those that are due.

        A graph is due at its first visit, and again after `refresh` visits. Pairs that
        join different graphs belong to this batch alone and are not kept.

        Args:
            graph: one graph, or some of a set.
            h: one vector per node [N, D].
            refresh: visits of a graph between two look-ups of its pairs.
            find: returns the pairs of some graphs, (similar node, row) [2, E].
        """
        numbers = self._enter(graph)
        bounds = [0, graph.num_nodes] if graph.ptr is None else graph.bounds
        due = [i for i, n in enumerate(numbers) if self._visits[n] % refresh == 0]
        if due:
            self._last = None
            part, rows, ends = graph, h, bounds
            if len(due) < len(numbers):
                part = graph.take(torch.tensor(due, device=h.device))
                rows, ends = _rows_of(h, bounds, due), part.bounds
            pairs = find(part, rows)
            pieces = _cut(pairs, ends)
            if pieces is None:
                return _as_pattern(find(graph, h), graph.num_nodes)
            for i, piece in zip(due, pieces, strict=True):
                self._pairs[numbers[i]] = piece
        for number in numbers:
            self._visits[number] += 1
        if self._last is None or self._last[0] != numbers:
            held = [
                self._pairs[number].to(h.device) + low
                for number, low in zip(numbers, bounds, strict=False)
            ]
            pattern = _as_pattern(torch.cat(held, dim=1), graph.num_nodes)
            self._last = (numbers, pattern)
        return self._last[1]

    def state(self) -> dict[str, Tensor]:
        """Return visits [G], and the number of pairs [G] and the pairs [2, E] known."""
        none = torch.empty(2, 0, dtype=torch.long)
        return {
            "visits": torch.tensor(self._visits, dtype=torch.long),
            "counts": torch.tensor([p.size(1) for p in self._pairs], dtype=torch.long),
            "pairs": torch.cat([none, *(p.cpu() for p in self._pairs)], dim=1),
        }

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over a state; the next set of graphs visited must be the same."""
        self._whole = self._last = None
        self._visits = state["visits"].tolist()
        self._pairs = list(state["pairs"].split(state["counts"].tolist(), dim=1))

    def _enter(self, graph: Graph) -> list[int]:
        """Return the numbers of the graphs in their set; forget any other set."""
        whole, numbers = graph, list(range(graph.num_graphs))
        if graph.origin is not None:
            whole, numbers = graph.origin.whole, graph.origin.numbers.tolist()
        if self._whole is not whole.adjacency:
            loaded = self._whole is None and self._visits
            if loaded and len(self._visits) != whole.num_graphs:
                raise InputError(
                    f"training state of {len(self._visits)} graphs, got "
                    f"{whole.num_graphs}: resume with the data it was saved for"
                )
            if not loaded:
                none = torch.empty(2, 0, dtype=torch.long)
                self._visits = [0] * whole.num_graphs
                self._pairs = [none] * whole.num_graphs
            self._whole, self._last = whole.adjacency, None
        return numbers


def _rows_of(h: Tensor, bounds: list[int], some: list[int]) -> Tensor:
    """Take the rows of some graphs."""
    return torch.cat([h[bounds[i] : bounds[i + 1]] for i in some])


def _cut(pairs: Tensor, bounds: list[int]) -> list[Tensor] | None:
    """Cut pairs, sorted by row, into those of every graph; None if some join two."""
    starts = torch.tensor(bounds, device=pairs.device)
    of_node, of_row = torch.bucketize(pairs, starts[1:], right=True)
    if not torch.equal(of_node, of_row):
        return None
    counts = torch.bincount(of_row, minlength=len(bounds) - 1)
    return list((pairs - starts[of_row]).split(counts.tolist(), dim=1))


def _as_pattern(pairs: Tensor, num_nodes: int) -> Pattern:
    return Adjacency.from_edge_index(pairs, num_nodes=num_nodes).pattern
