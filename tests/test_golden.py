"""Seeded embeddings and losses of every encoder: a refactor leaves them as they are."""

import json
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.estimator import DSGRL
from dsgrl.typing import EncoderName

GOLDEN = json.loads((Path(__file__).parent / "golden/methods.json").read_text())
ENCODERS: tuple[EncoderName, ...] = ("gcn", "sage", "gin")


def golden_graph() -> Data:
    grid = torch.arange(60, dtype=torch.float32).reshape(12, 5)
    ring = torch.arange(12)
    edge_index = torch.stack([ring, (ring + 1) % 12])
    return Data(
        x=torch.sin(grid), edge_index=torch.cat([edge_index, edge_index.flip(0)], 1)
    )


def golden_value(encoder: EncoderName) -> dict[str, float]:
    model = DSGRL(
        encoder=encoder, out_channels=4, augment_channels=6, epochs=5, lr=0.01
    )
    z = model.fit_transform(golden_graph())
    return {
        "loss": model.history_[-1]["loss"],
        "sum": float(z.sum()),
        "squares": float((z * z).sum()),
    }


def golden_values() -> dict[str, dict[str, float]]:
    return {encoder: golden_value(encoder) for encoder in ENCODERS}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_dsgrl__golden_values(encoder: EncoderName) -> None:
    assert golden_value(encoder) == pytest.approx(GOLDEN[encoder], rel=1e-4)
