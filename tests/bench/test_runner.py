"""Suites: complete, repeatable, and the same after a kill as without one."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from dsgrl.bench import cells, recipes, runner, suites, systems
from dsgrl.bench.isolation import ProcessLostError, run_isolated
from dsgrl.bench.lines import append_line, open_results, read_lines
from dsgrl.bench.runner import Failure, run_suite
from dsgrl.bench.systems import SYSTEMS, Embedded, System, labels_of, unlabelled
from dsgrl.datasets.table import DATASETS, Dataset
from dsgrl.methods import FitConfig, expand_names
from dsgrl.typing import DivergenceError, InputError

# Small and short: what is tested is the running, not the scores.
QUICK = {"epochs": 2, "out_channels": 4, "augment_channels": 8}
OURS: dict[str, Any] = {"methods": ["dsgrl-feature"]}
# Fields that may differ between two runs of the same cell on the same machine.
TIMES = ("seconds_per_epoch", "fit_seconds", "probe_seconds", "peak_rss_mb")
BOTH: dict[str, Any] = {"methods": ["dsgrl-feature", "cca-ssg"]}
KEYS = """
    suite dataset method protocol metric mean std n scores val_mean epochs
    seconds_per_epoch fit_seconds probe_seconds peak_rss_mb config recipe seed splits
    version git
"""


def toy_graph(seed: int = 0) -> Data:
    """Sixty nodes in three communities, with features that hint at them."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(60) // 20
    chance = torch.where(group[:, None] == group[None, :], 0.3, 0.02)
    linked = torch.rand(60, 60, generator=generator) < chance
    edges = to_undirected(linked.triu(1).nonzero().t().contiguous(), num_nodes=60)
    x = torch.nn.functional.one_hot(group, 5).float()
    x = x + torch.randn(60, 5, generator=generator)
    return Data(x=x, edge_index=edges, y=group)


def toy_graphs() -> list[Data]:
    """Thirty small graphs of two kinds: the larger ones are of class 1."""
    graphs = []
    for number in range(30):
        size = 4 + 3 * (number % 2)
        ring = torch.arange(size)
        edges = torch.stack([ring, ring.roll(1)])
        graphs.append(
            Data(
                x=torch.ones(size, 2),
                edge_index=to_undirected(edges, num_nodes=size),
                y=torch.tensor([number % 2]),
            )
        )
    return graphs


