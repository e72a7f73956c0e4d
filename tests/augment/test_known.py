"""When pairs are looked up, for one graph and for batches of many."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from dsgrl.augment import TopologyAugmenter
from dsgrl.graph import Graph, as_graph
from dsgrl.typing import InputError
from samples import LEVELS, make_data, make_graphs

SIZES = (9, 5, 12, 0, 7, 6, 10, 1)


class Counted(TopologyAugmenter):
    """Remembers how many nodes of how many graphs each look-up was for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.looked_up: list[Graph] = []

    def find_pairs(self, graph: Graph, h: Tensor) -> Tensor:
        assert h.size(0) == graph.num_nodes
        self.looked_up.append(graph)
        return super().find_pairs(graph, h)

    def take_count(self) -> int:
        """How many graphs were looked up since the last call."""
        count = sum(graph.num_graphs for graph in self.looked_up)
        self.looked_up = []
        return count


def learner(graph: Graph, **options: Any) -> Counted:
    widths: Any = graph.num_features
    if isinstance(graph.x, tuple):
        widths = [table.shape[1] for table in graph.x]
        options["schema"] = graph.adjacency.schema
    return Counted(widths, 8, **{"edges_per_node": 3, **options})


def change(model: TopologyAugmenter) -> None:
    """Move the weights, so that other pairs are similar."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))


def edges_by_graph(made: Any, graph: Graph) -> list[Tensor]:
    return [block.edge_index for block in made.diagonal_blocks(graph.bounds)]


@pytest.mark.parametrize("level", ["node", "hetero"])
@pytest.mark.parametrize(("refresh", "every"), [("auto", 5), (5, 5), (3, 3), (1, 1)])
def test_refresh__one_graph_is_looked_up_every_few_steps(
    level: str, refresh: Any, every: int
) -> None:
    graph = as_graph(make_data(level))
    model = learner(graph, refresh=refresh)
    counts = []
    for _ in range(11):
        model(graph)
        counts.append(model.take_count())
    assert counts == [int(step % every == 0) for step in range(11)]


@pytest.mark.parametrize(("refresh", "every"), [("auto", 1), (5, 5), (3, 3), (1, 1)])
def test_refresh__many_graphs_are_looked_up_every_few_visits_each(
    refresh: Any, every: int
) -> None:
    whole = as_graph(make_graphs(SIZES))
    model = learner(whole, refresh=refresh)
    counts = []
    for _ in range(8):
        for numbers in torch.randperm(len(SIZES)).split(3):
            model(whole.take(numbers))
        counts.append(model.take_count())
    assert counts == [len(SIZES) * (epoch % every == 0) for epoch in range(8)]


def test_refresh__counts_the_visits_of_each_graph() -> None:
    whole = as_graph(make_graphs(SIZES))
    model = learner(whole, refresh=3)
    visits = torch.zeros(len(SIZES), dtype=torch.long)
    for _ in range(30):
        numbers = torch.randperm(len(SIZES))[: int(torch.randint(1, 5, ()))]
        due = numbers[visits[numbers] % 3 == 0]
        model(whole.take(numbers))
        sizes = [size for graph in model.looked_up for size in graph.ptr.diff()]
        assert sizes == [SIZES[number] for number in due]
        assert model.take_count() == len(due)
        visits[numbers] += 1


def test_refresh__edges_of_a_graph_stay_until_it_is_due_again() -> None:
    whole = as_graph(make_graphs(SIZES))
    model = learner(whole, refresh=2)
    known: dict[int, Tensor] = {}
    changed = 0
    for epoch in range(6):
        for numbers in torch.randperm(len(SIZES)).split(3):
            batch = whole.take(numbers)
            fresh = edges_by_graph(copy.deepcopy(model).eval()(batch), batch)
            found = edges_by_graph(model(batch), batch)
            for number, edges, now in zip(numbers.tolist(), found, fresh, strict=True):
                if epoch % 2 == 0:
                    assert torch.equal(edges, now)
                    known[number] = edges
                assert torch.equal(edges, known[number])
                changed += not torch.equal(edges, now)
            change(model)
    assert changed, "the weights did not move the edges: nothing was tested"


def test_refresh__edges_never_leave_their_graph() -> None:
    whole = as_graph(make_graphs(SIZES))
    model = learner(whole, refresh=3)
    for _ in range(7):
        for numbers in torch.randperm(len(SIZES)).split(3):
            batch = whole.take(numbers)
            bounds = torch.tensor(batch.bounds)
            ends = torch.bucketize(model(batch).edge_index, bounds, right=True)
            assert torch.equal(ends[0], ends[1])


def test_refresh__weights_learn_between_look_ups_of_many_graphs() -> None:
    whole = as_graph(make_graphs(SIZES))
    model = learner(whole, refresh=10)
    batch = whole.take(torch.tensor([2, 0, 4]))
    before = model(batch)
    change(model)
    after = model(whole.take(torch.tensor([2, 0, 4])))
    assert torch.equal(after.edge_index, before.edge_index)
    assert not torch.allclose(after.value, before.value)


@pytest.mark.parametrize("level", LEVELS)
def test_refresh__evaluation_looks_up_always_and_counts_nothing(level: str) -> None:
    whole = as_graph(make_data(level))
    model = learner(whole, refresh=3)
    model(whole)
    model.take_count()
    for _ in range(4):
        model.eval()(whole)
    assert model.take_count() == 4 * whole.num_graphs
    model.train()(whole)
    model(whole)
    assert model.take_count() == 0
    model(whole)
    assert model.take_count() == whole.num_graphs


def test_refresh__another_set_of_graphs_is_looked_up_anew() -> None:
    one, other = as_graph(make_graphs(SIZES)), as_graph(make_graphs(SIZES, seed=1))
    model = learner(one, refresh=5)
    for whole in (one, other, one):
        model(whole.take(torch.tensor([0, 4])))
        assert model.take_count() == 2


def test_refresh__edges_that_changed_are_looked_up_anew() -> None:
    """A batch with other edges is not the batch that was known."""
    whole = as_graph(make_graphs(SIZES))
    model = learner(whole, refresh=5)
    batch = whole.take(torch.tensor([0, 4]))
    model(batch)
    model.take_count()
    edges = batch.adjacency
    model(batch.with_adjacency(edges.select(edges.value < 0)))
    assert model.take_count() == 2


class Crossing(Counted):
    """Joins the first and the last node of a batch, whatever graph they are of."""

    def find_pairs(self, graph: Graph, h: Tensor) -> Tensor:
        super().find_pairs(graph, h)
        return torch.tensor([[0], [graph.num_nodes - 1]])


def test_refresh__pairs_across_graphs_belong_to_their_batch() -> None:
    whole = as_graph(make_graphs(SIZES))
    model = Crossing(4, 8, edges_per_node=3, refresh=5)
    for numbers in ([0, 1, 2], [2, 4, 5], [0, 1, 2]):
        batch = whole.take(torch.tensor(numbers))
        last = batch.num_nodes - 1
        assert model(batch).edge_index.tolist() == [[last, 0], [0, last]]


def batches(graph: Graph, steps: int) -> list[Graph]:
    if graph.ptr is None:
        return [graph] * steps
    orders = [torch.randperm(graph.num_graphs)[:4] for _ in range(steps)]
    return [graph.take(order) for order in orders]


def train(model: TopologyAugmenter, some: list[Graph], optimizer: Any) -> list[Tensor]:
    losses = []
    for batch in some:
        learned = model(batch)
        parts = [part for part, _, _ in learned.parts() if part.value.requires_grad]
        values = [part.value @ torch.randn(part.num_edges) for part in parts]
        loss = torch.stack(values).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses += [loss.detach(), *(part.edge_index for part in parts)]
    return losses


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("refresh", ["auto", 3])
@pytest.mark.parametrize("steps", [0, 1, 4, 7])
def test_training_state__a_resumed_training_is_the_same(
    level: str, refresh: Any, steps: int
) -> None:
    graph = as_graph(make_data(level))
    some = batches(graph, steps + 9)
    one, other = (learner(graph, refresh=refresh, dropout=0.3) for _ in range(2))
    optimizer = torch.optim.SGD(one.parameters(), lr=1.0, momentum=0.9)
    train(one, some[:steps], optimizer)
    state, training_state = one.state_dict(), one.training_state()
    assert all(isinstance(value, Tensor) for value in training_state.values())
    other.load_state_dict(state)
    other.load_training_state(copy.deepcopy(training_state))
    resumed = torch.optim.SGD(other.parameters(), lr=1.0, momentum=0.9)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    results = []
    for model, moves in ((one, optimizer), (other, resumed)):
        torch.manual_seed(1)
        model.take_count()
        results.append([*train(model, some[steps:], moves), model.take_count()])
    for wanted, found in zip(*results, strict=True):
        if isinstance(wanted, Tensor):
            assert torch.equal(found, wanted)
        else:
            assert found == wanted


def test_training_state__of_other_graphs_is_refused() -> None:
    whole, fewer = as_graph(make_graphs(SIZES)), as_graph(make_graphs((9, 5)))
    one, other = learner(whole, refresh=3), learner(whole, refresh=3)
    one(whole)
    other.load_training_state(one.training_state())
    with pytest.raises(InputError, match=r"training state of 8 graphs, got 2"):
        other(fewer)
