"""Small data of every level, the same for the same seed; all labelled."""

import re
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData
from torch_geometric.utils import to_undirected

from dsgrl import DSGRL
from dsgrl.bench.legacy import upgrade
from dsgrl.bench.systems import typical_spec
from dsgrl.graph import Spec
from dsgrl.methods import METHODS, FitConfig, configure

LEVELS = ("node", "graph", "hetero")
AUGMENTS = ("feature", "topology", "both")
KINDS = ("film", "person", "tag")


def make_graph(num_nodes: int, generator: torch.Generator, columns: int = 4) -> Data:
    """Give a ring with chords, both ways, and a feature that is not like any other."""
    node = torch.arange(num_nodes)
    chords = torch.randint(max(num_nodes, 1), (2, num_nodes), generator=generator)
    ring = torch.stack([node, (node + 1) % num_nodes])
    edge_index = to_undirected(torch.cat([ring, chords], dim=1), num_nodes=num_nodes)
    return Data(
        x=torch.randn(num_nodes, columns, generator=generator),
        edge_index=edge_index[:, edge_index[0] != edge_index[1]],
        y=torch.randint(3, (num_nodes,), generator=generator),
    )


def make_graphs(
    sizes: tuple[int, ...] = (9, 5, 12, 7, 6, 10, 8, 11), seed: int = 0
) -> list[Data]:
    """Give one graph per size, each with one label."""
    generator = torch.Generator().manual_seed(seed)
    graphs = [make_graph(size, generator) for size in sizes]
    for number, graph in enumerate(graphs):
        graph.y = torch.tensor([number % 2])
    return graphs


def make_hetero(films: int = 20, people: int = 12, seed: int = 0) -> HeteroData:
    """Give films, people and tags; tags have no features, films have labels."""
    generator = torch.Generator().manual_seed(seed)
    sizes = dict(zip(KINDS, (films, people, 6), strict=True))
    data = HeteroData()
    data["film"].x = torch.randn(films, 5, generator=generator)
    data["film"].y = torch.randint(3, (films,), generator=generator)
    data["person"].x = torch.randn(people, 3, generator=generator)
    data["tag"].num_nodes = sizes["tag"]
    for source, name, target in (("film", "by", "person"), ("film", "has", "tag")):
        linked = torch.rand(sizes[source], sizes[target], generator=generator) < 0.3
        data[source, name, target].edge_index = linked.nonzero().t().contiguous()
    data["person", "knows", "person"].edge_index = make_graph(
        people, generator
    ).edge_index
    return data


def make_data(level: str, seed: int = 0) -> Any:
    if level == "graph":
        return make_graphs(seed=seed)
    if level == "hetero":
        return make_hetero(seed=seed)
    return make_graph(40, torch.Generator().manual_seed(seed))


def permute(data: Any, seed: int = 1) -> tuple[Any, Any]:
    """Renumber the nodes inside each graph and each type.

    Returns:
        The same data with row i in the place of row `order[i]`, and the orders: one
        tensor, one per graph, or one per node type.
    """
    generator = torch.Generator().manual_seed(seed)
    if isinstance(data, list):
        moved = [permute(graph, seed + i) for i, graph in enumerate(data)]
        return [graph for graph, _ in moved], [order for _, order in moved]
    if isinstance(data, Data):
        order = torch.randperm(data.num_nodes, generator=generator)
        edge_index = order.argsort()[data.edge_index]
        return Data(x=data.x[order], edge_index=edge_index), order
    result, orders = HeteroData(), {}
    for kind in data.node_types:
        size = data[kind].num_nodes
        orders[kind] = torch.randperm(size, generator=generator)
        result[kind].num_nodes = size
        if "x" in data[kind]:
            result[kind].x = data[kind].x[orders[kind]]
    for source, name, target in data.edge_types:
        one, other = data[source, name, target].edge_index
        ends = [orders[source].argsort()[one], orders[target].argsort()[other]]
        result[source, name, target].edge_index = torch.stack(ends)
    return result, orders


def as_one_type(data: Data) -> HeteroData:
    """Give the same graph as one type of nodes with one relation."""
    result = HeteroData()
    result["node"].x = data.x
    result["node", "to", "node"].edge_index = data.edge_index
    return result


def weights_as_one_type(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Name the weights of a plain model as those with one type and one relation."""
    renamed = {}
    for name, value in state.items():
        is_bias = re.search(r"layers\.\d+\.bias$", name)
        key = re.sub(r"(layers\.\d+)\.(?!bias$)", r"\1.relations.0.", name)
        key = re.sub(r"^features\.", "features.augmenters.0.", key)
        renamed[key] = value[None] if is_bias else value
    return renamed


def pairs_of(edge_index: Tensor) -> set[tuple[int, int]]:
    return {(a, b) for a, b in edge_index.t().tolist()}


def make_model(level: Any = "node", **flat: Any) -> DSGRL:
    """Make a `DSGRL` from flat names: `edge_drop` is that of the views.

    What is learned is not joined with the floor unless asked for.
    """
    settings = upgrade("dsgrl", {"floor": False, **flat}, level)
    config = configure("dsgrl", settings, typical_spec(level))
    return DSGRL(**config.values())


def make_spec(in_channels: int = 12, num_nodes: int = 60) -> Spec:
    """Describe one graph of nodes with features."""
    return Spec(
        level="node", in_channels=(in_channels,), num_nodes=num_nodes, largest=num_nodes
    )


def make_config(name: str, spec: Spec | None = None, **flat: Any) -> FitConfig:
    """Make checked, resolved parameters of a method from flat names."""
    spec = spec or make_spec()
    config = configure(name, upgrade(name, flat, spec.level), spec)
    config.check()
    return config.resolved(spec)


def build_method(name: str = "dsgrl", in_channels: int = 12, **flat: Any) -> Any:
    """Build a method for nodes with so many feature columns."""
    spec = make_spec(in_channels)
    return METHODS[name].build(make_config(name, spec, **flat), spec)
