"""What holds for every method of `METHODS`; a new one is tested by its row there."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.bench.baselines import baseline_parameters
from dsgrl.bench.systems import SYSTEMS
from dsgrl.estimator import DSGRL
from dsgrl.graph import as_graph
from dsgrl.methods import METHODS, Baseline, Method, build_dsgrl
from dsgrl.methods.rules import RULES
from dsgrl.train import TrainConfig, seeded, train
from samples import permute


def build(name: str, in_channels: int = 12) -> Method:
    method = METHODS[name]
    if issubclass(method, Baseline):
        parameters = {**method.defaults, "out_channels": 6}
        return method.from_parameters(parameters, in_channels)
    return build_dsgrl(
        DSGRL(out_channels=6, augment_channels=8).get_params(deep=False), in_channels
    )


def defaults_of(name: str) -> dict[str, Any]:
    method = METHODS[name]
    if issubclass(method, Baseline):
        return baseline_parameters(method)
    parameters: dict[str, Any] = DSGRL().get_params(deep=False)
    return parameters


def baseline(name: str) -> type[Baseline]:
    method = METHODS[name]
    assert issubclass(method, Baseline)
    return method


every_method = pytest.mark.parametrize("name", METHODS)
every_baseline = pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if issubclass(method, Baseline)]
)


@every_method
def test_method__declares_what_bench_and_tuning_ask_for(name: str) -> None:
    method = METHODS[name]
    assert method.levels <= {"node", "graph", "hetero"}
    assert not method.uses_labels
    assert method.search_space.keys() <= defaults_of(name).keys()
    for low, high, scale in method.search_space.values():
        assert low < high
        assert scale == "linear" or low > 0
    # Of DSGRL there are several systems, by what is augmented.
    assert name == "dsgrl" or SYSTEMS[name].recipes == name


@every_method
def test_method__has_a_rule_for_every_parameter(name: str) -> None:
    method = METHODS[name]
    own = method.rules.keys() if issubclass(method, Baseline) else set()
    unchecked = defaults_of(name).keys() - RULES.keys() - own
    assert unchecked <= {"device", "verbose"}


@every_baseline
def test_baseline__the_rules_allow_the_defaults_and_the_whole_space(name: str) -> None:
    method = baseline(name)
    method.check(baseline_parameters(method))
    for end in (0, 1):
        ends = {key: span[end] for key, span in method.search_space.items()}
        method.check({**baseline_parameters(method), **ends})


@every_method
def test_method__one_step_is_finite_and_reaches_nearly_all(
    name: str, community_graph: Data
) -> None:
    method = build(name)
    loss = method.training_loss(as_graph(community_graph))
    assert loss.total.isfinite()
    assert not loss.z.requires_grad
    assert len(loss.z) == 60
    loss.total.backward()
    reached = [
        parameter.grad is not None and bool(parameter.grad.abs().max() > 0)
        for parameter in method.parameters()
    ]
    # A shift common to all rows may be of no consequence: one bias at most.
    assert reached.count(False) <= 1


@every_method
def test_method__descent_lowers_the_loss(name: str, community_graph: Data) -> None:
    _, history, _ = fitted(name, community_graph, 0, epochs=60, lr=0.01)
    losses = [row["loss"] for row in history]
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])


@every_method
def test_method__permuting_nodes_permutes_the_embedding(
    name: str, community_graph: Data
) -> None:
    method = build(name).eval()
    moved, order = permute(community_graph)
    z = method.embed(as_graph(community_graph))
    torch.testing.assert_close(
        method.embed(as_graph(moved)), z[order], rtol=1e-4, atol=1e-5
    )


@every_method
def test_method__construction_does_not_reseed(name: str) -> None:
    one, other = (list(build(name).parameters()) for _ in range(2))
    assert any(not torch.equal(a, b) for a, b in zip(one, other, strict=True))


def fitted(name: str, data: Data, seed: int, **options: Any) -> Any:
    with seeded(seed):
        method = build(name)
        history, epoch = train(method, as_graph(data), TrainConfig(**options))
    return method, history, epoch


@every_method
def test_method__same_seed_same_embedding(name: str, community_graph: Data) -> None:
    graph = as_graph(community_graph)
    torch.manual_seed(11)
    first = fitted(name, community_graph, 1, epochs=3)[0].embed(graph)
    torch.manual_seed(22)
    same = fitted(name, community_graph, 1, epochs=3)[0].embed(graph)
    other = fitted(name, community_graph, 2, epochs=3)[0].embed(graph)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


@every_method
def test_method__stops_by_held_out_links(name: str, community_graph: Data) -> None:
    method, history, epoch = fitted(name, community_graph, 0, max_epochs=20)
    assert [row["epoch"] for row in history if "link_auc" in row] == [0, 5, 10, 15, 20]
    assert 0 <= epoch <= 20
    assert not method.training


@every_method
def test_method__state_goes_from_one_to_another(
    name: str, community_graph: Data
) -> None:
    graph = as_graph(community_graph)
    one, other = build(name).eval(), build(name).eval()
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.embed(graph), other.embed(graph))


@every_baseline
def test_baseline__every_parameter_of_its_own_has_an_effect(
    name: str, community_graph: Data
) -> None:
    method, system = baseline(name), SYSTEMS[name]
    small = {**baseline_parameters(method), "epochs": 3, "out_channels": 6}
    change: dict[str, Callable[[Any], Any]] = {
        "hidden_channels": lambda _: 5,
        "norm": lambda _: "batch",
    }

    def embed(**changes: Any) -> Any:
        return system.embed(community_graph, {**small, **changes}, None).z

    before = embed()
    for key in method.defaults:
        value = small[key]
        new = (
            change[key](value) if key in change else value + (1 if value >= 1 else 0.2)
        )
        z = embed(**{key: new})
        assert z.shape != before.shape or abs(z - before).max() > 1e-6, key
