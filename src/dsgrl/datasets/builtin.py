"""The graphs that ship with the package: one of each kind, nothing to download."""

import importlib.resources
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dsgrl.graph.flat import FlatGraphs
from dsgrl.io.npz import Arrays
from dsgrl.typing import IntArray

# scikit-learn's digits: 8 x 8 pixels of ink between 0 and 16.
SIDE = 8
MOST_INK = 16
# The relations of debian-hetero and the corresponding fields of the package index.
PACKAGE_RELATIONS = {
    "depends": ("Depends", "Pre-Depends"),
    "recommends": ("Recommends",),
    "suggests": ("Suggests",),
}


def load_debian() -> Any:
    """Debian's packages: names as ids, relations, words of the description.

    Returns:
        `Data` with `x` [N, F] (a word is there or not), `edge_index` (a package names
        another, both ways), `y` (the section), `ids`, `feature_names`, `label_names`.
    """
    from torch_geometric.data import Data
    from torch_geometric.utils import to_undirected

    arrays = _read("debian.npz")
    names = _names(arrays, "names")
    edges = np.stack([arrays["source"], arrays["target"]]).astype(np.int64)
    return Data(
        x=_words(arrays),
        edge_index=to_undirected(torch.from_numpy(edges), num_nodes=len(names)),
        y=torch.from_numpy(arrays["section"].astype(np.int64)),
        ids=names,
        feature_names=_names(arrays, "words"),
        label_names=_names(arrays, "sections"),
    )


def load_debian_hetero() -> Any:
    """The same packages with their maintainers and tags, with separate relations.

    Returns:
        `HeteroData` with node types `package` (as in `load_debian`), `maintainer` and
        `tag` (no features), each with `ids`; packages point at packages (`depends`,
        `recommends`, `suggests`), at maintainers (`maintained_by`) and tags (`tagged`).
    """
    from torch_geometric.data import HeteroData

    arrays, more = _read("debian.npz"), _read("debian_hetero.npz")
    data = HeteroData()
    data["package"].x = _words(arrays)
    data["package"].y = torch.from_numpy(arrays["section"].astype(np.int64))
    data["package"].ids = _names(arrays, "names")
    data["package"].feature_names = _names(arrays, "words")
    data["package"].label_names = _names(arrays, "sections")
    for kind in ("maintainer", "tag"):
        data[kind].ids = _names(more, f"{kind}s")
        data[kind].num_nodes = len(data[kind].ids)
    fields = _names(arrays, "relations")
    links = np.stack([arrays["source"], arrays["target"]]).astype(np.int64)
    for relation, wanted in PACKAGE_RELATIONS.items():
        chosen = np.isin(arrays["relation"], [fields.index(field) for field in wanted])
        # A package may name another in two of the fields.
        once = np.unique(links[:, chosen], axis=1)
        data["package", relation, "package"].edge_index = torch.from_numpy(once)
    for relation, kind in (("maintained_by", "maintainer"), ("tagged", "tag")):
        edge_index = torch.from_numpy(more[relation].astype(np.int64))
        data["package", relation, kind].edge_index = edge_index
    return data


def load_digits_graphs() -> FlatGraphs:
    """Handwritten digits: each image is a graph of the pixels that have ink.

    Returns:
        One graph per image: `x` [N, 3] (ink, row, column, each from 0 to 1),
        `edge_index` (pixels that touch, corners included, both ways), `y` [1].
    """
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    touch = np.maximum(_distance(row), _distance(column)) == 1
    inked = [np.flatnonzero(image) for image in images]
    edges = [np.stack(np.nonzero(touch[np.ix_(these, these)])) for these in inked]
    pixels = np.concatenate(inked)
    x = np.stack(
        [
            images[images > 0] / MOST_INK,
            row[pixels] / (SIDE - 1),
            column[pixels] / (SIDE - 1),
        ],
        axis=1,
    )
    return FlatGraphs(
        edge_index=torch.from_numpy(np.concatenate(edges, axis=1)),
        node_ptr=_pointer([len(these) for these in inked]),
        edge_ptr=_pointer([pairs.shape[1] for pairs in edges]),
        x=torch.from_numpy(x.astype(np.float32)),
        y=torch.from_numpy(digits.astype(np.int64)),
    )


def _pointer(sizes: list[int]) -> Tensor:
    return torch.tensor([0, *sizes]).cumsum(0)


def _distance(position: IntArray) -> IntArray:
    distance: IntArray = np.abs(position[:, None] - position)
    return distance


def _read(name: str) -> Arrays:
    file = importlib.resources.files("dsgrl.datasets") / name
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _names(arrays: Arrays, key: str) -> list[str]:
    """Read a list of names, held as one text with a line each."""
    text: str = arrays[key].tobytes().decode()
    return text.split("\n")


def _words(arrays: Arrays) -> Tensor:
    """Read which words are in which description [N, F]."""
    counts: IntArray = np.diff(arrays["word_offsets"]).astype(np.int64)
    row = torch.from_numpy(np.repeat(np.arange(len(counts)), counts))
    x = torch.zeros(len(counts), len(_names(arrays, "words")))
    x[row, torch.from_numpy(arrays["word_indices"].astype(np.int64))] = 1
    return x
