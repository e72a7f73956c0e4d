import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from dsgrl import DSGRL
from dsgrl.augment import (
    LearnedBoth,
    LearnedFeatures,
    LearnedGraph,
    TwoSteps,
    views,
)
from dsgrl.methods import StopByLinks, dsgrl_config
from dsgrl.typing import DivergenceError, FloatArray, InputError
from samples import make_model

SMALL: dict[str, Any] = {"out_channels": 4, "augment_channels": 6, "epochs": 3}


def small(**changes: Any) -> DSGRL:
    return make_model(**{**SMALL, **changes})


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_mixin_order,
        estimator_checks.check_estimator_cloneable,
    ],
)
def test_estimator__scikit_learn_checks(check: Any) -> None:
    check("DSGRL", DSGRL())


def test_estimator__constructor_only_stores() -> None:
    model = DSGRL(out_channels=-5, augment="nonsense")  # type: ignore[arg-type]
    assert model.get_params()["out_channels"] == -5
    assert clone(model).augment == "nonsense"


def test_fit__leaves_parameters_and_input_alone(community_graph: Data) -> None:
    model = small()
    before = model.get_params()
    x, edges = community_graph.x.clone(), community_graph.edge_index.clone()
    keys = set(community_graph.keys())
    model.fit(community_graph)
    assert model.get_params() == before
    assert torch.equal(community_graph.x, x)
    assert torch.equal(community_graph.edge_index, edges)
    assert set(community_graph.keys()) == keys


class Poisoned(Data):
    @property
    def y(self) -> Tensor:
        raise AssertionError("labels were read")


augments = pytest.mark.parametrize("augment", ["feature", "topology", "both"])


@augments
@pytest.mark.parametrize("epochs", [3, "auto"])
def test_fit__never_reads_labels(
    community_graph: Data, epochs: Any, augment: str
) -> None:
    poisoned = Poisoned(x=community_graph.x, edge_index=community_graph.edge_index)
    model = small(epochs=epochs, max_epochs=10, augment=augment)
    np.testing.assert_array_equal(
        model.fit_transform(poisoned), model.fit_transform(community_graph)
    )


@augments
@pytest.mark.parametrize("epochs", [0, 3, "auto"])
def test_fit__same_seed_same_bits_other_seed_other_embedding(
    community_graph: Data, epochs: Any, augment: str
) -> None:
    def run(seed: int | None) -> Any:
        model = small(epochs=epochs, max_epochs=10, random_state=seed, augment=augment)
        return model.fit_transform(community_graph)

    torch.manual_seed(5)
    one = run(0)
    torch.manual_seed(6)
    np.testing.assert_array_equal(run(0), one)
    assert not np.allclose(run(1), one)
    assert not np.allclose(run(None), run(None))


def test_fit__leaves_the_global_random_state(community_graph: Data) -> None:
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    small().fit(community_graph)
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002


def test_fit__twice_is_the_same_as_once(community_graph: Data) -> None:
    model = small().fit(community_graph)
    first = model.transform(community_graph)
    np.testing.assert_array_equal(
        model.fit(community_graph).transform(community_graph), first
    )


def test_transform__row_i_is_node_i(community_graph: Data) -> None:
    model = small().fit(community_graph)
    order = torch.randperm(60)
    moved = Data(
        x=community_graph.x[order],
        edge_index=order.argsort()[community_graph.edge_index],
    )
    z = model.transform(community_graph)
    np.testing.assert_allclose(
        model.transform(moved), z[order.numpy()], rtol=1e-4, atol=1e-5
    )


