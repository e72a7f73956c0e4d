import tomllib
from typing import Any

import numpy as np
import pytest

from dsgrl.typing import Split
from loading import load_script


def line(method: str, dataset: str, mean: float, **more: Any) -> dict[str, Any]:
    same = {"protocol": "public", "recipe": "published", "seed": 0}
    return {**same, "method": method, "dataset": dataset, "mean": mean, **more}


def test_page__a_figure_that_is_missed_has_its_note_and_what_was_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fidelity = load_script("fidelity")
    lines = [
        line("cca-ssg", "citeseer", 70.0),
        line("cca-ssg", "citeseer", 71.25, recipe="published, lr=0.01"),
        line("dgi", "cora", 80.8),
        line("mvgrl", "cora", 86.0),
    ]
    monkeypatch.setattr(fidelity, "read_lines", lambda paths: lines)
    monkeypatch.setattr(fidelity, "render_probes", lambda lines: "")
    monkeypatch.setattr(fidelity, "render_walks", lambda lines: "")
    page = fidelity.render()
    assert "| public | cca-ssg | citeseer | 73.1 | 70.0 | -3.1 |  |" in page
    assert "| cca-ssg | citeseer | -3.1 | lr=0.01: 71.2 | The classifier" in page
    assert "| mvgrl | cora | +2.5 |  | not looked into yet |" in page
    # 1.5 points away is near enough.
    assert "| dgi | cora | -1.5 |" not in page
    assert "3 of 45 rows have been run: 1 are within 1.5 points" in page
    assert "1 above it by more, 1 below." in page


def test_notes__are_about_rows_of_the_page() -> None:
    fidelity = load_script("fidelity")
    rows = {
        (method, dataset)
        for methods in fidelity.PUBLISHED.values()
        for method, datasets in methods.items()
        for dataset in datasets
    }
    notes = tomllib.loads(fidelity.NOTES.read_text())
    named = {(method, dataset) for method in notes for dataset in notes[method]}
    assert named <= rows
    assert ("cca-ssg", "citeseer") in named


def test_probes__are_means_over_seeds_beside_the_figure() -> None:
    same = {"dataset": "cora", "method": "cca-ssg", "protocol": "public"}
    lines = [
        {**same, "seed": 0, "ours": 82.0, "stopped": 83.0, "highest": 84.0},
        {**same, "seed": 1, "ours": 81.0, "stopped": 84.0, "highest": 84.0},
    ]
    section = load_script("fidelity").render_probes(lines)
    assert "Seeds 0, 1\n" in section
    assert "| cca-ssg | cora | 84.0 | 81.5 | 83.5 | 84.0 |" in section


def test_walks__stand_beside_the_figures_of_the_paper() -> None:
    render = load_script("fidelity").render_walks
    own = line("node2vec", "imdb", 50.0, protocol="imdb-40", metric="micro_f1")
    other = {**own, "recipe": "default", "mean": 60.0}
    section = render([own, other])
    assert "50.0 (paper 51.8, -1.8) | (paper 52.8)" in section
    assert render([other]) == ""


@pytest.fixture
def rows() -> tuple[Any, Any, Split]:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    z = rng.normal(size=(150, 6)).astype(np.float32)
    z[:, 0] += y
    return z, y, Split(np.arange(50), np.arange(50, 100), np.arange(100, 150))


def test_classifier__test_labels_choose_no_epoch(
    rows: tuple[Any, Any, Split],
) -> None:
    probes = load_script("fidelity_probes")
    z, y, split = rows
    classifier = probes.Classifier(lr=0.05, weight_decay=1e-3, epochs=60)
    found = probes.train_classifier(z, y, split, classifier, 0)
    assert 40 < found.stopped <= found.highest <= 100
    changed = y.copy()
    changed[split.test] = (y[split.test] + 1) % 3
    other = probes.train_classifier(z, changed, split, classifier, 0)
    assert other.epoch == found.epoch
    assert other.stopped < found.stopped
    assert probes.train_classifier(z, y, split, classifier, 0) == found


def test_classifier__the_highest_may_be_later_than_the_first(
    rows: tuple[Any, Any, Split],
) -> None:
    probes = load_script("fidelity_probes")
    z, y, split = rows
    # One validation row: it is right at nearly every epoch.
    split = Split(split.train, split.train[:1], split.test)
    classifier = probes.Classifier(lr=0.02, weight_decay=0.0, epochs=200)
    found = probes.train_classifier(z, y, split, classifier, 3)
    assert found.highest > found.stopped
