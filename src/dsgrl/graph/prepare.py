"""Converts data to a `Graph` with the columns of training, scaled.

A fitted model stores a `Preparation`: the level, the types and relations, and the
columns of each feature table of its training data. It holds no data.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dsgrl.graph.adjacency import Adjacency
from dsgrl.graph.expected import Expected
from dsgrl.graph.graph import Features, Graph, TableInfo
from dsgrl.graph.inputs import as_graph
from dsgrl.graph.relations import Schema
from dsgrl.graph.scaling import ColumnScale, divide_rows, fit_scale
from dsgrl.graph.spec import Spec
from dsgrl.io.columns import ColumnPlan
from dsgrl.typing import InputError, Level, ScalingName

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Columns:
    """The feature columns of one table in training.

    Attributes:
        count: number of columns.
        names: their names, if known.
        made: whether they were computed from the edges.
        scale: their scaling, if any.
        divides_rows: whether every row is divided by its sum (`scaling="rows"`).
        plan: how the columns of a table became features, if they did.
    """

    count: int
    names: list[str] | None
    made: bool
    scale: ColumnScale | None = None
    divides_rows: bool = False
    plan: ColumnPlan | None = None

    @classmethod
    def of(cls, table: Features, info: TableInfo, scaling: ScalingName) -> "Columns":
        """Describe the columns of a table in training and fit their scaling."""
        plan = info.plan
        in_proportion = plan is not None and plan.in_proportion
        scale = fit_scale(table, scaling, in_proportion=in_proportion)
        divides_rows = scaling == "rows"
        return cls(table.shape[1], info.names, info.made, scale, divides_rows, plan)

    @property
    def is_scaled(self) -> bool:
        """Whether the table is changed at all."""
        return self.scale is not None or self.divides_rows

    def apply_scale(self, x: Features) -> Features:
        """Scale a table as in training."""
        if self.divides_rows:
            return divide_rows(x)
        return x if self.scale is None else self.scale.apply(x)

    def to_json(self) -> dict[str, Any]:
        """Return everything except the scale as plain values."""
        plan = self.plan
        return {
            "count": self.count,
            # A plan gives the names as well, and they may be thousands.
            "names": self.names if plan is None else None,
            "made": self.made,
            "divides_rows": self.divides_rows,
            "plan": None if plan is None else plan.to_json(),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any], scale: ColumnScale | None) -> "Columns":
        """Rebuild columns from the result of `to_json` and their scale."""
        plan, names = saved.get("plan"), saved["names"]
        if plan is not None:
            plan = ColumnPlan.from_json(plan)
            names = plan.names
        divides_rows = saved.get("divides_rows", False)
        return cls(saved["count"], names, saved["made"], scale, divides_rows, plan)


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a fitted model stores of its training data.

    Attributes:
        spec: level, sizes and schema.
        columns: columns of every feature table, in the order of the types.
    """

    spec: Spec
    columns: list[Columns]

    @property
    def level(self) -> Level:
        """One graph, many, or one of several types."""
        return self.spec.level

    @property
    def schema(self) -> Schema | None:
        """Types and relations, if there are several."""
        return self.spec.schema

    @property
    def num_nodes(self) -> int:
        """Number of nodes in training."""
        return self.spec.num_nodes

    @classmethod
    def fit(
        cls, data: Any, scaling: ScalingName, structural_columns: int | None = None
    ) -> tuple["Preparation", Graph]:
        """Check training data, fit the scaling of its columns and apply it.

        Raises:
            InputError: if there are fewer than two rows.
        """
        graph = as_graph(data, structural_columns=structural_columns)
        return cls.of(graph, scaling, Spec.of(graph))

    @classmethod
    def of(
        cls, graph: Graph, scaling: ScalingName, spec: Spec
    ) -> tuple["Preparation", Graph]:
        """Fit the scaling of the columns of a training graph and apply it.

        Args:
            graph: the result of `as_graph`.
            scaling: see `fit_scale`.
            spec: its description.

        Raises:
            InputError: if there are fewer than two rows.
        """
        if graph.num_rows < 2:
            given = "one graph" if spec.level == "graph" else "the graph has one node"
            raise InputError(f"{given}: expected two or more to learn from")
        columns = [
            Columns.of(table, info, scaling)
            for table, info in zip(_as_tuple(graph.x), graph.tables, strict=True)
        ]
        found = cls(spec, columns)
        return found, found._scaled(graph)

    def apply(self, data: Any) -> Graph:
        """Check that data has the columns of training, and scale them.

        Raises:
            InputError: if it has other columns.
        """
        made = tuple(known.made for known in self.columns)
        graph = as_graph(
            data,
            structural_columns=self.columns[0].count,
            expected=Expected(self.level, made, self.schema),
        )
        is_structural = self.level == "node" and made[0]
        if is_structural and graph.num_nodes != self.num_nodes:
            logger.warning(
                "the features are structural and this is another graph: its walk "
                "coordinates need not agree with those of training"
            )
        tables = tuple(
            _as_trained(table, info, known)
            for table, info, known in zip(
                _as_tuple(graph.x), graph.tables, self.columns, strict=True
            )
        )
        info = tuple(
            TableInfo(known.made, known.names, known.plan) for known in self.columns
        )
        x = tables if self.level == "hetero" else tables[0]
        return self._scaled(replace(graph, x=x, tables=info))

    def _scaled(self, graph: Graph) -> Graph:
        """Scale the columns, also those computed later from other edges."""
        if not any(known.is_scaled for known in self.columns):
            return graph
        make = graph.make_features
        if make is not None:
            # Not a lambda, which cannot be pickled.
            make = partial(self._make_scaled, make)
        return replace(graph, x=self._scale_all(graph.x), make_features=make)

    def _make_scaled(self, make: Callable[[Any], Any], edges: Any) -> Any:
        return self._scale_all(make(edges))

    def _scale_all(self, x: Any) -> Any:
        tables = tuple(
            known.apply_scale(table)
            for known, table in zip(self.columns, _as_tuple(x), strict=True)
        )
        return tables if isinstance(x, tuple) else tables[0]

    def to_json(self) -> dict[str, Any]:
        """Return everything except the scales as plain values."""
        schema = self.spec.schema
        return {
            **asdict(replace(self.spec, schema=None)),
            "schema": None if schema is None else schema._asdict(),
            "columns": [known.to_json() for known in self.columns],
        }

    def tensors(self) -> dict[str, Tensor]:
        """Return the scales by name."""
        return {
            f"{number}.{name}": value
            for number, known in enumerate(self.columns)
            if known.scale is not None
            for name, value in known.scale._asdict().items()
        }

    @classmethod
    def from_json(
        cls, saved: dict[str, Any], tensors: dict[str, Tensor]
    ) -> "Preparation":
        """Rebuild a preparation from the results of `to_json` and `tensors`."""
        values = dict(saved)
        schema = values["schema"]
        if schema is not None:
            relations = tuple((s, r, t) for s, r, t in schema["relations"])
            values["schema"] = Schema(tuple(schema["types"]), relations)
        columns = []
        for number, known in enumerate(values.pop("columns")):
            scale = None
            if f"{number}.mean" in tensors:
                scale = ColumnScale(
                    **{k: tensors[f"{number}.{k}"] for k in ColumnScale._fields}
                )
            columns.append(Columns.from_json(known, scale))
        values["in_channels"] = tuple(values["in_channels"])
        return cls(Spec(**values), columns)


