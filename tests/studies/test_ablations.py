"""Ablations: each changes something, and the table says by how much."""

from pathlib import Path
from typing import Any

import pytest

from dsgrl.augment import NodeAlone
from dsgrl.bench.lines import append_line, read_lines
from dsgrl.bench.runner import Failure
from dsgrl.bench.systems import SYSTEMS, typical_spec
from dsgrl.datasets.table import DATASETS
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.typing import InputError
from studies import RESULTS, ablations
from studies.ablations import in_todays_names, render_ablations, run_ablations
from studies.parts import (
    BASES,
    DEFAULTS,
    GRAPHS,
    HELP,
    NODES,
    OPTIONS,
    OTHERS,
    PARTS,
    SECOND_GRAPHS,
    SETS,
    SUITE_OF,
    WITHOUT_HELP,
    Base,
    Part,
    parts_of,
)


def resolve(method: str, changes: dict[str, Any], level: Any) -> dict[str, Any]:
    config = SYSTEMS[method].configure(changes, level)
    return config.resolved(typical_spec(level)).flat()


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.title)
def test_parts__differ_from_the_base(base: Base) -> None:
    before = resolve(base.method, {}, base.level)
    for part in parts_of(base):
        # Some repeat what holds already, so that only one thing changes.
        assert resolve(part.system(base), part.changes, base.level) != before, part


@pytest.mark.parametrize("level", ["node", "graph", "hetero"])
def test_others__change_the_second_graph_alone(level: Any) -> None:
    before = resolve("dsgrl-topology", {}, level)
    for part in OTHERS:
        if HELP.items() <= part.changes.items():
            continue
        after = resolve(part.system(SECOND_GRAPHS[0]), part.changes, level)
        same = before.keys() & after.keys() - {"views"}
        differing = {key for key in same if before[key] != after[key]}
        if part.method:
            assert after["views"] != before["views"]
            assert differing == set(), part
        else:
            assert len(differing) <= 1, part


def test_help__is_what_the_node_alone_has_by_default() -> None:
    for changes, views in ((HELP, NodeAlone()), (WITHOUT_HELP, None)):
        spec = typical_spec("node")
        asks = (
            DSGRLConfig(views=views or "two_steps", floor=False).resolved(spec).flat()
        )
        assert {key: asks[key] for key in changes} == changes


def test_parts__no_change_is_listed_twice() -> None:
    for base in BASES:
        changes = [f"{part.method} {part.changes}" for part in parts_of(base)]
        assert len(set(changes)) == len(changes)


@pytest.mark.parametrize("level", ["node", "graph"])
def test_defaults__are_what_the_estimator_learns_by_itself(level: Any) -> None:
    learned = resolve("dsgrl", {"floor": False}, level)
    assert resolve(DEFAULTS[level], {}, level) == learned


def test_sets__are_six_or_more_and_of_both_levels() -> None:
    assert len(SETS) >= 6
    assert {DATASETS[name].level for name in SETS} == {"node", "graph"}


def test_run_ablations__runs_the_default_and_each_part_of_the_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []

    def run_suite(suite: str, **options: Any) -> list[Any]:
        calls.append((suite, options["datasets"], options["settings"]))
        assert options["seeds"] == [4, 5]
        return [len(calls)]

    monkeypatch.setattr(ablations, "run_suite", run_suite)
    lines = list(run_ablations(["cora", "ENZYMES"], seeds=[4, 5]))
    assert len(lines) == len(calls)
    for name, suite in (("cora", "nodes"), ("enzymes", "graphs")):
        base = NODES if suite == "nodes" else GRAPHS
        expected = [{}, *(part.changes for part in parts_of(base))]
        assert [c[2] for c in calls if c[:2] == (suite, [name])] == expected


@pytest.mark.parametrize(
    ("name", "suite"), [("cora", "nodes"), ("dd", "graphs"), ("imdb", "hetero")]
)
def test_run_ablations__of_topology__puts_other_graphs_in_its_place(
    monkeypatch: pytest.MonkeyPatch, name: str, suite: str
) -> None:
    calls = []

    def run_suite(suite: str, **options: Any) -> list[Any]:
        calls.append((suite, options["methods"], options["settings"]))
        return []

    monkeypatch.setattr(ablations, "run_suite", run_suite)
    list(run_ablations([name], methods=["dsgrl-topology"]))
    base = next(base for base in SECOND_GRAPHS if SUITE_OF[base.level] == suite)
    parts = [Part("", {}), *(part for part in OTHERS if base in part.bases)]
    assert calls == [(suite, [part.system(base)], part.changes) for part in parts]


def test_run_ablations__refuses_other_methods() -> None:
    with pytest.raises(InputError, match="cca-ssg"):
        list(run_ablations(["cora"], methods=["cca-ssg"]))


@pytest.mark.parametrize("name", ["corra", "imdb"])
def test_run_ablations__refuses_what_it_cannot_run(name: str) -> None:
    with pytest.raises(InputError, match=name):
        list(run_ablations([name]))


def line(dataset: str, recipe: str, seed: int, mean: float) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "method": "topology-none",
        "recipe": recipe,
        "seed": seed,
        "mean": mean,
    }


