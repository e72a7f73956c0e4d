"""Kinds of graphs that had no part in any choice, with classes to predict.

Links across classes, features that say more than links, nearest neighbours of tables,
graphs without features. Every kind is drawn anew from a seed, or is the same data.
"""

from collections.abc import Callable, Mapping
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import torch
from sklearn import datasets
from sklearn.neighbors import kneighbors_graph
from torch_geometric.data import Data

Array = npt.NDArray[Any]
Random = np.random.Generator
MANY = 1200


def data_of(edges: Array, y: Array, x: Array | None = None) -> Data:
    """Return a graph with every edge in both directions, once, and no self-loops."""
    both = np.concatenate([edges, edges[::-1]], axis=1)
    both = np.unique(both[:, both[0] != both[1]], axis=1)
    data = Data(edge_index=torch.from_numpy(both).long(), num_nodes=len(y))
    data.y = torch.from_numpy(np.unique(y, return_inverse=True)[1])
    if x is not None:
        data.x = torch.from_numpy(x).float()
    return data


def communities(
    random: Random, nodes: int, classes: int, degree: float, inside: float
) -> tuple[Array, Array]:
    """Draw edges [2, E] and classes [N]; `inside` is the share of edges in a class."""
    y = random.permutation(np.arange(nodes) % classes)
    size = nodes / classes
    near, far = degree * inside / size, degree * (1 - inside) / (nodes - size)
    chance = np.where(y[:, None] == y, near, far)
    linked = np.triu(random.random((nodes, nodes)) < chance, 1)
    return np.stack(linked.nonzero()), y


def words(random: Random, y: Array, columns: int, length: float, share: float) -> Array:
    """Draw words as 0 and 1 [N, columns]; a share of them is of the class's topic."""
    topics = [random.choice(columns, 40, replace=False) for _ in range(y.max() + 1)]
    often = 1 / np.arange(1, columns + 1)
    x = np.zeros((len(y), columns), dtype=np.float32)
    for row, kind in zip(x, y, strict=True):
        count = 1 + random.poisson(length)
        common = random.choice(columns, count, p=often / often.sum())
        own = random.choice(topics[kind], count)
        row[np.where(random.random(count) < share, own, common)] = 1
    return x


def noisy(random: Random, y: Array, columns: int, signal: float) -> Array:
    """Draw a centre per class, with noise of deviation 1 around it [N, columns]."""
    centers = signal * random.standard_normal((y.max() + 1, columns))
    found: Array = centers[y] + random.standard_normal((len(y), columns))
    return found


def sides(random: Random) -> Data:
    """Most links lead to the other class; words say little of the class."""
    edges, y = communities(random, MANY, 2, 12, 0.1)
    return data_of(edges, y, words(random, y, 400, 6, 0.15))


def four_sides(random: Random) -> Data:
    """Hardly a link stays in its class; words say much of it."""
    edges, y = communities(random, MANY, 4, 12, 0.03)
    return data_of(edges, y, words(random, y, 400, 8, 0.35))


def random_power_law(random: Random) -> Data:
    """Links of a power law that have nothing to do with classes or words."""
    graph = nx.barabasi_albert_graph(MANY, 6, seed=int(random.integers(1 << 31)))
    y = random.integers(5, size=MANY)
    return data_of(np.array(graph.edges).T, y, words(random, y, 1000, 10, 0.3))


def few_words(random: Random) -> Data:
    """Half of the few links are in a class, and words are few."""
    edges, y = communities(random, MANY, 5, 5, 0.5)
    return data_of(edges, y, words(random, y, 600, 5, 0.3))


def dense(random: Random) -> Data:
    """A small graph in which every node has many links."""
    edges, y = communities(random, 160, 4, 60, 0.45)
    return data_of(edges, y, noisy(random, y, 12, 0.4))


def units(random: Random) -> Data:
    """Communities whose columns are of very different size."""
    edges, y = communities(random, 1000, 4, 6, 0.7)
    x = noisy(random, y, 10, 0.5)
    x[:, 0] *= 1e4
    x[:, 1] *= 1e-3
    return data_of(edges, y, x)


def of_neighbors(random: Random) -> Data:
    """The class of a node is the most frequent kind of its random neighbours."""
    kind = random.integers(4, size=MANY)
    edges = np.stack([np.arange(MANY).repeat(4), random.integers(MANY, size=4 * MANY)])
    data = data_of(edges, kind, noisy(random, kind, 16, 1.2))
    source, target = data.edge_index.numpy()
    counts = 1e-3 * random.random((MANY, 4))
    np.add.at(counts, (target, kind[source]), 1)
    data.y = torch.from_numpy(counts.argmax(axis=1))
    return data


def nearest(name: str) -> Callable[[Random], Data]:
    """Return the maker of a table of scikit-learn with links to eight alike rows."""

    def make(random: Random) -> Data:
        table: Any = getattr(datasets, f"load_{name}")()
        x, y = table.data, table.target
        scaled = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-6)
        edges = kneighbors_graph(scaled, 8).nonzero()
        return data_of(np.stack(edges), y, x)

    return make


def random_links(random: Random) -> Data:
    """A table of scikit-learn with links that say nothing."""
    table: Any = datasets.load_breast_cancer()
    edges = random.integers(len(table.target), size=(2, 2000))
    return data_of(edges, table.target, table.data)


def grid(random: Random) -> Data:
    """Streets: a grid, in nine squares; no features."""
    place = np.arange(36 * 36).reshape(36, 36)
    across, down = (place[:, :-1], place[:, 1:]), (place[:-1], place[1:])
    edges = [np.stack([a.ravel(), b.ravel()]) for a, b in (across, down)]
    y = place // 36 // 12 * 3 + place % 36 // 12
    return data_of(np.concatenate(edges, axis=1), y.ravel())


def tree(random: Random) -> Data:
    """A tree in which every node has three children, in nine branches; no features."""
    graph = nx.balanced_tree(3, 6)
    y = np.arange(graph.number_of_nodes())
    while (y > 12).any():
        y = np.where(y > 12, (y - 1) // 3, y)
    return data_of(np.array(graph.edges).T, np.maximum(y, 4))


def karate(random: Random) -> Data:
    """Zachary's karate club; no features."""
    graph = nx.karate_club_graph()
    y = np.array([graph.nodes[node]["club"] for node in graph])
    return data_of(np.array(graph.edges).T, y)


KINDS: Mapping[str, Callable[[Random], Data]] = {
    "two sides, 400 words": sides,
    "four sides, 400 words": four_sides,
    "random power law, 1,000 words": random_power_law,
    "few links, 600 words": few_words,
    "dense, 160 nodes, 12 columns": dense,
    "columns of many units": units,
    "class of the neighbours": of_neighbors,
    "digits, nearest rows": nearest("digits"),
    "wine, nearest rows": nearest("wine"),
    "breast cancer, nearest rows": nearest("breast_cancer"),
    "breast cancer, random links": random_links,
    "grid, edges only": grid,
    "tree, edges only": tree,
    "karate club, edges only": karate,
}