def _as_tuple(x: Any) -> tuple[Features, ...]:
    return x if isinstance(x, tuple) else (x,)


def _as_trained(x: Features, info: TableInfo, known: Columns) -> Features:
    """Reorder the columns of a table as in training.

    Raises:
        InputError: if the columns differ, or were made in another way.
    """
    names = info.names
    has_other_plan = info.plan is not None and info.plan != known.plan
    if names is not None and known.names is not None and names != known.names:
        given, wanted = set(names), set(known.names)
        missing = [name for name in known.names if name not in given]
        extra = [name for name in names if name not in wanted]
        if missing or extra:
            wrong = f"lacks '{missing[0]}'" if missing else f"also has '{extra[0]}'"
            raise InputError(
                f"the graph's columns differ from those of training: it {wrong} "
                f"({len(missing)} missing, {len(extra)} unknown){_remedy(known)}"
            )
        position = {name: i for i, name in enumerate(names)}
        dense = x.to_dense() if isinstance(x, Adjacency) else x
        return dense[:, [position[name] for name in known.names]]
    if x.shape[1] != known.count:
        if x.shape[0] == 0:
            return torch.zeros(0, known.count)
        raise InputError(
            f"the graph has {x.shape[1]} feature columns, the model was trained on "
            f"{known.count}{_remedy(known)}"
        )
    if has_other_plan and known.plan is not None and known.plan.in_proportion:
        # Equal names, but numbers were scaled by the mean of another table.
        raise InputError(
            f"the graph's columns became features in another way than in training"
            f"{_remedy(known)}"
        )
    return x


def _remedy(known: Columns) -> str:
    if known.plan is None:
        return ""
    return ": read its table by read_graph(..., like=model), or store it with --model"
