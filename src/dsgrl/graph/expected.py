"""Checks that new data matches the training data of a model."""

from typing import Any, NamedTuple

from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.graph import Graph, TableInfo
from dsgrl.graph.relations import Schema
from dsgrl.typing import InputError, Level

DESCRIBED: dict[Level, str] = {
    "node": "one graph",
    "graph": "a list of graphs",
    "hetero": "a graph with several types of nodes",
}


class Expected(NamedTuple):
    """What a model was trained on.

    Attributes:
        level: one graph, many, or one of several types.
        made: whether each feature table was computed from the edges.
        schema: types and relations, if there are several.
    """

    level: Level
    made: tuple[bool, ...]
    schema: Schema | None


def sources_of(data: Any, level: Level, schema: Schema | None) -> list[Any]:
    """Return the object that holds each table: data, first graph, or node types."""
    if level == "hetero":
        assert schema is not None
        known = set(data.node_types)
        return [data[kind] if kind in known else None for kind in schema.types]
    many = level == "graph" and not isinstance(data, FlatGraphs)
    return [data[0] if many else data]


def check_expected(data: Any, level: Level, expected: Expected) -> None:
    """Check that data has the level of training, and features where training had.

    Raises:
        InputError: one line that says how it differs.
    """
    if level != expected.level:
        raise InputError(
            f"the model was trained on {DESCRIBED[expected.level]}, this is "
            f"{DESCRIBED[level]}"
        )
    sources = sources_of(data, level, expected.schema)
    for source, made in zip(sources, expected.made, strict=True):
        has_features = getattr(source, "x", None) is not None
        if source is not None and has_features == made:
            raise InputError(
                f"the model was trained {'without' if made else 'with'} node "
                f"features, this graph is {'with' if has_features else 'without'}"
            )


def describe_tables(sources: list[Any], graph: Graph) -> tuple[TableInfo, ...]:
    """Return the metadata of the feature tables of a graph.

    Raises:
        InputError: if there is not one name per column.
    """
    tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
    found = []
    for source, table in zip(sources, tables, strict=True):
        names = getattr(source, "feature_names", None)
        if names is not None and len(names) != table.shape[1]:
            raise InputError(
                f"feature_names has {len(names)} names for {table.shape[1]} columns of "
                f"x, expected one each"
            )
        made = getattr(source, "x", None) is None
        plan = getattr(source, "column_plan", None)
        if made or (plan is not None and plan.num_features != table.shape[1]):
            # The features were replaced after reading.
            plan = None
        listed = None if names is None else [str(name) for name in names]
        found.append(TableInfo(made, listed, plan))
    return tuple(found)