@augments
def test_transform__unseen_graph_with_the_same_columns(
    community_graph: Data, tiny_graph: Data, augment: str
) -> None:
    model = small(augment=augment).fit(community_graph)
    unseen = Data(x=torch.randn(6, 12), edge_index=tiny_graph.edge_index)
    z = model.transform(unseen)
    assert z.shape == (6, 8)
    assert z.dtype == np.float32
    assert np.isfinite(z).all()
    alone = Data(x=torch.randn(1, 12), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert model.transform(alone).shape == (1, 8)


def test_transform__before_fit_is_refused(community_graph: Data) -> None:
    with pytest.raises(NotFittedError):
        small().transform(community_graph)


def test_transform__other_columns_are_refused(community_graph: Data) -> None:
    model = small().fit(community_graph)
    other = Data(x=torch.randn(60, 11), edge_index=community_graph.edge_index)
    with pytest.raises(InputError, match=r"11 feature columns.* trained on 12"):
        model.transform(other)
    without = Data(edge_index=community_graph.edge_index, num_nodes=60)
    with pytest.raises(InputError, match="trained with node features"):
        model.transform(without)


def test_transform__named_columns_are_put_in_order(community_graph: Data) -> None:
    names = [f"c{i}" for i in range(12)]
    community_graph.feature_names = names
    model = small().fit(community_graph)
    z = model.transform(community_graph)
    order = torch.randperm(12)
    moved = community_graph.clone()
    moved.x = community_graph.x[:, order]
    moved.feature_names = [names[i] for i in order.tolist()]
    np.testing.assert_allclose(model.transform(moved), z, rtol=1e-5)
    moved.feature_names[3] = "stranger"
    with pytest.raises(InputError, match="1 missing, 1 unknown"):
        model.transform(moved)


def test_fit__graph_without_features(
    community_graph: Data, caplog: pytest.LogCaptureFixture
) -> None:
    bare = Data(edge_index=community_graph.edge_index, num_nodes=60)
    model = small()
    with caplog.at_level(logging.WARNING):
        z = model.fit_transform(bare)
    assert z.shape == (60, 8)
    assert "no node features" in caplog.text
    smaller = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=5)
    with caplog.at_level(logging.WARNING):
        assert model.transform(smaller).shape == (5, 8)
    assert "need not agree" in caplog.text


def test_fit__one_node_is_refused_and_no_edges_is_not() -> None:
    edge_index = torch.empty(2, 0, dtype=torch.long)
    with pytest.raises(InputError, match="one node"):
        small().fit(Data(x=torch.ones(1, 3), edge_index=edge_index))
    z = small().fit_transform(Data(x=torch.randn(9, 3), edge_index=edge_index))
    assert np.isfinite(z).all()


def test_epochs_zero__is_the_untrained_model(community_graph: Data) -> None:
    untrained = small(epochs=0).fit(community_graph)
    trained = small(epochs=1, lr=1e-12).fit(community_graph)
    np.testing.assert_allclose(
        untrained.transform(community_graph),
        trained.transform(community_graph),
        atol=1e-5,
    )
    assert (untrained.history_, untrained.epoch_) == ([], 0)


def test_history__has_terms_and_spread_of_every_epoch(community_graph: Data) -> None:
    weight = {"augment": "feature", "orthogonality_weight": 0.1}
    model = small(epochs="auto", max_epochs=10, **weight)
    history = model.fit(community_graph).history_
    assert [row["epoch"] for row in history] == list(range(11))
    terms = {"loss", "invariance", "variance", "covariance", "orthogonality"}
    spread = {"effective_rank", "deviation", "deviation_min"}
    for row in history[1:]:
        assert terms | spread <= row.keys()
        parts = sum(row[name] for name in terms - {"loss"})
        assert row["loss"] == pytest.approx(parts, rel=1e-4)
        assert ("link_auc" in row) == (row["epoch"] % 5 == 0)


def test_views__are_the_learned_features(community_graph: Data) -> None:
    model = small(augment="feature").fit(community_graph)
    view1, view2 = model.views(community_graph)
    assert view1.x.shape == (60, 6)
    assert not torch.allclose(view1.x, view2.x)
    assert view1.edge_index.shape == community_graph.edge_index.shape
    assert (view1.edge_weight == 1).all()


def test_views__by_default_the_graph_and_the_nodes_alone(community_graph: Data) -> None:
    view1, view2 = small().fit(community_graph).views(community_graph)
    torch.testing.assert_close(view1.x, view2.x)
    assert view1.edge_index.shape == community_graph.edge_index.shape
    assert view2.edge_index.shape == (2, 0)


