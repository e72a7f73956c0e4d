"""Several ranks compute what one does on the whole batch."""

import copy
import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dsgrl.encode import BatchNorm
from dsgrl.graph import as_graph
from dsgrl.graph.batches import node_batches, shuffled_batches
from dsgrl.graph.sampling import NeighborSampler
from dsgrl.graph.spec import Spec
from dsgrl.losses.objective import objective
from dsgrl.methods import METHODS, NodeBatches, configure
from dsgrl.ranks import ALONE, ManyRanks, Ranks
from dsgrl.train.batches import embed_all
from dsgrl.train.distributed import (
    average_before_steps,
    check_same,
    check_shardable,
    share_ranks,
)
from dsgrl.train.loop import Training
from dsgrl.train.own_state import gather_state, pick_state
from dsgrl.typing import InputError
from samples import make_config, make_data, make_graph, make_graphs
from threads import ThreadRank, run_ranks

# Rows of each rank: equal, unequal, more than columns or fewer, one without any.
SHARES = [(6, 6), (9, 3), (7, 4, 1), (2, 1), (5, 0)]
OPTIONS = [
    {"invariance_form": form, "regularizer": regularizer, "standardize": standardize}
    for form, regularizer, standardize in itertools.product(
        ("mse", "frobenius"), ("covariance", "orthogonality"), (False, True)
    )
]

GRAPH_METHODS = [
    name for name, kind in METHODS.items() if "graph" in kind.levels and kind.is_trained
]


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


