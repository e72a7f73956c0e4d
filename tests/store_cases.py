"""A stored graph beside the same tables read into memory."""

from pathlib import Path
from typing import Any

import torch

from dsgrl.datasets import read_graph
from dsgrl.graph import Adjacency, as_graph
from dsgrl.graph.store import StoredGraph
from dsgrl.io.choices import Choices
from dsgrl.store.build import build_store
from dsgrl.store.manifest import Manifest


def store(edges: Path, nodes: Path | None, out: Path, **options: Any) -> Manifest:
    """Build a store with the options of `read_graph`."""
    directed = options.pop("directed", False)
    own = {k: options.pop(k) for k in ("plan", "memory", "report") if k in options}
    return build_store(
        edges,
        nodes,
        out,
        version="test",
        choices=Choices(**options),
        directed=directed,
        **own,
    )


def assert_same_matrix(one: Adjacency, other: Adjacency) -> None:
    assert one.shape == other.shape
    for a, b in (
        (one.pattern.rowptr, other.pattern.rowptr),
        (one.pattern.col, other.pattern.col),
        (one.value, other.value),
    ):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)


def assert_same_graph(data: Any, stored: StoredGraph) -> None:
    """Check that both have the same edges, weights, features, ids and labels."""
    one, other = as_graph(data), as_graph(stored)
    assert_same_matrix(one.adjacency, other.adjacency)
    assert type(one.x) is type(other.x)
    if isinstance(one.x, Adjacency):
        assert_same_matrix(one.x, other.x)
    else:
        assert torch.equal(one.x, other.x)
    assert one.tables == other.tables
    assert list(data.ids) == stored.ids
    assert type(data.ids[0]) is type(stored.ids[0])
    y = getattr(data, "y", None)
    assert (y is None) == (stored.y is None)
    if y is not None:
        assert torch.equal(y, stored.y)
        assert data.label_names == stored.label_names
    kept, own = data.understood.to_json(), stored.understood.to_json()
    for name in set(kept) - {"sources"}:
        assert kept[name] == own[name], name


def assert_equal_reading(
    edges: Path, nodes: Path | None, out: Path, **options: Any
) -> StoredGraph:
    """Read tables in both ways and compare; return the stored graph."""
    data = read_graph(edges, nodes, **options)
    store(edges, nodes, out, **options)
    stored = read_graph(out)
    assert isinstance(stored, StoredGraph)
    assert_same_graph(data, stored)
    return stored
