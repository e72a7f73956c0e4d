from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.augment.view_base import PLAIN
from dsgrl.graph import Spec, as_graph
from dsgrl.methods import METHODS
from dsgrl.typing import InputError, Level
from samples import build_method, make_config

SMALL = {"out_channels": 4, "augment_channels": 6}


def build(in_channels: int = 12, **changes: Any) -> Any:
    return build_method("dsgrl", in_channels, **{**SMALL, **changes})


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
    assert reached == set(size)
    # A shift common to all rows of both views: Eqs. 1 to 4 do not see it.
    assert ("encoder.layers.1.bias" in size) == (regularizer == "orthogonality")


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
    method = build(smoothing=0).eval()
    z = method.encode(graph)
    for aggregate, expected in {
        "concat": torch.cat([z[:, 0], z[:, 1]], dim=1),
        "mean": (z[:, 0] + z[:, 1]) / 2,
        "sum": z[:, 0] + z[:, 1],
    }.items():
        method.aggregate = aggregate  # type: ignore[assignment]
        torch.testing.assert_close(method.learned(graph), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"augment": "nodes"},
            "augment='nodes': expected one of 'auto', 'feature', 'topology', 'both'",
        ),
        (
            {"encoder": "gan"},
            "encoder='gan': expected one of 'auto', 'gcn', 'sage', 'gin', 'gat'",
        ),
        ({"out_channels": 0}, "out_channels=0: expected a whole number from 1"),
        ({"out_channels": 2.5}, "out_channels=2.5"),
        ({"hidden_channels": 0}, "hidden_channels=0"),
        ({"dropout": 1.0}, "dropout=1.0: expected 'auto' or a share from 0 to below 1"),
        ({"epochs": -1}, "epochs=-1: expected 'auto', a whole number from 0, or"),
        ({"epochs": "many"}, "epochs='many'"),
        ({"lr": 0}, "lr=0: expected 'auto' or a number above 0"),
        ({"lr": float("nan")}, "lr=nan"),
        (
            {"covariance_weight": -1.0},
            "covariance_weight=-1.0: expected 'auto' or a number from 0",
        ),
        ({"holdout": 1.5}, "epochs__holdout=1.5: expected a share between 0 and 1"),
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


def test_views__lose_different_edges_while_training_only(community_graph: Data) -> None:
    graph = as_graph(community_graph)
    method = build(augment="feature", edge_drop=0.5)
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
    def build(gain: float, encoder: object = "gcn") -> Any:
        torch.manual_seed(0)
        return build_method(gain=gain, encoder=encoder, floor=False)

    one, half = build(1.0).state_dict(), build(0.5).state_dict()
    for name, weight in one.items():
        factor = 0.5 if weight.dim() > 1 else 1.0
        torch.testing.assert_close(half[name], factor * weight)
    own = torch.nn.Linear(256, 3)
    kept = build(0.5, own).encoder
    torch.testing.assert_close(kept.module.weight, own.weight)


def resolved(level: Level, *, has_features: bool = True, **changes: Any) -> Any:
    spec = Spec(
        level=level,
        in_channels=(3,),
        num_nodes=99,
        largest=99,
        has_features=has_features,
    )
    return make_config("dsgrl", spec, **changes)


def needs_of(level: Level, **changes: Any) -> dict[str, Any]:
    """Return what the views say of training, and how they weaken the graph."""
    flat = resolved(level, **changes).flat()
    names = [name for name in PLAIN if name != "tolerance"]
    found = {name: flat[name] for name in names}
    if "epochs__tolerance" in flat:
        found["tolerance"] = flat["epochs__tolerance"]
    drops = ("edge_drop", "feature_drop")
    return {**found, **{name: flat[f"views__{name}"] for name in drops}}


def plain_of(level: Level) -> dict[str, Any]:
    found = {**PLAIN, "edge_drop": 0.0, "feature_drop": 0.0}
    if level == "graph":
        # Many graphs do not stop by links.
        del found["tolerance"]
    return found


def test_auto__what_training_needs_follows_from_the_views() -> None:
    plain = plain_of("node")
    features, alone = needs_of("node", augment="feature"), needs_of("node")
    assert alone == needs_of("node", views="node_alone")
    assert alone["dropout"] > plain["dropout"] == features["dropout"]
    assert alone["feature_drop"] > plain["feature_drop"] == features["feature_drop"]
    for name in ("edge_drop", "covariance_weight", "weight_decay"):
        assert alone[name] == plain[name] != features[name]
    without = [
        needs_of("node", floor=False, **views)["scaling"]
        for views in ({}, {"views": "two_steps"}, {"augment": "feature"})
    ]
    assert len({*without, alone["scaling"]}) == 4
    assert alone["scaling"] == features["scaling"]
    for level in ("graph", "hetero"):
        for views in ("learned_features", "node_alone", "learned_graph", "two_steps"):
            assert needs_of(level, views=views) == plain_of(level)
    for augment in ("topology", "both"):
        assert needs_of("node", augment=augment, floor=False) == plain
    own = {"edge_drop": 0.1, "dropout": 0.0, "weight_decay": 0.0, "scaling": "none"}
    assert {**alone, **own} == needs_of("node", **own)
    assert {**features, **own} == needs_of("node", augment="feature", **own)


def test_auto__decay_falls_with_the_number_of_nodes() -> None:
    found = []
    for nodes in (2, 2000, 30_000):
        spec = Spec(level="node", in_channels=(3,), num_nodes=nodes, largest=nodes)
        found.append(make_config("dsgrl", spec, augment="feature").weight_decay)
    assert found == pytest.approx([1e-4, 1e-4, 1e-5])


def test_auto__views_by_level_and_features() -> None:
    assert resolved("node").views.name == "node_alone"
    assert resolved("hetero").views.name == "two_steps"
    assert resolved("graph").views.name == "learned_features"
    bare = resolved("node", has_features=False, epochs=3, floor=False)
    named = resolved("node", augment="feature", epochs=3, floor=False)
    assert bare.flat() == named.flat()
    # Views that are named are taken.
    named = resolved("node", has_features=False, views="node_alone", floor=False)
    assert named.flat() == resolved("node", floor=False).flat()
    for level in ("node", "graph", "hetero"):
        assert resolved(level, views="two_steps").views.name == "two_steps"


def test_resolved__leaves_no_auto_but_what_is_picked_per_graph() -> None:
    for level in ("node", "graph", "hetero"):
        for augment in ("auto", "feature", "topology", "both"):
            flat = resolved(level, augment=augment).flat()
            is_open = {name for name, value in flat.items() if value == "auto"}
            # `epochs` names its rule; the search is chosen for every graph anew.
            assert is_open <= {"device", "epochs", "views__candidates"}, is_open


@pytest.mark.parametrize(
    ("readout", "has_bias"),
    [("sum", True), ("log_sum+max", True), ("mean", False), ("max", False)],
)
def test_last_bias__only_where_the_objective_sees_a_shift(
    readout: str, has_bias: bool
) -> None:
    spec = Spec(level="graph", in_channels=(3,), num_nodes=9, largest=9)
    config = make_config("dsgrl", spec, readout=readout)
    method = METHODS["dsgrl"].build(config, spec)
    names = {name for name, _ in method.named_parameters()}
    assert ("encoder.layers.2.bias" in names) == has_bias
    # Batch norms take the place of the biases before them.
    assert "encoder.layers.0.bias" not in names
    assert "encoder.norms.0.bias" in names
