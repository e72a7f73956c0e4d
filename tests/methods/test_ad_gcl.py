"""AD-GCL: two players, each with its own loss, step and statistics."""

import itertools
from dataclasses import replace
from typing import Any

import torch

from dsgrl.graph import Graph, Spec, as_graph
from dsgrl.methods import METHODS, FitConfig, configure
from samples import make_graphs


def build(**changes: Any) -> tuple[Any, Graph, FitConfig]:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    settings = {"out_channels": 12, "num_layers": 3, "edge_channels": 8, **changes}
    config = configure("ad-gcl", settings, spec).resolved(spec)
    torch.manual_seed(0)
    return METHODS["ad-gcl"].build(config, spec), graph, config


def hardness(method: Any, graph: Graph) -> tuple[float, float]:
    """Return contrast and share of dropped edges, averaged over draws."""
    with torch.no_grad():
        drawn = [method.adversarial_loss(graph).terms for _ in range(20)]
    contrast, dropped = (
        sum(float(terms[name]) for terms in drawn) / 20
        for name in ("contrast", "dropped")
    )
    return -contrast, dropped


def test_losses__are_those_of_the_paper() -> None:
    method, graph, _ = build(drop_weight=3.0)
    torch.manual_seed(4)
    terms = method.adversarial_loss(graph).terms
    torch.manual_seed(4)
    weight = method.augmenter(graph)
    method.encoder.eval()
    adjacency = graph.adjacency.with_value(weight)
    views = (graph, replace(graph, adjacency=adjacency))
    u, v = (method.head(method.encoder(view)) for view in views)
    torch.testing.assert_close(terms["contrast"], -method.contrast(u, v))
    starts = graph.adjacency.pattern.rowptr[graph.ptr].tolist()
    shares = [(1 - weight[a:b]).mean() for a, b in itertools.pairwise(starts)]
    torch.testing.assert_close(terms["dropped"], 3 * torch.stack(shares).mean())


def test_augmenter__makes_the_contrast_harder() -> None:
    method, graph, config = build(drop_weight=0.0, augmenter_lr=0.01)
    _, adversary = method.optimizers(config)
    before, _ = hardness(method, graph)
    for _ in range(40):
        adversary.zero_grad()
        method.adversarial_loss(graph).backward()
        adversary.step()
    after, _ = hardness(method, graph)
    assert after > before + 0.1


def test_augmenter__drops_less_where_that_costs_more() -> None:
    dropped = {}
    for cost in (0.1, 50.0):
        method, graph, config = build(drop_weight=cost, augmenter_lr=0.02)
        _, adversary = method.optimizers(config)
        for _ in range(40):
            adversary.zero_grad()
            method.adversarial_loss(graph).backward()
            adversary.step()
        dropped[cost] = hardness(method, graph)[1] / cost
    assert dropped[50.0] < 0.05 < dropped[0.1]


def test_players__have_all_parameters_between_them() -> None:
    method, _, config = build(lr=0.02, augmenter_lr=0.03)
    main, adversary = method.optimizers(config)
    owned = [
        {p for group in optimizer.param_groups for p in group["params"]}
        for optimizer in (main, adversary)
    ]
    assert owned[1] == {*method.augmenter.parameters()}
    assert owned[0] == {*method.parameters()} - owned[1]
    assert (main.defaults["lr"], adversary.defaults["lr"]) == (0.02, 0.03)


def test_adversarial_loss__reaches_every_parameter_of_the_augmenter() -> None:
    method, graph, _ = build()
    method.train()
    method.adversarial_loss(graph).backward()
    sizes = {k: p.grad.abs().max() for k, p in method.augmenter.named_parameters()}
    largest = max(sizes.values())
    assert all(size > 1e-7 * largest for size in sizes.values()), sizes


def test_training_loss__gives_the_augmenter_no_gradient() -> None:
    method, graph, _ = build()
    method.training_loss(graph).backward()
    assert all(p.grad is None for p in method.augmenter.parameters())
    assert all(p.grad is not None for p in method.encoder.parameters())


def test_step__the_encoder_learns_from_its_own_loss_only() -> None:
    """With an augmenter that stands still, a step is one of plain training."""
    found = []
    for is_by_hand in (False, True):
        method, graph, config = build(augmenter_lr=1e-30)
        method.train()
        main, adversary = method.optimizers(config)
        torch.manual_seed(9)
        for _ in range(2):
            if is_by_hand:
                # The same draws and statistics; its gradients are thrown away.
                method.adversarial_loss(graph)
                main.zero_grad()
                method.training_loss(graph).backward()
                main.step()
            else:
                method.step(graph, [main, adversary])
        found.append(torch.cat([p.flatten() for p in method.encoder.parameters()]))
    assert torch.equal(*found)


def test_statistics__each_player_moves_its_own() -> None:
    method, graph, _ = build()
    method.train()

    def counts() -> list[int]:
        norms = (method.encoder.norm, method.augmenter.gnn.norm)
        return [int(norm.num_batches_tracked) for norm in norms]

    method.adversarial_loss(graph)
    assert counts() == [0, 1]
    method.training_loss(graph)
    # The graphs and their views.
    assert counts() == [2, 1]
    assert method.encoder.training
    assert method.augmenter.training
    method.eval()
    method.adversarial_loss(graph)
    method.training_loss(graph)
    assert counts() == [2, 1]
    assert not method.encoder.training
    assert not method.augmenter.training


def test_check__layers_do_not_share_the_columns() -> None:
    configure("ad-gcl", {"out_channels": 3, "num_layers": 5}).check()


def test_weights__of_the_graph_are_kept_in_the_view() -> None:
    data: list[Any] = make_graphs()
    for graph in data:
        graph.edge_weight = torch.zeros(graph.num_edges)
    method, _, _ = build()
    method.eval()
    graph = as_graph(data)
    loss = method.training_loss(graph)
    u = method.head(method.encoder(graph))
    # Without edges in the graph there are none in the view.
    torch.testing.assert_close(loss.total, method.contrast(u, u))
