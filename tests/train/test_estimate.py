"""What a fit takes, before it is made."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl import DSGRL
from dsgrl.augment.search import pick_search
from dsgrl.methods import NodeBatches, StopByLinks, configure
from dsgrl.train import estimate, fit, memory
from dsgrl.train.estimate import Cost, Estimate, estimate_fit
from dsgrl.train.rehearsal import Meter, Rehearsal, Spent, epochs_of
from dsgrl.train.setting import Setting
from dsgrl.typing import InputError
from samples import make_data

SMALL: dict[str, Any] = {"out_channels": 4, "epochs": 2}


def make_rehearsal(cycle: int = 1) -> Rehearsal:
    return Rehearsal(
        setup=Spent(1, 10),
        first=Spent(5, 40),
        epoch=Spent(2, 30),
        look=Spent(3, 20),
        finish=Spent(7, 35),
        cycle=cycle,
    )


@pytest.mark.parametrize(
    ("level", "ways"),
    [
        ("node", {"floor", "full", "parts"}),
        ("graph", {"floor", "full"}),
        ("hetero", {"floor", "full", "parts"}),
    ],
)
def test_estimate__has_every_way_of_the_level(level: Any, ways: set[str]) -> None:
    found = estimate_fit("dsgrl", make_data(level), configure("dsgrl", SMALL))
    assert found.costs.keys() == ways
    assert found.chosen == "full"
    for cost in found.costs.values():
        low, high = cost.seconds
        assert 0 < low <= high
        if cost.bytes is not None:
            assert 5e7 < cost.bytes < 1e11


def test_estimate__of_a_method_without_training_is_its_floor() -> None:
    found = estimate_fit("hops", make_data("node"))
    assert found.costs.keys() == {"floor"}
    assert found.chosen == "floor"


def test_estimate__chooses_what_the_fit_chooses() -> None:
    config = configure("dsgrl", {**SMALL, "batch_size": NodeBatches(size=16)})
    assert estimate_fit("dsgrl", make_data("node"), config).chosen == "parts"


def test_estimate__leaves_random_numbers_and_results_as_they_are(
    community_graph: Data,
) -> None:
    config = configure("dsgrl", SMALL)
    before = fit("dsgrl", community_graph, config).embed(community_graph)
    state = torch.get_rng_state()
    estimate_fit("dsgrl", community_graph, config)
    assert torch.equal(torch.get_rng_state(), state)
    after = fit("dsgrl", community_graph, config).embed(community_graph)
    np.testing.assert_array_equal(before, after)


def test_estimate__is_of_a_part_where_the_graph_is_large(
    community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "WHOLE_NODES", 10)
    monkeypatch.setattr(estimate, "PART_NODES", 20)
    sizes: list[int] = []
    rehearse = estimate.rehearse

    def note(setting: Any, config: Any, part: Any) -> Rehearsal:
        sizes.append(part.num_nodes)
        return rehearse(setting, config, part)

    monkeypatch.setattr(estimate, "rehearse", note)
    estimate_fit("dsgrl", community_graph, configure("dsgrl", SMALL))
    assert sizes[1:] == [10, 20, 10, 20]


def test_rehearsal__counts_epochs_looks_and_the_rest() -> None:
    assert make_rehearsal().seconds(0, None) == 1 + 7
    assert make_rehearsal().seconds(10, None) == 8 + 5 + 9 * 2
    assert make_rehearsal().seconds(10, 5) == 8 + 5 + 9 * 2 + 2 * 3
    assert make_rehearsal(cycle=5).seconds(10, None) == 8 + 2 * 5 + 8 * 2
    assert make_rehearsal().bytes == 40


def test_rehearsal__memory_grows_by_a_line_and_time_in_proportion() -> None:
    half, part = Spent(1.0, 30), Spent(2.0, 50)
    grown = part.grown(0.1, half)
    assert grown.seconds == pytest.approx(20)
    # 10 and 400 times the share.
    assert grown.bytes == pytest.approx(10 + 400)
    assert part.grown(1.0, None) == part


def test_epochs__of_held_out_links_are_a_range() -> None:
    stop = StopByLinks(max_epochs=150, patience=40, check_every=10)
    assert epochs_of(DSGRL(epochs=stop)._config()) == (50, 150, 10)
    assert epochs_of(DSGRL(epochs=7)._config()) == (7, 7, None)


@pytest.mark.parametrize(("augment", "cycle"), [("feature", 1), ("topology", 5)])
def test_cycle__is_that_of_the_search(augment: str, cycle: int) -> None:
    setting = Setting.of("dsgrl", make_data("node"), DSGRL(augment=augment)._config())
    assert setting.build().cycle == cycle


def test_pinned__the_search_of_a_large_graph_stays_on_a_part() -> None:
    config = DSGRL(augment="topology")._config()
    setting = Setting.of("dsgrl", make_data("node"), config)
    spec = replace(setting.spec, largest=10**6)
    views: Any = setting.config.pinned(spec).views
    assert views.candidates == pick_search("auto", 10**6, 256)
    assert views.candidates != "exact"


def test_meter__sees_memory_that_is_free_again() -> None:
    meter = Meter()
    if not meter.knows_peak:
        pytest.skip("the system does not tell")
    torch.ones(25_000_000)
    assert 90e6 < meter.lap().bytes < 200e6
    assert meter.lap().bytes < 50e6


def test_fits__compares_with_what_is_free() -> None:
    costs = {"floor": Cost((0, 0), (1, 1), 5e9), "full": Cost((1, 1), (1, 1), None)}
    found = Estimate(costs=costs, chosen="floor", available=6e9)
    assert found.fits("floor") is True
    assert found.fits("full") is None
    assert found.to_json()["estimates"]["floor"]["fits"] is True


@pytest.mark.parametrize(
    ("free", "said"),
    [(1e3, "or use a machine with more memory"), (2.4e5, "--epochs 0")],
)
def test_fit__refuses_what_does_not_fit(
    free: float, said: str, community_graph: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: free)
    with pytest.raises(InputError, match=r"takes about .* MB, .* are free") as error:
        fit("dsgrl", community_graph, configure("dsgrl", {"epochs": 1}))
    assert said in str(error.value)
