"""Many graphs in one set of tensors that acts as a sequence of PyG `Data`."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

import torch
from torch import Tensor

from dsgrl.graph.checks import features_as_tensor
from dsgrl.graph.graph import rows_of
from dsgrl.io.arrays import FlatArrays
from dsgrl.typing import InputError


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class FlatGraphs(Sequence[Any]):
    """Many graphs; nodes and edges are sorted by graph.

    An item is a `torch_geometric.data.Data`, created on access, that shares the memory
    of these tensors. A slice is again a `FlatGraphs`.

    Attributes:
        edge_index: edges; the nodes of every graph are numbered from 0 [2, E].
        node_ptr: first node of every graph, then N [B + 1].
        edge_ptr: first edge of every graph, then E [B + 1].
        x: features of the nodes [N, F].
        y: label of every graph [B].
        edge_weight: weight of every edge [E].
        edge_attr: attributes of every edge [E, K].
        feature_names: name of every feature column.
        label_names: name of every label.
        node_ids: id of every node [N]; an item has its own in `ids`.
        graph_ids: id of every graph [B]; an item has its own in `id`.
        column_plan: how the columns of a table became features.
        understood: a summary of the files that were read.
    """

    edge_index: Tensor
    node_ptr: Tensor
    edge_ptr: Tensor
    x: Tensor | None = None
    y: Tensor | None = None
    edge_weight: Tensor | None = None
    edge_attr: Tensor | None = None
    feature_names: list[str] | None = None
    label_names: list[str] | None = None
    node_ids: list[Any] | None = None
    graph_ids: list[Any] | None = None
    column_plan: Any = None
    understood: Any = None

    def __post_init__(self) -> None:
        counts = {
            "x": (self.x, self.num_nodes, "nodes"),
            "y": (self.y, len(self), "graphs"),
            "edge_index": (self.edge_index.t(), int(self.edge_ptr[-1]), "edges"),
            "edge_weight": (self.edge_weight, self.num_edges, "edges"),
            "edge_attr": (self.edge_attr, self.num_edges, "edges"),
            "node_ids": (self.node_ids, self.num_nodes, "nodes"),
            "graph_ids": (self.graph_ids, len(self), "graphs"),
            "edge_ptr": (self.edge_ptr[1:], len(self), "graphs"),
        }
        for name, (values, count, what) in counts.items():
            if values is not None and len(values) != count:
                raise InputError(
                    f"{name} has {len(values)} entries for {count} {what}, expected "
                    f"one each"
                )

    @classmethod
    def from_arrays(cls, arrays: FlatArrays) -> "FlatGraphs":
        """Convert arrays read from files, without a copy where the types agree."""
        x, names, plan = arrays.features or (None, None, None)
        return cls(
            edge_index=torch.from_numpy(arrays.edges).long(),
            node_ptr=torch.from_numpy(arrays.node_ptr),
            edge_ptr=torch.from_numpy(arrays.edge_ptr),
            x=None if x is None else features_as_tensor(x),
            y=_tensor(arrays.y),
            edge_weight=_tensor(arrays.weight),
            edge_attr=_tensor(arrays.edge_attr),
            feature_names=names,
            label_names=arrays.label_names,
            node_ids=arrays.node_ids,
            graph_ids=arrays.graph_ids,
            column_plan=plan,
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes N of all graphs."""
        return int(self.node_ptr[-1])

    @property
    def num_edges(self) -> int:
        """Number of edges E of all graphs."""
        return self.edge_index.size(1)

    @property
    def num_features(self) -> int:
        """Number of feature columns F; 0 if there are none."""
        return 0 if self.x is None else self.x.size(1)

    def __len__(self) -> int:
        return self.node_ptr.numel() - 1

    def __repr__(self) -> str:
        return (
            f"FlatGraphs({len(self)} graphs, {self.num_nodes} nodes, "
            f"{self.num_edges} edges, {self.num_features} features)"
        )

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> "FlatGraphs": ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return self._range(start, max(start, stop))
            return self._take(range(start, stop, step))
        number = operator.index(index)
        if not -len(self) <= number < len(self):
            raise IndexError(f"graph {number} of {len(self)}")
        return self._data(number % len(self))

    def _data(self, number: int) -> Any:
        """Make the `Data` of one graph."""
        from torch_geometric.data import Data

        first, last = self.node_ptr[number : number + 2].tolist()
        edges = slice(*self.edge_ptr[number : number + 2].tolist())
        data = Data(edge_index=self.edge_index[:, edges])
        if self.x is None:
            data.num_nodes = last - first
        else:
            data.x = _part(self.x, slice(first, last))
            if self.feature_names is not None:
                data.feature_names = self.feature_names
            if self.column_plan is not None:
                data.column_plan = self.column_plan
        if self.y is not None:
            data.y = self.y[number : number + 1]
            if self.label_names is not None:
                data.label_names = self.label_names
        if self.edge_weight is not None:
            data.edge_weight = self.edge_weight[edges]
        if self.edge_attr is not None:
            data.edge_attr = self.edge_attr[edges]
        if self.node_ids is not None:
            data.ids = self.node_ids[first:last]
        if self.graph_ids is not None:
            data.id = self.graph_ids[number]
        return data

    def _range(self, start: int, stop: int) -> "FlatGraphs":
        """Return consecutive graphs; the tensors are shared."""
        node_ptr = self.node_ptr[start : stop + 1]
        edge_ptr = self.edge_ptr[start : stop + 1]
        nodes = slice(int(node_ptr[0]), int(node_ptr[-1]))
        edges = slice(int(edge_ptr[0]), int(edge_ptr[-1]))
        return replace(
            self,
            edge_index=self.edge_index[:, edges],
            node_ptr=node_ptr - node_ptr[0],
            edge_ptr=edge_ptr - edge_ptr[0],
            x=_part(self.x, nodes),
            y=_part(self.y, slice(start, stop)),
            edge_weight=_part(self.edge_weight, edges),
            edge_attr=_part(self.edge_attr, edges),
            node_ids=_part(self.node_ids, nodes),
            graph_ids=_part(self.graph_ids, slice(start, stop)),
            understood=None,
        )

    def _take(self, numbers: Sequence[int]) -> "FlatGraphs":
        """Return some graphs in the given order; the tensors are copied."""
        graphs = torch.tensor(numbers, dtype=torch.long)
        nodes, _, node_ptr = rows_of(self.node_ptr, graphs)
        edges, _, edge_ptr = rows_of(self.edge_ptr, graphs)
        return replace(
            self,
            edge_index=self.edge_index[:, edges],
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
            x=_part(self.x, nodes),
            y=_part(self.y, graphs),
            edge_weight=_part(self.edge_weight, edges),
            edge_attr=_part(self.edge_attr, edges),
            node_ids=_part(self.node_ids, nodes),
            graph_ids=_part(self.graph_ids, graphs),
            understood=None,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only the values of a slice, not the tensors it is a view of."""
        return {f.name: _own(getattr(self, f.name)) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def without_labels(self) -> "FlatGraphs":
        """Return the same graphs without `y`; the tensors are shared."""
        return replace(self, y=None, label_names=None)

    def global_edge_index(self) -> Tensor:
        """Return the edges with node numbers that count through all graphs [2, E]."""
        first = self.node_ptr[:-1].repeat_interleave(self.edge_ptr.diff())
        return self.edge_index + first

    def with_edges(self, edge_index: Tensor, weight: Tensor | None) -> "FlatGraphs":
        """Return the same nodes with other edges, without attributes.

        Args:
            edge_index: node numbers count through all graphs; sorted by graph [2, E].
            weight: weight of every edge [E].
        """
        graph = torch.bucketize(edge_index[0], self.node_ptr, right=True) - 1
        counts = torch.bincount(graph, minlength=len(self))
        return replace(
            self,
            edge_index=edge_index - self.node_ptr[graph],
            edge_ptr=torch.nn.functional.pad(counts.cumsum(0), (1, 0)),
            edge_weight=weight,
            edge_attr=None,
        )


def _tensor(array: Any) -> Tensor | None:
    return None if array is None else torch.from_numpy(array)


def _part(values: Any, index: Any) -> Any:
    """Return some rows of a tensor or list; None if there is none."""
    if isinstance(values, list) and not isinstance(index, slice):
        return [values[i] for i in index.tolist()]
    if isinstance(values, Tensor) and values.is_sparse:
        if isinstance(index, slice):
            index = torch.arange(*index.indices(len(values)))
        return values.index_select(0, index).coalesce()
    return None if values is None else values[index]


def _own(value: Any) -> Any:
    """Copy a tensor that is a view of a larger one."""
    if not isinstance(value, Tensor) or value.is_sparse:
        return value
    if value.untyped_storage().nbytes() > value.nbytes:
        return value.clone()
    return value
