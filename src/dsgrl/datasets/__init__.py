"""Graphs by name or from files, as PyG data; ids and labels of their rows.

`table` lists every dataset known by name, `files` reads the user's own tables.
"""

from dsgrl.datasets.files import read_graph
from dsgrl.datasets.table import DATASETS, data_folder, load_dataset

__all__ = ["DATASETS", "data_folder", "load_dataset", "read_graph"]
