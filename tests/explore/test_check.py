import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.explore.check import Check, check_embedding, draw_links
from dsgrl.train.fit import begin
from samples import make_graphs, make_hetero


def test_check__noise_finds_no_links_and_groups_do(community_graph: Data) -> None:
    random = np.random.default_rng(0)
    noise = random.normal(size=(60, 8)).astype(np.float32)
    groups = np.eye(3, dtype=np.float32)[community_graph.y] + noise[:, :3] / 10
    bad, good = (check_embedding(z, community_graph) for z in (noise, groups))
    assert bad.link_auc is not None
    assert good.link_auc is not None
    assert bad.link_auc < 0.65 < good.link_auc
    assert bad.verdict.startswith("Bad")
    assert good.verdict.startswith("Good")
    assert good.floor_auc == bad.floor_auc
    assert not good.is_held_out
    assert "--model" in good.lines()[-1]


def test_check__faint_columns_of_noise_do_not_hide_links(community_graph: Data) -> None:
    """Embeddings end in many columns of little variance, as principal directions do."""
    random = np.random.default_rng(0)
    groups = np.eye(3, dtype=np.float32)[community_graph.y]
    faint = 0.01 * random.normal(size=(60, 200)).astype(np.float32)
    alone, beside = (
        check_embedding(z, community_graph).link_auc
        for z in (groups + faint[:, :3], np.hstack([groups + faint[:, :3], faint]))
    )
    assert alone is not None
    assert beside == pytest.approx(alone, abs=0.05)


def test_check__collapse_is_said_first(community_graph: Data) -> None:
    line = np.outer(np.arange(60), np.ones(4)).astype(np.float32)
    found = check_embedding(line, community_graph)
    assert found.effective_rank == pytest.approx(1, abs=1e-3)
    assert "collapsed" in found.verdict
    same = check_embedding(np.ones((60, 4), np.float32), community_graph)
    assert same.repeated > 0.9
    assert "collapsed" in same.lines()[0]


def test_check__with_a_model_links_are_hidden_from_it(community_graph: Data) -> None:
    model = DSGRL(epochs=3, out_channels=4, random_state=5)
    z = model.fit_transform(community_graph)
    found = check_embedding(z, community_graph, model)
    assert found.is_held_out
    assert found.link_auc is not None
    # The same links as those that stopping would hide in training with this seed.
    links = draw_links(community_graph, 5)
    with begin("dsgrl", community_graph, DSGRL(random_state=5)._config()) as begun:
        watch = begun.training.watch
        assert watch is not None
        torch.testing.assert_close(watch.links.edges, links.edges)


def test_check__other_levels() -> None:
    random = np.random.default_rng(0)
    z = random.normal(size=(8, 4)).astype(np.float32)
    graphs = check_embedding(z, make_graphs())
    assert graphs.link_auc is None
    assert "no links" in graphs.verdict
    data = make_hetero()
    z = random.normal(size=(38, 5)).astype(np.float32)
    found = check_embedding(z, data)
    assert found.link_auc is not None
    assert found.floor_auc is not None


@pytest.mark.parametrize(
    ("auc", "word"), [(0.9, "better"), (0.81, "as well as"), (0.7, "worse")]
)
def test_verdict__is_against_the_floor(auc: float, word: str) -> None:
    found = Check(9, 4, 3.0, 3, 0.0, auc, 0.8, error=0.01)
    assert word in found.verdict
    assert found.summary()["link_auc"] == auc
