"""The demo as a person runs it, and the default on real data."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from dsgrl import DSGRL, cli, evaluate, read_graph


@pytest.mark.slow
def test_demo__writes_what_it_says_and_learning_pays(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "demo"
    monkeypatch.setattr("sys.argv", ["dsgrl", "demo", "--out", str(out)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "trained model" in shown
    assert "vim: " in shown
    summary = json.loads((out / "summary.json").read_text())
    scores = {"raw", "floor", "trained"}
    assert summary.keys() == scores | {"graph", "protocol", "epoch", "seconds"}
    assert summary["trained"]["mean"] > summary["floor"]["mean"] + 3
    assert summary["floor"]["mean"] > summary["raw"]["mean"] + 10
    table = pq.read_table(out / "embeddings.parquet")
    z = np.stack(table["embedding"].to_numpy())
    again = DSGRL.load(out / "model").transform(read_graph("debian"))
    np.testing.assert_array_equal(z, again)
    assert table["id"].to_pylist() == read_graph("debian").ids


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_default__ends_above_the_floor_and_the_untrained_model(name: str) -> None:
    data = read_graph(name, data_folder=Path(os.environ["DSGRL_DATA"]))
    trained, floor, untrained = (
        evaluate(DSGRL(**options).fit_transform(data), data.y)
        for options in ({}, {"epochs": 0}, {"epochs": 0, "floor": False})
    )
    assert trained.mean > floor.mean
    assert floor.mean > untrained.mean + 5