def test_views__have_the_learned_edges(community_graph: Data) -> None:
    model = small(augment="both", edges_per_node=4).fit(community_graph)
    view1, view2 = model.views(community_graph)
    assert view1.edge_index.shape == community_graph.edge_index.shape
    assert view1.x.shape == view2.x.shape == (60, 6)
    sums = torch.zeros(60).index_add(0, view2.edge_index[1], view2.edge_weight)
    torch.testing.assert_close(sums, torch.ones(60))
    bare = small(augment="topology").fit(community_graph).views(community_graph)
    assert bare[0].x.shape == bare[1].x.shape == (60, 12)


def test_pipeline__embeds_and_classifies(community_graph: Data) -> None:
    pipeline = make_pipeline(small(), LogisticRegression())
    pipeline.fit(community_graph, community_graph.y.numpy())
    assert pipeline.predict(community_graph).shape == (60,)


EFFECTS: dict[str, Any] = {
    "encoder": "sage",
    "out_channels": 5,
    "hidden_channels": 7,
    "num_layers": 3,
    "norm": "batch",
    "jump": "cat",
    "augment": "feature",
    "views": "two_steps",
    "views__augment_channels": 9,
    "views__augment_layers": 2,
    "views__graph": "two_steps",
    "views__topology_layers": 1,
    "views__edges_per_node": 3,
    "views__edge_multiplier": 0.5,
    "views__symmetric": False,
    "views__candidates": "hops",
    "views__similarity": "inner",
    "views__weights": "raw",
    "views__keep_edges": True,
    "views__refresh": 1,
    "views__edge_drop": 0.5,
    "views__feature_drop": 0.5,
    "views__feature_mask": 0.5,
    "views__orthogonality_weight": 9.0,
    "views__unit_rows": True,
    "dropout": 0.1,
    "gain": 2.0,
    "aggregate": "mean",
    "smoothing": 1,
    "floor": False,
    "invariance": "frobenius",
    "regularizer": "orthogonality",
    "invariance_weight": 9.0,
    "variance_weight": 9.0,
    "covariance_weight": 9.0,
    "standardize": True,
    "epochs": 7,
    "epochs__max_epochs": 15,
    "epochs__tolerance": 0.0,
    "epochs__patience": 10,
    "epochs__check_every": 3,
    "epochs__holdout": 0.3,
    "batch_size": 3,
    "readout": "max",
    "lr": 0.1,
    "weight_decay": 0.5,
    "warmup_epochs": 9,
    "scaling": "none",
    "structural_columns": 9,
    "random_state": 3,
}


def full_model() -> DSGRL:
    return DSGRL(
        out_channels=4,
        views=LearnedBoth(augment_channels=6, orthogonality_weight=0.5),
        epochs=StopByLinks(max_epochs=40, patience=40),
        lr=0.05,
    )


@pytest.fixture(scope="module")
def unchanged() -> dict[str, DSGRL]:
    """Models with the parameters of `full_model`, by the kind of data."""
    return {}


@pytest.mark.slow
@pytest.mark.parametrize("name", full_model().get_params())
def test_parameter__has_an_effect(
    name: str, community_graph: Data, unchanged: dict[str, DSGRL]
) -> None:
    """An option that changes nothing is not wired."""
    if name in ("device", "verbose"):
        pytest.skip("no effect on the result by design")
    kind, data = "nodes", community_graph
    if name in ("batch_size", "readout"):
        halves = torch.arange(60).chunk(6)
        kind, data = "graphs", [community_graph.subgraph(half) for half in halves]
    if name == "structural_columns":
        kind = "edges"
        data = Data(edge_index=community_graph.edge_index, num_nodes=60)
    if kind not in unchanged:
        unchanged[kind] = full_model().fit(data)
    one, other = unchanged[kind], full_model()
    if name == "augment":
        other.set_params(views="auto")
    other.set_params(**{name: EFFECTS[name]}).fit(data)
    if one.transform(data).shape == other.transform(data).shape:
        assert one.history_ != other.history_ or not np.allclose(
            one.transform(data), other.transform(data)
        )