def register_toys() -> None:
    """Add datasets that need no file."""
    for name, seed in {"toy": 0, "toy-two": 1}.items():
        data = toy_graph(seed)
        DATASETS[name] = Dataset(
            lambda _, data=data: data, "toy", 60, data.num_edges, 5, 3
        )
    graphs = toy_graphs()
    counts = (sum(g.num_nodes for g in graphs), sum(g.num_edges for g in graphs))
    DATASETS["toy-graphs"] = Dataset(
        lambda _: graphs, "toy", *counts, 2, 2, num_graphs=30, level="graph"
    )
    suites.CASES["toy-graphs"] = (("5/15/80", "accuracy"),)


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "CASES", dict(suites.CASES))
    for name in ("toy", "toy-two", "toy-graphs"):
        monkeypatch.setitem(DATASETS, name, DATASETS["debian"])
    register_toys()


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace systems and probe by quick ones; every fit is noted."""
    noted: list[str] = []

    def judge(z: Any, *_: Any, splits: list[Any], **__: Any) -> SimpleNamespace:
        scores = [float(abs(z[split.test]).sum()) for split in splits]
        return SimpleNamespace(
            scores=scores,
            validation=scores,
            mean=float(np.mean(scores)),
            std=float(np.std(scores)),
            manifest=str(len(splits)),
        )

    monkeypatch.setattr(cells, "evaluate", judge)

    def embed(
        _: System, data: Data, config: FitConfig | None, __: str | None
    ) -> Embedded:
        seed = config and config.random_state
        noted.append(f"{data.num_edges}/{seed}")
        return Embedded(data.x.numpy() * (1 + (seed or 0)), 3, 3)

    monkeypatch.setattr(System, "embed", embed)
    return noted


def run(results: Path | None = None, **options: Any) -> list[dict[str, Any]]:
    options = {"datasets": ["toy"], "methods": ["raw"], "in_process": True, **options}
    return list(run_suite(options.pop("suite", "nodes"), results=results, **options))


def timeless(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in line.items() if k not in TIMES} for line in lines]


def in_full(method: str, settings: dict[str, Any]) -> dict[str, Any]:
    return expand_names(SYSTEMS[method].method, settings)


def as_untrained(config: dict[str, Any]) -> dict[str, Any]:
    """Return the same parameters with no epoch, and so without a stopping rule."""
    kept = {k: value for k, value in config.items() if not k.startswith("epochs__")}
    return {**kept, "epochs": 0}


def test_suite__real_systems_and_their_controls(tmp_path: Path) -> None:
    results = tmp_path / "new" / "results.jsonl"
    lines = run(results, methods=["dsgrl-feature"], settings=QUICK)
    names = ["dsgrl-feature", "random-f", "hops", "raw"]
    assert [line["method"] for line in lines] == names
    trained, untrained, floor, raw = lines
    assert (floor["recipe"], floor["seed"], floor["epochs"]) == ("default", 0, 0)
    for line in lines:
        assert list(line) == KEYS.split()
        assert line["n"] == len(line["scores"]) > 1
        assert line["mean"] == pytest.approx(np.mean(line["scores"]), abs=1e-3)
        assert line["std"] == pytest.approx(np.std(line["scores"]), abs=1e-3)
        assert line["splits"] == raw["splits"]
    assert (trained["epochs"], untrained["epochs"], raw["epochs"]) == (2, 0, None)
    assert trained["seconds_per_epoch"] > 0
    assert untrained["seconds_per_epoch"] is None
    assert trained["config"].items() >= in_full("dsgrl-feature", QUICK).items()
    alone = run(tmp_path / "alone.jsonl", **OURS, settings=QUICK, controls=False)
    assert [line["method"] for line in alone] == ["dsgrl-feature"]
    assert alone[0]["scores"] == trained["scores"]
    assert untrained["config"]["epochs"] == 0
    assert raw["config"] == {}
    assert read_lines([results]) == lines


def test_suite__two_runs_give_the_same_lines(tmp_path: Path) -> None:
    one, two = (
        run(tmp_path / name, methods=["dsgrl-topology"], settings=QUICK)
        for name in ("one", "two")
    )
    assert timeless(one) == timeless(two)


def test_suite__every_seed_has_its_lines_but_features_have_none(
    fits: list[str],
) -> None:
    lines = run(methods=["dsgrl-feature"], seeds=(0, 1))
    found = [(line["method"], line["seed"]) for line in lines]
    assert found == [
        ("dsgrl-feature", 0),
        ("dsgrl-feature", 1),
        ("random-f", 0),
        ("random-f", 1),
        ("hops", 0),
        ("raw", 0),
    ]
    assert lines[0]["scores"] != lines[1]["scores"]
    assert [line["config"].get("random_state") for line in lines] == [
        0,
        1,
        0,
        1,
        0,
        None,
    ]


def test_suite__graphs_have_the_no_structure_control() -> None:
    lines = run(suite="graphs", datasets=["toy-graphs"], methods=["no-structure"])
    assert lines[0]["mean"] == 100
    shown = suites.make_request("graphs", None, None, "default", {}, None, None)
    assert {"no-structure", "random-f", "random-t"} <= set(shown.methods)
    assert "raw" not in shown.methods


def test_suite__finished_cells_are_skipped(tmp_path: Path, fits: list[str]) -> None:
    results = tmp_path / "r.jsonl"
    first = run(results, methods=["dsgrl-feature"])
    assert len(fits) == len(first) == 4
    assert run(results, methods=["dsgrl-feature"]) == []
    assert len(fits) == 4
    more = run(results, methods=["dsgrl-feature"], settings={"lr": 0.5})
    assert [line["method"] for line in more] == ["dsgrl-feature", "random-f"]
    assert {line["recipe"] for line in more} == {"default, lr=0.5"}
    more = run(results, methods=["dsgrl-feature"], settings={"epochs": 7})
    assert [line["method"] for line in more] == ["dsgrl-feature"]


def test_suite__a_cell_with_several_lines_is_completed(
    tmp_path: Path, fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for IMDB: one fit, several protocols; a kill may fall between two lines."""
    cases = (("5/15/80", "accuracy"), ("10/10/80", "accuracy"))
    monkeypatch.setitem(suites.CASES, "toy", cases)
    whole = run(tmp_path / "whole")
    assert [line["protocol"] for line in whole] == ["5/15/80", "10/10/80"]
    assert len(fits) == 1
    append_line(tmp_path / "half", whole[0])
    added = run(tmp_path / "half")
    assert timeless(added) == timeless(whole[1:])
    assert len(fits) == 2


