"""What the estimator makes of graphs and graphs of several types, odd ones too."""

import itertools
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import FakeDataset
from torch_geometric.nn import GCNConv, GINEConv

from dsgrl import DSGRL
from dsgrl.typing import HeteroView, InputError
from samples import AUGMENTS, LEVELS, make_data, make_graphs, make_hetero, make_model

SMALL: dict[str, Any] = {"out_channels": 4, "augment_channels": 6, "epochs": 2}
NONE = torch.empty(2, 0, dtype=torch.long)
levels = pytest.mark.parametrize("level", LEVELS)
augments = pytest.mark.parametrize("augment", AUGMENTS)


def small(**changes: Any) -> DSGRL:
    return make_model(**{**SMALL, **changes})


def stacked(z: Any) -> Any:
    return np.concatenate(list(z.values())) if isinstance(z, dict) else z


def odd_graphs() -> list[Data]:
    """With one that has no nodes, one without edges and one of a single node."""
    one, two, three = make_graphs((9, 5, 7))
    return [
        Data(x=torch.zeros(0, 4), edge_index=NONE),
        one,
        Data(x=torch.randn(3, 4), edge_index=NONE),
        two,
        Data(x=torch.randn(1, 4), edge_index=NONE),
        three,
    ]


@augments
@pytest.mark.parametrize("edges_per_node", [3, None])
@pytest.mark.parametrize("batch_size", [None, 2])
def test_graphs__without_nodes_or_edges_are_no_trouble(
    augment: str, edges_per_node: int | None, batch_size: int | None
) -> None:
    graphs = odd_graphs()
    model = small(augment=augment, edges_per_node=edges_per_node, batch_size=batch_size)
    z = model.fit_transform(graphs)
    assert z.shape == (6, 24)
    assert np.isfinite(z).all()
    assert not z[0].any()
    assert z[1:].any(axis=1).all()
    np.testing.assert_allclose(model.transform(graphs[1:]), z[1:], rtol=1e-4, atol=1e-5)


@augments
def test_graphs__views_of_graphs_without_nodes_or_edges(augment: str) -> None:
    graphs = odd_graphs()
    first, second = small(augment=augment, edges_per_node=3).fit(graphs).views(graphs)
    assert [len(view.x) for view in first] == [0, 9, 3, 5, 1, 7]
    for graph, one, two in zip(graphs, first, second, strict=True):
        assert one.edge_index.shape == graph.edge_index.shape
        if two.edge_index.numel():
            assert two.edge_index.max() < len(two.x)


@pytest.mark.parametrize("batch_size", [1, 2])
@augments
def test_graphs__of_one_node_each(augment: str, batch_size: int) -> None:
    graphs = [Data(x=torch.randn(1, 4), edge_index=NONE) for _ in range(4)]
    z = small(augment=augment, batch_size=batch_size).fit_transform(graphs)
    assert np.isfinite(z).all()


def test_graphs__without_features_get_the_degree_profile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    graphs = [
        Data(edge_index=g.edge_index, num_nodes=g.num_nodes) for g in make_graphs()
    ]
    with caplog.at_level(logging.WARNING):
        model = small(epochs=1).fit(graphs)
    assert "using 5 columns of the degree profile" in caplog.text
    assert model.n_features_in_ == 5
    alone = model.transform(graphs[2:3])
    np.testing.assert_allclose(
        alone, model.transform(graphs)[2:3], rtol=1e-4, atol=1e-5
    )


def test_graphs__structural_columns_are_remembered(tmp_path: Path) -> None:
    graphs = [
        Data(edge_index=g.edge_index, num_nodes=g.num_nodes) for g in make_graphs()
    ]
    model = small(epochs=1, structural_columns=12).fit(graphs)
    assert model.n_features_in_ == 12
    z = model.transform(graphs)
    model.save(tmp_path / "model")
    again = DSGRL.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(graphs), z)
    # A model of five columns is not asked for more.
    few = small(epochs=1).fit(graphs)
    few.set_params(structural_columns=12)
    assert few.transform(graphs).shape == z.shape


def test_graphs__one_is_too_few_and_a_dataset_is_a_list() -> None:
    with pytest.raises(InputError, match="one graph: expected two or more"):
        small().fit(make_graphs((5,)))
    dataset = FakeDataset(num_graphs=5, avg_num_nodes=6, edge_dim=2)
    model = small()
    z = model.fit_transform(dataset)
    assert z.shape == (5, 24)
    np.testing.assert_array_equal(model.fit_transform(list(dataset)), z)
    np.testing.assert_allclose(
        model.transform(dataset[1:3]), z[1:3], rtol=1e-4, atol=1e-5
    )


