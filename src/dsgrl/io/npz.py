"""A whole graph in one npz file.

Read are `edge_index` [2, E] (or the CSR parts `adj_data, adj_indices, adj_indptr,
adj_shape`), `edge_weight` [E], `x` [N, F] (or `attr_*`), `ids` [N] and `y` [N] (or
`labels`); only the edges are required.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dsgrl.io.arrays import FeatureTable, GraphArrays
from dsgrl.typing import FloatArray, InputError, IntArray

Arrays = dict[str, npt.NDArray[Any]]


def read_npz(path: Path) -> GraphArrays:
    """Read a graph.

    Raises:
        InputError: one line on what is wrong with the file.
    """
    arrays = _load(path)
    edges, weight, least = _read_edges(path, arrays)
    x = _read_features(path, arrays)
    y = _read_labels(path, arrays)
    ids = arrays.get("ids")
    highest = int(edges.max()) if edges.size else -1
    nodes = max(highest + 1, least, 0 if ids is None else len(ids))
    if x is not None:
        nodes = len(x)
    if ids is not None:
        _check_shape(path, "ids", ids, (nodes,))
        if len(np.unique(ids)) < nodes:
            raise InputError(f"{path}: ids has repeated values, expected each id once")
    if y is not None:
        _check_shape(path, "y", y, (nodes,))
    return GraphArrays(
        edges=edges,
        ids=list(range(nodes)) if ids is None else ids.tolist(),
        weight=weight,
        features=None if x is None else FeatureTable(x),
        y=y,
    )


def _load(path: Path) -> Arrays:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path}: cannot be read ({reason}): is the file truncated?"
        ) from error


def _read_edges(path: Path, arrays: Arrays) -> tuple[IntArray, FloatArray | None, int]:
    """Return edges [2, E], weights [E] and the least number of nodes they imply."""
    least, weight = 0, None
    if "edge_index" in arrays:
        _check_shape(path, "edge_index", arrays["edge_index"], (2, None))
        _check_kind(path, "edge_index", arrays["edge_index"], "iu", "whole numbers")
        edges = arrays["edge_index"].astype(np.int64)
    elif "adj_indptr" in arrays:
        matrix = _csr(path, arrays, "adj").tocoo()
        least = int(matrix.shape[0])
        edges = np.stack([matrix.row, matrix.col]).astype(np.int64)
        if not (matrix.data == 1).all():
            weight = matrix.data.astype(np.float32)
    else:
        raise InputError(
            f"{path}: has {', '.join(arrays)}; expected edge_index (or adj_data, "
            f"adj_indices, adj_indptr, adj_shape) and, if there are features, x"
        )
    if "edge_weight" in arrays:
        _check_shape(path, "edge_weight", arrays["edge_weight"], edges.shape[1:])
        _check_kind(path, "edge_weight", arrays["edge_weight"], "iufb", "numbers")
        weight = arrays["edge_weight"].astype(np.float32)
    return edges, weight, least


def _read_features(path: Path, arrays: Arrays) -> FloatArray | None:
    if "x" in arrays:
        _check_shape(path, "x", arrays["x"], (None, None))
        _check_kind(path, "x", arrays["x"], "iufb", "numbers")
        return arrays["x"].astype(np.float32)
    if "attr_indptr" in arrays:
        dense: FloatArray = _csr(path, arrays, "attr").toarray().astype(np.float32)
        return dense
    return None


def _read_labels(path: Path, arrays: Arrays) -> IntArray | None:
    key = "y" if "y" in arrays else "labels"
    if key not in arrays:
        return None
    _check_kind(path, key, arrays[key], "iub", "whole numbers")
    return arrays[key].astype(np.int64)


def _check_kind(
    path: Path, key: str, array: npt.NDArray[Any], kinds: str, expected: str
) -> None:
    if array.dtype.kind not in kinds:
        raise InputError(f"{path}: {key} holds {array.dtype}, expected {expected}")


def _check_shape(
    path: Path, key: str, array: npt.NDArray[Any], expected: tuple[int | None, ...]
) -> None:
    fits = array.ndim == len(expected) and all(
        e is None or e == s for e, s in zip(expected, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if e is None else str(e) for e in expected)
        raise InputError(
            f"{path}: {key} has shape {list(array.shape)}, expected [{wanted}]"
        )


def _csr(path: Path, arrays: Arrays, prefix: str) -> sp.csr_matrix:
    names = [f"{prefix}_{part}" for part in ("data", "indices", "indptr", "shape")]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise InputError(f"{path}: has no {missing[0]}, expected {', '.join(names)}")
    data, indices, indptr, shape = (arrays[name] for name in names)
    try:
        matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
        return matrix
    except ValueError as error:
        raise InputError(f"{path}: {prefix}_* is no matrix ({error})") from error
