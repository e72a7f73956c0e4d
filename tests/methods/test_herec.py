"""HERec: walks hold nodes of one type only."""

from typing import Any

import numpy as np
import pytest

from dsgrl.graph import as_graph
from dsgrl.graph.metapaths import TypedEdges
from dsgrl.graph.sampled_walks import MISSING
from dsgrl.methods import METHODS, configure
from dsgrl.train import begin
from samples import make_hetero

QUICK = {"out_channels": 8, "walks_per_node": 3, "walk_length": 6, "window": 2}
PATHS = ["film-person-film", "person-film-tag-film-person", "tag-film-person-film-tag"]


def begun(**changes: Any) -> Any:
    return begin("herec", make_hetero(), configure("herec", QUICK | changes))


def test_kept_steps__are_those_of_the_first_type() -> None:
    method: Any = METHODS["herec"]
    kept = method.kept_steps
    assert kept(None, (0, 1, 0), 3) == [0, 2, 4, 6]
    assert kept(None, (0, 1, 2, 1, 0), 2) == [0, 4, 8]
    assert kept(None, (0, 1, 0, 2, 0), 3) == [0, 2, 4, 6]
    assert kept(None, (0, 1, 0, 2, 1, 0), 4) == [0, 2, 5, 7, 10]
    assert kept(None, (0, 0), 2) == [0, 1, 2]


@pytest.mark.parametrize("path", PATHS)
def test_batches__have_one_type(path: str) -> None:
    with begun(metapaths=path) as here:
        training = here.training
        made = list(training.method.batches(training.graph, training.config))
    bounds = as_graph(make_hetero()).bounds
    kind = ["film", "person", "tag"].index(path.split("-")[0])
    for batch in made:
        for nodes in (batch.center, batch.context, batch.noise):
            there = nodes[nodes != MISSING].numpy()
            assert set(np.searchsorted(bounds, there, "right") - 1) == {kind}


def test_walks__lead_to_nodes_with_a_path_between_them() -> None:
    """Two films in a row have a person in common."""
    with begun(metapaths="film-person-film") as here:
        training = here.training
        (walker,) = training.method.walkers(training.graph, training.config)
        edges = TypedEdges(training.graph.adjacency)
    walks = walker.walk(walker.starts, np.random.default_rng(0))
    assert walks.shape == (20, 7)
    between = edges.between(0, 1)
    common = (between @ between.T).toarray()
    both = (walks[:, :-1] != MISSING) & (walks[:, 1:] != MISSING)
    assert both.any()
    assert (common[walks[:, :-1][both], walks[:, 1:][both]] > 0).all()
