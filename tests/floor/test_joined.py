from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from dsgrl.floor import Floor, GraphFloor, HopsFloor, Joined, Projection, build_floor
from dsgrl.graph import Graph, Spec, as_graph
from dsgrl.graph.batches import graph_parts
from samples import LEVELS, make_data, make_graphs, make_hetero

Array = npt.NDArray[np.float64]
levels = pytest.mark.parametrize("level", LEVELS)


def learned_of(graph: Graph, channels: int = 10) -> Tensor:
    """Give columns of different means and sizes, some of them correlated."""
    generator = torch.Generator().manual_seed(4)
    z = torch.randn(graph.num_rows, channels, generator=generator)
    z = z @ torch.randn(channels, channels, generator=generator)
    return z * torch.logspace(-1, 1, channels) + torch.arange(channels)


def joined_of(
    graph: Graph,
    z: Tensor,
    out_channels: int = 6,
    *,
    uses_learned: bool = True,
    **settings: Any,
) -> Joined:
    spec = Spec.of(graph)
    joined = Joined(
        build_floor(spec), z.size(1), out_channels, spec.num_types, **settings
    )
    joined.fit(graph, [(graph, z)], uses_learned=uses_learned)
    return joined


def products(rows: Tensor) -> Array:
    """Return the inner products, which do not depend on signs of directions."""
    table = rows.double().numpy()
    result: Array = table @ table.T
    return result


def side_by_side(floor: Tensor, z: Tensor, weight: float) -> Array:
    """Compute [floor | weight x learned] of one type."""
    rows = z.double().numpy()
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.concatenate([floor.double().numpy(), weight * rows], axis=1)


def assert_leading(found: Tensor, wanted: Array, count: int) -> None:
    """Check that rows are the leading directions of others."""
    rows = wanted @ np.linalg.svd(wanted)[2][:count].T
    np.testing.assert_allclose(products(found), rows @ rows.T, rtol=0, atol=2e-3)


@levels
@pytest.mark.parametrize("weight", [0.5, 3.0, None])
def test_forward__is_the_leading_directions_of_both(
    level: str, weight: float | None
) -> None:
    graph = as_graph(make_data(level))
    z = learned_of(graph)
    settings = {} if weight is None else {"weight": weight}
    joined = joined_of(graph, z, **settings)
    found = joined(graph, z)
    assert found.shape == (graph.num_rows, 6)
    # By default it counts as much as each part of the floor.
    weight = 1.0 if weight is None else weight
    parts = zip(
        graph.split(found),
        graph.split(joined.floor(graph)),
        graph.split(z),
        strict=True,
    )
    for rows, floor, learned in parts:
        assert_leading(rows, side_by_side(floor, learned, weight), 6)