class WithAttributes(nn.Module):
    """Sees the attributes of edges, and remembers them."""

    def __init__(self, columns: int = 6) -> None:
        super().__init__()
        self.conv = GINEConv(nn.Linear(columns, 3), edge_dim=2)
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        assert edge_attr.shape == (edge_index.size(1), 2)
        self.seen.append(edge_attr)
        z: Tensor = self.conv(x, edge_index, edge_attr)
        return z


class WithoutAttributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(6, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        z: Tensor = self.conv(x, edge_index)
        return z


def attributed(level: str, scale: float = 1.0) -> Any:
    data = make_data(level)
    generator = torch.Generator().manual_seed(3)
    for graph in data if isinstance(data, list) else [data]:
        size = (graph.num_edges, 2)
        graph.edge_attr = scale * torch.rand(size, generator=generator)
    return data


@pytest.mark.parametrize("level", ["node", "graph"])
def test_edge_attributes__reach_a_module_that_takes_them(
    level: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = small(augment="feature", encoder=WithAttributes()).fit(attributed(level))
    assert "edge_attr" not in caplog.text
    one, other = (model.transform(attributed(level, scale)) for scale in (1.0, 5.0))
    assert not np.allclose(one, other)


@pytest.mark.parametrize("augment", ["topology", "both"])
def test_edge_attributes__learned_edges_have_zeros(augment: str) -> None:
    columns = 4 if augment == "topology" else 6
    model = small(augment=augment, encoder=WithAttributes(columns), edges_per_node=3)
    model.fit(attributed("graph"))
    seen = model.method_.encoder.module.seen
    seen.clear()
    model.transform(attributed("graph"))
    given, learned = seen
    assert given.any()
    assert not learned.any()


def test_edge_attributes__missing_in_unseen_data_are_zeros(tmp_path: Path) -> None:
    """Also for a loaded model, which has seen no graph yet."""
    model = small(augment="feature", encoder=WithAttributes())
    model.fit(attributed("graph"))
    model.save(tmp_path / "model")
    loaded = DSGRL.load(tmp_path / "model", encoder=WithAttributes())
    z = loaded.transform(make_data("graph"))
    np.testing.assert_array_equal(z, model.transform(make_data("graph")))
    np.testing.assert_array_equal(z, model.transform(attributed("graph", 0.0)))


@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize("encoder", ["gcn", "gin", WithoutAttributes()])
def test_edge_attributes__are_ignored_otherwise_and_the_user_is_told(
    level: str, encoder: Any, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"augment": "feature", "encoder": encoder}
    with caplog.at_level(logging.WARNING):
        without = small(**options).fit_transform(make_data(level))
        assert "edge_attr" not in caplog.text
        with_attributes = small(**options).fit_transform(attributed(level))
    assert caplog.text.count("edge_attr is ignored") == 1
    np.testing.assert_array_equal(with_attributes, without)


@pytest.mark.parametrize(("jump", "layers"), [("last", 1), ("sum", 1), ("cat", 3)])
@levels
def test_jump__width_of_the_embedding(level: str, jump: str, layers: int) -> None:
    model = small(jump=jump, num_layers=3)
    z = stacked(model.fit_transform(make_data(level)))
    assert z.shape[1] == 2 * layers * 4


@levels
@augments
def test_aggregate__of_the_two_views(level: str, augment: str) -> None:
    data = make_data(level)
    found = {
        name: stacked(small(augment=augment, aggregate=name).fit_transform(data))
        for name in ("concat", "mean", "sum")
    }
    one, other = np.split(found["concat"], 2, axis=1)
    np.testing.assert_allclose(found["sum"], one + other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["mean"], (one + other) / 2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("readout", ["tea", "sum+", "sum+tea", 3])
def test_readout__that_is_not_known_is_refused(readout: Any) -> None:
    with pytest.raises(
        InputError, match=r"^readout=.*: expected 'auto' or one of 'sum'"
    ):
        small(readout=readout).fit(make_graphs())


@pytest.mark.parametrize("readout", ["sum", "mean", "max"])
def test_readout__pools_what_the_encoder_gives(readout: str) -> None:
    graphs = make_graphs()
    model = small(readout=readout).fit(graphs)
    method, graph = model.method_, model.preparation_.apply(graphs)
    pool, method.readout = method.readout, None
    with torch.no_grad():
        nodes = method.embed(graph).split([g.num_nodes for g in graphs])
    method.readout = pool
    reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[readout]
    expected = torch.stack([reduce(rows, 0) for rows in nodes])
    np.testing.assert_allclose(
        model.transform(graphs), expected.numpy(), rtol=1e-4, atol=1e-5
    )


def lacking(*names: str) -> HeteroData:
    """Unseen data without some types or relations."""
    data, result = make_hetero(seed=4), HeteroData()
    for kind in data.node_types:
        if kind not in names:
            result[kind].update(data[kind])
    for relation in data.edge_types:
        if not {*relation} & {*names}:
            result[relation].update(data[relation])
    return result


@augments
@pytest.mark.parametrize(
    "missing", [("by",), ("knows", "has"), ("tag",), ("person", "tag")]
)
def test_hetero__unseen_data_may_lack_relations_and_types(
    augment: str, missing: tuple[str, ...]
) -> None:
    model = small(augment=augment, edges_per_node=3).fit(make_hetero())
    unseen = lacking(*missing)
    z = model.transform(unseen)
    assert list(z) == ["film", "person", "tag"]
    for kind, rows in z.items():
        size = 0 if kind in missing else unseen[kind].num_nodes
        assert rows.shape == (size, 8)
        assert np.isfinite(rows).all()
    first, second = model.views(unseen)
    assert isinstance(first, HeteroView)
    assert {k: len(x) for k, x in second.x.items()} == {k: len(r) for k, r in z.items()}


def test_hetero__an_empty_relation_is_the_same_as_none() -> None:
    model = small().fit(make_hetero())
    empty = make_hetero(seed=4)
    empty["film", "by", "person"].edge_index = NONE
    np.testing.assert_array_equal(
        stacked(model.transform(empty)), stacked(model.transform(lacking("by")))
    )


def test_hetero__strangers_are_refused() -> None:
    model = small().fit(make_hetero())
    data = make_hetero()
    data["studio"].x = torch.ones(3, 2)
    with pytest.raises(InputError, match="'studio' was not there in training"):
        model.transform(data)
    data = make_hetero()
    data["film", "likes", "film"].edge_index = torch.tensor([[0], [1]])
    with pytest.raises(InputError, match="film likes film was not there"):
        model.transform(data)


@augments
def test_hetero__no_type_has_features(augment: str) -> None:
    data = make_hetero()
    bare = HeteroData()
    for kind in data.node_types:
        bare[kind].num_nodes = data[kind].num_nodes
    for relation in data.edge_types:
        bare[relation].edge_index = data[relation].edge_index
    z = small(augment=augment, edges_per_node=3).fit_transform(bare)
    assert {kind: len(rows) for kind, rows in z.items()} == {
        "film": 20,
        "person": 12,
        "tag": 6,
    }
    assert np.isfinite(stacked(z)).all()


def test_hetero__own_modules_are_refused() -> None:
    with pytest.raises(InputError, match="encoder='your own module'"):
        small(encoder=WithoutAttributes()).fit(make_hetero())


@pytest.mark.parametrize(("trained", "given"), list(itertools.permutations(LEVELS, 2)))
def test_transform__of_another_level_is_refused(trained: str, given: str) -> None:
    model = small(epochs=0).fit(make_data(trained))
    with pytest.raises(InputError, match=r"trained on .*, this is"):
        model.transform(make_data(given))


@pytest.mark.parametrize("make", [odd_graphs, lambda: lacking("tag")])
def test_views__every_pair_above_the_mean_where_there_are_no_nodes(make: Any) -> None:
    data = make()
    trained = data if isinstance(data, list) else make_hetero()
    model = small(augment="topology", edges_per_node=None).fit(trained)
    assert len(model.views(data)) == 2


def test_hetero__every_pair_above_the_mean_of_a_type_that_is_missing() -> None:
    model = small(augment="topology", edges_per_node=None).fit(make_hetero())
    assert len(model.transform(lacking("tag"))["tag"]) == 0


def test_graphs__a_batch_without_nodes() -> None:
    graphs = odd_graphs()
    z = small(augment="topology", batch_size=1).fit_transform(graphs)
    assert np.isfinite(z).all()


def test_hetero__a_type_of_one_node_is_no_warning() -> None:
    data = make_hetero(60, 40)
    data["tag"].num_nodes = 1
    data["film", "has", "tag"].edge_index[1] = 0
    model = small(epochs="auto", max_epochs=5).fit(data)
    assert "link_auc" in model.history_[0]


def test_hetero__a_type_without_nodes_is_no_warning() -> None:
    data = make_hetero()
    data["studio"].x = torch.zeros(0, 3)
    assert np.isfinite(stacked(small(scaling="standard").fit_transform(data))).all()
