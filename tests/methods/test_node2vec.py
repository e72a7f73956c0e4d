"""node2vec: what its walks see, and what training is worth."""

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from dsgrl.datasets import load_dataset
from dsgrl.evaluation import evaluate
from dsgrl.methods import METHODS, configure
from dsgrl.methods.config import StopByLinks
from dsgrl.train import fit, fit_graph
from dsgrl.typing import InputError
from samples import as_one_type, make_config, make_graphs, make_hetero, make_spec

QUICK = {"out_channels": 8, "walks_per_node": 5, "walk_length": 10, "window": 3}


def embed(data: Any, **changes: Any) -> Any:
    return fit("node2vec", data, configure("node2vec", QUICK | changes)).embed(data)


def test_epochs__auto_is_the_number_of_the_paper() -> None:
    assert make_config("node2vec", epochs="auto").epochs == 1
    assert isinstance(make_config("node2vec", epochs=StopByLinks()).epochs, StopByLinks)


def test_batch_size__grows_with_the_graph() -> None:
    """So that the number of steps, each over whole tables, does not."""
    sizes = [
        METHODS["node2vec"].Config().resolved(make_spec(num_nodes=n)).batch_size
        for n in (10, 10_000, 1_000_000)
    ]
    assert sizes == [4, 83, 8333]


def test_communities__are_close(community_graph: Data) -> None:
    z = embed(community_graph, epochs=4)
    z = z - z.mean(axis=0)
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    same = community_graph.y[:, None] == community_graph.y
    cosine = z @ z.T
    assert cosine[same].mean() > cosine[~same].mean() + 0.3


def test_features__are_not_used(community_graph: Data) -> None:
    other = Data(
        x=torch.randn(60, 12), edge_index=community_graph.edge_index, num_nodes=60
    )
    np.testing.assert_array_equal(embed(community_graph), embed(other))


def test_direction__of_edges_does_not_matter(community_graph: Data) -> None:
    source, target = community_graph.edge_index
    forward = community_graph.edge_index[:, source < target]
    found = [
        embed(Data(x=community_graph.x, edge_index=edges))
        for edges in (community_graph.edge_index, forward, forward.flip(0))
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_types__are_ignored(community_graph: Data) -> None:
    typed: HeteroData = as_one_type(community_graph)
    np.testing.assert_array_equal(embed(typed)["node"], embed(community_graph))
    z = embed(make_hetero())
    assert {kind: rows.shape for kind, rows in z.items()} == {
        "film": (20, 8),
        "person": (12, 8),
        "tag": (6, 8),
    }


def test_graphs__are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="'node2vec' embeds hetero and node data"):
        fit("node2vec", make_graphs())


def test_isolated_nodes__keep_their_first_vector(tiny_graph: Data) -> None:
    """They are not moved as noise either: no walk visits another node from them."""
    before, after = (embed(tiny_graph, epochs=epochs) for epochs in (0, 3))
    np.testing.assert_array_equal(before[5], after[5])
    assert (np.abs(before - after).max(axis=1)[:5] > 1e-3).all()


def test_graph_without_edges__is_embedded(caplog: pytest.LogCaptureFixture) -> None:
    data = Data(x=torch.eye(4), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert embed(data, p=2.0).shape == (4, 8)


@pytest.mark.data
@pytest.mark.slow
def test_cora__walks_without_features_are_worth_something() -> None:
    data = load_dataset("cora")
    settings = {"walk_length": 40, "walks_per_node": 2}
    fitted, graph = fit_graph("node2vec", data, configure("node2vec", settings))
    assert evaluate(fitted.embed_graph(graph), data.y).mean > 65
