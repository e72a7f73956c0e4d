r"""Generated graphs of the shape of large ones, kept as stored graphs.

They stand for graphs that are too large to ship: as many nodes, edges, columns and
labels, degrees with a heavy tail, and communities that edges, features and labels
follow. Scores on them say nothing about the graphs they are named after.

An edge joins two nodes of one community with a given chance, else any two. Inside a
community the r-th node is drawn with chance proportional to :math:`r^{-a}`: degrees
follow a power law of exponent :math:`1 + 1/a`.
"""

import importlib.metadata
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dsgrl.graph.store import StoredGraph
from dsgrl.io.atomic import atomic_write
from dsgrl.io.summary import Understood
from dsgrl.store.manifest import (
    COL,
    DENSE,
    IDS,
    LABELS,
    ROWPTR,
    SPLIT,
    Manifest,
    describe_files,
)
from dsgrl.store.npy import NpyWriter, index_type

logger = logging.getLogger(__name__)

Generator = np.random.Generator
Numbers = npt.NDArray[Any]

# Edges, and rows of features, that are drawn at once.
EDGES_AT_ONCE, ROWS_AT_ONCE = 1 << 22, 1 << 14
# Labels that are drawn at random instead of following the communities.
WRONG_LABELS = 0.05
# Mean share of the nodes of a community that have a label, where a node has several.
LABEL_SHARE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What is generated.

    Attributes:
        num_nodes: N.
        num_edges: entries of the matrix; both directions count.
        num_features: F.
        num_labels: classes, or labels of which a node has several.
        communities: number of communities; as many as classes, if a node has one.
        several: whether a node has several labels.
        inside: chance that an edge stays in a community.
        tail: a; 0 for equal chances.
        signal: deviation of a community's mean features, where that of noise is 1.
        shares: of training, validation and test rows.
    """

    num_nodes: int
    num_edges: int
    num_features: int
    num_labels: int
    communities: int
    several: bool = False
    inside: float = 0.75
    tail: float = 0.4
    signal: float = 0.1
    shares: tuple[float, float, float] = (0.66, 0.10, 0.24)


SHAPES = {
    "reddit-shape": Shape(
        num_nodes=232_965,
        num_edges=114_615_892,
        num_features=602,
        num_labels=41,
        communities=41,
    ),
    "yelp-shape": Shape(
        num_nodes=716_847,
        num_edges=13_954_819,
        num_features=300,
        num_labels=100,
        communities=50,
        several=True,
        inside=0.6,
        tail=0.5,
        shares=(0.75, 0.10, 0.15),
    ),
}


def load_generated(name: str, folder: Path) -> StoredGraph:
    """Open a generated graph; it is made where it is not there yet.

    Args:
        name: a key of `SHAPES`.
        folder: the data folder.
    """
    place = folder / "generated" / name
    if not (place / ROWPTR).exists():
        logger.warning("generating '%s' in %s, once", name, place)
        generate(SHAPES[name], place)
    return StoredGraph.open(place)


def generate(shape: Shape, place: Path, seed: int = 0) -> None:
    """Write a generated graph as a stored graph, in about 50 bytes per entry.

    Args:
        shape: what to generate.
        place: the folder; it appears when it is complete.
        seed: the same seed gives the same graph.
    """
    rng = np.random.default_rng(seed)
    community = rng.integers(shape.communities, size=shape.num_nodes)
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(place) as part:
        part.mkdir()
        isolated = _write_edges(shape, community, rng, part)
        _write_features(shape, community, rng, part)
        labels = _draw_labels(shape, community, rng)
        np.save(part / LABELS, labels)
        drawn = rng.choice(3, size=shape.num_nodes, p=shape.shares)
        np.save(part / SPLIT, drawn.astype(np.uint8))
        _write_ids(shape.num_nodes, part / IDS)
        _describe(shape, isolated, str(place), part).write(part)


def _write_edges(shape: Shape, community: Numbers, rng: Generator, part: Path) -> int:
    """Write the matrix in compressed rows; return the number of nodes without edges."""
    size = shape.num_nodes
    pairs = draw_pairs(shape, community, rng)
    low, high = pairs // size, pairs % size
    loops = np.arange(shape.num_edges % 2) * (size + 1)
    entries = np.concatenate([pairs, high * size + low, loops])
    del pairs, low, high
    entries.sort()
    held_as = index_type(max(len(entries), size))
    degree = np.bincount(entries // size, minlength=size)
    rowptr = np.concatenate([[0], degree.cumsum()])
    np.save(part / ROWPTR, rowptr.astype(held_as))
    entries %= size
    np.save(part / COL, entries.astype(held_as))
    return int((degree == 0).sum())


def draw_pairs(shape: Shape, community: Numbers, rng: Generator) -> Numbers:
    """Draw different pairs of different nodes.

    Returns:
        low * N + high for every pair, in rising order [num_edges // 2].
    """
    size, wanted = shape.num_nodes, shape.num_edges // 2
    draw = _Draw(shape, community, rng)
    found = np.empty(0, dtype=np.int64)
    while (missing := wanted - len(found)) > 0:
        # A tenth more, as some of them are there already.
        blocks = [found]
        for _ in range(0, missing + missing // 10, EDGES_AT_ONCE):
            one, other = draw.ends(min(EDGES_AT_ONCE, missing + 1000))
            differ = one != other
            low = np.minimum(one, other)[differ]
            blocks.append(low * size + np.maximum(one, other)[differ])
        found = np.concatenate(blocks)
        # Not `np.unique`, which takes several times as long on so many numbers.
        found.sort()
        found = found[np.append(True, found[1:] != found[:-1])]
    if len(found) > wanted:
        more = len(found) - wanted
        extra = rng.choice(len(found), more, replace=False, shuffle=False)
        found = np.delete(found, extra)
    return found


class _Draw:
    """Draws the two ends of edges; arguments as those of `draw_pairs`."""

    def __init__(self, shape: Shape, community: Numbers, rng: Generator) -> None:
        self.shape, self.community, self.rng = shape, community, rng
        self.members = np.argsort(community, kind="stable")
        self.sizes = np.bincount(community, minlength=shape.communities)
        self.starts = self.sizes.cumsum() - self.sizes

    def ends(self, count: int) -> tuple[Numbers, Numbers]:
        """Return so many edges' ends."""
        one, other = (
            self.community[self.rng.integers(self.shape.num_nodes, size=count)]
            for _ in range(2)
        )
        stays = self.rng.random(count, dtype=np.float32) < self.shape.inside
        return self._pick(one), self._pick(np.where(stays, one, other))

    def _pick(self, community: Numbers) -> Numbers:
        """Pick a node of each of these communities."""
        share = self.rng.random(len(community)) ** (1 / (1 - self.shape.tail))
        rank = (share * self.sizes[community]).astype(np.int64)
        picked: Numbers = self.members[self.starts[community] + rank]
        return picked


def _write_features(
    shape: Shape, community: Numbers, rng: Generator, part: Path
) -> None:
    width = shape.num_features
    center = shape.signal * rng.standard_normal(
        (shape.communities, width), dtype=np.float32
    )
    with NpyWriter(part / DENSE, np.float32, width) as writer:
        for start in range(0, shape.num_nodes, ROWS_AT_ONCE):
            rows = community[start : start + ROWS_AT_ONCE]
            noise = rng.standard_normal((len(rows), width), dtype=np.float32)
            writer.append(noise + center[rows])


def _draw_labels(shape: Shape, community: Numbers, rng: Generator) -> Numbers:
    """Return the class of every node [N], or a table of 0 and 1 [N, C]."""
    if not shape.several:
        is_wrong = rng.random(shape.num_nodes) < WRONG_LABELS
        anything = rng.integers(shape.num_labels, size=shape.num_nodes)
        return np.where(is_wrong, anything, community)
    # Most labels are rare in a community, and a few are frequent.
    a = 0.2
    chance = rng.beta(
        a, a / LABEL_SHARE - a, size=(shape.communities, shape.num_labels)
    ).astype(np.float32)
    table = np.empty((shape.num_nodes, shape.num_labels), dtype=np.uint8)
    for start in range(0, shape.num_nodes, ROWS_AT_ONCE):
        likely = chance[community[start : start + ROWS_AT_ONCE]]
        drawn = rng.random(likely.shape, dtype=np.float32)
        table[start : start + ROWS_AT_ONCE] = drawn < likely
    return table


def _write_ids(num_nodes: int, path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = pa.table({"id": np.arange(num_nodes)}, schema=schema)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(table)


def _describe(shape: Shape, isolated: int, source: str, part: Path) -> Manifest:
    loops = shape.num_edges % 2
    summary = Understood(
        sources=[source],
        level="node",
        num_nodes=shape.num_nodes,
        num_edges=(shape.num_edges + loops) // 2,
        loops=loops,
        isolated=isolated,
        unnamed=shape.num_features,
        labelled=shape.num_nodes,
        assumed=["this graph was generated"],
    )
    return Manifest(
        num_nodes=shape.num_nodes,
        num_edges=shape.num_edges,
        num_features=shape.num_features,
        directed=False,
        roles={},
        plan=None,
        label_names=None,
        understood=summary.to_json(),
        files=describe_files(part),
        version=importlib.metadata.version("dsgrl"),
    )
