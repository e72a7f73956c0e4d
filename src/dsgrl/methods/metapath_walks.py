"""Walks along meta-paths: what metapath2vec, HERec and ESim have in common."""

import logging
from typing import Any, ClassVar, Self

import numpy as np

from dsgrl.graph import Graph, Spec
from dsgrl.graph.metapaths import (
    MetaPath,
    TypedEdges,
    parse_metapaths,
    there_and_back,
)
from dsgrl.graph.sampled_walks import Numbers, guided_walks
from dsgrl.methods.skip_gram import SkipGram, WalkConfig, Walker
from dsgrl.parameters import AUTO, Rule, parameter
from dsgrl.typing import InputError, Level

logger = logging.getLogger(__name__)

METAPATHS_RULE = Rule(
    lambda value: isinstance(value, str) and bool(value.strip()),
    "'auto' or node types such as 'movie-director-movie;movie-actor-movie'",
)


class MetaPathConfig(WalkConfig):
    """The parameters of every method on meta-paths."""

    metapaths: str = parameter(
        METAPATHS_RULE,
        "node types that a walk visits, joined by '-'; several are separated by ';'; "
        '"auto": from every type to each linked type and back',
        default=AUTO,
    )

    def fill_auto(self, spec: Spec) -> dict[str, Any]:
        """Choose the meta-paths by the schema of the graph."""
        standard = super().fill_auto(spec)
        if spec.schema is None:
            return standard
        return {**standard, "metapaths": there_and_back(spec.schema)}


def read_metapaths(config: Any, spec: Spec) -> list[MetaPath]:
    """Return the meta-paths of a configuration; warn of types that none visits.

    Raises:
        InputError: if a meta-path does not fit the graph.
    """
    assert spec.schema is not None
    paths = parse_metapaths(config.metapaths, spec.schema)
    visited = {kind for path in paths for kind in path}
    for kind, name in enumerate(spec.schema.types):
        if kind not in visited:
            logger.warning(
                "no meta-path visits node type '%s': its vectors stay random", name
            )
    return paths


class MetaPathSkipGram(SkipGram):
    """Skip-gram on walks that repeat meta-paths, one after the other.

    Args:
        num_nodes: rows of the tables.
        channels: their columns.
        negatives: noise nodes per pair.
        paths: the meta-paths; each ends with its first type.
    """

    Config = MetaPathConfig
    levels: ClassVar[frozenset[Level]] = frozenset({"hetero"})

    def __init__(
        self, num_nodes: int, channels: int, negatives: int, paths: list[MetaPath]
    ) -> None:
        super().__init__(num_nodes, channels, negatives)
        self.paths = paths

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the tables."""
        paths = read_metapaths(config, spec)
        assert spec.schema is not None
        for path in paths:
            if path[0] != path[-1]:
                name = "-".join(spec.schema.types[kind] for kind in path)
                raise InputError(
                    f"metapaths: '{name}' cannot be repeated, expected the same type "
                    f"at both ends"
                )
        return cls(spec.num_nodes, config.out_channels, config.negatives, paths)

    def kept_steps(self, path: MetaPath, length: int) -> list[int]:
        """Return the positions of a walk that are used: all."""
        return list(range(1 + length))

    def walkers(self, graph: Graph, config: Any) -> list[Walker]:
        """Walk from every node of the first type of each meta-path."""
        edges = TypedEdges(graph.adjacency)
        return [
            _walker(edges, path, self.kept_steps(path, config.walk_length))
            for path in self.paths
        ]


def _walker(edges: TypedEdges, path: MetaPath, kept: list[int]) -> Walker:
    samplers = edges.samplers(path)

    def walk(starts: Numbers, generator: np.random.Generator) -> Numbers:
        return guided_walks(samplers, starts, kept[-1], generator)[:, kept]

    return Walker(edges.nodes(path[0]), walk)