class Twin(nn.Module):
    """A linear map for each view, whose weights are also those of Eq. 5."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(4, 5)
        self.double()

    def loss(self, x: Tensor, ranks: Ranks, options: dict[str, Any]) -> Tensor:
        stacked = torch.cat([self.first.weight, self.second.weight])
        z1, z2 = self.first(x), self.second(x.square())
        terms = objective(
            z1, z2, [stacked], unit_rows=options["standardize"], ranks=ranks, **options
        )
        return torch.stack(list(terms.values()))


def gradients(module: nn.Module) -> list[Tensor]:
    return [p.grad for p in module.parameters() if p.grad is not None]


@pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda o: "-".join(map(str, o.values()))
)
@pytest.mark.parametrize("sizes", SHARES, ids=str)
def test_objective__is_that_of_all_rows(
    sizes: tuple[int, ...], options: dict[str, Any]
) -> None:
    model = Twin()
    x = torch.randn(sum(sizes), 4, dtype=torch.float64) + 3
    shares = x.split(list(sizes))

    def train(ranks: ThreadRank) -> tuple[Tensor, list[Tensor]]:
        own = copy.deepcopy(model)
        terms = own.loss(shares[ranks.rank], ranks, options)
        terms.sum().backward()
        ranks.average_gradients(list(own.parameters()))
        return terms.detach(), gradients(own)

    expected = model.loss(x, ALONE, options)
    expected.sum().backward()
    for terms, found in run_ranks(len(sizes), train):
        close(terms, expected.detach())
        close(found, gradients(model))


@pytest.mark.parametrize("sizes", [(6, 6), (9, 3), (11, 1), (1, 0)], ids=str)
def test_batch_norm__has_the_statistics_of_all_rows(sizes: tuple[int, int]) -> None:
    norm = BatchNorm(3).double()
    nn.init.normal_(norm.weight)
    x = 2 * torch.randn(sum(sizes), 3, dtype=torch.float64) + 5
    pull = torch.randn_like(x)
    parts, pulls = x.split(list(sizes)), pull.split(list(sizes))

    def train(ranks: ThreadRank) -> tuple[Any, ...]:
        own = copy.deepcopy(norm)
        own.ranks = ranks
        h = parts[ranks.rank].clone().requires_grad_()
        result = own(h)
        # The loss of a rank is its part of the sum: gradients are to be summed.
        (result * pulls[ranks.rank]).sum().backward()
        ranks.average_gradients(list(own.parameters()))
        grads = [ranks.count * grad for grad in gradients(own)]
        return result.detach(), h.grad, grads, own.state_dict()

    found = run_ranks(2, train)
    h = x.clone().requires_grad_()
    expected = norm(h)
    (expected * pull).sum().backward()
    close(torch.cat([rank[0] for rank in found]), expected.detach())
    close(torch.cat([rank[1] for rank in found]), h.grad)
    for rank in found:
        close(rank[2], gradients(norm))
        close(rank[3], norm.state_dict())


def build(name: str, **flat: Any) -> tuple[Any, Any, Any]:
    """Build a method for graphs without any chance in its training, in 64 bits."""
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = make_config(name, spec, **flat)
    method = METHODS[name].build(config, spec).double()
    return method, graph_in_doubles(graph), config


def graph_in_doubles(graph: Any) -> Any:
    adjacency = graph.adjacency.with_value(graph.adjacency.value.double())
    return replace(graph, x=graph.x.double(), adjacency=adjacency)


STILL = {"dropout": 0.0, "edge_drop": 0.0, "feature_drop": 0.0}
METHOD_CASES = {
    "default": STILL,
    "no norm": {**STILL, "norm": None},
    "topology": {**STILL, "augment": "topology"},
    "both": {**STILL, "augment": "both", "norm": "batch", "standardize": True},
    "orthogonality": {
        **STILL,
        "augment": "feature",
        "regularizer": "orthogonality",
        "orthogonality_weight": 1.0,
    },
}


def take_steps(built: Any, ranks: Ranks) -> tuple[Any, Any, Any]:
    """Take two steps; return the losses, the weights and the last gradients."""
    method, graph, config = copy.deepcopy(built[0]).train(), *built[1:]
    share_ranks(method, ranks)
    optimizers = method.optimizers(config)
    for optimizer in optimizers:
        average_before_steps(optimizer, ranks)
    losses = []
    for order in (torch.arange(8), torch.arange(7).flip(0)):
        # Shares of 4 and 4 graphs, then of 4 and 3.
        loss = method.step(graph.take(ranks.share(order)), optimizers)
        losses.append(loss.numbers())
    return losses, method.state_dict(), gradients(method)


@pytest.mark.parametrize("case", METHOD_CASES)
def test_dsgrl__takes_the_steps_of_one_process(case: str) -> None:
    built = build("dsgrl", **METHOD_CASES[case])
    losses, state, grads = take_steps(built, ALONE)
    assert losses[0]["loss"] != losses[1]["loss"]
    for found in run_ranks(2, lambda ranks: take_steps(built, ranks)):
        assert found[0] == [pytest.approx(row, rel=1e-8) for row in losses]
        close(found[2], grads)
        # Adam's first steps magnify what rounding leaves of a gradient.
        torch.testing.assert_close(found[1], state, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("augment", ["feature", "auto"])
def test_dsgrl__on_parts_of_a_graph_takes_the_steps_of_one_process(
    augment: str,
) -> None:
    graph = as_graph(make_data("node"))
    spec = Spec.of(graph)
    # All neighbours: what a node sees does not depend on who else is in the batch.
    batches = NodeBatches(size=20, sampling="neighbors", num_neighbors=1000)
    changes = {**STILL, "augment": augment, "batch_size": batches}
    config = make_config("dsgrl", spec, **changes)
    method = METHODS["dsgrl"].build(config, spec).double()
    doubled = graph_in_doubles(graph)

    def take(ranks: Ranks) -> tuple[Any, Any]:
        own = copy.deepcopy(method).train()
        share_ranks(own, ranks)
        (optimizer,) = own.optimizers(config)
        average_before_steps(optimizer, ranks)
        sampler = NeighborSampler(doubled, 1000, own.num_hops)
        losses = []
        for targets in torch.arange(40).split(21):
            part = sampler.sample(ranks.share(targets))
            losses.append(own.step(part, [optimizer]).numbers())
        return losses, gradients(own)

    losses, grads = take(ALONE)
    for found in run_ranks(2, take):
        assert found[0] == [pytest.approx(row, rel=1e-6) for row in losses]
        torch.testing.assert_close(found[1], grads, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sampling", ["neighbors", "random", "clusters"])
def test_node_batches__shares_are_the_batches_of_one(sampling: Any) -> None:
    if sampling == "clusters":
        pytest.importorskip("pymetis")
    graph = as_graph(make_data("node"))
    options = {"sampling": sampling, "num_neighbors": 3, "depth": 1}

    def draw(ranks: Ranks) -> list[list[float]]:
        parts = node_batches(graph, 15, **options, ranks=ranks)
        return [part.x[: part.targets[0], 0].tolist() for part in parts]

    first, second = run_ranks(2, draw)
    assert len(first) == len(second) == 3
    found = sorted(itertools.chain(*first, *second))
    assert found == sorted(graph.x[:, 0].tolist())


@pytest.mark.parametrize("name", GRAPH_METHODS)
def test_training__leaves_all_ranks_with_the_same_weights(name: str) -> None:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = make_config(name, spec, batch_size=4, epochs=2)
    method = METHODS[name].build(config, spec)

    def train(ranks: ThreadRank) -> tuple[Any, Any, int]:
        own = copy.deepcopy(method)
        share_ranks(own, ranks)
        training = Training(own, as_graph(make_graphs()), config)
        training.run()
        return own.state_dict(), training.history, ranks.exchanged

    first, second = run_ranks(2, train)
    assert first[1] == second[1]
    assert len(first[1]) == 2
    assert first[2] == second[2] > 0
    for name, value in first[0].items():
        assert torch.equal(value, second[0][name]), name
    changed = [
        n for n, p in method.named_parameters() if not torch.equal(p, first[0][n])
    ]
    assert changed


def test_gradients__without_one_on_any_rank_stay_so() -> None:
    def train(ranks: ThreadRank) -> list[Any]:
        ranks.BUCKET = 4
        found = [nn.Parameter(torch.zeros(3)) for _ in range(3)]
        found.append(nn.Parameter(torch.zeros(2, dtype=torch.float64)))
        found[1].grad = torch.full((3,), 2.0 + ranks.rank)
        found[3].grad = torch.full((2,), 1.0 + ranks.rank, dtype=torch.float64)
        if ranks.rank:
            found[2].grad = torch.ones(3)
        ranks.average_gradients(found)
        return [None if p.grad is None else p.grad.tolist() for p in found]

    for grads in run_ranks(2, train):
        assert grads == [None, [2.5] * 3, [0.5] * 3, [1.5] * 2]


def test_shuffled_batches__shares_are_the_batches_of_one() -> None:
    graph = as_graph(make_graphs())

    def draw(ranks: Ranks) -> list[list[int]]:
        batches = shuffled_batches(graph, 5, ranks)
        return [b.origin.numbers.tolist() for b in batches if b.origin is not None]

    first, second = run_ranks(2, draw)
    assert [len(a) + len(b) for a, b in zip(first, second, strict=True)] == [4, 4]
    assert sorted(itertools.chain(*first, *second)) == list(range(8))


def test_exchange__rows_numbers_bytes_and_tensors() -> None:
    def exchange(ranks: ThreadRank) -> list[Any]:
        rank = ranks.rank
        flag, table = torch.tensor(rank == 0), torch.full((2,), 5 - rank)
        ranks.copy_from_first([flag, table])
        return [
            ranks.gather(torch.full((rank, 2), float(rank))).tolist(),
            ranks.count_rows(torch.zeros(70_000 + rank, 1)),
            ranks.mean(torch.full((70_000 + rank, 1), 2.0)),
            ranks.from_first(0.1 + rank),
            ranks.largest(3 - rank),
            ranks.average_row({"loss": float(rank)}),
            ranks.send_bytes(b"\x00state" if rank == 0 else b"other"),
            ranks.send_bytes(None),
            ranks.send_bytes(b""),
            (bool(flag), table.tolist()),
            ranks.on_first(lambda: "done"),
        ]

    found = run_ranks(3, exchange)
    assert found[0][-1] == "done"
    assert found[2][-1] is None
    for each in found:
        assert each[:-1] == [
            [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]],
            210_003,
            (torch.tensor([2.0]), 210_003),
            0.1,
            3,
            {"loss": 1.0},
            b"\x00state",
            None,
            b"",
            (True, [5, 5]),
        ]


def test_own_state__each_rank_gets_its_own_back() -> None:
    def keep(ranks: ThreadRank) -> bool:
        own = {"pairs": torch.arange(5 * ranks.rank).view(-1, 5)}
        if ranks.rank == 2:
            own["more"] = torch.tensor(True)
        found = pick_state(gather_state(own, ranks), ranks)
        return found.keys() == own.keys() and all(
            torch.equal(found[name], own[name]) for name in own
        )

    assert run_ranks(3, keep) == [True] * 3


def test_embed_all__shares_come_back_in_order() -> None:
    method, graph, _ = build("dsgrl", floor=False)
    method.eval()
    expected = embed_all(method, graph)
    for found in run_ranks(3, lambda ranks: embed_all(method, graph, ranks)):
        close(found, expected)


@pytest.mark.parametrize(
    ("data", "size", "message"),
    [
        (make_graph(9, torch.Generator()), 4, "a single graph in one batch"),
        (make_graphs(), 3, "batch_size=3: batches of 2 graphs.*3 processes"),
        (make_graphs(), 2, "batch_size=2: batches of 2 graphs.*3 processes"),
    ],
)
def test_check_shardable__refuses(data: Any, size: int, message: str) -> None:
    graph = as_graph(data)
    config = configure("dsgrl", {"batch_size": size})
    check_shardable(graph, config, ALONE)
    with pytest.raises(InputError, match=message):
        check_shardable(graph, config, ManyRanks(0, 3))


def test_check_same__names_what_differs() -> None:
    def compare(ranks: ThreadRank) -> str:
        parts = {"edges": "a", "features": "b" if ranks.rank < 2 else "c"}
        with pytest.raises(InputError) as caught:
            check_same(parts, ranks)
        check_same({"edges": "a"}, ranks)
        return str(caught.value)

    said = run_ranks(3, compare)
    assert said[0].startswith("process 2 has other features than process 0")
    assert len(set(said)) == 1


def test_on_first__a_mistake_stops_all() -> None:
    def refuse(ranks: ThreadRank) -> str:
        def fail() -> None:
            raise InputError("no such folder")

        with pytest.raises(InputError) as caught:
            ranks.on_first(fail)
        return str(caught.value)

    assert run_ranks(2, refuse) == ["no such folder"] * 2


def test_share_ranks__refuses_a_batch_norm_of_one_process() -> None:
    method, _, _ = build("dsgrl", norm="batch")
    method.encoder.norms[0] = nn.BatchNorm1d(method.encoder.widths[0])
    share_ranks(method, ALONE)
    with pytest.raises(
        InputError, match=r"encoder\.norms\.0.*dsgrl\.encode\.BatchNorm"
    ):
        share_ranks(method, ManyRanks(0, 2))
