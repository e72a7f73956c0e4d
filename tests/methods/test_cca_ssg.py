"""CCA-SSG: its views, its loss, and what training is worth."""

import math
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.bench.systems import SYSTEMS, labels_of, unlabelled
from dsgrl.datasets.table import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.methods.cca_ssg import unit_columns
from dsgrl.typing import InputError
from samples import build_method


def build(in_channels: int = 12, **changes: Any) -> Any:
    return build_method("cca-ssg", in_channels, **{"out_channels": 6, **changes})


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_loss__reaches_every_parameter(num_layers: int, community_graph: Data) -> None:
    method = build(num_layers=num_layers)
    method.training_loss(as_graph(community_graph)).total.backward()
    size = {
        name: parameter.grad.abs().max().item()
        for name, parameter in method.named_parameters()
        if parameter.grad is not None
    }
    assert size.keys() == dict(method.named_parameters()).keys()
    reached = {name for name in size if size[name] > 1e-6 * max(size.values())}
    assert reached == size.keys()
    # A shift common to all rows: columns have mean 0 whatever it is.
    assert f"encoder.layers.{num_layers - 1}.bias" not in size


@pytest.mark.parametrize("width", [6, 80])
def test_loss__is_the_papers_formula(width: int, community_graph: Data) -> None:
    """Also for more columns than rows, where the smaller Gram matrix is taken."""
    graph = as_graph(community_graph)
    method = build(out_channels=width, decorrelation_weight=0.25)
    torch.manual_seed(3)
    terms = method.training_loss(graph).terms
    torch.manual_seed(3)
    views = [method.perturb(graph) for _ in range(2)]
    z1, z2 = (method.encoder(view.adjacency, view.x).double() for view in views)
    z1, z2 = (
        (z - z.mean(dim=0)) / z.std(dim=0, correction=0) / math.sqrt(60)
        for z in (z1, z2)
    )
    eye = torch.eye(width)
    expected = {
        "invariance": torch.linalg.matrix_norm(z1 - z2) ** 2,
        "decorrelation": 0.25
        * sum(torch.linalg.matrix_norm(z.t() @ z - eye) ** 2 for z in (z1, z2)),
    }
    assert terms.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(
            terms[name], value, check_dtype=False, rtol=1e-3, atol=0
        )


def test_loss__is_finite_where_a_column_is_constant(community_graph: Data) -> None:
    method = build()
    with torch.no_grad():
        method.encoder.layers[1].weight[:, 0] = 0
    loss = method.training_loss(as_graph(community_graph)).total
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in method.parameters())


def test_columns__have_mean_0_and_length_1() -> None:
    z = unit_columns(5 + 3 * torch.randn(40, 4))
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(z.square().sum(dim=0), torch.ones(4))
    assert unit_columns(torch.ones(5, 2)).eq(0).all()


def test_sparse_features__stay_sparse_and_give_the_same(community_graph: Data) -> None:
    x = (torch.rand(60, 12) < 0.2).float()
    dense = Graph(x, as_graph(community_graph).adjacency)
    sparse = Graph(Adjacency.from_dense(x), dense.adjacency)
    method = build()
    results = []
    for graph in (dense, sparse):
        torch.manual_seed(5)
        features = method.perturb(graph).x
        assert isinstance(features, Adjacency) == (graph is sparse)
        method.zero_grad()
        torch.manual_seed(5)
        loss = method.training_loss(graph)
        loss.total.backward()
        gradients = [parameter.grad.clone() for parameter in method.parameters()]
        results.append([features.to_dense(), loss.total, method.embed(graph)])
        results[-1] += gradients
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", [None, "batch"])
def test_mlp__is_a_perceptron_and_sees_no_edge(
    norm: str | None, community_graph: Data
) -> None:
    method = build(encoder="mlp", norm=norm).eval()
    graph = as_graph(community_graph)
    first, second = method.encoder.layers
    h = graph.x @ first.weight + (0 if first.bias is None else first.bias)
    h = method.encoder.norms[0](h) if norm else h
    z = method.embed(method.prepare(graph))
    torch.testing.assert_close(z, h.relu() @ second.weight)
    assert build(encoder="gcn").prepare(graph) is graph


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge_drop": 1.0}, "edge_drop=1.0: expected a share from 0 to below 1"),
        ({"feature_mask": -0.1}, "feature_mask=-0.1: expected a share"),
        ({"decorrelation_weight": -1}, "decorrelation_weight=-1: expected a number"),
        ({"num_layers": "auto"}, "num_layers='auto': expected a whole number from 1"),
        ({"norm": "auto"}, "norm='auto': expected one of None, 'batch', 'layer'"),
        ({"out_channels": 0}, "out_channels=0: expected a whole number from 1"),
        ({"lr": 0}, "lr=0: expected a number above 0"),
        ({"dropout": "auto"}, "dropout='auto': expected a share from 0 to below 1"),
        ({"tolerance": -1}, "epochs__tolerance=-1: expected 'auto' or a number from 0"),
        ({"epochs": "many"}, "epochs='many'"),
    ],
)
def test_check__says_what_was_expected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.data
def test_cora__training_is_worth_something() -> None:
    data = load_dataset("cora")
    scores = {}
    for name, epochs in {"cca-ssg": 20, "random-cca-ssg": 0}.items():
        system = SYSTEMS[name]
        config = system.configure({"epochs": epochs, "out_channels": 256}, "node")
        embedded = system.embed(unlabelled(data), config, None)
        scores[name] = evaluate(embedded.z, labels_of(data, None)).mean
    assert scores["cca-ssg"] > scores["random-cca-ssg"] + 3
