import os
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runslow", action="store_true", help="run slow tests too")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    folder = os.environ.get("DSGRL_DATA")
    has_data = folder is not None and Path(folder).is_dir()
    no_data = pytest.mark.skip(reason="benchmark data not found: set DSGRL_DATA")
    too_slow = pytest.mark.skip(reason="slow: run with --runslow (make test does)")
    for item in items:
        if "data" in item.keywords and not has_data:
            item.add_marker(no_data)
        if "slow" in item.keywords and not config.getoption("--runslow"):
            item.add_marker(too_slow)


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def tiny_graph() -> Data:
    """Six nodes: a triangle, a path and an isolated node."""
    edge_index = to_undirected(torch.tensor([[0, 1, 2, 3], [1, 2, 0, 4]]), num_nodes=6)
    x = torch.tensor([[1, 0, 2], [0, 1, 1], [1, 1, 0], [0, 0, 3], [2, 0, 1], [1, 1, 1]])
    return Data(x=x.float(), edge_index=edge_index, y=torch.arange(6) % 2)


@pytest.fixture
def community_graph() -> Data:
    """Sixty nodes in three communities, with features that hint at them."""
    generator = torch.Generator().manual_seed(1)
    group = torch.arange(60) // 20
    same = group[:, None] == group[None, :]
    chance = torch.where(same, 0.3, 0.02)
    linked = torch.rand(60, 60, generator=generator) < chance
    edge_index = to_undirected(linked.triu(1).nonzero().t().contiguous(), num_nodes=60)
    center = 2 * torch.randn(3, 12, generator=generator)
    x = center[group] + torch.randn(60, 12, generator=generator)
    return Data(x=x, edge_index=edge_index, y=group)
