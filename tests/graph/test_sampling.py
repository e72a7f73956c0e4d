"""Parts of one graph: sampled neighbourhoods and induced subgraphs."""

import pickle
from typing import Any

import pytest
import torch
from torch_geometric.data import Data, HeteroData

from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.graph.batches import node_batches
from dsgrl.graph.sampled import SampledAdjacency
from dsgrl.graph.sampling import NeighborSampler, draw_entries, induced_subgraph

EVERYONE = 10_000


def make_graph(num_nodes: int = 40, *, weighted: bool = True) -> Graph:
    generator = torch.Generator().manual_seed(num_nodes)
    one = torch.randint(num_nodes, (2, 4 * num_nodes), generator=generator)
    edges = torch.cat([one, one.flip(0)], dim=1)
    weight = 0.5 + torch.rand(one.size(1), generator=generator).repeat(2)
    x = torch.randn(num_nodes, 6, generator=generator)
    data = Data(x=x, edge_index=edges)
    if weighted:
        data.edge_weight = weight
    return as_graph(data)


def make_hetero() -> Graph:
    generator = torch.Generator().manual_seed(1)
    data = HeteroData()
    data["film"].x = torch.randn(30, 4, generator=generator)
    data["person"].x = torch.randn(20, 3, generator=generator)
    ends = [torch.randint(n, (90,), generator=generator) for n in (20, 30)]
    data["person", "acts", "film"].edge_index = torch.stack(ends)
    both = torch.randint(30, (2, 60), generator=generator)
    data["film", "like", "film"].edge_index = both
    return as_graph(data)


def dense_rows(graph: Graph, kind: Any) -> torch.Tensor:
    return graph.adjacency.normalized(kind).to_dense()


@pytest.mark.parametrize("kind", ["gcn", "mean", "sum"])
def test_sample__with_all_neighbors_the_targets_see_what_they_see_in_the_graph(
    kind: Any,
) -> None:
    graph = make_graph()
    x = graph.x
    whole = dense_rows(graph, kind)
    wanted = whole @ (whole @ x)
    targets = torch.tensor([7, 3, 21])
    batch = NeighborSampler(graph, EVERYONE, depth=2).sample(targets)
    assert batch.targets == (3,)
    part = dense_rows(batch, kind)
    (found,) = batch.target_rows(part @ (part @ batch.x))
    torch.testing.assert_close(found, wanted[targets])


def test_sample__of_several_types_sees_what_it_sees_in_the_graph() -> None:
    graph = make_hetero()
    targets = torch.tensor([41, 3, 30, 8])
    batch = NeighborSampler(graph, EVERYONE, depth=1).sample(targets)
    assert batch.targets == (2, 2)
    local = torch.cat([torch.arange(len(table)) for table in batch.x])
    films, people = batch.target_rows(local)
    assert films.tolist() == [0, 1]
    assert people.tolist() == [0, 1]
    torch.testing.assert_close(batch.x[0][:2], graph.x[0][[3, 8]])
    torch.testing.assert_close(batch.x[1][:2], graph.x[1][[11, 0]])
    rows = {"film": [3, 8], "person": [11, 0]}
    for relation, whole in graph.adjacency.adjacencies.items():
        source, _, target = relation
        part = batch.adjacency.adjacencies[relation]
        kinds = list(graph.adjacency.sizes)
        wanted = whole.normalized("gcn").to_dense() @ graph.x[kinds.index(source)]
        found = part.normalized("gcn").to_dense() @ batch.x[kinds.index(source)]
        torch.testing.assert_close(found[:2], wanted[rows[target]])


def test_sample__has_the_expected_sum_of_all_neighbors() -> None:
    torch.manual_seed(0)
    graph = make_graph()
    sampler = NeighborSampler(graph, 3, depth=1)
    targets = torch.arange(10)
    wanted = (dense_rows(graph, "gcn") @ graph.x)[targets]
    found = torch.zeros_like(wanted)
    for _ in range(500):
        batch = sampler.sample(targets)
        found += (dense_rows(batch, "gcn") @ batch.x)[: len(targets)] / 500
    torch.testing.assert_close(found, wanted, atol=0.1, rtol=0)


