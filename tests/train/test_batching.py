"""Training on parts of one graph."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.graph import as_graph
from dsgrl.methods import METHODS, NodeBatches, StopByLinks, configure
from dsgrl.train import begin, fit, memory
from dsgrl.train.batching import Neighborhood, _pick
from dsgrl.train.checkpoint import Checkpoints
from dsgrl.typing import InputError
from samples import make_data

KINDS = ["neighbors", "random"]
SMALL: dict[str, Any] = {"out_channels": 4, "epochs": 2}


def parts(sampling: str, size: int = 16, num_neighbors: int = 3) -> NodeBatches:
    return NodeBatches(size=size, sampling=sampling, num_neighbors=num_neighbors)


@pytest.mark.parametrize("sampling", KINDS)
@pytest.mark.parametrize("augment", ["feature", "topology", "both", "auto"])
@pytest.mark.parametrize("level", ["node", "hetero"])
def test_step__reaches_every_parameter(level: Any, augment: str, sampling: str) -> None:
    settings = {**SMALL, "augment": augment, "batch_size": parts(sampling, 24)}
    config = configure("dsgrl", settings)
    with begin("dsgrl", make_data(level), config) as begun:
        training = begun.training
        method = training.method
        before = {k: p.detach().clone() for k, p in method.named_parameters()}
        for _ in range(5):
            # A small part may have no edge of a relation.
            training.run_epoch()
        held = [k for k, p in method.named_parameters() if torch.equal(p, before[k])]
    assert held == []
    assert training.steps >= 10


@pytest.mark.parametrize("name", [n for n, k in METHODS.items() if "node" in k.levels])
def test_method__trains_on_random_parts_if_it_takes_them(
    name: str, community_graph: Data
) -> None:
    kind = METHODS[name]
    if not kind.is_trained or not kind.Config.takes_node_batches():
        pytest.skip("it has batches of its own, or none")
    settings = {"epochs": 2, "batch_size": parts("random", 20)}
    fitted = fit(name, community_graph, configure(name, settings))
    z = fitted.embed(community_graph)
    assert np.isfinite(z).all()
    assert len(z) == community_graph.num_nodes


def test_method__that_compares_all_rows_refuses_sampled_neighbors(
    community_graph: Data,
) -> None:
    config = configure("cca-ssg", {"batch_size": parts("neighbors")})
    with pytest.raises(InputError, match="expected 'random' or 'clusters'"):
        fit("cca-ssg", community_graph, config)


@pytest.mark.parametrize("sampling", KINDS)
def test_loss__of_all_nodes_in_one_part_is_that_of_the_graph(
    sampling: str, community_graph: Data
) -> None:
    everyone = parts(sampling, community_graph.num_nodes, 1000)
    options = {**SMALL, "augment": "feature", "views__edge_drop": 0.0, "dropout": 0.0}
    losses = []
    for batch_size in (None, everyone):
        config = configure("dsgrl", {**options, "batch_size": batch_size})
        with begin("dsgrl", community_graph, config) as begun:
            training = begun.training
            (batch,) = training.method.batches(training.graph, begun.config)
            losses.append(training.method.training_loss(batch).numbers())
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("sampling", KINDS)
def test_training__in_parts_separates_the_communities(
    sampling: str, community_graph: Data
) -> None:
    model = DSGRL(
        out_channels=8, floor=False, epochs=20, batch_size=parts(sampling, 20)
    )
    z = torch.from_numpy(model.fit_transform(community_graph))
    z = torch.nn.functional.normalize(z - z.mean(dim=0), dim=1)
    same = community_graph.y[:, None] == community_graph.y[None]
    similar = z @ z.t()
    assert similar[same].mean() > similar[~same].mean() + 0.2


@pytest.mark.parametrize("sampling", KINDS)
@pytest.mark.parametrize("views", [{}, {"augment": "topology"}])
def test_resume__in_the_middle_equals_uninterrupted(
    tmp_path: Path, community_graph: Data, views: dict[str, Any], sampling: str
) -> None:
    class StoppedError(Exception):
        pass

    def stop(row: dict[str, float]) -> None:
        if row["epoch"] == 3:
            raise StoppedError

    settings = {"out_channels": 4, "epochs": 6, "batch_size": parts(sampling), **views}
    config = configure("dsgrl", settings)
    wanted = fit("dsgrl", community_graph, config).embed(community_graph)
    saved = Checkpoints(tmp_path / "run", every=2)
    with pytest.raises(StoppedError):
        fit("dsgrl", community_graph, config, report=stop, checkpoints=saved)
    again = Checkpoints(tmp_path / "run", every=2, resume=True)
    found = fit("dsgrl", community_graph, config, checkpoints=again)
    np.testing.assert_array_equal(found.embed(community_graph), wanted)


def test_batch_size__of_one_graph_is_a_number_of_nodes(community_graph: Data) -> None:
    model = DSGRL(out_channels=4, batch_size=20).fit(community_graph)
    assert model.chosen_["batch_size"] == "nodes"
    assert model.chosen_["batch_size__size"] == 20
    assert model.chosen_["batch_size__sampling"] in KINDS
    given = DSGRL(batch_size=NodeBatches()).set_params(batch_size__num_neighbors=7)
    assert given.get_params()["batch_size__num_neighbors"] == 7


@pytest.mark.parametrize(("given", "chosen"), [("auto", "nodes"), (None, None)])
def test_batch_size__auto_is_in_parts_where_memory_is_short(
    given: Any,
    chosen: str | None,
    community_graph: Data,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e3)
    small = {"out_channels": 4, "epochs": 1, "floor": False}
    model = DSGRL(**small, batch_size=given).fit(community_graph)
    assert model.chosen_.get("batch_size") == chosen
    assert "takes about" in caplog.text
    assert ("parts of the graph" in caplog.text) == (chosen is not None)


def test_batch_size__auto_is_all_nodes(community_graph: Data) -> None:
    model = DSGRL(out_channels=4, epochs=1).fit(community_graph)
    assert model.chosen_["batch_size"] is None


def test_save__a_model_trained_in_parts_loads(
    tmp_path: Path, community_graph: Data
) -> None:
    model = DSGRL(out_channels=4, epochs=1, batch_size=parts("random"))
    z = model.fit_transform(community_graph)
    model.save(tmp_path / "model")
    again = DSGRL.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(community_graph), z)
    assert again.batch_size == model.batch_size


def test_epochs__auto_has_the_steps_of_training_at_once(community_graph: Data) -> None:
    nodes = community_graph.num_nodes
    found = {}
    # 25 of 60 nodes: three batches, too.
    for size in (nodes, nodes // 3, 25, 1):
        config = configure("dsgrl", {"batch_size": parts("random", size)})
        with begin("dsgrl", community_graph, config) as begun:
            found[size] = begun.config.epochs
    whole, third = found[nodes], found[nodes // 3]
    assert isinstance(whole, StopByLinks)
    assert isinstance(third, StopByLinks)
    assert third.max_epochs == whole.max_epochs // 3
    assert found[25] == third
    assert third.check_every == whole.check_every // 3
    assert third.patience < whole.patience


def test_epochs__given_stay_as_they_are(community_graph: Data) -> None:
    config = configure("dsgrl", {"batch_size": parts("random", 10), "epochs": 7})
    with begin("dsgrl", community_graph, config) as begun:
        assert begun.config.epochs == 7


@pytest.mark.parametrize(
    ("degree", "size", "takes_targets", "wanted"),
    [
        # Neighbourhoods are small.
        (1, 100, True, "neighbors"),
        # They are the whole graph; a few neighbours are in the batch, or many.
        (30, 100, True, "neighbors"),
        (30, 200, True, "random"),
        (1, 100, False, "random"),
    ],
)
def test_sampling__auto_depends_on_how_many_neighbors_there_are(
    degree: int, size: int, takes_targets: bool, wanted: str
) -> None:
    ring = torch.arange(1000)
    steps = [torch.stack([ring, (ring + k) % 1000]) for k in range(1, degree + 1)]
    graph = as_graph(Data(x=torch.randn(1000, 3), edge_index=torch.cat(steps, dim=1)))
    method: Any = SimpleNamespace(
        takes_targets=takes_targets, num_hops=2, needs_edges=True
    )
    assert _pick(graph, method, NodeBatches(size=size)) == wanted


def test_neighborhood__of_a_dense_graph_is_most_of_it() -> None:
    ring = torch.arange(1000)
    steps = [torch.stack([ring, (ring + k) % 1000]) for k in range(1, 31)]
    dense = as_graph(Data(x=torch.randn(1000, 3), edge_index=torch.cat(steps, dim=1)))
    sparse = as_graph(Data(x=torch.randn(1000, 3), edge_index=steps[0]))
    batches = NodeBatches(size=100)
    assert Neighborhood.of(dense, batches, 2).share == 1
    assert Neighborhood.of(dense, batches, 2).inside == pytest.approx(3)
    assert Neighborhood.of(sparse, batches, 2).share == pytest.approx(0.4)
