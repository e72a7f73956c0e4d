"""What the recorded runs on large graphs must keep to, and what the suite runs."""

import json
from pathlib import Path

import pytest

from dsgrl.bench import suites
from dsgrl.datasets.table import DATASETS
from loading import load_script

RESULTS = Path(__file__).parents[2] / "results" / "large.jsonl"
# Seconds and memory in MB, on two cores; the floor's without the probe.
TRAINED, FLOOR = ("reddit-shape", "dsgrl-feature"), ("reddit-shape", "hops")
BARS = {TRAINED: (15 * 60, 12_000), FLOOR: (5 * 60, 12_000)}


@pytest.mark.parametrize(("dataset", "method"), BARS)
def test_recorded__within_time_and_memory(dataset: str, method: str) -> None:
    lines = map(json.loads, RESULTS.read_text().splitlines())
    (line,) = (
        each for each in lines if (each["dataset"], each["method"]) == (dataset, method)
    )
    seconds, megabytes = BARS[dataset, method]
    is_trained = (dataset, method) == TRAINED
    assert line["fit_seconds"] + is_trained * line["probe_seconds"] <= seconds
    assert line["peak_rss_mb"] <= megabytes
    assert line["epochs"] == int(is_trained)
    if is_trained:
        assert line["config"]["encoder"] == "decoupled"


def test_suite__generated_graphs_only_where_the_real_ones_are_not(
    tmp_path: Path,
) -> None:
    def named() -> tuple[str, ...]:
        made = suites.make_request("large", None, None, "default", {}, None, tmp_path)
        return made.datasets

    assert named() == ("yelp-shape", "reddit-shape")
    place = tmp_path / DATASETS["reddit"].place
    place.mkdir()
    (place / "raw.npz").touch()
    assert named() == ("reddit", "yelp-shape")


def test_suite__its_settings_give_way_to_those_of_the_user(tmp_path: Path) -> None:
    request = suites.make_request(
        "large", ["reddit-shape"], None, "default", {"epochs": 3}, None, tmp_path
    )
    config = request.plan("reddit-shape", "dsgrl-feature", 0).config
    assert (config["encoder"], config["epochs"]) == ("decoupled", 3)
    assert request.plan("reddit-shape", "raw", 0).config == {}
    assert request.plan("reddit-shape", "random-f", 0).config["epochs"] == 0


def test_page__shows_the_recorded_runs() -> None:
    page = (RESULTS.parents[1] / "docs" / "SCALING.md").read_text()
    assert RESULTS.name in page
    assert load_script("readme").fill(page) == page
