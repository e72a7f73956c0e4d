import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dsgrl.graph import Adjacency, Relations, Schema, as_graph
from dsgrl.graph.relations import Relation, with_reverse_relations
from samples import make_hetero, pairs_of

SIZES = {"a": 5, "b": 3}
TO_B = torch.tensor([[0, 1, 4, 2], [0, 1, 2, 2]])
DIRECTED = torch.tensor([[0, 1, 3], [1, 2, 0]])
SYMMETRIC = torch.cat([DIRECTED, DIRECTED.flip(0)], dim=1)
NONE = torch.empty(2, 0, dtype=torch.long)


def hold(relations: dict[Relation, Tensor]) -> dict[Relation, Adjacency]:
    return {
        (source, name, target): Adjacency.from_edge_index(
            edges,
            torch.rand(edges.size(1)),
            num_nodes=SIZES[source]
            if source == target
            else (SIZES[source], SIZES[target]),
        )
        for (source, name, target), edges in relations.items()
    }


def names_after(relations: dict[Relation, Tensor]) -> set[Relation]:
    return set(with_reverse_relations(SIZES, hold(relations)))


def test_reverse__is_added_between_types_and_inside_one() -> None:
    given_relations = hold({("a", "to", "b"): TO_B, ("a", "cites", "a"): DIRECTED})
    found = with_reverse_relations(SIZES, given_relations)
    assert set(found) == {
        ("a", "to", "b"),
        ("b", "rev_to", "a"),
        ("a", "cites", "a"),
        ("a", "rev_cites", "a"),
        ("b", "self", "b"),
    }
    for relation, adjacency in given_relations.items():
        source, name, target = relation
        back = found[target, f"rev_{name}", source]
        torch.testing.assert_close(back.to_dense(), adjacency.to_dense().t())
        assert back.bipartite == adjacency.bipartite


def test_reverse__not_for_symmetric_relations() -> None:
    assert names_after({("a", "knows", "a"): SYMMETRIC}) == {
        ("a", "knows", "a"),
        ("b", "self", "b"),
    }


def test_reverse__not_for_relations_reversed_already_under_any_name() -> None:
    both = {("a", "made", "b"): TO_B, ("b", "by", "a"): TO_B.flip(0)}
    selves = {("a", "self", "a"), ("b", "self", "b")}
    assert names_after(both) == set(both) | selves
    # The order in which edges are listed does not matter.
    both["b", "by", "a"] = TO_B.flip(0)[:, [2, 0, 3, 1]]
    assert names_after(both) == set(both) | selves
    # Other edges are another relation: both get a reverse.
    both["b", "by", "a"] = TO_B.flip(0)[:, 1:]
    assert names_after(both) == set(both) | selves | {
        ("b", "rev_made", "a"),
        ("a", "rev_by", "b"),
    }


def test_reverse__never_replaces_a_relation_that_is_called_so() -> None:
    both = hold({("a", "to", "b"): TO_B, ("b", "rev_to", "a"): TO_B.flip(0)[:, 1:]})
    found = with_reverse_relations(SIZES, both)
    assert found["b", "rev_to", "a"] is both["b", "rev_to", "a"]
    assert len([r for r in found if r[1] != "self"]) == 2


def test_reverse__added_once() -> None:
    once = with_reverse_relations(SIZES, hold({("a", "to", "b"): TO_B}))
    assert set(with_reverse_relations(SIZES, once)) == set(once)


def test_reverse__every_type_has_a_relation_to_itself() -> None:
    found = with_reverse_relations(SIZES, {})
    assert set(found) == {("a", "self", "a"), ("b", "self", "b")}
    assert not any(adjacency.num_edges for adjacency in found.values())
    assert not any(adjacency.bipartite for adjacency in found.values())


def test_schema__ends_are_numbers_of_types() -> None:
    schema = Schema(("a", "b"), (("a", "to", "b"), ("b", "self", "b")))
    assert schema.ends() == [(0, 1), (1, 1)]


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(st.integers(0, 5), st.integers(1, 5)),
    count=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_as_one__has_every_relation_in_its_place(
    sizes: tuple[int, int], count: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    named = dict(zip("ab", sizes, strict=True))
    relations, expected = {}, torch.zeros(sum(sizes), sum(sizes))
    start = {"a": 0, "b": sizes[0]}
    for source, target in (("a", "b"), ("b", "a"), ("b", "b")):
        edges = NONE
        if named[source] and named[target]:
            ends = (
                torch.randint(named[k], (count,), generator=generator)
                for k in (source, target)
            )
            edges = torch.stack(list(ends))
        relations[source, "to", target] = Adjacency.from_edge_index(
            edges,
            num_nodes=named[source]
            if source == target
            else (named[source], named[target]),
        )
        rows, columns = start[target] + edges[1], start[source] + edges[0]
        expected.index_put_((rows, columns), torch.tensor(1.0), accumulate=True)
    whole = Relations(named, relations)
    torch.testing.assert_close(whole.as_one().to_dense(), expected)
    assert whole.num_edges == int(expected.sum())


def test_with_inner__replaces_relations_inside_types_only() -> None:
    relations = as_graph(make_hetero()).adjacency
    blocks = [
        Adjacency.from_edge_index(torch.tensor([[0], [1]]), num_nodes=size)
        for size in relations.sizes.values()
    ]
    inside = relations.with_inner(blocks)
    assert inside.schema == relations.schema
    for (source, name, target), adjacency in inside.adjacencies.items():
        if source == target:
            assert pairs_of(adjacency.edge_index) == {(0, 1)}
        else:
            assert adjacency is relations.adjacencies[source, name, target]


def test_split_rows__in_the_order_of_the_schema() -> None:
    relations = as_graph(make_hetero(20, 12)).adjacency
    rows = torch.arange(38)
    parts = relations.split_rows(rows)
    assert relations.schema.types == ("film", "person", "tag")
    assert [part.tolist() for part in parts] == [
        list(range(20)),
        list(range(20, 32)),
        list(range(32, 38)),
    ]
