"""Meta-paths: how they are written, and the walks and paths along them."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch_geometric.data import HeteroData

from dsgrl.graph import as_graph
from dsgrl.graph.metapaths import TypedEdges, parse_metapaths, there_and_back
from dsgrl.graph.relations import Schema
from dsgrl.graph.sampled_walks import MISSING, guided_walks
from dsgrl.typing import InputError
from samples import make_hetero

SCHEMA = Schema(
    ("film", "person", "tag"),
    (
        ("film", "by", "person"),
        ("film", "has", "tag"),
        ("person", "knows", "person"),
        ("film", "self", "film"),
        ("tag", "self", "tag"),
    ),
)


def typed_edges(data: HeteroData | None = None) -> TypedEdges:
    return TypedEdges(as_graph(data or make_hetero()).adjacency)


def test_parse__gives_the_indices_of_the_types() -> None:
    found = parse_metapaths(" film-person-film; film-tag-film-person;", SCHEMA)
    assert found == [(0, 1, 0), (0, 2, 0, 1)]


def test_parse__types_may_have_dashes_in_their_names() -> None:
    schema = Schema(("a", "a-b", "b"), (("a", "r", "a-b"), ("a-b", "r", "b")))
    assert parse_metapaths("a-a-b-b-a-b", schema) == [(0, 1, 2, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("film-actor-film", "'film-actor-film' is not a meta-path.*film, person, tag"),
        ("film", "'film' is not a meta-path"),
        ("person-tag-person", "from 'person' to 'tag', expected types with a relation"),
        ("film-film", "from 'film' to 'film'"),
        (" ; ", "expected one meta-path at least"),
    ],
)
def test_parse__refuses_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        parse_metapaths(text, SCHEMA)
    assert "\n" not in str(refusal.value)


def test_there_and_back__takes_every_pair_of_linked_types() -> None:
    assert there_and_back(SCHEMA).split(";") == [
        "film-person-film",
        "film-tag-film",
        "person-film-person",
        "person-person-person",
        "tag-film-tag",
    ]
    assert len(parse_metapaths(there_and_back(SCHEMA), SCHEMA)) == 5


@pytest.mark.parametrize("path", [(0, 1, 0), (1, 0, 2, 0, 1), (1, 1, 1), (2, 0, 2)])
def test_walks__visit_the_types_of_the_meta_path(path: tuple[int, ...]) -> None:
    edges = typed_edges()
    starts = edges.nodes(path[0])
    walks = guided_walks(edges.samplers(path), starts, 12, np.random.default_rng(0))
    assert len(walks) == edges.bounds[path[0] + 1] - edges.bounds[path[0]]
    wanted = np.resize(path[:-1], 13)
    there = walks != MISSING
    assert there[:, 1].any()
    np.testing.assert_array_equal(
        edges.kind[walks[there]], np.broadcast_to(wanted, walks.shape)[there]
    )
    linked = edges.all.tocsr()
    both = there[:, :-1] & there[:, 1:]
    steps = np.asarray(linked[walks[:, :-1][both], walks[:, 1:][both]]).ravel()
    assert (steps > 0).all()


def small_graph() -> HeteroData:
    """Three films, two people, one tag; the last film has no person."""
    data = HeteroData()
    data["film"].num_nodes, data["person"].num_nodes, data["tag"].num_nodes = 3, 2, 1
    data["film", "by", "person"].edge_index = torch.tensor([[0, 0, 1], [0, 1, 1]])
    data["film", "has", "tag"].edge_index = torch.tensor([[0, 1, 2], [0, 0, 0]])
    return data


@pytest.mark.parametrize("path", [(1, 0, 1), (0, 1, 0), (2, 0, 1), (1, 0, 2, 0, 1)])
def test_instances__every_path_is_as_likely_as_another(path: tuple[int, ...]) -> None:
    edges = typed_edges(small_graph())
    count, samplers = edges.instances(path)
    generator = np.random.default_rng(1)
    starts = generator.choice(len(count), 6_000, p=count / count.sum())
    walks = guided_walks(samplers, starts, len(samplers), generator)
    assert (walks != MISSING).all()
    found = Counter(map(tuple, walks.tolist()))
    matrix = edges.all.toarray()

    def paths_from(node: int, rest: tuple[int, ...]) -> list[tuple[int, ...]]:
        if not rest:
            return [(node,)]
        onward: Any = [v for v in edges.nodes(rest[0]) if matrix[node, v]]
        return [(node, *more) for v in onward for more in paths_from(v, rest[1:])]

    wanted = [p for u in edges.nodes(path[0]) for p in paths_from(int(u), path[1:])]
    assert sorted(found) == sorted(tuple(map(int, p)) for p in wanted)
    assert count.sum() == len(wanted)
    assert chisquare(list(found.values())).pvalue > 1e-3


def test_instances__of_a_meta_path_without_any_have_no_start() -> None:
    data = small_graph()
    data["person", "likes", "tag"].edge_index = torch.empty(2, 0, dtype=torch.long)
    count, _ = typed_edges(data).instances((1, 2, 1))
    assert not count.any()
