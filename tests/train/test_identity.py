"""What makes two runs the same."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from dsgrl.datasets.files import read_graph
from dsgrl.graph import as_graph
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train.identity import Identity, fingerprint
from samples import LEVELS, make_data


def data_with_ids(level: str) -> Any:
    data = make_data(level)
    if level == "graph":
        for number, graph in enumerate(data):
            graph.id = f"g{number}"
    elif level == "hetero":
        data["film"].ids = [f"f{i}" for i in range(data["film"].num_nodes)]
    else:
        data.ids = np.arange(data.num_nodes)
    return data


def first(data: Any) -> Any:
    """Return the part that has features."""
    if isinstance(data, list):
        return data[0]
    return data["film"] if "film" in getattr(data, "node_types", ()) else data


def edges(data: Any) -> Any:
    if isinstance(data, list):
        return data[0]
    return data["film", "by", "person"] if hasattr(data, "node_types") else data


def hashes(data: Any) -> dict[str, str]:
    return fingerprint(as_graph(data), data)


def move_edge(data: Any) -> None:
    part = edges(data)
    part.edge_index = part.edge_index.clone()
    part.edge_index[0, 0] = (part.edge_index[0, 0] + 1) % 5


def weigh(data: Any) -> None:
    for part in data if isinstance(data, list) else [edges(data)]:
        part.edge_weight = torch.full((part.edge_index.size(1),), 2.0)


def change_feature(data: Any) -> None:
    part = first(data)
    part.x = part.x.clone()
    part.x[0, 0] = torch.nextafter(part.x[0, 0], torch.tensor(9.0))


def change_id(data: Any) -> None:
    part = first(data)
    if isinstance(data, list):
        part.id = "other"
    else:
        part.ids = [*list(part.ids)[:-1], "other"]


CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "edge": (move_edge, "edges"),
    "weight": (weigh, "edges"),
    "feature": (change_feature, "features"),
    "id": (change_id, "ids"),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("change", CHANGES)
def test_fingerprint__names_what_has_changed(level: str, change: str) -> None:
    data = data_with_ids(level)
    other = copy.deepcopy(data)
    before = hashes(data)
    assert hashes(other) == before
    apply, what = CHANGES[change]
    apply(other)
    after = hashes(other)
    assert [name for name in before if before[name] != after[name]] == [what]


def test_fingerprint__order_of_edges_and_labels_do_not_matter() -> None:
    data = make_data("node")
    other = copy.deepcopy(data)
    order = torch.randperm(data.num_edges)
    other.edge_index, other.y = data.edge_index[:, order], None
    assert hashes(other) == hashes(data)


def test_fingerprint__made_features_follow_from_the_edges() -> None:
    data = make_data("node")
    data.num_nodes, data.x = data.num_nodes, None
    graph = as_graph(data)
    before = fingerprint(graph, data)
    # Another number of threads adds in another order.
    graph.x.mul_(1 + 1e-6)
    assert fingerprint(graph, data) == before


def test_fingerprint__of_graphs_read_from_tables(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\nc,d\n")
    nodes = "id,graph,f\na,1,0.5\nb,1,0.2\nc,2,1.5\nd,2,0.1\n"
    found = []
    for text in (nodes, nodes, nodes.replace(",2,", ",3,"), nodes.replace("1.5", "1")):
        (tmp_path / "nodes.csv").write_text(text)
        found.append(hashes(read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv")))
    assert found[0] == found[1]
    assert {k for k in found[0] if found[0][k] != found[2][k]} == {"ids"}
    assert {k for k in found[0] if found[0][k] != found[3][k]} == {"features"}


def identity(**changes: Any) -> Identity:
    data = make_data("node")
    config = DSGRLConfig(**changes)
    return Identity.of("dsgrl", config, 0, as_graph(data), data)


def test_difference__none_of_the_same_run_after_json() -> None:
    one = identity(out_channels=np.int64(8))
    assert Identity.from_json({**one.to_json(), "epoch": 3}).difference(one) is None
    assert one.difference(identity(out_channels=8)) is None


def test_difference__device_and_progress_bar_do_not_matter() -> None:
    assert identity().difference(identity(device="cpu", verbose=True)) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lr": 0.5}, "lr="),
        ({"epochs": 7}, "here epochs=7"),
        ({"encoder": nn.Linear(4, 4)}, "Linear"),
    ],
)
def test_difference__names_the_parameter(changes: dict[str, Any], said: str) -> None:
    found = identity().difference(identity(**changes))
    assert found is not None
    assert said in found


def test_difference__own_encoders_of_other_shapes() -> None:
    one = identity(encoder=nn.Linear(4, 4))
    assert one.difference(identity(encoder=nn.Linear(4, 4))) is None
    assert one.difference(identity(encoder=nn.Linear(4, 5))) is not None


def test_fingerprint__nodes_divided_otherwise_among_graphs_are_other_data() -> None:
    none = torch.empty(2, 0, dtype=torch.long)
    found = []
    for sizes in ((2, 3), (3, 2)):
        graphs = [Data(x=torch.ones(size, 2), edge_index=none) for size in sizes]
        found.append(fingerprint(as_graph(graphs), graphs)["edges"])
    assert found[0] != found[1]