def test_render_ablations__compares_seed_by_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ablations, "PARTS", (Part("a", {"dropout": 0.0}),))
    monkeypatch.setattr(ablations, "OPTIONS", (Part("b", {"norm": "x"}, (GRAPHS,)),))
    without = "default, dropout=0.0"
    text = render_ablations(
        [
            line("cora", "default", 0, 80.0),
            line("cora", "default", 1, 82.0),
            line("cora", without, 0, 79.0),
            line("cora", without, 1, 79.0),
            # The default of this seed is not there: nothing to compare with.
            line("cora", without, 2, 10.0),
            line("citeseer", "default", 0, 70.0),
            line("citeseer", without, 0, 74.0),
            {**line("cora", without, 0, 1.0), "method": "random-f"},
        ]
    )
    assert "| *the default* | 81.0 | 70.0 |  |" in text
    assert "| a (`dropout=0.0`) | -2.0 ± 1.0 | +4.0 | +1.0 |" in text
    assert "## Whole graphs" not in text


def test_render_ablations__second_graphs_have_tables_of_their_own() -> None:
    lines = [
        line("cora", "default", 0, 80.0),
        {**line("cora", "default", 0, 75.0), "method": "dsgrl-topology"},
        {
            **line("cora", "default, topology=random", 0, 71.0),
            "method": "dsgrl-topology",
        },
    ]
    text = render_ablations(lines)
    features, graphs = text.split("## Nodes: the second graph")
    assert "80.0" in features
    assert "75.0" not in features
    assert "| random edges (`views='random'`) | -4.0 | -4.0 |" in graphs


def test_render_ablations__of_several_scores_of_one_model__takes_the_first() -> None:
    lines = [
        {**line("imdb", "default", 0, 56.0), "method": "dsgrl-topology"},
        {**line("imdb", "default", 0, 61.0), "method": "dsgrl-topology"},
    ]
    text = render_ablations(lines)
    assert "## Several types of nodes: the second graph" in text
    assert "| *the learned graph* | 56.0 |  |" in text


def test_parts__every_row_has_a_name() -> None:
    parts = (*PARTS, *OPTIONS, *OTHERS)
    assert all(part.name and (part.changes or part.method) for part in parts)


def test_run_ablations__a_missing_dataset_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_suite(suite: str, **options: Any) -> list[Any]:
        (name,) = options["datasets"]
        # One is not there; of the other, some cell fails.
        where = name if name == "cora" else f"{name} dsgrl-feature"
        options["on_failure"](Failure(where, "reason"))
        return []

    monkeypatch.setattr(ablations, "run_suite", run_suite)
    reported: list[str] = []
    run = run_ablations(
        ["cora", "photo"], on_failure=lambda f: reported.append(f.where)
    )
    assert list(run) == []
    assert reported.count("cora") == 1
    assert len(reported) == 2 + len(parts_of(NODES))


def test_run_ablations__of_all_methods_passes_over_what_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = set()

    def run_suite(suite: str, **options: Any) -> list[Any]:
        calls.add((suite, *options["methods"]))
        return []

    monkeypatch.setattr(ablations, "run_suite", run_suite)
    methods = list(dict.fromkeys(base.method for base in BASES))
    list(run_ablations(methods=methods))
    expected = {
        (SUITE_OF[base.level], part.system(base))
        for base in BASES
        for part in (Part("", {}), *parts_of(base))
    }
    assert calls == {pair for pair in expected if pair[0] != "hetero"}
    with pytest.raises(InputError, match="cca-ssg"):
        list(run_ablations(methods=["cca-ssg"]))


RECORDED = read_lines([RESULTS / "ablations.jsonl"])


@pytest.mark.parametrize(
    ("dataset", "base"),
    [
        ("cora", NODES),
        ("enzymes", GRAPHS),
        ("cora", BASES[2]),
        ("citeseer", SECOND_GRAPHS[0]),
        ("proteins", SECOND_GRAPHS[1]),
        ("imdb", SECOND_GRAPHS[2]),
    ],
    ids=lambda value: getattr(value, "title", value),
)
def test_run_ablations__recorded_lines_are_not_run_again(
    dataset: str, base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, calls = tmp_path / "lines.jsonl", []
    for each in RECORDED:
        if each["dataset"] == dataset:
            append_line(results, each)

    def run_suite(suite: str, **options: Any) -> list[Any]:
        calls.append((*options["methods"], str(options["settings"])))
        return []

    monkeypatch.setattr(ablations, "run_suite", run_suite)
    assert not list(run_ablations([dataset], methods=[base.method], results=results))
    # What the page has a number for is there; the rest is run.
    lines = [in_todays_names(each) for each in RECORDED if each["dataset"] == dataset]
    there = {(each["method"], each["recipe"]) for each in lines if each["seed"] == 0}
    assert calls == [
        (part.system(base), str(part.changes))
        for part in (Part("", {}), *parts_of(base))
        if (part.system(base), part.label) not in there
    ]
    assert len(there) > 5


def test_run_ablations__a_line_of_another_default_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(ablations, "run_suite", lambda *_, **o: calls.append(o) or [])
    (found, *_) = (
        each
        for each in RECORDED
        if (each["dataset"], each["method"], each["recipe"], each["seed"])
        == ("cora", "topology-none", "default", 0)
    )
    results = tmp_path / "lines.jsonl"
    append_line(results, {**found, "config": {**found["config"], "lr": 0.1}})
    list(run_ablations(["cora"], results=results))
    assert len(calls) == 1 + len(parts_of(NODES))
