"""The changes of `studies.cures`: each has an effect, and none on a later fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toys import toy_graph

from dsgrl.augment import FeatureAugmenter
from dsgrl.methods import StopByLinks
from dsgrl.methods import dsgrl as module
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.train import fit_graph
from samples import make_data
from studies import cures
from studies.cure_changes import (
    CURES,
    Change,
    Gated,
    bend,
    characteristic_gap,
    original_objective,
    orthogonal_by_width,
    quantile_gap,
)

SMALL: dict[str, Any] = {"augment": "feature", "out_channels": 6, "epochs": 4}


def embed(level: str, change: Change | None = None) -> Any:
    # Some batches of graphs, and enough epochs for a rate or a weight to matter.
    config = DSGRLConfig(**SMALL, batch_size=4, lr=0.01)
    fitted, graph = fit_graph("dsgrl", make_data(level), config, change=change)
    return fitted.embed_graph(graph)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize("name", [name for name in CURES if name != "default"])
def test_cure__changes_the_result_and_leaves_nothing_behind(
    name: str, level: str
) -> None:
    plain = embed(level)
    changed = embed(level, CURES[name].change)
    assert changed.shape == plain.shape
    assert np.isfinite(changed).all()
    is_same = np.allclose(changed, plain, atol=1e-6)
    # Whole graphs have no neighbours to be smoothed over.
    assert is_same == (name == "smoothed" and level == "graph")
    np.testing.assert_array_equal(embed(level), plain)
    # What counts steps counts them anew.
    np.testing.assert_array_equal(embed(level, CURES[name].change), changed)


def test_cure__default_is_learned_features() -> None:
    np.testing.assert_array_equal(embed("node", CURES["default"].change), embed("node"))


@pytest.mark.parametrize("level", ["node", "graph"])
def test_bend__by_one_learns_as_the_default_with_its_dropped_edges(level: str) -> None:
    def losses(change: Change | None) -> list[float]:
        config = DSGRLConfig(**SMALL, dropout=0.0)
        fitted, _ = fit_graph("dsgrl", make_data(level), config, change=change)
        return [row["loss"] for row in fitted.history]

    assert losses(bend(1.0)) == pytest.approx(losses(None), rel=1e-3)


def test_gaps__are_small_for_a_gaussian_and_large_for_a_collapse() -> None:
    torch.manual_seed(0)
    gaussian, constant = torch.randn(2000, 3), torch.zeros(2000, 3)
    for gap in (quantile_gap, characteristic_gap):
        assert float(gap(gaussian)) < 0.05 * float(gap(constant))


def test_gated__every_gate_learns_and_starts_open() -> None:
    torch.manual_seed(0)
    x = torch.rand(9, 5)
    gated = Gated(5, 4)
    plain = FeatureAugmenter(5, 4)
    plain.load_state_dict(gated.state_dict(), strict=False)
    torch.testing.assert_close(gated(x), plain(x))
    gated(x).square().sum().backward()
    assert (gated.gates.grad.abs() > 0).all()


def test_orthogonal_by_width__wider_augmenters_weigh_no_more() -> None:
    z, narrow = torch.randn(6, 3), torch.zeros(8, 20)
    wide = torch.cat([narrow] * 4)
    plain, scaled = (
        [float(objective(z, z, [w])["orthogonality"]) for w in (narrow, wide)]
        for objective in (original_objective, orthogonal_by_width())
    )
    assert plain[1] == pytest.approx(2 * plain[0])
    assert scaled[1] == pytest.approx(scaled[0] / 2)
    assert module.objective is original_objective


def test_run_cures__resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cures, "load_dataset", lambda name: toy_graph())
    monkeypatch.setattr(
        cures,
        "DSGRLConfig",
        lambda **given: DSGRLConfig(**given, epochs=StopByLinks(max_epochs=2)),
    )
    results = tmp_path / "cures.jsonl"
    (first,) = cures.run_cures("cora", ["default"], [0], results=results)
    (line,) = cures.run_cures("cora", ["default", "fixed"], [0], results=results)
    assert (first["cure"], line["cure"]) == ("default", "fixed")
