"""The changes of scripts/cures.py: each does something, and none stays behind."""

from typing import Any

import numpy as np
import pytest
import torch

from dsgrl import DSGRL
from dsgrl.augment import FeatureAugmenter
from loading import load_script
from samples import make_data

script = load_script("cures")
SMALL: dict[str, Any] = {
    "augment": "feature",
    "out_channels": 6,
    "augment_channels": 8,
    "epochs": 4,
}


def embed(level: str) -> Any:
    # Some batches of graphs, and enough rounds for a rate or a weight to tell.
    model = DSGRL(**SMALL, batch_size=4, lr=0.01)
    return model.fit_transform(make_data(level))


@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize("name", [name for name in script.CURES if name != "default"])
def test_cure__changes_the_result_and_leaves_nothing_behind(
    name: str, level: str
) -> None:
    plain = embed(level)
    with script.CURES[name].patch():
        changed = embed(level)
    assert changed.shape == plain.shape
    assert np.isfinite(changed).all()
    is_same = np.allclose(changed, plain, atol=1e-6)
    # Whole graphs have no neighbours to be smoothed over.
    assert is_same == (name == "smoothed" and level == "graph")
    np.testing.assert_array_equal(embed(level), plain)


@pytest.mark.parametrize("level", ["node", "graph"])
def test_bent__by_one_learns_as_the_default_with_its_dropped_edges(level: str) -> None:
    def losses() -> list[float]:
        model = DSGRL(**SMALL, dropout=0.0)
        return [row["loss"] for row in model.fit(make_data(level)).history_]

    plain = losses()
    with script.bent(1.0):
        assert losses() == pytest.approx(plain, rel=1e-3)


def test_quantile_gap__is_small_for_a_gaussian_and_large_for_a_collapse() -> None:
    torch.manual_seed(0)
    gaussian, constant = torch.randn(2000, 3), torch.zeros(2000, 3)
    for gap in (script.quantile_gap, script.characteristic_gap):
        assert float(gap(gaussian)) < 0.05 * float(gap(constant))


def test_gated__every_gate_learns_and_starts_open() -> None:
    torch.manual_seed(0)
    x = torch.rand(9, 5)
    gated = script.Gated(5, 4)
    plain = FeatureAugmenter(5, 4)
    plain.load_state_dict(gated.state_dict(), strict=False)
    torch.testing.assert_close(gated(x), plain(x))
    gated(x).square().sum().backward()
    assert (gated.gates.grad.abs() > 0).all()


def test_orthogonal_by_width__wider_augmenters_weigh_no_more() -> None:
    z, narrow = torch.randn(6, 3), torch.zeros(8, 20)
    wide = torch.cat([narrow] * 4)
    plain = [
        float(script.original_objective(z, z, [w])["orthogonality"])
        for w in (narrow, wide)
    ]
    with script.orthogonal_by_width():
        scaled = [
            float(script.paper.objective(z, z, [w])["orthogonality"])
            for w in (narrow, wide)
        ]
    assert plain[1] == pytest.approx(2 * plain[0])
    assert scaled[1] == pytest.approx(scaled[0] / 2)
