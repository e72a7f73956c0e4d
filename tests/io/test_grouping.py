from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dsgrl.io.arrays import FeatureTable, GraphArrays
from dsgrl.io.grouping import number_groups, split_graphs, split_types
from dsgrl.typing import InputError


def make_many(seed: int, num_graphs: int = 5) -> tuple[GraphArrays, list[int]]:
    """Give nodes of several graphs in any order, and edges inside the graphs."""
    rng = np.random.default_rng(seed)
    member = np.append(np.arange(num_graphs), rng.integers(num_graphs, size=15))
    rng.shuffle(member)
    pairs = [
        (s, int(rng.choice(np.flatnonzero(member == member[s]))))
        for s in rng.integers(len(member), size=30).tolist()
    ]
    graph = GraphArrays(
        edges=np.array(pairs).T,
        ids=[f"n{i}" for i in range(len(member))],
        weight=rng.random(30).astype(np.float32),
        features=FeatureTable(
            rng.random((len(member), 2)).astype(np.float32), ["a", "b"]
        ),
        y=np.where(rng.random(len(member)) < 0.5, member % 2, -1),
        label_names=["even", "odd"],
    )
    return graph, (member * 10).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_split_graphs__keeps_every_node_and_edge(seed: int) -> None:
    graph, names = make_many(seed)
    flat = split_graphs("edges", graph, number_groups(names))
    assert flat.graph_ids == list(dict.fromkeys(names))
    assert flat.node_ids is not None
    assert flat.features is not None
    assert flat.weight is not None
    assert flat.y is not None
    assert graph.features is not None
    assert graph.weight is not None
    assert graph.y is not None
    found = []
    for number, name in enumerate(flat.graph_ids):
        first, last = flat.node_ptr[number : number + 2]
        ids = flat.node_ids[first:last]
        # Nodes stay in the order of the table.
        assert ids == [
            i for i, own in zip(graph.ids, names, strict=True) if own == name
        ]
        rows = [graph.ids.index(i) for i in ids]
        assert np.array_equal(flat.features.x[first:last], graph.features.x[rows])
        assert flat.y[number] == graph.y[rows].max()
        edges = slice(*flat.edge_ptr[number : number + 2])
        source, target = flat.edges[:, edges]
        found += [
            (ids[s], ids[t], w)
            for s, t, w in zip(source, target, flat.weight[edges], strict=True)
        ]
    source, target = graph.edges
    given = [
        (graph.ids[s], graph.ids[t], w)
        for s, t, w in zip(source, target, graph.weight, strict=True)
    ]
    assert sorted(found) == sorted(given)


def test_split_graphs__names_the_first_graph_with_two_labels() -> None:
    graph = GraphArrays(
        edges=np.empty((2, 0), dtype=np.int64),
        ids=list(range(6)),
        y=np.array([0, 2, 2, 1, 0, 1]),
        label_names=["a", "b", "c"],
    )
    with pytest.raises(InputError, match="graph 'q' has nodes labelled 'b' and 'c'"):
        split_graphs("edges", graph, number_groups(["p", "q", "q", "q", "r", "r"]))


@pytest.mark.parametrize("seed", range(5))
def test_split_types__keeps_every_edge(seed: int) -> None:
    graph, member = make_many(seed)
    rng = np.random.default_rng(seed)
    kinds = [f"t{i}" for i in member]
    relations = rng.choice(["x", "y"], size=30).tolist()
    # Any two types may be joined.
    edges = rng.integers(len(kinds), size=(2, 30))
    graph = GraphArrays(edges=edges, ids=graph.ids, weight=graph.weight)
    hetero = split_types(graph, {}, number_groups(kinds), number_groups(relations))
    held = [i for nodes in hetero.nodes.values() for i in nodes.ids]
    assert sorted(held) == sorted(graph.ids)
    found = [
        (hetero.nodes[s].ids[i], name, hetero.nodes[t].ids[j], w)
        for (s, name, t), ends in hetero.edges.items()
        for i, j, w in zip(*ends, hetero.weights[s, name, t], strict=True)
    ]
    assert graph.weight is not None
    given = [
        (graph.ids[i], name, graph.ids[j], w)
        for i, j, name, w in zip(*edges, relations, graph.weight, strict=True)
    ]
    assert sorted(found) == sorted(given)


@pytest.mark.parametrize(
    "hold", [list, pa.array, lambda names: pa.chunked_array([names])]
)
def test_number_groups__in_order_of_appearance(hold: Any) -> None:
    names, numbers = number_groups(hold(["b", "a", "b", "c"]))
    assert names == ["b", "a", "c"]
    assert numbers.tolist() == [0, 1, 0, 2]
