"""ESim: its loss, the paths it draws, and its two forms."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import HeteroData

from dsgrl.graph import as_graph
from dsgrl.graph.metapaths import TypedEdges
from dsgrl.methods import configure
from dsgrl.train import begin, fit
from dsgrl.typing import InputError
from samples import make_hetero

QUICK = {"out_channels": 5, "walks_per_node": 4, "negatives": 3}
PATHS = "film-person-film;person-film-tag-film"


def start(**changes: Any) -> Any:
    config = configure("esim", QUICK | {"metapaths": PATHS} | changes)
    return begin("esim", make_hetero(), config)


@pytest.mark.parametrize("pairs", ["all", "neighbors"])
def test_loss__is_the_papers_formula(pairs: str) -> None:
    """One pair at a time."""
    torch.manual_seed(0)
    with start(pairs=pairs, batch_size=4) as begun:
        method: Any = begun.training.method
        made = list(method.batches(begun.training.graph, begun.training.config))
    with torch.no_grad():
        for table in method.parameters():
            table.normal_()
    x = method.table
    for batch in (next(b for b in made if b.number == number) for number in (0, 1)):
        total, count = torch.zeros(()), 0
        for nodes, noise in zip(batch.nodes, batch.noise, strict=True):
            for i, j in itertools.combinations(range(len(nodes)), 2):
                if pairs == "neighbors" and j != i + 1:
                    continue
                key = (batch.number, i, j)

                def f(u: Any, v: Any, key: Any = key) -> Any:
                    offset = method.source[key] @ x[u] + method.target[key] @ x[v]
                    return x[u] @ x[v] + offset + method.level[key]

                total = total - F.logsigmoid(f(nodes[i], nodes[j]))
                for wrong in noise[j]:
                    total = total - F.logsigmoid(-f(nodes[i], wrong))
                count += 1
        torch.testing.assert_close(method.training_loss(batch).total, total / count)


def test_batches__are_paths_of_the_graph() -> None:
    with start() as begun:
        training = begun.training
        made = list(training.method.batches(training.graph, training.config))
    edges = TypedEdges(as_graph(make_hetero()).adjacency)
    matrix = edges.all.tocsr()
    rows = {0: 0, 1: 0}
    for batch in made:
        nodes, noise = batch.nodes.numpy(), batch.noise.numpy()
        path = training.method.paths[batch.number]
        assert (edges.kind[nodes] == np.array(path)).all()
        # The noise of a position is of its type.
        assert (edges.kind[noise] == np.array(path)[:, None]).all()
        linked = matrix[nodes[:, :-1].ravel(), nodes[:, 1:].ravel()]
        assert (np.asarray(linked) > 0).all()
        rows[batch.number] += len(nodes)
    # Four per node of the first type: 20 films, 12 people.
    assert rows == {0: 80, 1: 48}


def test_graph_without_any_path__is_refused_in_one_line() -> None:
    data = HeteroData()
    data["film"].num_nodes = data["person"].num_nodes = 3
    data["film", "by", "person"].edge_index = torch.empty(2, 0, dtype=torch.long)
    with pytest.raises(InputError, match="no path along any of them"):
        fit("esim", data, configure("esim", QUICK))


def test_meta_path_without_paths__is_left_out() -> None:
    data = make_hetero()
    data["person", "likes", "tag"].edge_index = torch.empty(2, 0, dtype=torch.long)
    settings = {"metapaths": "person-tag;film-tag-film"}
    with begin("esim", data, configure("esim", QUICK | settings)) as begun:
        training = begun.training
        made = list(training.method.batches(training.graph, training.config))
    assert {batch.number for batch in made} == {1}