def test_sample__keeps_at_most_so_many_neighbors_and_only_real_ones() -> None:
    graph = make_graph(200)
    batch = NeighborSampler(graph, 4, depth=2).sample(torch.arange(20))
    assert int(batch.adjacency.pattern.rowptr.diff().max()) <= 4
    assert batch.num_nodes <= 20 * (1 + 4 + 16)
    dense = graph.adjacency.to_dense()
    # Features tell which node of the graph a node of the batch is.
    node = (batch.x[:, None] == graph.x[None]).all(dim=2).long().argmax(dim=1)
    source, target = node[batch.adjacency.edge_index]
    assert (dense[target, source] > 0).all()
    assert node[:20].tolist() == list(range(20))
    assert len(node.unique()) == batch.num_nodes


def test_draw_entries__every_entry_is_as_likely() -> None:
    torch.manual_seed(0)
    matrix = Adjacency.from_dense(torch.ones(1, 7))
    counts = torch.zeros(7)
    for _ in range(1400):
        drawn = draw_entries(matrix.pattern, torch.tensor([0]), 3)
        counts += torch.bincount(drawn.entry, minlength=7)
        assert drawn.scale.tolist() == pytest.approx([7 / 3] * 3)
    assert (counts / 600 - 1).abs().max() < 0.15


def test_draw_entries__of_short_rows_are_all_of_them() -> None:
    pattern = Adjacency.from_dense(torch.tensor([[1.0, 1, 0], [0, 0, 0]])).pattern
    drawn = draw_entries(pattern, torch.tensor([1, 0]), 5)
    assert drawn.row.tolist() == [0, 0]
    assert drawn.entry.tolist() == [0, 1]
    assert drawn.scale.tolist() == [1, 1]


@pytest.mark.parametrize("make", [make_graph, make_hetero])
def test_sampler__leaves_no_trace_of_the_sample_before(make: Any) -> None:
    graph = make()
    used, fresh = (NeighborSampler(graph, EVERYONE, depth=1) for _ in range(2))
    used.sample(torch.arange(12))
    again, wanted = used.sample(torch.arange(5, 9)), fresh.sample(torch.arange(5, 9))
    for one, other in zip(
        again.adjacency.parts(), wanted.adjacency.parts(), strict=True
    ):
        torch.testing.assert_close(one[0].to_dense(), other[0].to_dense())


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_sampled_adjacency__fewer_edges_shrink_the_degrees(share: float) -> None:
    graph = make_graph(300, weighted=False)
    batch = NeighborSampler(graph, EVERYONE, depth=2).sample(torch.arange(300))
    adjacency = batch.adjacency
    assert isinstance(adjacency, SampledAdjacency)
    keep = torch.rand(adjacency.num_edges) >= share
    thinned = adjacency.with_value(adjacency.value * keep)
    sums = thinned.normalized("gcn").to_dense().sum()
    wanted = Adjacency(thinned.pattern, thinned.value).normalized("gcn").to_dense()
    assert float(sums) == pytest.approx(float(wanted.sum()), rel=0.05)


def test_sampled_adjacency__of_two_types_shrinks_both_degrees() -> None:
    batch = NeighborSampler(make_hetero(), EVERYONE, depth=1).sample(torch.arange(50))
    (whole,) = (
        part
        for name, part in batch.adjacency.adjacencies.items()
        if name == ("person", "acts", "film")
    )
    halved = whole.with_value(whole.value / 2)
    for before, after in ((whole.into, halved.into), (whole.outof, halved.outof)):
        torch.testing.assert_close(after, before / 2)
    # Half of all weights: the normalised ones are what they were.
    one, other = (part.normalized("gcn").to_dense() for part in (whole, halved))
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("is_sampled", [True, False])
def test_part__edges_and_nodes_keep_what_belongs_to_them(is_sampled: bool) -> None:
    graph = make_graph()
    source, target = graph.adjacency.edge_index
    adjacency = graph.adjacency
    numbered = Adjacency.from_edge_index(
        torch.stack([source, target]),
        adjacency.value,
        num_nodes=40,
        edge_attr=torch.stack([source, target], dim=1).float(),
    )
    graph = Graph(graph.x, numbered, labels=torch.arange(40) * 10)
    nodes = torch.tensor([17, 3, 30, 8, 21, 5])
    if is_sampled:
        part = NeighborSampler(graph, 3, depth=1).sample(nodes)
    else:
        part = induced_subgraph(graph, nodes)
    place = (part.x[:, None] == graph.x[None]).all(dim=2).long().argmax(dim=1)
    assert part.labels is not None
    assert part.labels.tolist() == (10 * place).tolist()
    assert part.adjacency.num_edges > 0
    attr = part.adjacency.attr
    torch.testing.assert_close(attr.long(), place[part.adjacency.edge_index].t())


