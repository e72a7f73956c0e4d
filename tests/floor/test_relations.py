from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch_geometric.data import HeteroData

from dsgrl.floor import RelationsFloor
from dsgrl.graph import Graph, Spec, as_graph
from samples import make_hetero, permute

Array = npt.NDArray[np.float64]


def weighted_hetero() -> HeteroData:
    """Give edges weights, and a relation and a film without edges.

    Whom a person follows is not who follows them.
    """
    data = make_hetero()
    relations = list(data.edge_types)
    for number, relation in enumerate(relations):
        edges = data[relation].edge_index
        if relation[0] == "film":
            edges = edges[:, edges[0] > 0]
        count = torch.arange(edges.size(1))
        data[relation].edge_index = edges
        if relation[1] != "knows":
            data[relation].edge_weight = 0.5 + (count + number) % 3
    data["person", "follows", "person"].edge_index = torch.tensor(
        [[0, 0, 0, 1, 5], [1, 2, 3, 3, 0]]
    )
    none = torch.empty(2, 0, dtype=torch.long)
    data["person", "likes", "tag"].edge_index = none
    return data


def unit(rows: Array) -> Array:
    length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.divide(rows, length, where=length > 0, out=0 * rows)


def averaging(weights: Array) -> Array:
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, where=total > 0, out=0 * weights)


def direct_parts(graph: Graph, tables: list[Array]) -> list[Array]:
    """Compute the parts of every type edge by edge."""
    kinds = list(graph.adjacency.sizes)
    parts = [[unit(table)] for table in tables]
    for (source, _, target), adjacency in graph.adjacency.adjacencies.items():
        one, other = kinds.index(source), kinds.index(target)
        weights = np.zeros((len(tables[other]), len(tables[one])))
        for (a, b), weight in zip(
            adjacency.edge_index.t().tolist(), adjacency.value.tolist(), strict=True
        ):
            weights[b, a] += weight
        there, back = averaging(weights), averaging(weights.T)
        parts[other].append(unit(there @ tables[one]))
        parts[other].append(unit(there @ back @ tables[other]))
    return [np.concatenate(part, axis=1) for part in parts]


def fitted(graph: Graph, **settings: int) -> RelationsFloor:
    spec = Spec.of(graph)
    assert spec.schema is not None
    floor = RelationsFloor(spec.in_channels, spec.schema, **settings)
    floor.fit(graph)
    return floor


@pytest.mark.parametrize("make", [make_hetero, weighted_hetero])
def test_forward__is_every_relation_there_and_back(
    make: Callable[[], HeteroData],
) -> None:
    """Types with fewer relations are filled up with zeros."""
    graph = as_graph(make())
    floor = fitted(graph)
    tables = [x.double().numpy() for x in graph.x]
    wanted = direct_parts(graph, tables)
    assert len({part.shape[1] for part in wanted}) > 1
    assert floor.out_channels == max(part.shape[1] for part in wanted)
    rows = graph.split(floor(graph))
    for found, part in zip(rows, wanted, strict=True):
        width = part.shape[1]
        np.testing.assert_allclose(found[:, :width].numpy(), part, atol=1e-5)
        assert not found[:, width:].any()


def test_forward__types_without_features_have_degrees() -> None:
    data = weighted_hetero()
    graph = as_graph(data)
    tag = list(graph.adjacency.sizes).index("tag")
    into = [
        torch.bincount(data[relation].edge_index[1], minlength=6).float().log1p()
        for relation in (("film", "has", "tag"), ("person", "likes", "tag"))
    ]
    columns = torch.stack([torch.ones(6), *into, torch.zeros(6)], dim=1)
    assert into[0].unique().numel() > 1
    found = graph.split(fitted(graph)(graph))[tag][:, :4]
    wanted = columns / columns.norm(dim=1, keepdim=True)
    torch.testing.assert_close(
        found.sort(dim=1).values, wanted.sort(dim=1).values, rtol=0, atol=1e-6
    )


def test_forward__nodes_without_edges_keep_only_their_own_features() -> None:
    graph = as_graph(weighted_hetero())
    floor = fitted(graph)
    film = graph.split(floor(graph))[0]
    assert torch.isfinite(floor(graph)).all()
    torch.testing.assert_close(film[0, :5].norm(), torch.tensor(1.0))
    assert not film[0, 5:].any()
    assert (film[1:, 5:].norm(dim=1) > 1).all()


@pytest.mark.parametrize("columns", [2, 4])
def test_forward__wide_types_are_projected_twice(columns: int) -> None:
    """Features, then parts; directions have arbitrary signs, inner products not."""
    graph = as_graph(weighted_hetero())
    floor = fitted(graph, columns=columns)
    assert floor.out_channels == columns
    tables = []
    for x in graph.x:
        table = x.double().numpy()
        if table.shape[1] > columns:
            table = table @ np.linalg.svd(table)[2][:columns].T
        tables.append(table)
    wanted = direct_parts(graph, tables)
    for found, part in zip(graph.split(floor(graph)), wanted, strict=True):
        rows = part @ np.linalg.svd(part)[2][:columns].T
        table = found.double().numpy()
        np.testing.assert_allclose(table @ table.T, rows @ rows.T, atol=1e-4)


@pytest.mark.parametrize("columns", [3, 256])
def test_forward__follows_a_new_order_of_nodes(columns: int) -> None:
    data = make_hetero()
    moved, orders = permute(data)
    graph, other = as_graph(data), as_graph(moved)
    rows = graph.split(fitted(graph, columns=columns)(graph))
    again = other.split(fitted(other, columns=columns)(other))
    for one, two, order in zip(rows, again, orders.values(), strict=True):
        torch.testing.assert_close(two, one[order], rtol=0, atol=1e-4)
    assert not torch.allclose(rows[0], again[0], atol=0.1)


@pytest.mark.parametrize("columns", [3, 256])
def test_forward__a_type_without_nodes(columns: int) -> None:
    data = make_hetero()
    none = torch.empty(2, 0, dtype=torch.long)
    data["tag"].num_nodes = 0
    data["film", "has", "tag"].edge_index = none
    graph = as_graph(data)
    floor = fitted(graph, columns=columns)
    rows = floor(graph)
    assert rows.shape == (32, floor.out_channels)
    assert torch.isfinite(rows).all()
    assert (rows.norm(dim=1) > 0.5).all()


def test_state_dict__round_trip() -> None:
    graph = as_graph(make_hetero())
    one = fitted(graph, columns=3)
    other = RelationsFloor(Spec.of(graph).in_channels, one.schema, columns=3)
    assert not torch.equal(one(graph), other(graph))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(graph), other(graph))
