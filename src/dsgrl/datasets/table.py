"""The table of all datasets known by name."""

import logging
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from dsgrl.datasets.builtin import load_debian, load_debian_hetero, load_digits_graphs
from dsgrl.datasets.failures import (
    describe_failure,
    quiet_and_impatient,
    remedy,
    remove_empty,
)
from dsgrl.datasets.generated import load_generated
from dsgrl.graph.flat import FlatGraphs
from dsgrl.io.tu import has_raw_files, read_tu
from dsgrl.parameters import did_you_mean
from dsgrl.typing import InputError, Level

logger = logging.getLogger(__name__)

Counts = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One row of the table.

    Attributes:
        load: reads it from (or downloads it into) the data folder.
        summary: one line of description.
        num_nodes: N, over all graphs and types; checked after loading, as the other
            counts.
        num_edges: directed edges, likewise.
        num_features: F (of the labelled type of nodes).
        num_classes: C.
        num_graphs: B.
        level: what has labels: the nodes, the graphs, or one type of nodes.
        target: the labelled type of nodes of a heterogeneous graph.
        place: its folder in the data folder; empty if it ships with the package.
        source: the class of PyG that can fetch it.
        stands_for: the dataset whose shape it has, if it is generated.
    """

    load: Callable[[Path], Any]
    summary: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    _: KW_ONLY
    num_graphs: int = 1
    level: Level = "node"
    target: str | None = None
    place: str = ""
    source: str = ""
    stands_for: str = ""

    @property
    def built_in(self) -> bool:
        """Whether it ships with the package."""
        return not self.place

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """Graphs, nodes, edges, columns and classes."""
        sizes = (self.num_graphs, self.num_nodes, self.num_edges)
        return (*sizes, self.num_features, self.num_classes)


def data_folder() -> Path:
    """The data folder: DSGRL_DATA, else the user's cache folder."""
    if folder := os.environ.get("DSGRL_DATA"):
        return Path(folder)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "dsgrl"


def load_dataset(name: str, folder: Path | None = None) -> Any:
    """Load a dataset by name.

    Args:
        name: a key of `DATASETS`, in any case.
        folder: the data folder; `data_folder()` by default.

    Returns:
        By its level: PyG `Data` (node), `FlatGraphs`, a sequence of `Data` with `y` [1]
        each (graph), or `HeteroData` with `y` of the target type (hetero).

    Raises:
        InputError: if the name is unknown or the data cannot be loaded.
    """
    key = known_dataset(name)
    row = DATASETS[key]
    folder = folder or data_folder()
    place = folder / row.place
    made = [path for path in (place, *place.parents) if not path.exists()]
    try:
        data = row.load(folder)
    except (InputError, MemoryError):
        raise
    # Each library raises other errors when reading or downloading fails.
    except Exception as error:
        remove_empty(made)
        raise InputError(
            f"dataset '{key}' {describe_failure(row, place, error)}"
        ) from error
    found = _count(row, data)
    if found != row.counts:
        raise InputError(
            f"dataset '{key}' has (graphs, nodes, edges, columns, classes) {found}, "
            f"expected {row.counts}: {remedy(row, place)}"
        )
    return data


def known_dataset(name: str) -> str:
    """Return the key of a dataset in `DATASETS`, whatever the case of its name.

    Raises:
        InputError: naming the nearest one that is known.
    """
    if name.lower() not in DATASETS:
        raise InputError(f"unknown dataset '{name}'{suggest(name)}")
    return name.lower()


def suggest(name: str) -> str:
    """Name the dataset that is nearest to an unknown name, and where all are listed."""
    return f": {did_you_mean(name.lower(), DATASETS)}'dsgrl list' shows all"


def _count(row: Dataset, data: Any) -> tuple[int, int, int, int, int]:
    """Count what was loaded, in the order of `Dataset.counts`."""
    if isinstance(data, FlatGraphs):
        assert data.y is not None
        sizes = (len(data), data.num_nodes, data.num_edges, data.num_features)
        return *sizes, int(data.y[data.y >= 0].unique().numel())
    graphs = data if row.level == "graph" else [data]
    labelled = graphs if row.target is None else [data[row.target]]
    y = torch.cat([part.y for part in labelled])
    return (
        len(graphs),
        sum(graph.num_nodes for graph in graphs),
        sum(graph.num_edges for graph in graphs),
        labelled[0].num_features,
        # Where a node has several labels, each has a column.
        y.size(1) if y.dim() == 2 else int(y[y >= 0].unique().numel()),
    )


