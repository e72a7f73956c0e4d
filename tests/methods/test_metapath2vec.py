"""metapath2vec: which nodes its walks visit, and the noise of its types."""

import logging
from typing import Any

import numpy as np
import pytest

from dsgrl.graph import as_graph
from dsgrl.graph.sampled_walks import MISSING
from dsgrl.methods import configure
from dsgrl.train import begin, fit
from dsgrl.typing import InputError
from samples import make_data, make_hetero

QUICK = {"out_channels": 8, "walks_per_node": 5, "walk_length": 10, "window": 3}


def batches(**changes: Any) -> list[Any]:
    config = configure("metapath2vec", QUICK | changes)
    with begin("metapath2vec", make_hetero(), config) as begun:
        training = begun.training
        return list(training.method.batches(training.graph, training.config))


def kinds_of(nodes: Any) -> set[int]:
    bounds = as_graph(make_hetero()).bounds
    found = np.asarray(nodes)
    found = found[found != MISSING]
    return set(np.searchsorted(bounds, found, "right") - 1)


def test_batches__have_the_types_of_one_meta_path_each() -> None:
    found = [kinds_of(batch.context) for batch in batches()]
    wanted = [{0, 1}, {0, 2}, {1}]
    assert {frozenset(kinds) for kinds in found} == set(map(frozenset, wanted))
    only = batches(metapaths="person-film-tag-film-person")
    assert {frozenset(kinds_of(batch.center)) for batch in only} == {
        frozenset({0, 1, 2})
    }


def test_walks__start_at_every_node_of_the_first_type() -> None:
    """Five walks from each of 12 people; a walk starts a segment of its own."""
    settings = {"metapaths": "person-film-person", "walk_length": 2}
    (batch,) = batches(batch_size=100, **settings)
    starts = batch.center[:, 0].numpy()
    np.testing.assert_array_equal(np.sort(starts), np.repeat(np.arange(20, 32), 5))


@pytest.mark.parametrize("is_typed", [False, True])
def test_noise__has_the_type_of_its_context_if_asked_for(is_typed: bool) -> None:
    for batch in batches(typed_noise=is_typed):
        present = sorted(kinds_of(batch.context))
        assert batch.noise.shape[1] == (len(present) if is_typed else 1)
        if is_typed:
            for number, kind in enumerate(present):
                assert kinds_of(batch.noise[:, number]) == {kind}
                there = batch.kind[:, :, number].bool()
                assert kinds_of(batch.context[there]) == {kind}


def test_metapaths__auto_is_recorded_as_what_it_stands_for() -> None:
    fitted = fit("metapath2vec", make_hetero(), configure("metapath2vec", QUICK))
    assert fitted.chosen["metapaths"].split(";") == [
        "film-person-film",
        "film-tag-film",
        "person-film-person",
        "person-person-person",
        "tag-film-tag",
    ]


@pytest.mark.parametrize(
    ("metapaths", "message"),
    [
        ("film-person", "'film-person' cannot be repeated, expected the same type"),
        ("film-actor-film", "'film-actor-film' is not a meta-path"),
    ],
)
def test_metapaths__that_do_not_fit_are_refused(metapaths: str, message: str) -> None:
    config = configure("metapath2vec", QUICK | {"metapaths": metapaths})
    with pytest.raises(InputError, match=message):
        fit("metapath2vec", make_hetero(), config)


def test_type_that_is_not_visited__is_named(caplog: pytest.LogCaptureFixture) -> None:
    config = configure("metapath2vec", QUICK | {"metapaths": "film-tag-film"})
    with caplog.at_level(logging.WARNING):
        fit("metapath2vec", make_hetero(), config)
    assert "no meta-path visits node type 'person'" in caplog.text


def test_one_type__is_refused() -> None:
    with pytest.raises(InputError, match="'metapath2vec' embeds hetero data"):
        fit("metapath2vec", make_data("node"))
