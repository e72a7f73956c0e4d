"""The map as a table that other tools open, such as embedding-atlas."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsgrl.explore.commands import write_table
from dsgrl.report.contents import Contents


def write_map(path: Path, contents: Contents) -> None:
    """Write the map as a table: `id, cluster, ..., x, y, neighbors`.

    `neighbors` has the row numbers and cosine distances of the nearest rows, as
    embedding-atlas reads them (`--x x --y y --neighbors neighbors`). A csv file has
    no such column.
    """
    columns: dict[str, Any] = {"id": pa.array(contents.ids)}
    for column in contents.columns:
        if column.names is None:
            columns[column.name] = pa.array(column.values)
            continue
        names = np.array([*column.names, None], dtype=object)
        columns[column.name] = pa.array(names[column.values].tolist(), pa.string())
    columns |= {"x": contents.position[:, 0], "y": contents.position[:, 1]}
    if path.suffix == ".parquet":
        columns["neighbors"] = _neighbors(contents)
    write_table(path, columns)


def _neighbors(contents: Contents) -> pa.Array:
    there = contents.near >= 0
    starts = np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int32)
    rows = pa.ListArray.from_arrays(starts, contents.near[there])
    gaps = (1 - contents.alike[there]).clip(min=0).astype(np.float32)
    distances = pa.ListArray.from_arrays(starts, gaps)
    return pa.StructArray.from_arrays([rows, distances], ["ids", "distances"])
