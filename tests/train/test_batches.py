from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from dsgrl.graph import Graph, as_graph
from dsgrl.graph.batches import shuffled_batches
from dsgrl.methods.base import Method
from dsgrl.train.batches import embed_all
from samples import AUGMENTS, make_data, make_graphs, make_model


class CountNodes(Method):
    """Embeds a graph as its size, and remembers how many came at once."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def embed(self, batch: Graph) -> Tensor:
        assert batch.ptr is not None
        assert not torch.is_grad_enabled()
        self.seen.append(batch.num_nodes + batch.adjacency.num_edges)
        return batch.ptr.diff()[:, None].float()


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=8, max_size=30).filter(any),
    size=st.sampled_from([None, 1, 2, 3, 5, 7, 40]),
)
def test_shuffled_batches__every_graph_once_in_batches_of_nearly_one_size(
    sizes: list[int], size: int | None
) -> None:
    graphs = [
        # The one feature numbers the graphs from 1: zeros would be held sparse.
        Data(
            x=torch.full((count, 1), 1.0 + number),
            edge_index=torch.empty(2, 0, dtype=torch.long),
        )
        for number, count in enumerate(sizes)
    ]
    batches = list(shuffled_batches(as_graph(graphs), size))
    counts = [batch.num_graphs for batch in batches]
    assert sum(counts) == len(sizes)
    assert max(counts) - min(counts) <= 1
    assert max(counts) <= (size or len(sizes))
    found = Counter(value for batch in batches for value in batch.x.flatten().tolist())
    assert found == {1.0 + i: count for i, count in enumerate(sizes) if count}


def test_shuffled_batches__order_follows_the_seed() -> None:
    graph = as_graph(make_graphs())

    def run(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        return [batch.bounds for batch in shuffled_batches(graph, 3)]

    assert run(0) == run(0)
    assert run(0) != run(1)


@pytest.mark.parametrize("level", ["node", "hetero"])
def test_shuffled_batches__a_single_graph_is_one_batch(level: str) -> None:
    graph = as_graph(make_data(level))
    (batch,) = shuffled_batches(graph, 1)
    assert batch is graph


@pytest.mark.parametrize("limit", [1, 40, 100, 1 << 18])
def test_embed_all__in_order_and_not_too_much_at_once(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.graph.batches.PART_ELEMENTS", limit)
    none = torch.empty(2, 0, dtype=torch.long)
    empty = Data(x=torch.zeros(0, 4), edge_index=none)
    graphs = [empty, *make_graphs(), empty, empty, *make_graphs(seed=1), empty]
    method = CountNodes()
    found = embed_all(method, as_graph(graphs))
    assert found.flatten().tolist() == [g.num_nodes for g in graphs]
    largest = max(g.num_nodes + g.num_edges for g in graphs)
    assert max(method.seen) <= limit + largest
    if limit == 1:
        assert len(method.seen) >= 16
    if limit == 1 << 18:
        assert len(method.seen) == 1


@pytest.mark.parametrize("augment", AUGMENTS)
def test_embed_all__does_not_depend_on_how_many_at_once(
    augment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = make_graphs()
    model = make_model(augment=augment, epochs=2, out_channels=4, augment_channels=6)
    z = model.fit_transform(graphs)
    monkeypatch.setattr("dsgrl.graph.batches.PART_ELEMENTS", 60)
    np.testing.assert_allclose(model.transform(graphs), z, rtol=1e-4, atol=1e-5)
