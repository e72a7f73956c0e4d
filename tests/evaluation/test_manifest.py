import json
from pathlib import Path

import numpy as np
import pytest

from dsgrl.evaluation import (
    load_manifest,
    manifest_hash,
    save_manifest,
    stratified_splits,
)
from dsgrl.typing import InputError, Split

SPLIT = Split(np.array([0, 3]), np.array([1]), np.array([2, 4]))


def test_hash__the_same_on_every_machine() -> None:
    """A change of this value breaks the link from old result lines to their splits."""
    assert manifest_hash([SPLIT], "5/15/80") == "098b6892b6c3"


def test_hash__order_and_width_of_row_numbers_do_not_matter() -> None:
    turned = Split(np.array([3, 0], dtype=np.int32), SPLIT.val, SPLIT.test[::-1])
    assert manifest_hash([turned], "p") == manifest_hash([SPLIT], "p")


def test_hash__rows_parts_and_protocol_do() -> None:
    other_part = Split(np.array([0]), np.array([1, 3]), SPLIT.test)
    other_row = Split(np.array([0, 5]), SPLIT.val, SPLIT.test)
    hashes = {
        manifest_hash([SPLIT], "p"),
        manifest_hash([SPLIT], "q"),
        manifest_hash([SPLIT, SPLIT], "p"),
        manifest_hash([other_part], "p"),
        manifest_hash([other_row], "p"),
    }
    assert len(hashes) == 5


def test_manifest__round_trip(tmp_path: Path) -> None:
    splits = stratified_splits(np.arange(200) % 4)
    path = tmp_path / "splits.json"
    name = save_manifest(path, splits, "5/15/80")
    again, protocol = load_manifest(path)
    assert protocol == "5/15/80"
    assert name == manifest_hash(again, protocol)
    for one, two in zip(splits, again, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_manifest__refuses_changed_and_other_files(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    save_manifest(path, [SPLIT])
    record = json.loads(path.read_text())
    record["splits"][0]["test"] = [4]
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match="were changed after they were saved"):
        load_manifest(path)
    path.write_text("{}")
    with pytest.raises(InputError, match="no manifest of splits"):
        load_manifest(path)
    with pytest.raises(InputError, match="no manifest of splits"):
        load_manifest(tmp_path / "none.json")
