"""Data of a page as JSON that no text in it can break out of."""

import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from dsgrl.explore.columns import Column
from dsgrl.report.contents import Contents
from dsgrl.typing import IntArray

# Room for feature columns in a page, in bytes before base64.
FEATURE_BYTES = 6_000_000
# A column with fewer non-zeros than this share is held as its non-zeros.
SPARSE_SHARE = 1 / 3


def encode_data(contents: Contents) -> tuple[str, int]:
    """Return the data of a page as JSON, and how many columns had no room in it."""
    columns = [_encode_column(column) for column in contents.columns]
    features, left_out = _encode_features(contents)
    alike = (contents.alike.clip(0, 1) * 255).round().astype(np.uint8)
    data = {
        "what": contents.what,
        "ids": contents.ids,
        "position": encode_array(contents.position.astype(np.float32)),
        "near": encode_array(contents.near.astype(np.int32)),
        "alike": encode_array(alike),
        "columns": columns + features,
        "basic": len(columns),
    }
    return safe_json(data), left_out


def safe_json(data: Any) -> str:
    """Write JSON for an HTML script element: nothing in it ends the element.

    Characters that HTML gives a meaning are written as escapes of JSON, and so are
    halves of characters, which no file can hold.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def encode_array(array: npt.NDArray[Any]) -> dict[str, str]:
    """Return an array as the name of its type and base64 of its bytes."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "type": array.dtype.name,
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def _encode_column(column: Column) -> dict[str, Any]:
    if column.names is None:
        numbers = column.values.astype(np.float32)
        return {"name": column.name, "values": encode_array(numbers)}
    # 0 is unknown.
    codes = column.values + 1
    smallest = np.min_scalar_type(len(column.names))
    return {
        "name": column.name,
        "values": encode_array(codes.astype(smallest)),
        "names": column.names,
    }


def _encode_features(contents: Contents) -> tuple[list[dict[str, Any]], int]:
    """Encode feature columns in their order, the most telling ones if room is short."""
    if contents.features is None:
        return [], 0
    matrix = contents.features.tocsc()
    num_rows, num_columns = matrix.shape
    counts = np.diff(matrix.indptr)
    is_sparse = counts < SPARSE_SHARE * num_rows
    size = np.where(is_sparse, 8 * counts, 4 * num_rows)
    kept = _kept(contents, matrix, size)
    encoded = []
    for j in np.flatnonzero(kept):
        name = contents.feature_names[j]
        rows = matrix.indices[matrix.indptr[j] : matrix.indptr[j + 1]]
        values = matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]]
        if not is_sparse[j]:
            dense = np.zeros(num_rows, dtype=np.float32)
            dense[rows] = values
            encoded.append({"name": name, "values": encode_array(dense)})
            continue
        column: dict[str, Any] = {"name": name, "rows": encode_array(rows)}
        if (values != 1).any():
            column["values"] = encode_array(values.astype(np.float32))
        encoded.append(column)
    return encoded, num_columns - len(encoded)


def _kept(contents: Contents, matrix: Any, size: IntArray) -> npt.NDArray[np.bool_]:
    """Choose columns with something in them, those of cluster names first."""
    named = {term for cluster in contents.clusters for term in cluster.terms}
    plain = {term.removeprefix("high ").removeprefix("low ") for term in named} | named
    first = np.array([name not in plain for name in contents.feature_names])
    counts = np.diff(matrix.indptr)
    order = np.lexsort((-counts, first))
    order = order[counts[order] > 0]
    fits = np.cumsum(size[order]) <= FEATURE_BYTES
    kept = np.zeros(len(size), dtype=bool)
    kept[order[fits]] = True
    return kept