def test_node_batches__clusters_are_put_together_anew_in_every_epoch() -> None:
    pytest.importorskip("pymetis")
    graph = make_graph(200)
    options: Any = {"sampling": "clusters", "num_neighbors": 3, "depth": 1}
    epochs = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        batches = node_batches(graph, 50, **options)
        epochs.append({tuple(sorted(part.x[:, 0].tolist())) for part in batches})
    assert len(epochs[0]) == len(epochs[1]) == 4
    assert not epochs[0] & epochs[1]


def test_induced_subgraph__has_the_edges_between_its_nodes() -> None:
    graph = make_graph()
    nodes = torch.tensor([9, 2, 30, 17, 4])
    part = induced_subgraph(graph, nodes)
    taken = nodes.sort().values
    torch.testing.assert_close(part.x, graph.x[taken])
    wanted = graph.adjacency.to_dense()[taken][:, taken]
    torch.testing.assert_close(part.adjacency.to_dense(), wanted)
    assert part.adjacency.pattern.is_sorted
    assert part.targets == (5,)


def test_induced_subgraph__of_several_types() -> None:
    graph = make_hetero()
    part = induced_subgraph(graph, torch.tensor([35, 1, 49, 20]))
    assert part.targets == (2, 2)
    kinds = {"film": torch.tensor([1, 20]), "person": torch.tensor([5, 19])}
    for relation, whole in graph.adjacency.adjacencies.items():
        source, _, target = relation
        wanted = whole.to_dense()[kinds[target]][:, kinds[source]]
        found = part.adjacency.adjacencies[relation].to_dense()
        torch.testing.assert_close(found, wanted)


def test_induced_subgraph__takes_what_a_method_computed() -> None:
    graph = make_graph()
    rows, pairs = torch.randn(40, 2), Adjacency.from_dense(torch.rand(40, 40))
    graph = Graph(graph.x, graph.adjacency, extras={"rows": rows, "pairs": pairs})
    nodes = torch.tensor([3, 11, 39])
    part = induced_subgraph(graph, nodes)
    torch.testing.assert_close(part.extras["rows"], rows[nodes])
    wanted = pairs.to_dense()[nodes][:, nodes]
    found: Any = part.extras["pairs"]
    torch.testing.assert_close(found.to_dense(), wanted)


@pytest.mark.parametrize("sampling", ["neighbors", "random", "clusters"])
@pytest.mark.parametrize("make", [make_graph, make_hetero])
def test_node_batches__every_node_is_a_target_once(sampling: Any, make: Any) -> None:
    if sampling == "clusters":
        pytest.importorskip("pymetis")
    graph = make()
    tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
    seen: list[list[tuple[float, ...]]] = [[] for _ in tables]
    options = {"sampling": sampling, "num_neighbors": 3, "depth": 2}
    for batch in node_batches(graph, 16, **options):
        held = batch.x if isinstance(batch.x, tuple) else (batch.x,)
        assert sum(batch.targets or ()) <= 2 * 16
        for rows, table, count in zip(seen, held, batch.targets, strict=True):
            rows += [tuple(row) for row in table[:count].tolist()]
    for rows, table in zip(seen, tables, strict=True):
        assert sorted(rows) == sorted(tuple(row) for row in table.tolist())


def test_batch__can_be_pickled() -> None:
    batch = induced_subgraph(make_graph(), torch.arange(8))
    again = pickle.loads(pickle.dumps(batch))
    assert again.targets == batch.targets
    torch.testing.assert_close(again.x, batch.x)


def test_pattern__loops_are_inserted_as_by_sorting() -> None:
    for seed in range(30):
        generator = torch.Generator().manual_seed(seed)
        edges = torch.randint(6, (2, seed), generator=generator)
        made = Adjacency.from_edge_index(edges, num_nodes=6)
        assert made.pattern.is_sorted
        looped, position = made.pattern.with_loops
        assert looped.is_sorted
        assert set(zip(*looped_pairs(looped), strict=True)) == {
            *zip(*looped_pairs(made.pattern), strict=True),
            *((i, i) for i in range(6)),
        }
        torch.testing.assert_close(looped.col[position], made.pattern.col)
        torch.testing.assert_close(looped.row[position], made.pattern.row)


def looped_pairs(pattern: Any) -> tuple[list[int], list[int]]:
    return pattern.row.tolist(), pattern.col.tolist()
