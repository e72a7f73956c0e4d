from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.encode import DecoupledEncoder
from dsgrl.encode.decoupled import HOPS, smooth_features, stack_hops
from dsgrl.graph import as_graph
from dsgrl.graph.sampling import bare_rows
from dsgrl.methods import NodeBatches
from dsgrl.train import begin
from dsgrl.typing import InputError

COLUMNS = 6
VIEWS = ["learned_features", "learned_graph", "learned_both", "node_alone"]


def make_data(nodes: int = 60) -> Data:
    generator = torch.Generator().manual_seed(nodes)
    ends = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    x = torch.randn(nodes, COLUMNS, generator=generator)
    return Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], dim=1))


def make_model(**settings: Any) -> DSGRL:
    given = {"encoder": "decoupled", "epochs": 2, "out_channels": 4, **settings}
    return DSGRL(**given)


def test_smooth_features__powers_of_the_normalised_matrix() -> None:
    graph = as_graph(make_data())
    dense = graph.adjacency.normalized("gcn").to_dense()
    hops = smooth_features(graph.adjacency, graph.x, 2)
    torch.testing.assert_close(hops[:, 0], dense @ graph.x)
    torch.testing.assert_close(hops[:, 1], dense @ dense @ graph.x)
    sparse = as_graph(Data(x=graph.x.to_sparse(), edge_index=make_data().edge_index))
    torch.testing.assert_close(smooth_features(graph.adjacency, sparse.x, 2), hops)


def test_encoder__one_hop_of_identity_weights_is_the_smoothed_table() -> None:
    graph = as_graph(make_data())
    encoder = DecoupledEncoder(COLUMNS, COLUMNS, COLUMNS, num_hops=1)
    eye = torch.eye(COLUMNS)
    with torch.no_grad():
        encoder.hop_weight.copy_(torch.cat([torch.zeros_like(eye), eye]))
        encoder.weight.copy_(eye)
    hops = smooth_features(graph.adjacency, graph.x, 1)
    found = encoder(stack_hops(graph.x, hops))
    torch.testing.assert_close(found, hops[:, 0].relu())


def test_encoder__views_side_by_side_equal_one_at_a_time() -> None:
    encoder = DecoupledEncoder(COLUMNS, 5, 4).eval()
    x = torch.randn(30, 2, COLUMNS)
    views = [encoder(x[:, view]) for view in range(2)]
    torch.testing.assert_close(encoder(x), torch.stack(views, dim=1))


def test_bare_rows__keep_features_and_hops_without_edges() -> None:
    graph = as_graph(make_data())
    hops = smooth_features(graph.adjacency, graph.x, 2)
    rows = torch.tensor([7, 3, 59])
    part = bare_rows(replace(graph, extras={HOPS: hops}), rows)
    assert part.adjacency.num_edges == 0
    assert part.targets == (3,)
    assert torch.equal(part.x, graph.x[rows])
    assert torch.equal(part.extras[HOPS], hops[rows])


@pytest.mark.parametrize("views", VIEWS)
def test_decoupled__trains_on_bare_rows_and_all_at_once(views: str) -> None:
    data = make_data()
    for batch_size in (None, 16):
        model = make_model(views=views, batch_size=batch_size)
        z = model.fit_transform(data)
        assert z.shape == (60, 8)
        assert np.isfinite(z).all()
        np.testing.assert_allclose(model.transform(data), z, atol=1e-5)
    with begin("dsgrl", data, model._config()) as begun:
        training = begun.training
        assert training.config.batch_size.sampling == "rows"
        batches = [*training.method.batches(training.graph, training.config)]
        assert sum(batch.num_nodes for batch in batches) == 60
        assert all(batch.adjacency.num_edges == 0 for batch in batches)


def test_decoupled__embeds_an_unseen_graph_in_any_number_of_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = make_model(views="learned_features").fit(make_data())
    other = make_data(90)
    whole = model.transform(other)
    monkeypatch.setattr("dsgrl.methods.decoupled.ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(model.transform(other), whole, atol=1e-5)
    model.save(tmp_path / "model")
    again = DSGRL.load(tmp_path / "model")
    np.testing.assert_allclose(again.transform(other), whole, atol=1e-5)


def test_decoupled__sees_edges() -> None:
    model = make_model(views="learned_features", floor=False).fit(make_data())
    alone = make_data()
    alone.edge_index = alone.edge_index[:, :0]
    assert not np.allclose(model.transform(alone), model.transform(make_data()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm": "batch"}, "norm='batch': expected None"),
        ({"jump": "sum"}, "jump='sum': expected 'last'"),
        ({"views__edge_drop": 0.2, "augment": "feature"}, "edge_drop=0.2: expected 0"),
        (
            {
                "views": "two_steps",
                "batch_size": NodeBatches(size=16, sampling="rows"),
            },
            "needs edges in every step",
        ),
    ],
)
def test_decoupled__refuses_what_it_cannot_do(
    settings: dict[str, Any], message: str
) -> None:
    from dsgrl.methods import configure

    given = {"encoder": "decoupled", "epochs": 1, "out_channels": 4, **settings}
    with (
        pytest.raises(InputError, match=message) as caught,
        begin("dsgrl", make_data(), configure("dsgrl", given)),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_decoupled__refuses_many_graphs_and_several_types() -> None:
    with pytest.raises(InputError, match="encoder='decoupled': expected another"):
        make_model().fit([make_data(), make_data(20)])
