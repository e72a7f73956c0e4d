"""Every dataset we know by name: one table."""

import difflib
import importlib.resources
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dsgrl.typing import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """One row of the table.

    Attributes:
        load: reads it from (or downloads it into) the data folder.
        summary: one line for people.
        num_nodes: N, checked after loading, as the other counts.
        num_edges: directed edges.
        num_features: F.
        num_classes: C.
        built_in: ships with the package.
    """

    load: Callable[[Path], Any]
    summary: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    built_in: bool = False


def data_folder() -> Path:
    """Where datasets live: DSGRL_DATA, else a cache folder of the user's."""
    if folder := os.environ.get("DSGRL_DATA"):
        return Path(folder)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "dsgrl"


def load_dataset(name: str, folder: Path | None = None) -> Any:
    """Load a dataset by name as PyG `Data`.

    Args:
        name: a key of `DATASETS`, in any case.
        folder: where the data lives; `data_folder()` by default.

    Raises:
        InputError: if the name is unknown or the data cannot be had.
    """
    key = name.lower()
    if key not in DATASETS:
        raise InputError(f"unknown dataset '{name}'{suggest(name)}")
    row = DATASETS[key]
    folder = folder or data_folder()
    try:
        data = row.load(folder)
    except (OSError, EOFError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(
            f"dataset '{key}' is not in {folder} and could not be downloaded "
            f"({_first_line(error)}): set DSGRL_DATA or --data to its folder"
        ) from error
    found = (data.num_nodes, data.num_edges, data.num_features)
    expected = (row.num_nodes, row.num_edges, row.num_features)
    if found != expected:
        raise InputError(
            f"dataset '{key}' in {folder} has (nodes, edges, columns) {found}, "
            f"expected {expected}: remove its folder and load it again"
        )
    return data


def suggest(name: str) -> str:
    """Say which known names come near."""
    near = difflib.get_close_matches(name.lower(), DATASETS, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f": {hint}'dsgrl list' shows all"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _load_debian(_: Path) -> Any:
    """Debian's packages: names as ids, relations, words of the description."""
    from torch_geometric.data import Data
    from torch_geometric.utils import to_undirected

    file = importlib.resources.files("dsgrl.graph") / "debian.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        names, words, sections = (
            arrays[key].tobytes().decode().split("\n")
            for key in ("names", "words", "sections")
        )
        edges = np.stack([arrays["source"], arrays["target"]]).astype(np.int64)
        x = torch.zeros(len(names), len(words))
        row = np.repeat(np.arange(len(names)), np.diff(arrays["word_offsets"]))
        x[torch.from_numpy(row), torch.from_numpy(arrays["word_indices"]).long()] = 1
        y = torch.from_numpy(arrays["section"].astype(np.int64))
    return Data(
        x=x,
        edge_index=to_undirected(torch.from_numpy(edges), num_nodes=len(names)),
        y=y,
        ids=names,
        feature_names=words,
        label_names=sections,
    )


def _pyg(class_name: str, subfolder: str, *args: str) -> Callable[[Path], Any]:
    """Read through one of PyG's dataset classes."""

    def load(folder: Path) -> Any:
        import torch_geometric.datasets as datasets

        return getattr(datasets, class_name)(str(folder / subfolder), *args)[0]

    return load


def _row(
    load: Callable[[Path], Any],
    summary: str,
    counts: tuple[int, int, int, int],
    *,
    built_in: bool = False,
) -> Dataset:
    nodes, edges, features, classes = counts
    return Dataset(
        load=load,
        summary=summary,
        num_nodes=nodes,
        num_edges=edges,
        num_features=features,
        num_classes=classes,
        built_in=built_in,
    )


DATASETS: dict[str, Dataset] = {
    "debian": _row(
        _load_debian,
        "software packages of Debian, labelled by section",
        (5685, 42162, 1885, 24),
        built_in=True,
    ),
    "cs": _row(
        _pyg("Coauthor", "coauthor", "CS"),
        "co-authors in computer science (MAG-CS)",
        (18333, 163788, 6805, 15),
    ),
    "photo": _row(
        _pyg("Amazon", "amazon", "Photo"),
        "photo products bought together (AmazonPhoto)",
        (7650, 238162, 745, 8),
    ),
    "github": _row(
        _pyg("GitHub", "github"),
        "developers who follow each other",
        (37700, 578006, 128, 2),
    ),
    "deezer": _row(
        _pyg("DeezerEurope", "deezer_europe"),
        "music listeners who are friends",
        (28281, 185504, 128, 2),
    ),
    "dblp": _row(
        _pyg("CitationFull", "citation_full", "DBLP"),
        "papers that cite each other",
        (17716, 105734, 1639, 4),
    ),
    "cora": _row(
        _pyg("Planetoid", "planetoid", "Cora"),
        "papers on machine learning that cite each other",
        (2708, 10556, 1433, 7),
    ),
    "citeseer": _row(
        _pyg("Planetoid", "planetoid", "CiteSeer"),
        "papers on computer science that cite each other",
        (3327, 9104, 3703, 6),
    ),
}