def test_forward__has_no_more_columns_than_both(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    z = learned_of(graph)
    for out_channels, wanted in ((57, 57), (58, 58), (500, 58)):
        assert joined_of(graph, z, out_channels)(graph, z).shape == (60, wanted)


@levels
@pytest.mark.parametrize(
    ("channels", "settings"),
    [(10, {"weight": 0.0}), (10, {"uses_learned": False}), (0, {})],
)
def test_forward__without_learned_part_is_the_floor(
    level: str, channels: int, settings: dict[str, Any]
) -> None:
    graph = as_graph(make_data(level))
    z = learned_of(graph)[:, :channels]
    joined = joined_of(graph, z, **settings)
    floor = build_floor(Spec.of(graph))
    floor.fit(graph)
    found = graph.split(joined(graph, z))
    for rows, kept in zip(found, graph.split(floor(graph)), strict=True):
        wanted = Projection(floor.out_channels, 6).fit(kept)(kept)
        np.testing.assert_allclose(products(rows), products(wanted), rtol=0, atol=1e-4)
    # What was learned has no influence on other data either.
    other = 100 * torch.randn(z.shape)
    assert torch.equal(joined(graph, other), torch.cat(found))


def test_forward__learned_part_matters(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    z = learned_of(graph)
    joined = joined_of(graph, z)
    assert not torch.allclose(joined(graph, z), joined(graph, z.flip(0)), atol=0.1)


@levels
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_fit__scale_of_the_learned_part_does_not_matter(
    level: str, factor: float
) -> None:
    graph = as_graph(make_data(level))
    z = learned_of(graph)
    scaled = factor * z
    np.testing.assert_allclose(
        products(joined_of(graph, scaled)(graph, scaled)),
        products(joined_of(graph, z)(graph, z)),
        rtol=0,
        atol=2e-3,
    )


def test_fit__units_of_learned_columns_do_not_matter(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    z = learned_of(graph)
    other = z * torch.logspace(-2, 2, 10) - 3
    np.testing.assert_allclose(
        products(joined_of(graph, other)(graph, other)),
        products(joined_of(graph, z)(graph, z)),
        rtol=0,
        atol=2e-3,
    )


def test_forward__scales_other_data_by_the_training_data(
    community_graph: Data,
) -> None:
    """A shift that training data did not have is not taken away."""
    graph = as_graph(community_graph)
    z = learned_of(graph)
    joined = joined_of(graph, z)
    before = joined(graph, z)
    assert not torch.allclose(joined(graph, z + 50), before, atol=0.1)
    assert torch.equal(joined(graph, z), before)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.7, 1234.5])
def test_fit__constant_learned_columns_say_nothing(
    value: float, community_graph: Data
) -> None:
    graph = as_graph(community_graph)
    z = learned_of(graph)
    constant = torch.cat([z, torch.full((60, 3), value)], dim=1)
    found = joined_of(graph, constant)(graph, constant)
    assert torch.isfinite(found).all()
    np.testing.assert_allclose(
        products(found), products(joined_of(graph, z)(graph, z)), rtol=0, atol=2e-3
    )


def test_forward__learned_columns_that_were_constant_do_not_drown_the_others(
    community_graph: Data,
) -> None:
    """A unit that was dead in training reacts to other data."""
    graph = as_graph(community_graph)
    z = torch.cat([learned_of(graph), torch.zeros(60, 1)], dim=1)
    joined = joined_of(graph, z, out_channels=40)
    before = joined(graph, z)
    z[:, -1] = 1
    cosine = torch.cosine_similarity(joined(graph, z), before)
    assert cosine.min() > 0.8


@levels
def test_fit__all_learned_columns_constant(level: str) -> None:
    graph = as_graph(make_data(level))
    z = torch.full((graph.num_rows, 4), 0.5)
    found = joined_of(graph, z)(graph, z)
    wanted = joined_of(graph, z, uses_learned=False)(graph, z)
    np.testing.assert_allclose(products(found), products(wanted), rtol=0, atol=1e-4)


@levels
@pytest.mark.parametrize("more", [0, 4, 30])
def test_forward__a_floor_that_fits_stays_as_it_is(level: str, more: int) -> None:
    graph = as_graph(make_data(level))
    z = learned_of(graph)
    floor = build_floor(Spec.of(graph))
    floor.fit(graph)
    width = floor.out_channels
    joined = joined_of(graph, z, width + more, uses_learned=False)
    found = joined(graph, z)
    assert found.shape == joined_of(graph, z, width + more)(graph, z).shape
    assert torch.equal(found[:, :width], floor(graph))
    assert not found[:, width:].any()


def test_fit__types_are_joined_separately() -> None:
    graph = as_graph(make_hetero())
    z = learned_of(graph)
    other = z.clone()
    other[:20] = torch.randn(20, 10)
    one, two = (graph.split(joined_of(graph, each)(graph, each)) for each in (z, other))
    film, person, tag = (torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert not film
    assert person
    assert tag


def bare_tags() -> HeteroData:
    data = make_hetero()
    data["tag"].num_nodes = 0
    data["film", "has", "tag"].edge_index = torch.empty(2, 0, dtype=torch.long)
    return data


@pytest.mark.parametrize("uses_learned", [True, False])
def test_fit__a_type_without_nodes(uses_learned: bool) -> None:
    graph = as_graph(bare_tags())
    z = learned_of(graph)
    joined = joined_of(graph, z, uses_learned=uses_learned)
    found = joined(graph, z)
    assert found.shape == (32, 6)
    assert torch.isfinite(found).all()
    assert (found.norm(dim=1) > 0.1).all()
    # Tags that come later are finite, too.
    later = as_graph(make_hetero(), schema=graph.adjacency.schema)
    assert torch.isfinite(joined(later, learned_of(later))).all()


def test_fit__in_parts_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = as_graph(make_graphs() + make_graphs(seed=1))
    z = learned_of(graph)
    whole = joined_of(graph, z)(graph, z)
    monkeypatch.setattr("dsgrl.graph.batches.PART_ELEMENTS", 60)

    def parts() -> Iterable[tuple[Graph, Tensor]]:
        first = 0
        for part in graph_parts(graph):
            yield part, z[first : first + part.num_graphs]
            first += part.num_graphs

    assert len(list(parts())) > 3
    joined = Joined(GraphFloor(4), 10, 6)
    joined.fit(graph, parts(), uses_learned=True)
    np.testing.assert_allclose(
        products(joined(graph, z)), products(whole), rtol=0, atol=2e-3
    )
    rows = torch.cat([joined(part, learned) for part, learned in parts()])
    torch.testing.assert_close(rows, joined(graph, z), rtol=0, atol=1e-3)


def test_fit__fits_the_floor(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    floor: Floor = HopsFloor(12, columns=5)
    joined = Joined(floor, 0, 6)
    assert not floor(graph).any()
    none = torch.empty(60, 0)
    joined.fit(graph, [(graph, none)], uses_learned=False)
    assert (floor(graph).norm(dim=1) > 1).all()
    assert joined(graph, none).shape == (60, 6)


@levels
@pytest.mark.parametrize("uses_learned", [True, False])
@pytest.mark.parametrize("out_channels", [6, 5000])
def test_state_dict__round_trip(
    level: str, uses_learned: bool, out_channels: int
) -> None:
    """Also where there are fewer columns than wanted, and none is projected."""
    graph = as_graph(make_data(level))
    z = learned_of(graph)
    one = joined_of(graph, z, out_channels, uses_learned=uses_learned)
    spec = Spec.of(graph)
    other = Joined(build_floor(spec), 10, out_channels, spec.num_types)
    assert not torch.equal(one(graph, z), other(graph, z))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(graph, z), other(graph, z))