@augments
def test_save_load__same_embeddings_same_parameters(
    community_graph: Data, tmp_path: Path, augment: str
) -> None:
    model = small(epochs="auto", max_epochs=10, norm="batch", augment=augment)
    model.fit(community_graph)
    model.save(tmp_path / "model")
    loaded = DSGRL.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.transform(community_graph), model.transform(community_graph)
    )
    assert loaded.get_params() == model.get_params()
    assert loaded.history_ == model.history_
    assert loaded.epoch_ == model.epoch_
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert files == {"model.safetensors", "config.json", "history.csv", "README.md"}
    model.save(tmp_path / "model")
    assert {path.name for path in tmp_path.iterdir()} == {"model"}


def test_save__refuses_a_folder_that_is_not_a_model(
    community_graph: Data, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="holds other files"):
        small().fit(community_graph).save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "config.json").unlink(), "no saved model here"),
        (lambda f: (f / "config.json").write_text("{"), "broken"),
        (lambda f: (f / "model.safetensors").write_bytes(b"abc"), "broken"),
        (lambda f: (f / "model.safetensors").unlink(), "broken"),
        (lambda f: edit(f, lambda c: c.update(format=99)), "newer dsgrl .format 99"),
        (lambda f: edit(f, lambda c: c.update(format=2)), "older dsgrl .format 2"),
        (lambda f: edit(f, lambda c: c.pop("seed")), "broken"),
        (lambda f: edit(f, lambda c: c.update(method="tea")), "broken"),
        (lambda f: edit(f, lambda c: c["resolved"].update(tea=1)), "unknown key 'tea'"),
        (lambda f: edit(f, lambda c: c["resolved"].update(out_channels=5)), "broken"),
    ],
)
def test_load__refuses_with_one_line(
    damage: Any, message: str, community_graph: Data, tmp_path: Path
) -> None:
    small().fit(community_graph).save(tmp_path / "model")
    damage(tmp_path / "model")
    with pytest.raises(InputError, match=message) as caught:
        DSGRL.load(tmp_path / "model")
    assert "\n" not in str(caught.value)


def edit(folder: Path, change: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))


class Wrapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(6, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        z: Tensor = self.conv(x, edge_index)
        return z


def test_injected_encoder__fits_and_is_asked_for_again(
    community_graph: Data, tmp_path: Path
) -> None:
    model = small(augment="feature", encoder=Wrapped()).fit(community_graph)
    z = model.transform(community_graph)
    assert z.shape == (60, 6)
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match="your own encoder Wrapped"):
        DSGRL.load(tmp_path / "model")
    loaded = DSGRL.load(tmp_path / "model", encoder=Wrapped())
    np.testing.assert_array_equal(loaded.transform(community_graph), z)
    assert isinstance(clone(model).encoder, Wrapped)


def test_device__unknown_is_refused(community_graph: Data) -> None:
    with pytest.raises(InputError, match="device='toaster'"):
        small(device="toaster").fit(community_graph)


@augments
def test_fit_transform__equals_fit_then_transform(
    community_graph: Data, augment: str
) -> None:
    """Columns of very different scale: training and embedding must see the same."""
    community_graph.x = community_graph.x * torch.logspace(-3, 4, 12)
    model = small(augment=augment)
    z = model.fit_transform(community_graph)
    np.testing.assert_array_equal(model.transform(community_graph), z)


def test_fit__a_failed_fit_leaves_the_model_as_it_was(community_graph: Data) -> None:
    model = small().fit(community_graph)
    z, history = model.transform(community_graph), model.history_
    with pytest.raises(DivergenceError):
        model.set_params(lr=1e30, epochs=20).fit(community_graph)
    np.testing.assert_array_equal(model.transform(community_graph), z)
    assert model.history_ is history


def test_injected_encoder__is_copied_not_trained(community_graph: Data) -> None:
    encoder = Wrapped()
    before = encoder.conv.lin.weight.detach().clone()
    model = small(augment="feature", encoder=encoder)
    first = model.fit_transform(community_graph)
    assert torch.equal(encoder.conv.lin.weight, before)
    np.testing.assert_array_equal(model.fit_transform(community_graph), first)


class WeightLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(6, 3)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        assert batch is None
        assert edge_weight is not None
        z: Tensor = self.conv(x, edge_index, edge_weight)
        return z


def test_injected_encoder__gets_weights_by_name(community_graph: Data) -> None:
    z = small(augment="feature", encoder=WeightLast()).fit_transform(community_graph)
    assert z.shape == (60, 6)


