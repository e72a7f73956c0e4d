import json
from typing import Any

import pytest
from torch_geometric.data import Data

from dsgrl import cli
from dsgrl.bench import method_speed
from dsgrl.bench.method_speed import measure_method, methods_for, run_method_speed
from dsgrl.typing import InputError


@pytest.fixture
def small_photo(monkeypatch: pytest.MonkeyPatch, community_graph: Data) -> None:
    monkeypatch.setattr(method_speed, "load_dataset", lambda *_: community_graph)
    monkeypatch.setattr(method_speed, "run_isolated", lambda call, *args: call(*args))


@pytest.mark.usefixtures("small_photo")
def test_measure_method__one_line_of_a_trained_method() -> None:
    line = measure_method("dgi", "photo", 3)
    assert (line["suite"], line["case"]) == ("speed", "methods")
    assert (line["dataset"], line["method"]) == ("photo", "dgi")
    assert line["epochs_measured"] == 3
    assert 0 < line["seconds_per_epoch"] < 5
    assert line["setup_seconds"] > 0
    assert line["peak_rss_mb"] >= line["loaded_rss_mb"] > 50
    assert line["config"]["out_channels"] == 512


@pytest.mark.usefixtures("small_photo")
def test_measure_method__without_training_there_is_no_epoch() -> None:
    line = measure_method("hops", "photo", 3)
    assert line["setup_seconds"] > 0
    assert "seconds_per_epoch" not in line


@pytest.mark.usefixtures("small_photo")
def test_measure_method__long_epochs_are_measured_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(method_speed, "MOST_SECONDS", 1e-9)
    assert measure_method("dgi", "photo", 5)["epochs_measured"] == 1


@pytest.mark.usefixtures("small_photo")
def test_run__a_method_that_fails_has_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("too large")

    monkeypatch.setattr(method_speed, "begin", fail)
    lines = list(run_method_speed(["dgi", "hops"], ["photo"]))
    assert [line.get("error") for line in lines] == ["too large", None]


def test_methods_for__all_are_those_that_need_no_labels() -> None:
    nodes, graphs = methods_for(["all"], "node"), methods_for(["all"], "graph")
    assert {"dsgrl", "dgi", "grace", "mvgrl", "node2vec", "hops"} <= {*nodes}
    assert {"dsgrl", "infograph", "joao", "mvgrl", "histograms"} <= {*graphs}
    assert not {"random-dgi", "gcn", "topology-random", "infograph"} & {*nodes}
    assert len(nodes) == len({*nodes})


def test_methods_for__names_are_checked() -> None:
    assert methods_for(["dgi", "infograph"], "node") == ["dgi"]
    with pytest.raises(InputError, match="unknown method 'dgj': did you mean"):
        methods_for(["dgj"], "node")


def test_bench__takes_methods(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def run(*given: Any, **options: Any) -> Any:
        asked.append((given, options["repeats"]))
        return iter([{"suite": "speed"}])

    monkeypatch.setattr(method_speed, "run_method_speed", run)
    command = "dsgrl bench speed --methods all --datasets photo --repeats 7"
    monkeypatch.setattr("sys.argv", command.split())
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    assert asked == [((["all"], ["photo"]), 7)]
    assert json.loads(capsys.readouterr().out) == {"suite": "speed"}