def test_suite__half_a_line_left_by_a_kill_is_made_again(
    tmp_path: Path, fits: list[str]
) -> None:
    whole = tmp_path / "whole"
    lines = run(whole, datasets=["toy", "toy-two"])
    text = whole.read_bytes()
    first = text.index(b"\n") + 1
    results = tmp_path / "cut"
    for cut in (0, 2, first - 2, first - 1, first, first + 40, len(text) - 1):
        results.write_bytes(text[:cut])
        run(results, datasets=["toy", "toy-two"])
        assert timeless(read_lines([results])) == timeless(lines), cut
        assert results.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    "text", [b"notes of mine", b'{"suite": "x"}\nnotes\n', b"[1]\n"]
)
def test_results__a_file_of_another_kind_is_left_alone(
    tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"notes\.txt"):
        open_results(path)
    assert path.read_bytes() == text


def test_suite__no_label_reaches_a_system(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Data] = []

    def make(data: Data, _: str | None) -> Any:
        seen.append(data)
        return data.x.numpy()

    spy = System(make=make, summary="spy", levels=frozenset({"node"}))
    monkeypatch.setitem(SYSTEMS, "spy", spy)
    fit = systems.fit_graph

    def watched(name: str, data: Data, config: FitConfig) -> Any:
        seen.append(data)
        return fit(name, data, config)

    monkeypatch.setattr(systems, "fit_graph", watched)
    run(methods=["spy", "random-f"], settings=QUICK)
    assert len(seen) == 3
    assert all("y" not in data for data in seen)
    assert DATASETS["toy"].load(Path()).y is not None
    graphs = toy_graphs()
    assert all("y" not in graph for graph in unlabelled(graphs))
    assert labels_of(graphs, None).tolist() == [0, 1] * 15


def test_suite__a_failing_cell_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def diverge(*_: Any) -> Any:
        raise DivergenceError("training diverged")

    broken = System(make=diverge, summary="", levels=frozenset({"node"}))
    monkeypatch.setitem(SYSTEMS, "broken", broken)
    failures: list[Failure] = []
    lines = run(methods=["broken", "raw"], on_failure=failures.append)
    assert [line["method"] for line in lines] == ["raw"]
    assert failures == [Failure("toy broken", "training diverged")]


def test_suite__missing_data_is_told_once(fits: list[str]) -> None:
    def missing(_: Path) -> Data:
        raise OSError("no network")

    DATASETS["toy-two"] = Dataset(missing, "toy", 1, 1, 1, 1, place="toy-two")
    failures: list[Failure] = []
    lines = run(
        datasets=["toy-two", "toy"],
        methods=["dsgrl-feature"],
        on_failure=failures.append,
    )
    assert {line["dataset"] for line in lines} == {"toy"}
    (failure,) = failures
    assert failure.where == "toy-two"
    assert failure.was_asked_for


