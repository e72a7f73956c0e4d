from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.estimator import DSGRL
from dsgrl.graph import as_graph
from dsgrl.methods import (
    PLAIN,
    DSGRLMethod,
    build_dsgrl,
    check_parameters,
    resolve_auto,
)
from dsgrl.typing import InputError, Level

SMALL = {"out_channels": 4, "augment_channels": 6}


def build(in_channels: int = 12, **changes: object) -> DSGRLMethod:
    parameters = DSGRL(**{**SMALL, **changes}).get_params(deep=False)
    check_parameters(parameters)
    return build_dsgrl(parameters, in_channels)


@pytest.mark.parametrize("encoder", ["gcn", "sage", "gin"])
@pytest.mark.parametrize("regularizer", ["covariance", "orthogonality"])
@pytest.mark.parametrize(
    ("augment", "augment_layers"), [("auto", 1), ("feature", 1), ("feature", 2)]
)
def test_dsgrl__full_loss_reaches_every_parameter(
    encoder: str,
    regularizer: str,
    augment: str,
    augment_layers: int,
    community_graph: Data,
) -> None:
    method = build(
        augment=augment,
        encoder=encoder,
        regularizer=regularizer,
        augment_layers=augment_layers,
        orthogonality_weight=1.0,
    )
    loss = method.training_loss(as_graph(community_graph))
    loss.total.backward()
    size = {
        name: parameter.grad.abs().max().item()
        for name, parameter in method.named_parameters()
    }
    reached = {name for name in size if size[name] > 1e-6 * max(size.values())}
    expected = set(size)
    if regularizer == "covariance":
        # A shift common to all rows of both views: Eqs. 1 to 4 do not see it.
        expected.remove("encoder.layers.1.bias")
    assert reached == expected


def test_dsgrl__construction_does_not_reseed() -> None:
    one, other = build(augment="feature"), build(augment="feature")
    assert not torch.equal(one.features.weights[0], other.features.weights[0])


def test_dsgrl__permuting_nodes_permutes_the_embedding(community_graph: Data) -> None:
    method = build().eval()
    order = torch.randperm(60)
    moved = Data(
        x=community_graph.x[order],
        edge_index=order.argsort()[community_graph.edge_index],
    )
    z = method.embed(as_graph(community_graph))
    torch.testing.assert_close(
        method.embed(as_graph(moved)), z[order], rtol=1e-4, atol=1e-5
    )


