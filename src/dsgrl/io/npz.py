"""A whole graph in one npz file.

Read are `edge_index` [2, E] (or the CSR parts `adj_data, adj_indices, adj_indptr,
adj_shape`, or a matrix saved by SciPy), `edge_weight` [E], `x` [N, F] (or `attr_*`),
`ids` [N] and `y` [N] (or `labels`); only the edges are required.
"""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import scipy.sparse as sp

from dsgrl.io.arrays import FeatureTable, GraphArrays
from dsgrl.io.columns import SPARSE_BELOW
from dsgrl.io.tables import explained
from dsgrl.typing import FloatArray, InputError, IntArray

Arrays = dict[str, npt.NDArray[Any]]

# Without ids, nodes are numbered from 0. A far higher number is an id, not a number,
# and would claim all memory.
MOST_NODES, MOST_NODES_PER_EDGE = 10_000_000, 100


def read_npz(path: Path) -> GraphArrays:
    """Read a graph.

    Raises:
        InputError: one line on what is wrong with the file.
    """
    arrays = _load(path)
    edges, weight, least = _read_edges(path, arrays)
    x = _read_features(path, arrays)
    y = _read_labels(path, arrays)
    ids = _read_ids(path, arrays)
    highest = int(edges.max()) if edges.size else -1
    nodes = max(highest + 1, least, 0 if ids is None else len(ids))
    if x is not None:
        nodes = x.shape[0]
    if nodes > max(MOST_NODES, MOST_NODES_PER_EDGE * edges.shape[1]):
        raise InputError(
            f"{path}: edge_index names node {highest} and has {edges.shape[1]} edges, "
            f"expected nodes numbered from 0: write a table of edges with ids"
        )
    if highest >= nodes:
        raise InputError(
            f"{path}: edge_index names node {highest}, expected numbers from 0 to "
            f"{nodes - 1}, the rows of x"
        )
    if ids is not None:
        _check_shape(path, "ids", ids, (nodes,))
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
    with explained(str(path)):
        _check_size(path)
        with path.open("rb") as stream:
            file = np.load(stream, allow_pickle=False)
            if isinstance(file, np.ndarray):
                raise InputError(
                    f"{path}: holds one array, expected an archive of some"
                )
            with file:
                return {key: file[key] for key in file.files}


def _check_size(path: Path) -> None:
    """Refuse arrays that are larger, when unpacked, than the free memory."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > psutil.virtual_memory().available:
        raise InputError(
            f"{path}: holds {size / 2**30:.1f} GB of arrays, which do not fit into "
            f"memory"
        )


def _read_edges(path: Path, arrays: Arrays) -> tuple[IntArray, FloatArray | None, int]:
    """Return edges [2, E], weights [E] and the least number of nodes they imply."""
    least, weight = 0, None
    if "edge_index" in arrays:
        _check_shape(path, "edge_index", arrays["edge_index"], (2, None))
        _check_kind(path, "edge_index", arrays["edge_index"], "iu", "whole numbers")
        edges = arrays["edge_index"].astype(np.int64)
        if edges.size and edges.min() < 0:
            raise InputError(
                f"{path}: edge_index names node {edges.min()}, expected >= 0"
            )
    elif "adj_indptr" in arrays or "indptr" in arrays:
        matrix = _csr(path, arrays, "adj_" if "adj_indptr" in arrays else "").tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"{path}: the matrix of edges has shape {list(matrix.shape)}, expected "
                f"as many columns as rows"
            )
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


def _read_features(path: Path, arrays: Arrays) -> Any:
    """Return features, sparse if most are zero [N, F]; None if there are none."""
    if "x" in arrays:
        _check_shape(path, "x", arrays["x"], (None, None))
        _check_kind(path, "x", arrays["x"], "iufb", "numbers")
        return arrays["x"].astype(np.float32)
    if "attr_indptr" in arrays:
        matrix = _csr(path, arrays, "attr_").astype(np.float32)
        cells = matrix.shape[0] * matrix.shape[1]
        return matrix if matrix.nnz < SPARSE_BELOW * cells else matrix.toarray()
    return None


def _read_ids(path: Path, arrays: Arrays) -> npt.NDArray[Any] | None:
    ids = arrays.get("ids")
    if ids is None:
        return None
    _check_shape(path, "ids", ids, (None,))
    _check_kind(path, "ids", ids, "iuUS", "whole numbers or text")
    if ids.dtype.kind == "S":
        with explained(str(path)):
            ids = np.char.decode(ids, "utf-8")
    elif ids.dtype.kind == "u":
        # A signed number may be too small for it.
        ids = ids.astype(str if ids.size and ids.max() >> 63 else np.int64)
    if len(np.unique(ids)) < len(ids):
        raise InputError(f"{path}: ids has repeated values, expected each id once")
    return ids


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
    names = [f"{prefix}{part}" for part in ("data", "indices", "indptr", "shape")]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise InputError(f"{path}: has no {missing[0]}, expected {', '.join(names)}")
    data, indices, indptr, shape = (arrays[name] for name in names)
    _check_kind(path, names[0], data, "iufb", "numbers")
    kind = sp.csr_matrix
    if not prefix and _is_text(arrays.get("format"), "csc"):
        kind = sp.csc_matrix
    try:
        matrix = kind((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
        return matrix.tocsr()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise InputError(f"{path}: {prefix}* is no matrix ({error})") from error


def _is_text(array: Any, text: str) -> bool:
    return (
        array is not None and array.ndim == 0 and array.item() in (text, text.encode())
    )