def test_suite__by_default_takes_what_is_at_hand(tmp_path: Path) -> None:
    for name, row in DATASETS.items():
        is_there = row.built_in or bool(row.stands_for)
        assert suites.is_at_hand(name, tmp_path) == is_there
    (tmp_path / DATASETS["photo"].place).mkdir(parents=True)
    assert not suites.is_at_hand("photo", tmp_path)
    (tmp_path / DATASETS["photo"].place / "raw.npz").touch()
    assert suites.is_at_hand("photo", tmp_path)
    request = suites.make_request("nodes", None, None, "default", {}, None, tmp_path)
    assert {"photo", "debian"} <= set(request.datasets)
    assert "cs" not in request.datasets


def test_suite__the_papers_recipe_is_the_config(
    fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "photo", DATASETS["toy"])
    lines = run(
        datasets=["photo"],
        methods=["dsgrl-feature"],
        recipe="paper",
        settings={"dropout": 0.25},
    )
    trained, untrained, _, raw = lines
    assert trained["recipe"] == "paper, dropout=0.25"
    config = trained["config"]
    assert (config["jump"], config["epochs"], config["out_channels"]) == (
        "sum",
        100,
        64,
    )
    assert config["dropout"] == 0.25
    assert untrained["config"] == as_untrained(config)
    assert raw["recipe"] == "default"


def test_suite__a_recipe_that_is_not_there_is_told(fits: list[str]) -> None:
    failures: list[Failure] = []
    lines = run(methods=["dsgrl-both"], recipe="paper", on_failure=failures.append)
    assert [line["method"] for line in lines] == ["hops", "raw"]
    assert [failure.where for failure in failures] == [
        "toy dsgrl-both",
        "toy random-both",
    ]
    assert failures[0].reason == "there is no recipe paper/both/toy"


