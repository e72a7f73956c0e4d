import base64
import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsgrl.report import encode
from dsgrl.report.encode import encode_array, encode_data, safe_json
from report.pages import NASTY, make_contents


def decode(packed: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), packed["type"])


def values_of(column: dict[str, Any], count: int) -> np.ndarray:
    """Read a column as the page does."""
    if "rows" not in column:
        return decode(column["values"])
    values = np.zeros(count, np.float32)
    rows = decode(column["rows"])
    values[rows] = decode(column["values"]) if "values" in column else 1
    return values


@given(st.lists(st.text()))
def test_json__comes_back_and_ends_no_element(texts: list[str]) -> None:
    written = safe_json({"ids": texts})
    assert json.loads(written) == {"ids": texts}
    assert not set(written) & set("<>&\u2028\u2029")


def test_json__nasty_ids_come_back() -> None:
    assert json.loads(safe_json(NASTY)) == NASTY


def test_json__half_a_character_does_not_stop_the_page() -> None:
    assert json.loads(safe_json(["\ud800x"]))[0].endswith("x")


@pytest.mark.parametrize("kind", ["float32", "int32", "uint8", "uint16"])
def test_array__comes_back(kind: str) -> None:
    array = np.arange(5).astype(kind)
    packed = encode_array(array[::-1])
    assert packed["type"] == kind
    np.testing.assert_array_equal(decode(packed), array[::-1])


def test_data__every_column_comes_back() -> None:
    contents = make_contents()
    dense = np.random.default_rng(1).normal(size=(60, 1)).astype(np.float32)
    few = np.zeros((60, 1), np.float32)
    few[[3, 50]] = [[2.5], [1]]
    features = sp.csr_matrix(sp.hstack([contents.features, dense, few]))
    names = [*contents.feature_names, "dense", "few"]
    changed = {"features": features, "feature_names": names}
    text, left_out = encode_data(dataclasses.replace(contents, **changed))
    data = json.loads(text)
    assert left_out == 0
    assert data["ids"] == contents.ids
    shown = data["columns"]
    assert data["basic"] == 4
    assert [column["name"] for column in shown[4:]] == names
    for j, column in enumerate(shown[4:]):
        expected = features[:, j].toarray().ravel()
        np.testing.assert_array_equal(values_of(column, 60), expected)
    codes = values_of(shown[1], 60)
    assert codes[0] == 0
    assert [shown[1]["names"][code - 1] for code in codes[1:4]] == ["b", "a", "b"]


def test_data__columns_without_room_are_counted_named_ones_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contents = make_contents()
    monkeypatch.setattr(encode, "FEATURE_BYTES", 200)
    cluster = dataclasses.replace(contents.clusters[0], terms=["word 7"])
    text, left_out = encode_data(dataclasses.replace(contents, clusters=[cluster]))
    kept = [column["name"] for column in json.loads(text)["columns"][4:]]
    assert "word 7" in kept
    assert 0 < len(kept) < 8
    assert left_out == 8 - len(kept)
