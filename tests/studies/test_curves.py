"""Curves: what is measured while a model learns."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from toys import toy_graph, toy_graphs

from dsgrl.bench.lines import append_line, read_lines
from dsgrl.bench.systems import typical_spec
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.typing import InputError
from studies import RESULTS, curves
from studies.curves import NODE_DEFAULT, run_curves

QUICK = {"out_channels": 4, "views__augment_channels": 8}


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cora be a toy, and a curve short."""

    def load(name: str, folder: Path | None = None) -> Any:
        return toy_graphs() if name == "mutag" else toy_graph()

    monkeypatch.setattr(curves, "load_dataset", load)
    monkeypatch.setattr(
        curves, "RECORDED_EPOCHS", {"node": (0, 1, 3), "graph": (0, 2), "hetero": (0,)}
    )


@pytest.mark.usefixtures("toys")
def test_curves__record_the_untrained_model_and_the_epochs_asked_for() -> None:
    (line,) = run_curves(["cora"], settings=QUICK)
    assert [row["epoch"] for row in line["rows"]] == [0, 1, 3]
    untrained, *trained = line["rows"]
    assert "loss" not in untrained
    for row in trained:
        assert {"loss", "invariance", "link_auc", "agreement", "val", "test"} <= {*row}


@pytest.mark.usefixtures("toys")
def test_curves__are_resumed_and_repeatable(tmp_path: Path) -> None:
    results = tmp_path / "curves.jsonl"
    (first,) = run_curves(["cora"], settings=QUICK, results=results)
    assert list(run_curves(["cora"], settings=QUICK, results=results)) == []
    (again,) = run_curves(["cora"], settings=QUICK)
    assert again["rows"] == first["rows"]
    assert [line["rows"] for line in read_lines([results])] == [first["rows"]]


@pytest.mark.usefixtures("toys")
def test_curves__may_be_appended_to_lines_of_another_suite(tmp_path: Path) -> None:
    results = tmp_path / "all.jsonl"
    results.write_text('{"suite": "speed", "case": "photo"}\n')
    assert len(list(run_curves(["cora"], settings=QUICK, results=results))) == 1
    assert [found["suite"] for found in read_lines([results])] == ["speed", "curves"]
    assert list(run_curves(["cora"], settings=QUICK, results=results)) == []


@pytest.mark.usefixtures("toys")
def test_curves__bad_names_and_settings_are_refused() -> None:
    with pytest.raises(InputError, match="unknown dataset 'coral'"):
        next(run_curves(["coral"]))
    with pytest.raises(InputError, match="lr=-1"):
        next(run_curves(["cora"], settings={"lr": -1}))


@pytest.mark.usefixtures("toys")
def test_curves__looking_more_often_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (often,) = run_curves(["cora"], settings=QUICK)
    monkeypatch.setattr(curves, "RECORDED_EPOCHS", {"node": (0, 3)})
    (seldom,) = run_curves(["cora"], settings=QUICK)
    assert seldom["rows"] == [often["rows"][0], often["rows"][-1]]


@pytest.mark.usefixtures("toys")
def test_curves__the_default_of_nodes_is_the_default() -> None:
    (line,) = run_curves(["cora"], settings=NODE_DEFAULT)
    default = DSGRLConfig(floor=False).resolved(typical_spec("node")).flat()
    changed = {key for key in default if line["config"][key] != default[key]}
    # It is not stopped, and runs on some device.
    assert changed == {"epochs__max_epochs", "epochs__check_every", "device"}


@pytest.mark.usefixtures("toys")
def test_curves__other_settings_are_changes_of_plain_learned_features() -> None:
    (line,) = run_curves(["cora"], settings={"gain": 1.0, "edge_drop": 0.5})
    assert line["setting"] == "gain=1.0, edge_drop=0.5"
    config = line["config"]
    assert (config["views"], config["views__edge_drop"]) == ("learned_features", 0.5)
    assert (config["scaling"], config["weight_decay"]) == ("columns", 0.0)


def test_curves__a_recorded_setting_is_not_recorded_again(tmp_path: Path) -> None:
    lines = [
        each
        for each in read_lines([RESULTS / "curves.jsonl"])
        if each["dataset"] == "cora"
    ]
    results = tmp_path / "curves.jsonl"
    for each in lines:
        append_line(results, each)
    assert list(run_curves(["cora"], results=results)) == []


# Other tests may have imported the module before.
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize(
    "name", ["curves", "ablations", "cures", "differences", "render"]
)
def test_entry_points__have_help_with_an_example(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"studies.{name}", run_name="__main__", alter_sys=True)
    assert ended.value.code == 0
    assert f"example: python -m studies.{name}" in capsys.readouterr().out