def test_fit__takes_tensors_that_require_gradients(community_graph: Data) -> None:
    plain = small().fit_transform(community_graph)
    community_graph.x.requires_grad_()
    community_graph.edge_weight = torch.ones(
        community_graph.num_edges, requires_grad=True
    )
    np.testing.assert_array_equal(small().fit_transform(community_graph), plain)


def test_fit__numpy_numbers_are_numbers(community_graph: Data, tmp_path: Path) -> None:
    model = small(
        out_channels=np.int64(4), lr=np.float32(1e-3), random_state=np.int64(0)
    )
    model.fit(community_graph).save(tmp_path / "model")
    assert DSGRL.load(tmp_path / "model").out_channels == 4


@pytest.mark.parametrize("first", ["auto", 0, 2])
def test_smoothing__is_that_of_the_fit(
    first: Any, community_graph: Data, tmp_path: Path
) -> None:
    model = small(smoothing=first).fit(community_graph)
    z = model.transform(community_graph)
    model.save(tmp_path / "model")
    for other in ("auto", 0, 3):
        model.set_params(smoothing=other)
        np.testing.assert_array_equal(model.transform(community_graph), z)
    loaded = DSGRL.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(community_graph), z)


def test_keep_edges__of_a_second_graph_without_any_is_refused(
    community_graph: Data,
) -> None:
    with pytest.raises(InputError, match="keep_edges=True: expected False beside"):
        DSGRL(views=LearnedBoth(graph="node_alone", keep_edges=True), epochs=1).fit(
            community_graph
        )
    DSGRL(views=TwoSteps(keep_edges=True), epochs=1).fit(community_graph)


def test_views__are_nested_as_in_scikit_learn(community_graph: Data) -> None:
    model = DSGRL(views=LearnedGraph(edges_per_node=3), epochs=StopByLinks())
    assert model.get_params()["views__edges_per_node"] == 3
    assert model.get_params()["epochs__patience"] == 100
    model.set_params(views__edges_per_node=5, epochs__max_epochs=2, out_channels=4)
    other = clone(model)
    assert other.get_params(deep=False)["views"] == LearnedGraph(edges_per_node=5)
    assert other.get_params(deep=False)["views"] is not model.__dict__["views"]
    other.set_params(views__edges_per_node=9)
    assert model.views.edges_per_node == 5
    _, second = model.fit(community_graph).views(community_graph)
    assert second.edge_index.size(1) <= 2 * 5 * 60
    with pytest.raises(ValueError, match="edge_per_node"):
        model.set_params(views__edge_per_node=3)


def test_views__by_name_and_by_augment_are_the_same(community_graph: Data) -> None:
    one = DSGRL(augment="topology", epochs=1).fit_transform(community_graph)
    for views_given in ("learned_graph", LearnedGraph()):
        other = DSGRL(views=views_given, epochs=1).fit_transform(community_graph)
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="augment='topology': expected 'auto' beside"):
        DSGRL(augment="topology", views="node_alone").fit(community_graph)


def test_constructor__has_at_most_thirty_parameters() -> None:
    assert len(DSGRL().get_params(deep=False)) <= 30


@augments
def test_paper__is_the_papers_setting(augment: str, community_graph: Data) -> None:
    model = DSGRL.paper(augment, epochs=2).fit(community_graph)
    assert model.chosen_.keys() == {"device", "batch_size", *_picked(augment)}
    assert model.method_.options["covariance_weight"] == 1.0
    with pytest.raises(InputError, match="augment='nodes': expected one of"):
        DSGRL.paper("nodes")


def _picked(augment: str) -> set[str]:
    return set() if augment == "feature" else {"views__candidates", "views__refresh"}


def test_injected_encoder__of_other_columns_is_told_in_one_line(
    community_graph: Data,
) -> None:
    with pytest.raises(InputError, match="does not accept the 12 columns"):
        small(encoder=Wrapped()).fit(community_graph)


