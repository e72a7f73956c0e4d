"""GraphCL: its loss, its choice of views, and what training is worth."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.augment.graph_views import AUGMENTATIONS, EDGES, MASK, NODES, SAME, SUBGRAPH
from dsgrl.bench.systems import labels_of, unlabelled
from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, Spec, as_graph
from dsgrl.methods import METHODS, configure
from dsgrl.train import fit_graph
from dsgrl.typing import InputError
from samples import make_graphs


def build(name: str = "graphcl", **changes: Any) -> tuple[Any, Graph]:
    """Build a method for some graphs."""
    graph = as_graph(make_graphs())
    spec = Spec.of(graph)
    config = configure(name, {"out_channels": 24, **changes}, spec)
    config.check()
    return METHODS[name].build(config.resolved(spec), spec), graph


def nt_xent(u: Tensor, v: Tensor, temperature: float) -> Tensor:
    """Write out Eq. 3 pair by pair, in one direction."""
    total = torch.zeros(())
    for n in range(len(u)):
        pairs = [F.cosine_similarity(u[n], other, dim=0) / temperature for other in v]
        others = torch.stack([pair for m, pair in enumerate(pairs) if m != n])
        total = total - pairs[n] + others.logsumexp(dim=0)
    return total / len(u)


def test_loss__is_the_papers_formula_in_both_directions() -> None:
    method, graph = build(temperature=0.3)
    torch.manual_seed(3)
    found = method.training_loss(graph).terms
    torch.manual_seed(3)
    choice = method.draw(8)
    views = [method.augment(graph, kinds) for kinds in choice]
    u, v = (method.head(method.encoder(view)) for view in views)
    expected = (nt_xent(u, v, 0.3) + nt_xent(v, u, 0.3)) / 2
    assert found.keys() == {"contrast"}
    torch.testing.assert_close(found["contrast"], expected, rtol=1e-4, atol=1e-4)


def test_draw__one_view_is_the_graph_unless_both_are_asked_for() -> None:
    method, _ = build()
    first, second = method.draw(4000)
    assert first.eq(SAME).all()
    share = torch.bincount(second, minlength=len(AUGMENTATIONS)) / 4000
    expected = torch.tensor([0.25, 0.25, 0.25, 0.25, 0])
    torch.testing.assert_close(share, expected, atol=0.03, rtol=0)
    method, _ = build(both_views=True, augmentations="mask+subgraph")
    first, second = method.draw(4000)
    assert {*first.tolist()} == {*second.tolist()} == {MASK, SUBGRAPH}
    # Each view has its own.
    assert first.eq(second).double().mean().item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"augment_share": 0.4}, NODES),
        ({"augment_share": 0.4}, EDGES),
        ({"augment_share": 0.4}, MASK),
        ({"subgraph_share": 0.7}, SUBGRAPH),
        ({"edge_add": 0.5}, EDGES),
    ],
)
def test_shares__reach_the_views_they_are_for(
    changes: dict[str, float], kind: int
) -> None:
    def view(method: Any) -> list[Tensor]:
        torch.manual_seed(1)
        found = method.augment(graph, torch.full((8,), kind))
        return [found.adjacency.edge_index, found.x]

    (before, graph), (after, _) = build(), build(**changes)
    pairs = zip(view(before), view(after), strict=True)
    assert any(a.shape != b.shape or not torch.equal(a, b) for a, b in pairs)


def test_embedding__is_of_the_whole_graph_and_before_the_head() -> None:
    method, graph = build()
    method.eval()
    torch.testing.assert_close(method.embed(graph), method.encoder(graph))
    assert method.embed(graph).shape == (8, 24)


def test_sparse_features__give_the_same() -> None:
    method, graph = build()
    x = graph.x * (torch.rand_like(graph.x) < 0.3)
    losses = []
    for table in (x, Adjacency.from_dense(x)):
        torch.manual_seed(5)
        batch = Graph(table, graph.adjacency, ptr=graph.ptr)
        losses.append(method.training_loss(batch).total)
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"augmentations": "walks"}, "augmentations='walks': expected some of 'nodes'"),
        ({"augmentations": "mask+mask"}, "augmentations='mask+mask': expected some"),
        ({"augment_share": 1.0}, "augment_share=1.0: expected a share from 0 to"),
        ({"temperature": 0.01}, "temperature=0.01: expected a number from 0.03"),
        ({"out_channels": 2}, "out_channels=2: expected a column for each of 3 layers"),
    ],
)
def test_check__says_what_was_expected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["graphcl", "joao", "ad-gcl", "simgrace"])
def test_imdb__training_is_worth_something(name: str) -> None:
    """The support vector machine sees little in the sums of an untrained network."""
    data = load_dataset("imdb-b")
    scores = {}
    for epochs in (0, 4):
        config = configure(name, {"epochs": epochs})
        fitted, graph = fit_graph(name, unlabelled(data), config)
        scores[epochs] = evaluate(
            fitted.embed_graph(graph),
            labels_of(data, None),
            protocol="10-fold-svm",
            num_splits=5,
        ).mean
    assert scores[4] > scores[0] + 3