def _pyg(
    class_name: str,
    place: str,
    summary: str,
    counts: Counts,
    *,
    target: str | None = None,
    **options: Any,
) -> Dataset:
    """Describe a graph that a class of PyG reads from `place` (root or root/name)."""
    root, *name = place.split("/")

    def load(folder: Path) -> Any:
        import torch_geometric.datasets as datasets

        logger.info("reading %s by PyG's %s", folder / place, class_name)
        with quiet_and_impatient():
            read = getattr(datasets, class_name)
            return read(str(folder / root), *name, **options)[0]

    level: Level = "node" if target is None else "hetero"
    source = f"{class_name}({', '.join(map(repr, (root, *name)))})"
    return Dataset(
        load, summary, *counts, level=level, target=target, place=place, source=source
    )


def _table(name: str, summary: str, counts: Counts) -> Dataset:
    """Describe a graph in tables of its edges and nodes."""
    place = f"tables/{name}"

    def load(folder: Path) -> Any:
        # Not at the top: it reads datasets by name from this table.
        from dsgrl.datasets.files import read_graph

        edges, nodes = (
            folder / place / f"{part}.parquet" for part in ("edges", "nodes")
        )
        if not edges.exists():
            raise InputError(
                f"dataset '{name}' is not in {folder / place}: set DSGRL_DATA or "
                f"--data to the folder that has {place}"
            )
        return read_graph(edges, nodes)

    return Dataset(load, summary, *counts, place=place)


def _generated(stands_for: str, summary: str, counts: Counts) -> Dataset:
    """Describe a generated graph, which is made where it is not there yet."""
    name = f"{stands_for}-shape"
    load, place = partial(load_generated, name), f"generated/{name}"
    return Dataset(load, summary, *counts, place=place, stands_for=stands_for)


def _tu(name: str, summary: str, num_graphs: int, counts: Counts) -> Dataset:
    """Describe a set of graphs of TU Dortmund."""
    place = f"tu/{name}"

    def load(folder: Path) -> Any:
        if not has_raw_files(folder / place):
            logger.info("downloading %s to %s", name, folder / place)
            _download_tu(folder / "tu", name)
        return FlatGraphs.from_arrays(read_tu(folder / place))

    return Dataset(
        load,
        summary,
        *counts,
        num_graphs=num_graphs,
        level="graph",
        place=place,
        source=f"TUDataset('tu', '{name}')",
    )


def _download_tu(root: Path, name: str) -> None:
    """Fetch the raw files by PyG's class, without its slow processing."""
    from torch_geometric.datasets import TUDataset

    # The constructor would go on to process what `download` has fetched.
    dataset = TUDataset.__new__(TUDataset)
    dataset.root, dataset.name, dataset.cleaned = str(root), name, False
    Path(dataset.raw_dir).mkdir(parents=True, exist_ok=True)
    with quiet_and_impatient():
        dataset.download()