@pytest.mark.parametrize("augment", ["auto", "feature", "topology", "both"])
@pytest.mark.parametrize("epochs", [3, "auto"])
def test_chosen__holds_all_that_was_open_and_nothing_else(
    augment: str, epochs: Any, community_graph: Data
) -> None:
    model = small(augment=augment, epochs=epochs, max_epochs=5).fit(community_graph)
    chosen = model.chosen_
    assert "auto" not in chosen.values()
    given = model.get_params()
    assert not any(given.get(name, "auto") != "auto" for name in chosen)
    still_open = {name for name, value in given.items() if value == "auto"}
    assert still_open - {"augment", "epochs"} <= chosen.keys()
    assert ("views__candidates" in chosen) == (augment in ("topology", "both"))
    assert chosen["weight_decay"] == (1e-4 if augment == "feature" else 0.0)
    assert chosen["device"] in ("cpu", "cuda")
    assert not any("topology_layers" in name for name in chosen if augment == "feature")


def test_chosen__few_edges_and_an_own_encoder(caplog: pytest.LogCaptureFixture) -> None:
    data = Data(x=torch.randn(9, 3), edge_index=torch.empty(2, 0, dtype=torch.long))
    model = DSGRL(out_channels=4, encoder=GCNConv(3, 2)).fit(data)
    assert model.chosen_["epochs"] == model.epoch_ == 100
    assert not {"num_layers", "norm", "jump", "encoder"} & model.chosen_.keys()


def test_seed__that_was_drawn_is_kept(community_graph: Data, tmp_path: Path) -> None:
    model = small(random_state=None).fit(community_graph)
    model.save(tmp_path / "model")
    assert DSGRL.load(tmp_path / "model").seed_ == model.seed_
    again = small(random_state=model.seed_).fit_transform(community_graph)
    np.testing.assert_array_equal(again, model.transform(community_graph))
    assert small(random_state=3).fit(community_graph).seed_ == 3


def test_load__keeps_what_auto_stood_for(
    community_graph: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small().fit(community_graph)
    model.save(tmp_path / "model")
    card = (tmp_path / "model/README.md").read_text()
    assert "| views | auto: node_alone |" in card
    assert "| views__feature_drop | 0.4 |" in card
    monkeypatch.setattr(views, "default_views", lambda _: LearnedFeatures())
    monkeypatch.setitem(dsgrl_config.BY_LEVEL["node"], "num_layers", 5)
    loaded = DSGRL.load(tmp_path / "model")
    assert loaded.chosen_ == model.chosen_
    assert loaded.get_params() == model.get_params()
    z = loaded.transform(community_graph)
    np.testing.assert_array_equal(z, model.transform(community_graph))


def test_load__on_another_device_than_it_was_trained_on(
    community_graph: Data, tmp_path: Path
) -> None:
    small().fit(community_graph).save(tmp_path / "model")
    edit(tmp_path / "model", lambda c: c["parameters"].update(device="cuda:7"))
    assert DSGRL.load(tmp_path / "model", device="cpu").device == "cpu"


def test_save__a_config_of_another_program_is_no_model(
    community_graph: Data, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="holds other files"):
        small().fit(community_graph).save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_views__before_fit_is_refused(community_graph: Data) -> None:
    with pytest.raises(NotFittedError):
        small().views(community_graph)


def test_dropout__near_one_still_runs(community_graph: Data) -> None:
    assert np.isfinite(small(dropout=0.999).fit_transform(community_graph)).all()


def test_auto__structural_features_do_not_know_the_hidden_links() -> None:
    """Edges drawn by chance: nothing can tell hidden ones from random pairs."""
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(200, (2, 500), generator=generator)
    edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    model = small(epochs="auto", max_epochs=5, holdout=0.2)
    model.fit(Data(edge_index=edge_index, num_nodes=200))
    assert all(abs(row["link_auc"] - 0.5) < 0.2 for row in model.history_[::5])


@pytest.mark.parametrize("factor", [0.01, 0.5])
def test_auto__short_sparse_rows_of_any_unit_train_alike(
    factor: float, community_graph: Data
) -> None:
    words = (community_graph.x > community_graph.x.median()).float()

    def embed(x: Tensor) -> FloatArray:
        data = Data(x=x.to_sparse(), edge_index=community_graph.edge_index)
        found = small(epochs=5).fit_transform(data)
        assert isinstance(found, np.ndarray)
        return found

    np.testing.assert_allclose(embed(words * factor), embed(words), atol=1e-4)
