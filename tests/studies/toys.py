"""Small labelled data in the place of the benchmark's."""

import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected


def toy_graph() -> Data:
    """Sixty nodes in three communities, with features that depend on them."""
    generator = torch.Generator().manual_seed(0)
    group = torch.arange(60) // 20
    chance = torch.where(group[:, None] == group[None, :], 0.3, 0.02)
    linked = torch.rand(60, 60, generator=generator) < chance
    edges = to_undirected(linked.triu(1).nonzero().t().contiguous(), num_nodes=60)
    x = torch.nn.functional.one_hot(group, 5).float()
    return Data(
        x=x + torch.randn(60, 5, generator=generator), edge_index=edges, y=group
    )


def toy_graphs() -> list[Data]:
    """Thirty rings of two sizes; the larger ones are of class 1."""
    graphs = []
    for number in range(30):
        ring = torch.arange(4 + 3 * (number % 2))
        edge_index = torch.stack([ring, ring.roll(1)])
        y = torch.tensor([number % 2])
        graphs.append(Data(x=torch.ones(len(ring), 2), edge_index=edge_index, y=y))
    return graphs