def test_dsgrl__aggregates_the_views(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    method = build().eval()
    z = method.encode(graph)
    for aggregate, expected in {
        "concat": torch.cat([z[:, 0], z[:, 1]], dim=1),
        "mean": (z[:, 0] + z[:, 1]) / 2,
        "sum": z[:, 0] + z[:, 1],
    }.items():
        method.aggregate = aggregate  # type: ignore[assignment]
        torch.testing.assert_close(method.embed(graph), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"augment": "nodes"},
            "augment='nodes': expected one of 'auto', 'feature', 'topology', 'both'",
        ),
        (
            {"encoder": "gat"},
            "encoder='gat': expected one of 'auto', 'gcn', 'sage', 'gin'",
        ),
        ({"out_channels": 0}, "out_channels=0: expected a whole number from 1"),
        ({"out_channels": 2.5}, "out_channels=2.5"),
        ({"hidden_channels": 0}, "hidden_channels=0"),
        ({"dropout": 1.0}, "dropout=1.0: expected 'auto' or a share from 0 to below 1"),
        ({"epochs": -1}, "epochs=-1: expected 'auto' or a whole number from 0"),
        ({"epochs": "many"}, "epochs='many'"),
        ({"lr": 0}, "lr=0: expected a number above 0"),
        ({"lr": float("nan")}, "lr=nan"),
        (
            {"covariance_weight": -1.0},
            "covariance_weight=-1.0: expected 'auto' or a number from 0",
        ),
        ({"holdout": 1.5}, "holdout=1.5"),
        ({"random_state": -3}, "random_state=-3"),
        ({"jump": "sum", "hidden_channels": 9}, "hidden_channels=9: expected 4, since"),
    ],
)
def test_check_parameters__says_what_was_expected(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        build(**changes)
    assert message in str(caught.value)


def test_check_parameters__has_a_rule_for_every_parameter() -> None:
    from dsgrl.methods.rules import RULES

    unchecked = DSGRL().get_params(deep=False).keys() - RULES.keys()
    assert unchecked == {"device", "verbose"}


def test_views__lose_different_edges_while_training_only(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    parameters = {**DSGRL(augment="feature").get_params(deep=False), "edge_drop": 0.5}
    method = build_dsgrl(parameters, 12)
    (one, _), (two, _) = method.train().views(graph)
    assert not torch.equal(one.value, two.value)
    (one, _), (two, _) = method.eval().views(graph)
    assert one is two is graph.adjacency


@pytest.mark.parametrize("augment", ["feature", "topology", "both"])
def test_views__lose_different_columns_while_training_only(augment: str) -> None:
    """Row i has only column i: a view that does not see it has nothing there."""
    columns = 2000
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = as_graph(Data(x=torch.eye(columns), edge_index=edges))
    changes = {"augment": augment, "topology": "none"}
    method = build(columns, **changes, feature_mask=0.3, feature_drop=0.0, dropout=0.0)
    if method.features is not None:
        for weight in method.features.weights:
            torch.nn.init.uniform_(weight, 0.1, 1.0)

    def hidden() -> list[torch.Tensor]:
        return [x.to_dense().eq(0).all(dim=1) for _, x in method.views(graph)]

    one, two = hidden()
    for lost in (one, two):
        assert lost.double().mean().item() == pytest.approx(0.3, abs=0.05)
    assert (one & two).double().mean().item() == pytest.approx(0.09, abs=0.03)
    method.eval()
    assert not any(lost.any() for lost in hidden())


def test_gain__scales_weights_and_leaves_a_users_encoder_alone() -> None:
    def build(gain: float, encoder: object = "gcn") -> DSGRLMethod:
        torch.manual_seed(0)
        changes = {"gain": gain, "encoder": encoder}
        return build_dsgrl({**DSGRL().get_params(deep=False), **changes}, 12)

    one, half = build(1.0).state_dict(), build(0.5).state_dict()
    for name, weight in one.items():
        factor = 0.5 if weight.dim() > 1 else 1.0
        torch.testing.assert_close(half[name], factor * weight)
    own = torch.nn.Linear(256, 3)
    kept = build(0.5, own).encoder
    torch.testing.assert_close(kept.module.weight, own.weight)


def resolved(level: Level, bare: bool = False, **changes: object) -> dict[str, Any]:
    parameters = DSGRL(**changes).get_params(deep=False)
    return {**parameters, **resolve_auto(parameters, level, bare=bare)}


def help_of(level: Level, **changes: object) -> dict[str, Any]:
    parameters = resolved(level, **changes)
    return {name: parameters[name] for name in PLAIN}


def test_auto__help_hangs_on_how_the_views_of_nodes_differ() -> None:
    features, alone = help_of("node", augment="feature"), help_of("node")
    assert alone == help_of("node", augment="topology", topology="none")
    assert alone["dropout"] > PLAIN["dropout"] == features["dropout"]
    assert alone["feature_drop"] > PLAIN["feature_drop"] == features["feature_drop"]
    for name in ("edge_drop", "covariance_weight", "weight_decay"):
        assert alone[name] == PLAIN[name] != features[name]
    assert len({alone["scaling"], PLAIN["scaling"], features["scaling"]}) == 3
    for level in ("graph", "hetero"):
        assert help_of(level) == help_of(level, augment="feature") == PLAIN
        assert help_of(level, augment="topology", topology="none") == PLAIN
    for augment in ("topology", "both"):
        assert help_of("node", augment=augment) == PLAIN
    own = {"edge_drop": 0.1, "dropout": 0.0, "weight_decay": 0.0, "scaling": "none"}
    assert {**alone, **own} == help_of("node", **own)
    assert {**features, **own} == help_of("node", augment="feature", **own)


def test_auto__nodes_whose_features_are_made_from_edges_are_not_looked_at_alone() -> (
    None
):
    assert resolved("node")["topology"] == "none"
    assert resolved("node", bare=True)["augment"] == "feature"
    assert resolved("node", bare=True) == {
        **resolved("node", augment="feature"),
        "augment": "feature",
    }
    # What is named is done.
    for level in ("node", "graph", "hetero"):
        assert resolved(level, topology="two_hop")["augment"] == "topology"
    assert resolved("node", bare=True, topology="two_hop")["augment"] == "topology"
    named = {"augment": "topology", "topology": "none"}
    assert resolved("node", bare=True, **named) == resolved("node", **named)