# Nodes, directed edges, columns and classes. They are those of the paper's tables, but
# for its 15 classes of WikiCS (there are 10), its average over COLLAB's edges before
# repeated ones are dropped, and columns it made itself (NCI1, IMDB-*, REDDIT, COLLAB).
# fmt: off
DATASETS: dict[str, Dataset] = {
    "debian": Dataset(
        lambda _: load_debian(), "software packages of Debian, labelled by section",
        5685, 42162, 1885, 24),
    "debian-hetero": Dataset(
        lambda _: load_debian_hetero(), "the same packages, their maintainers and tags",
        6861, 44074, 1885, 24, level="hetero", target="package"),
    "digits-graphs": Dataset(
        lambda _: load_digits_graphs(), "handwritten digits, a graph of pixels each",
        58736, 319784, 3, 10, level="graph", num_graphs=1797),
    "cs": _pyg(
        "Coauthor", "coauthor/CS", "co-authors in computer science (MAG-CS)",
        (18333, 163788, 6805, 15)),
    "physics": _pyg(
        "Coauthor", "coauthor/Physics", "co-authors in physics",
        (34493, 495924, 8415, 5)),
    "photo": _pyg(
        "Amazon", "amazon/Photo", "photo products bought together (AmazonPhoto)",
        (7650, 238162, 745, 8)),
    "computers": _pyg(
        "Amazon", "amazon/Computers", "computer products bought together",
        (13752, 491722, 767, 10)),
    "github": _pyg(
        "GitHub", "github", "developers who follow each other",
        (37700, 578006, 128, 2)),
    "deezer": _pyg(
        "DeezerEurope", "deezer_europe", "music listeners who are friends",
        (28281, 185504, 128, 2)),
    "facebook": _pyg(
        "FacebookPagePage", "facebook", "pages that like each other",
        (22470, 342004, 128, 4)),
    # The paper uses directed links; PyG's default adds the reverse links.
    "wikics": _pyg(
        "WikiCS", "wikics", "articles on computer science that link to each other",
        (11701, 297110, 300, 10), is_undirected=False),
    "pubmed": _pyg(
        "CitationFull", "citation_full/pubmed",
        "papers on diabetes that cite each other",
        (19717, 88648, 500, 3)),
    "dblp": _pyg(
        "CitationFull", "citation_full/dblp", "papers that cite each other",
        (17716, 105734, 1639, 4)),
    "cora": _pyg(
        "Planetoid", "planetoid/Cora",
        "papers on machine learning that cite each other",
        (2708, 10556, 1433, 7)),
    "citeseer": _pyg(
        "Planetoid", "planetoid/CiteSeer",
        "papers on computer science that cite each other",
        (3327, 9104, 3703, 6)),
    "blogcatalog": _table(
        "blogcatalog", "bloggers who follow each other, with words of their blogs",
        (5196, 343486, 8189, 6)),
    "chameleon": _table(
        "chameleon", "articles on chameleons that link to each other, by traffic",
        (890, 17708, 2325, 5)),
    "twitch-engb": _table(
        "twitch-engb", "streamers who are friends, with games and habits",
        (7126, 70648, 3170, 2)),
    "yelp": _pyg(
        "Yelp", "yelp", "reviewers who are friends, several labels each",
        (716847, 13954819, 300, 100)),
    "reddit": _pyg(
        "Reddit", "reddit", "posts with a commenter in common",
        (232965, 114615892, 602, 41)),
    "yelp-shape": _generated(
        "yelp", "generated: as large as yelp", (716847, 13954819, 300, 100)),
    "reddit-shape": _generated(
        "reddit", "generated: as large as reddit", (232965, 114615892, 602, 41)),
    "imdb": _pyg(
        "IMDB", "imdb", "films, their directors and actors",
        (11616, 34212, 3066, 3), target="movie"),
    "dd": _tu("DD", "proteins: enzyme or not", 1178, (334925, 1686092, 89, 2)),
    "nci1": _tu("NCI1", "molecules: active against cancer cells or not", 4110,
                (122747, 265506, 37, 2)),
    "proteins": _tu("PROTEINS", "proteins: enzyme or not", 1113,
                    (43471, 162088, 4, 2)),
    "enzymes": _tu("ENZYMES", "proteins: which kind of enzyme", 600,
                   (19580, 74564, 21, 6)),
    "mutag": _tu("MUTAG", "molecules: mutagenic or not", 188, (3371, 7442, 7, 2)),
    "imdb-b": _tu("IMDB-BINARY", "actors who played together: genre", 1000,
                  (19773, 193062, 0, 2)),
    "imdb-m": _tu("IMDB-MULTI", "actors who played together: genre", 1500,
                  (19502, 197806, 0, 3)),
    "reddit-b": _tu("REDDIT-BINARY", "who answers whom in a thread: its kind", 2000,
                    (859254, 1991016, 0, 2)),
    "collab": _tu("COLLAB", "a researcher's co-authors: field", 5000,
                  (372474, 24572158, 0, 3)),
}
# fmt: on