def test_suite__a_recipe_file_is_taken(tmp_path: Path, fits: list[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text('augment = "feature"\nlr = 0.25\n')
    failures: list[Failure] = []
    lines = run(
        methods=["dsgrl-feature", "dsgrl-topology"],
        recipe=str(path),
        on_failure=failures.append,
    )
    assert lines[0]["config"]["lr"] == 0.25
    assert {failure.where for failure in failures} == {
        "toy dsgrl-topology",
        "toy random-t",
    }


def test_suite__a_setting_goes_to_the_methods_that_have_it(fits: list[str]) -> None:
    lines = run(**BOTH, settings={"decorrelation_weight": 0.5, "dropout": 0.25})
    found = {line["method"]: line for line in lines}
    ours, theirs = found["dsgrl-feature"], found["cca-ssg"]
    assert (ours["recipe"], theirs["recipe"]) == (
        "default, dropout=0.25",
        "default, decorrelation_weight=0.5, dropout=0.25",
    )
    assert "decorrelation_weight" not in ours["config"]
    assert theirs["config"]["decorrelation_weight"] == 0.5
    assert {"random-f", "random-cca-ssg", "raw"} <= found.keys()


def test_suite__a_baseline_and_its_controls(tmp_path: Path) -> None:
    settings = {"max_epochs": 10, "out_channels": 8}
    lines = run(tmp_path / "one", methods=["cca-ssg"], settings=settings)
    names = ["cca-ssg", "random-cca-ssg", "hops", "raw"]
    assert [line["method"] for line in lines] == names
    trained, untrained, *_ = lines
    assert trained["seconds_per_epoch"] > 0
    assert trained["config"].items() >= in_full("cca-ssg", settings).items()
    assert untrained["config"] == as_untrained(trained["config"])
    assert untrained["epochs"] == 0
    again = run(tmp_path / "two", methods=["cca-ssg"], settings=settings)
    assert timeless(again) == timeless(lines)


def test_suite__a_baseline_takes_recipes_of_its_own(
    tmp_path: Path, fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, text in {
        "cca-ssg": "decorrelation_weight = 0.5\n",
        "feature": "lr = 0.5\n",
    }.items():
        place = tmp_path / "tuned" / folder
        place.mkdir(parents=True)
        (place / "toy.toml").write_text(text)
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    found = {line["method"]: line for line in run(**BOTH, recipe="tuned")}
    assert found["cca-ssg"]["config"]["decorrelation_weight"] == 0.5
    assert found["random-cca-ssg"]["config"]["decorrelation_weight"] == 0.5
    assert found["cca-ssg"]["config"]["lr"] == 1e-3
    assert found["dsgrl-feature"]["config"]["lr"] == 0.5


def test_suite__a_recipe_file_of_another_method_is_told(
    tmp_path: Path, fits: list[str]
) -> None:
    path = tmp_path / "own.toml"
    for text, fits_it, owner in (
        (
            "decorrelation_weight = 0.5",
            "cca-ssg",
            "is for cca-ssg (it sets 'decorrelation_weight')",
        ),
        ('augment = "feature"', "dsgrl-feature", "is for dsgrl (it sets 'augment')"),
    ):
        path.write_text(text)
        failures: list[Failure] = []
        lines = run(**BOTH, recipe=str(path), on_failure=failures.append)
        methods = {line["method"] for line in lines}
        assert methods & set(BOTH["methods"]) == {fits_it}
        assert len(failures) == 2
        assert all(owner in failure.reason for failure in failures)
    path.write_text("edge_dorp = 0.5")
    with pytest.raises(InputError, match="unknown key 'edge_dorp'"):
        run(methods=["cca-ssg"], recipe=str(path))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"suite": "node"}, "did you mean 'nodes'"),
        ({"datasets": ["toi"]}, "unknown dataset 'toi'"),
        ({"datasets": ["toy-graphs"]}, "is of level 'graph'"),
        ({"methods": ["dsgrl-features"]}, "did you mean 'dsgrl-feature'"),
        ({"methods": ["no-structure"]}, "not meant for suite 'nodes'"),
        ({"recipe": "papers"}, "did you mean 'paper'"),
        ({"settings": {"lr": 1}}, "unknown key 'lr': raw has no parameters to set"),
        ({**OURS, "settings": {"learning": 1}}, "unknown key 'learning'"),
        ({**OURS, "settings": {"lr": 0}}, "dsgrl-feature: lr=0: expected"),
        (
            {**OURS, "settings": {"decorrelation_weight": 0.1}},
            "expected a parameter of dsgrl",
        ),
        (
            {**BOTH, "settings": {"edge_dorp": 1}},
            "did you mean 'edge_drop'? expected a parameter of dsgrl or cca-ssg",
        ),
        (
            {**BOTH, "settings": {"decorrelation_weight": -1}},
            "cca-ssg: decorrelation_weight=-1: expected",
        ),
        ({**BOTH, "settings": {"num_layers": "auto"}}, "cca-ssg: num_layers='auto'"),
        (
            {**BOTH, "suite": "graphs", "datasets": None},
            "'cca-ssg' is not meant for suite 'graphs'",
        ),
    ],
)
def test_suite__a_users_mistake_is_told_before_any_work(
    fits: list[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        run(**options)
    assert said in str(caught.value)
    assert fits == []


def test_suite__protocol_can_be_chosen(fits: list[str]) -> None:
    (line,) = run(protocol="10/10/80")
    assert line["protocol"] == "10/10/80"


def test_suite__tells_what_it_starts(tmp_path: Path, fits: list[str]) -> None:
    started: list[Any] = []

    def note(cell: cells.Cell, number: int, total: int) -> None:
        started.append((cell.method, number, total))

    run(tmp_path / "r", on_start=note)
    run(tmp_path / "r", methods=["dsgrl-feature"], on_start=note)
    assert started == [
        ("raw", 1, 1),
        ("dsgrl-feature", 1, 4),
        ("random-f", 2, 4),
        ("hops", 3, 4),
    ]


def test_isolated__results_and_errors_come_back() -> None:
    assert run_isolated(len, "four") == 4
    with pytest.raises(ValueError, match="invalid literal"):
        run_isolated(int, "four")
    with pytest.raises(ProcessLostError, match="SIGKILL"):
        run_isolated(signal.raise_signal, signal.SIGKILL)


@pytest.mark.slow
def test_cell__in_its_own_process_is_the_same_but_for_memory(tmp_path: Path) -> None:
    settings = {**QUICK, "epochs": 1}
    options: dict[str, Any] = {"datasets": ["debian"], "methods": ["random-f"]}
    apart = run(tmp_path / "a", in_process=False, settings=settings, **options)
    here = run(tmp_path / "b", settings=settings, **options)
    assert timeless(apart) == timeless(here)
    for one, other in zip(apart, here, strict=True):
        assert one["peak_rss_mb"] > 100
        assert other["peak_rss_mb"] is None


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_runner import QUICK, register_toys
from dsgrl.bench.runner import run_suite
register_toys()
for line in run_suite(
    "nodes",
    datasets=["toy", "toy-two"],
    methods=["dsgrl-feature", "dsgrl-topology"],
    results=Path(sys.argv[1]),
    settings=QUICK,
    in_process=True,
):
    print("line", flush=True)
"""


def start(results: Path) -> "subprocess.Popen[bytes]":
    code = SCRIPT.format(folder=str(Path(__file__).parent))
    return subprocess.Popen(
        [sys.executable, "-c", code, str(results)], stdout=subprocess.PIPE
    )


@pytest.mark.slow
def test_suite__killed_and_started_again_ends_with_the_same_lines(
    tmp_path: Path,
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with start(whole) as process:
        assert process.wait() == 0
    rng = np.random.default_rng(0)
    for _ in range(3):
        with start(killed) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.4))
            process.send_signal(signal.SIGKILL)
    assert 3 <= len(read_lines([killed])) < len(read_lines([whole]))
    with start(killed) as process:
        assert process.wait() == 0
    assert timeless(read_lines([killed])) == timeless(read_lines([whole]))


@pytest.mark.data
def test_suite__imdb_gives_eight_lines_from_one_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[str | None] = []

    def make(data: Any, target: str | None) -> Any:
        fits.append(target)
        return data[target].x[:, :8].numpy()

    spy = System(make=make, summary="", levels=frozenset({"hetero"}))
    monkeypatch.setitem(SYSTEMS, "spy", spy)
    lines = run(suite="hetero", datasets=["imdb"], methods=["spy"])
    assert fits == ["movie"]
    found = {(line["protocol"], line["metric"]) for line in lines}
    assert found == set(suites.CASES["imdb"])
    assert len(found) == 8


@pytest.mark.data
def test_suite__graphs_are_judged_by_the_public_folds() -> None:
    (line,) = run(suite="graphs", datasets=["ENZYMES"], methods=["no-structure"])
    assert (line["protocol"], line["n"]) == ("folds", 10)
    # Six classes of the same size: features alone tell more than chance.
    assert line["mean"] > 30


def test_git__is_none_or_a_commit() -> None:
    revision = cells.git_revision()
    assert revision is None or len(revision.removesuffix("-dirty")) >= 7


def test_lines__are_json_a_line_each(tmp_path: Path, fits: list[str]) -> None:
    run(tmp_path / "r", datasets=["toy", "toy-two"])
    for text in (tmp_path / "r").read_text().splitlines():
        assert json.loads(text)["method"] == "raw"
    assert runner.Failure("a", "b").was_asked_for
