"""Older recipes and result lines: every recorded one means what it meant then."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsgrl.bench.legacy import is_flat, upgrade
from dsgrl.bench.lines import config_of, line_key
from dsgrl.bench.loading import load_recipe
from dsgrl.bench.suites import SUITES, make_request
from dsgrl.bench.systems import SYSTEMS, typical_spec
from dsgrl.datasets.table import DATASETS
from dsgrl.typing import InputError, Level

ROOT = Path(__file__).parents[2]
FILES = [*ROOT.glob("results/*.jsonl"), *ROOT.glob("studies/results/*.jsonl")]

# What the last flat version of DSGRL recorded, with its defaults.
FLAT: dict[str, Any] = {
    "aggregate": "concat",
    "augment": "auto",
    "augment_channels": 256,
    "augment_layers": 1,
    "batch_size": 128,
    "candidates": "auto",
    "check_every": 5,
    "covariance_weight": "auto",
    "device": "auto",
    "dropout": "auto",
    "edge_drop": "auto",
    "edge_multiplier": None,
    "edges_per_node": 16,
    "encoder": "auto",
    "epochs": "auto",
    "feature_drop": "auto",
    "feature_mask": 0.0,
    "gain": "auto",
    "hidden_channels": None,
    "holdout": 0.05,
    "invariance": "mse",
    "invariance_weight": 1.0,
    "jump": "auto",
    "keep_edges": False,
    "lr": 1e-3,
    "max_epochs": 500,
    "norm": "auto",
    "num_layers": "auto",
    "orthogonality_weight": 0.0,
    "out_channels": 128,
    "patience": 100,
    "random_state": 0,
    "readout": "sum",
    "refresh": 5,
    "regularizer": "covariance",
    "scaling": "auto",
    "similarity": "cosine",
    "smoothing": "auto",
    "standardize": "auto",
    "structural_columns": None,
    "symmetric": True,
    "tolerance": "auto",
    "topology": "auto",
    "topology_layers": 2,
    "unit_rows": False,
    "variance_weight": 1.0,
    "verbose": False,
    "warmup_epochs": 0,
    "weight_decay": "auto",
}
# And of CCA-SSG.
FLAT_CCA: dict[str, Any] = {
    "check_every": 5,
    "decorrelation_weight": 1e-3,
    "device": "auto",
    "dropout": 0.0,
    "edge_drop": 0.3,
    "epochs": "auto",
    "feature_mask": 0.2,
    "hidden_channels": None,
    "holdout": 0.05,
    "lr": 1e-3,
    "max_epochs": 500,
    "norm": None,
    "num_layers": 2,
    "out_channels": 512,
    "patience": 100,
    "random_state": 0,
    "scaling": "columns",
    "tolerance": 1.0,
    "warmup_epochs": 0,
    "weight_decay": 0.0,
}
# What each key belonged to, and which views it had an effect on.
STOP = {"max_epochs", "patience", "tolerance", "check_every", "holdout"}
RANDOM = {"edge_drop", "feature_drop", "feature_mask"}
FEATURES = {"augment_channels", "augment_layers", "orthogonality_weight", "unit_rows"}
EDGES = {"edges_per_node", "edge_multiplier", "symmetric", "keep_edges"}
SEARCH = {"candidates"}
GNN = {"augment_channels", "topology_layers", "similarity", "refresh"}
EFFECTS = {
    "learned_features": RANDOM | FEATURES,
    "learned_graph": RANDOM | EDGES | SEARCH | GNN,
    "learned_both": RANDOM | FEATURES | EDGES | SEARCH | GNN,
    "node_alone": RANDOM,
    "two_steps": RANDOM | EDGES,
    "nearest": RANDOM | EDGES | SEARCH,
    "random": RANDOM | EDGES,
}
OF_VIEWS = set().union(*EFFECTS.values())
KINDS = {
    ("topology", "auto"): {"views": "learned_graph"},
    ("topology", "learned"): {"views": "learned_graph"},
    ("topology", "none"): {"views": "node_alone"},
    ("topology", "two_hop"): {"views": "two_steps"},
    ("topology", "random"): {"views": "random"},
    ("topology", "knn_x"): {"views": "nearest", "views__by": "features"},
    ("topology", "knn_ax"): {"views": "nearest", "views__by": "neighbors"},
    ("both", "auto"): {"views": "learned_both", "views__graph": "learned"},
    ("both", "learned"): {"views": "learned_both", "views__graph": "learned"},
    ("both", "none"): {"views": "learned_both", "views__graph": "node_alone"},
    ("both", "two_hop"): {"views": "learned_both", "views__graph": "two_steps"},
}
# What was done before a parameter existed.
BEFORE = {
    "edge_drop": 0.0,
    "feature_drop": 0.0,
    "feature_mask": 0.0,
    "gain": 1.0,
    "smoothing": 0,
    "structural_columns": None,
    "tolerance": 1.0,
}
# Edges were dropped by default from here on, and decay and covariance went with it.
DROPPING = ("edge_drop", "covariance_weight", "weight_decay")


def kind_of(flat: dict[str, Any]) -> dict[str, Any]:
    if flat["augment"] == "feature":
        return {"views": "learned_features"}
    return KINDS[flat["augment"], flat["topology"]]


def expected(recorded: dict[str, Any], level: Level) -> dict[str, Any]:
    """Say what a line of DSGRL meant, key by key."""
    flat = {**BEFORE, **recorded}
    found = dict(kind_of(flat))
    if found["views"] in ("learned_graph", "learned_both", "nearest"):
        found["views__weights"] = "normalized"
    for key, value in flat.items():
        if key in ("augment", "topology"):
            continue
        if key in STOP:
            if flat["epochs"] == "auto":
                found[f"epochs__{key}"] = value
        elif key in OF_VIEWS:
            if key in EFFECTS[found["views"]]:
                found[f"views__{key}"] = value
        else:
            found[key] = value
    if found.get("views__refresh") == 5 or level == "graph":
        # The default; and it had no effect on many graphs.
        found |= {"views__refresh": "auto"} if "views__refresh" in found else {}
    return {**found, "floor": False, "scaling": scaling_of(recorded, found["views"])}


def scaling_of(recorded: dict[str, Any], views: str) -> object:
    """Say what "auto" was, before it depended on the views."""
    if recorded["scaling"] == "auto":
        is_older = "structural_columns" not in recorded
        if is_older and all(recorded.get(key) != "auto" for key in DROPPING):
            return "columns"
        if views == "node_alone" and "smoothing" not in recorded:
            return "columns"
    return recorded["scaling"]


def expected_cca(recorded: dict[str, Any]) -> dict[str, Any]:
    """Say what a line of CCA-SSG meant, key by key."""
    found: dict[str, Any] = {"batch_size": 128, "structural_columns": None}
    found |= {"verbose": False, "encoder": "gcn"}
    for key, value in {"tolerance": 1.0, **recorded}.items():
        if key not in STOP:
            found[key] = value
        elif recorded["epochs"] == "auto":
            found[f"epochs__{key}"] = value
    # These numbers are what "auto" stands for.
    number = {"weight_decay": 0.0, "scaling": "columns", "epochs__tolerance": 1.0}
    for key, value in number.items():
        if found.get(key) == value:
            found[key] = "auto"
    return found


def recorded_lines() -> Iterator[dict[str, Any]]:
    """Read every recorded line of a system that has parameters."""
    for path in FILES:
        for text in path.read_text().splitlines():
            line = json.loads(text)
            system = SYSTEMS.get(str(line.get("method")))
            if system and system.method and line.get("config") and "recipe" in line:
                yield line


@pytest.mark.slow
def test_lines__every_recorded_one_means_what_it_meant() -> None:
    counted: Counter[tuple[str, int]] = Counter()
    for line in recorded_lines():
        recorded, level = line["config"], DATASETS[line["dataset"]].level
        system = SYSTEMS[line["method"]]
        if not is_flat(system.method, recorded):
            continue
        meant = (
            expected(recorded, level)
            if system.method == "dsgrl"
            else expected_cca(recorded)
        )
        # The default of 128 graphs is "auto" since batches may be of nodes.
        if meant["batch_size"] == 128:
            meant = {**meant, "batch_size": "auto"}
        found = config_of(line)
        assert found == meant, line
        # It can be fitted again, and says all there is to say.
        assert system.complete(system.restore(found, level), level) == found
        counted[system.method, len(recorded)] += 1
    # By the number of parameters there were when a line was recorded.
    assert {count for _, count in counted} == {19, 42, 44, 45, 46, 49}
    assert sum(counted.values()) > 2500


def is_last_version(line: dict[str, Any]) -> bool:
    last = FLAT if SYSTEMS[line["method"]].method == "dsgrl" else FLAT_CCA
    # Lines of CCA-SSG without `tolerance` mean what the last ones mean.
    return line["config"].keys() | {"tolerance"} == last.keys()


@pytest.mark.slow
def test_lines__a_bench_resumes_on_every_line_of_the_last_flat_version() -> None:
    """All of them match; others lack keys.

    A line that lacks keys was made by a program that had other defaults. It has
    numbers where today's cells have "auto", so it never counts as finished.
    """
    matching = Counter[tuple[str, bool]]()
    for line in recorded_lines():
        is_flat_line = is_flat(SYSTEMS[line["method"]].method, line["config"])
        if line["recipe"] == "default" and line["suite"] in SUITES and is_flat_line:
            request = make_request(
                line["suite"],
                [line["dataset"]],
                [line["method"]],
                "default",
                {},
                None,
                None,
            )
            cell = request.plan(line["dataset"], line["method"], line["seed"])
            is_same = line_key(line) in cell.lines()
            assert is_same == is_last_version(line), line
            matching[line["suite"], is_same] += 1
    assert matching["nodes", True] >= 24
    assert matching["graphs", True] >= 3
    assert matching["nodes", False] > 0


@pytest.mark.parametrize(
    ("suite", "dataset", "method", "flat"),
    [
        ("nodes", "cora", "dsgrl-feature", {"augment": "feature"}),
        ("nodes", "cora", "dsgrl-topology", {"augment": "topology"}),
        ("nodes", "cora", "dsgrl-both", {"augment": "both"}),
        ("nodes", "cora", "random-f", {"augment": "feature", "epochs": 0}),
        ("nodes", "cora", "topology-none", {"augment": "topology", "topology": "none"}),
        (
            "nodes",
            "cora",
            "topology-knn-ax",
            {"augment": "topology", "topology": "knn_ax"},
        ),
        ("graphs", "enzymes", "dsgrl-feature", {"augment": "feature"}),
        ("graphs", "enzymes", "dsgrl-topology", {"augment": "topology"}),
        (
            "hetero",
            "imdb",
            "topology-two-hop",
            {"augment": "topology", "topology": "two_hop"},
        ),
    ],
)
def test_lines__of_the_last_flat_version_have_the_key_of_todays_cell(
    suite: str, dataset: str, method: str, flat: dict[str, Any]
) -> None:
    request = make_request(suite, [dataset], [method], "default", {}, None, None)
    for seed in (0, 1):
        cell = request.plan(dataset, method, seed)
        protocol, metric = cell.cases[0]
        line = {
            "suite": suite,
            "dataset": dataset,
            "method": method,
            "recipe": "default",
            "seed": seed,
            "protocol": protocol,
            "metric": metric,
            "config": {**FLAT, **flat, "random_state": seed},
        }
        assert line_key(line) in cell.lines()
        assert (
            line_key({**line, "config": {**line["config"], "lr": 0.5}})
            not in cell.lines()
        )


@pytest.mark.parametrize("changes", [{}, {"epochs": 0}])
def test_lines__of_a_baseline_have_the_key_of_todays_cell(
    changes: dict[str, Any],
) -> None:
    method = "random-cca-ssg" if changes else "cca-ssg"
    request = make_request("nodes", ["cora"], [method], "default", {}, None, None)
    cell = request.plan("cora", method, 0)
    line = {
        "suite": "nodes",
        "dataset": "cora",
        "method": method,
        "recipe": "default",
        "seed": 0,
        "protocol": "5/15/80",
        "metric": "accuracy",
        "config": {**FLAT_CCA, **changes},
    }
    assert line_key(line) in cell.lines()
    assert (
        line_key({**line, "config": {**FLAT_CCA, **changes, "weight_decay": 0.1}})
        not in cell.lines()
    )


def test_lines__of_today_are_left_as_they_are() -> None:
    for name, system in SYSTEMS.items():
        if system.method:
            config = system.parameters("node")
            assert not is_flat(system.method, config)
            found = config_of({"method": name, "dataset": "cora", "config": config})
            changed = {key for key, value in found.items() if config[key] != value}
            has_floor = system.method != "dsgrl" or config["floor"]
            assert changed == (set() if has_floor else {"lr", "readout"})
            again = system.restore(found, "node").resolved(typical_spec("node"))
            assert again == system.restore(config, "node").resolved(
                typical_spec("node")
            )


OLD_RECIPE = """
# As before views were components.
augment = "topology"
topology = "learned"
augment_channels = 64
similarity = "inner"
edges_per_node = "none"
orthogonality_weight = 0.5
norm = "none"
scaling = "none"
edge_drop = 0.25
epochs = "auto"
max_epochs = 30
tolerance = 0.5
refresh = 2
"""
NEW_RECIPE = """
norm = "none"
scaling = "none"
[views]
kind = "learned_graph"
augment_channels = 64
similarity = "inner"
edges_per_node = "none"
edge_drop = 0.25
refresh = 2
[epochs]
kind = "auto"
max_epochs = 30
tolerance = 0.5
"""


@pytest.mark.parametrize(
    "method", ["dsgrl", "dsgrl-topology", "topology-random", "random-t"]
)
def test_recipe__of_the_older_form_gives_the_same_configuration(
    tmp_path: Path, method: str
) -> None:
    system, found = SYSTEMS[method], []
    for text in (OLD_RECIPE, NEW_RECIPE):
        path = tmp_path / "own.toml"
        path.write_text(text)
        config = system.configure(load_recipe(path, method, "node"), "node")
        found.append(system.complete(config, "node"))
    assert found[0] == found[1]
    assert found[0]["views__edge_drop"] == 0.25
    assert found[0]["views__edges_per_node"] is None


def test_recipe__of_the_older_form_may_leave_the_views_to_the_system(
    tmp_path: Path,
) -> None:
    path = tmp_path / "own.toml"
    path.write_text("augment_channels = 64\nedges_per_node = 8\nlr = 0.5")
    features = load_recipe(path, "dsgrl-feature", "node")
    assert features == {"views__augment_channels": 64, "lr": 0.5}
    alone = load_recipe(path, "topology-none", "node")
    assert alone == {"lr": 0.5}
    two_steps = load_recipe(path, "topology-two-hop", "hetero")
    assert two_steps == {"views__edges_per_node": 8, "lr": 0.5}


def test_upgrade__views_that_are_gone_are_refused() -> None:
    with pytest.raises(InputError, match="augment='both' with topology='random'"):
        upgrade("dsgrl", {"augment": "both", "topology": "random"}, "node")


def test_upgrade__a_second_graph_that_is_named_is_taken() -> None:
    found = upgrade("dsgrl", {"topology": "none", "edges_per_node": 4}, "node")
    assert found == {"views": "node_alone"}
    found = upgrade("dsgrl", {"topology": "learned", "edges_per_node": 4}, "node")
    assert found == {"augment": "topology", "views__edges_per_node": 4}


@pytest.mark.parametrize(
    ("level", "refresh"), [("node", 20), ("hetero", 20), ("graph", "auto")]
)
def test_upgrade__refresh_had_no_effect_on_many_graphs(
    level: Level, refresh: object
) -> None:
    flat = {**FLAT, "augment": "topology", "refresh": 20}
    for is_complete in (False, True):
        found = upgrade("dsgrl", flat, level, is_complete=is_complete)
        assert found["views__refresh"] == refresh


def test_lines__of_the_papers_recipes_match_todays_cells() -> None:
    """Nothing is left open in them, so that no default has changed them."""
    matching = 0
    for line in recorded_lines():
        if line["recipe"] == "paper" and line["suite"] in SUITES:
            names = ([line["dataset"]], [line["method"]])
            request = make_request(line["suite"], *names, "paper", {}, None, None)
            cell = request.plan(line["dataset"], line["method"], line["seed"])
            assert line_key(line) in cell.lines(), line
            matching += 1
    assert matching > 60
