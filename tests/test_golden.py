"""Seeded values of every encoder and augmentation: a refactor leaves them alone."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl.estimator import DSGRL

GOLDEN = json.loads((Path(__file__).parent / "golden/methods.json").read_text())
CASES: dict[str, dict[str, Any]] = {
    "gcn": {"encoder": "gcn"},
    "sage": {"encoder": "sage"},
    "gin": {"encoder": "gin"},
    "topology": {"augment": "topology", "edges_per_node": 4},
    "both": {"augment": "both", "edges_per_node": 4},
}


def golden_graph() -> Data:
    grid = torch.arange(60, dtype=torch.float32).reshape(12, 5)
    ring = torch.arange(12)
    edge_index = torch.stack([ring, (ring + 1) % 12])
    return Data(
        x=torch.sin(grid), edge_index=torch.cat([edge_index, edge_index.flip(0)], 1)
    )


def golden_value(case: str) -> dict[str, float]:
    model = DSGRL(out_channels=4, augment_channels=6, epochs=5, lr=0.01, **CASES[case])
    z = model.fit_transform(golden_graph())
    return {
        "loss": model.history_[-1]["loss"],
        "sum": float(z.sum()),
        "squares": float((z * z).sum()),
    }


def golden_values() -> dict[str, dict[str, float]]:
    return {case: golden_value(case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_dsgrl__golden_values(case: str) -> None:
    assert golden_value(case) == pytest.approx(GOLDEN[case], rel=1e-4)
