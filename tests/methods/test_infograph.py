"""InfoGraph: its pairs, its embedding, and what training is worth."""

import itertools
from typing import Any

import torch

from dsgrl.datasets import load_dataset
from dsgrl.graph import Graph, Spec, as_graph
from dsgrl.losses.contrastive import jensen_shannon
from dsgrl.methods import METHODS, configure
from dsgrl.train import fit
from samples import make_config, make_graphs


def build(**changes: Any) -> tuple[Any, Graph]:
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = make_config("infograph", spec, **{"out_channels": 20, **changes})
    return METHODS["infograph"].build(config, spec), graph


def test_loss__is_jensen_shannon_of_nodes_and_graphs() -> None:
    method, graph = build(num_layers=3)
    # Batch norm has other statistics in the second pass of a training step.
    method.eval()
    ptr = graph.bounds
    nodes = method.encoder.embed_nodes(graph)
    sums = [nodes[a:b].sum(0) for a, b in itertools.pairwise(ptr)]
    u, v = method.of_nodes(nodes), method.of_graphs(torch.stack(sums))
    number = torch.arange(8).repeat_interleave(torch.tensor(ptr).diff())
    is_own = number[:, None] == torch.arange(8)
    scores = u @ v.t()
    expected = jensen_shannon(scores[is_own], scores[~is_own])
    torch.testing.assert_close(method.training_loss(graph).total, expected)
    torch.testing.assert_close(method.embed(graph), torch.stack(sums))


def test_loss__of_one_graph_has_no_false_pairs() -> None:
    method, graph = build()
    loss = method.training_loss(graph.take(torch.tensor([3])))
    assert loss.total.isfinite()


def test_embedding__has_the_width_asked_for() -> None:
    for layers, width in ((3, 20), (5, 23)):
        method, graph = build(num_layers=layers, out_channels=width)
        assert method.embed(graph).shape == (8, width)


def test_training__tells_nodes_of_graphs_apart() -> None:
    data = load_dataset("digits-graphs")[:60]
    config = configure("infograph", {"epochs": 15, "out_channels": 24, "num_layers": 3})
    losses = [row["loss"] for row in fit("infograph", data, config).history]
    assert losses[-1] < 0.8 * losses[0]
