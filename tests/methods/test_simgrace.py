"""SimGRACE: how its encoder is perturbed, and where gradients go."""

from typing import Any

import pytest
import torch

from dsgrl.graph import Graph, Spec, as_graph
from dsgrl.methods import METHODS, configure
from samples import make_graphs


def build(**changes: Any) -> tuple[Any, Graph]:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    settings = {"out_channels": 80, "num_layers": 2, **changes}
    config = configure("simgrace", settings, spec).resolved(spec)
    return METHODS["simgrace"].build(config, spec), graph


@pytest.mark.parametrize("noise", [0.5, 10.0])
def test_noise__is_in_units_of_each_parameters_deviation(noise: float) -> None:
    method, _ = build(noise=noise)
    with torch.no_grad():
        method.encoder.layers[1].weight.mul_(7)
    state = method.perturbed()
    for key, value in method.encoder.named_parameters():
        change = (state[key] - value).detach()
        if value.std() == 0:
            # Such as the scale of a batch norm at first.
            assert not change.any(), key
        else:
            found = change.std() / value.std()
            assert found.item() == pytest.approx(noise, rel=0.25), key
    assert (state["layers.1.weight"] - method.encoder.layers[1].weight).std() > 3 * (
        state["layers.0.weight"] - method.encoder.layers[0].weight
    ).std()


def test_noise__of_a_single_number_is_none() -> None:
    method, _ = build()
    method.encoder.scale = torch.nn.Parameter(torch.tensor([3.0]))
    assert method.perturbed()["scale"].item() == 3.0


def test_loss__without_noise_contrasts_a_view_with_itself() -> None:
    method, graph = build(noise=0.0)
    u = method.head(method.encoder(graph))
    found = method.training_loss(graph).total
    torch.testing.assert_close(found, method.contrast(u, u))


def test_loss__the_perturbed_encoder_is_a_fixed_target() -> None:
    method, graph = build()
    torch.manual_seed(2)
    method.training_loss(graph).backward()
    found = {k: p.grad.clone() for k, p in method.named_parameters()}
    method.zero_grad()
    noisy, _ = build()
    torch.manual_seed(2)
    with torch.no_grad():
        noisy.encoder.load_state_dict(method.perturbed())
        target = method.head(noisy.encoder(graph))
    method.contrast(method.head(method.encoder(graph)), target).backward()
    for key, value in method.named_parameters():
        torch.testing.assert_close(value.grad, found[key], rtol=1e-3, atol=1e-5)


def test_loss__leaves_weights_and_counts_the_statistics_once() -> None:
    method, graph = build()
    method.train()
    before = {k: v.clone() for k, v in method.named_parameters()}
    method.training_loss(graph)
    for key, value in method.named_parameters():
        assert torch.equal(value, before[key])
    assert [int(norm.num_batches_tracked) for norm in method.encoder.norms] == [1, 1]
    statistics = method.encoder.norms[0].running_mean.clone()
    plain, _ = build()
    plain.load_state_dict({**method.state_dict()})
    for norm in plain.encoder.norms:
        norm.reset_running_stats()
    plain.encoder(graph)
    torch.testing.assert_close(plain.encoder.norms[0].running_mean, statistics)
