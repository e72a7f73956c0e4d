"""Every example of the documents runs."""

import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from dsgrl.bench.lines import read_lines
from loading import load_script

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "studies/pages").glob("*.md"),
]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_readme__python_examples_run_in_order(tmp_path: Path) -> None:
    code = "\n".join(blocks("python"))
    assert code.count("DSGRL") > 3
    # The same words with little training: what is tested is that they run.
    code = code.replace("random_state=0", "random_state=0, epochs=3")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d\d\.\d \+- \d\.\d", done.stdout)


def write_tables(folder: Path, prefix: str, first: int) -> None:
    nodes = [f"n{first + i}" for i in range(30)]
    rows = [f"{n},{i % 3},{i * 0.5},{'ab'[i % 2]}" for i, n in enumerate(nodes)]
    (folder / f"{prefix}nodes.csv").write_text("id,age,size,label\n" + "\n".join(rows))
    edges = [f"{n},{nodes[(i * 7 + 1) % 30]}" for i, n in enumerate(nodes)]
    (folder / f"{prefix}edges.csv").write_text("source,target\n" + "\n".join(edges))


@pytest.mark.slow
def test_readme__command_lines_run(tmp_path: Path) -> None:
    write_tables(tmp_path, "", 0)
    write_tables(tmp_path, "new_", 100)
    lines = [
        line
        for block in blocks("bash")
        for line in block.splitlines()
        if line.startswith("dsgrl ")
    ]
    assert [line.split()[1] for line in lines] == ["embed", "transform"]
    for line in lines:
        extra = ["--epochs", "3"] if " embed " in line else []
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(line), *extra],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert {"z.parquet", "new.parquet", "model"} <= {p.name for p in tmp_path.iterdir()}


def test_readme__make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {
        target
        for document in DOCUMENTS
        for target in re.findall(r"^make (\w+)", document.read_text(), re.MULTILINE)
    }
    assert {"demo", "test", "check"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents__links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / link).exists(), link


def test_paper_map__names_things_that_exist() -> None:
    text = (ROOT / "docs/PAPER_MAP.md").read_text()
    places = re.findall(r"`([\w/]+\.py)::([\w.]+)`", text)
    assert len(places) > 10
    for file, name in places:
        source = (ROOT / "src/dsgrl" / file).read_text()
        for part in name.split("."):
            assert re.search(rf"(class|def) {part}\b", source), f"{file}::{name}"


def test_paper_map__has_every_equation() -> None:
    text = (ROOT / "docs/PAPER_MAP.md").read_text()
    assert all(f"| Eq. {number}," in text for number in range(1, 8))


def test_readme__numbers_are_those_of_the_recorded_runs() -> None:
    assert load_script("readme").fill(README) == README


def test_results__are_those_of_the_recorded_runs() -> None:
    assert (ROOT / "docs/RESULTS.md").read_text() == load_script("results").render()


def test_scaling__is_reckoned_with_the_recorded_constants() -> None:
    page = (ROOT / "docs/SCALING.md").read_text()
    assert page == load_script("scaling_constants").render()
    assert "| 10^10 | 8 |" in page


def test_scaling__shows_the_recorded_estimates() -> None:
    page = (ROOT / "docs/SCALING.md").read_text()
    assert page == load_script("estimate_check").render()
    assert "| generated | floor |" in page


def test_estimates__are_near_what_was_measured() -> None:
    lines = load_script("estimate_check").read()
    assert {line["way"] for line in lines} == {"floor", "full", "parts"}
    # Known to be too high, and docs/SCALING.md says so.
    missed = {("generated", "--augment topology --epochs 3"): 1.3}
    for line in lines:
        low, high = line["estimated_seconds"]
        most = missed.get((line["graph"], line["options"]), 1.25)
        assert 0.75 <= line["estimated_mb"] / line["peak_mb"] <= most, line
        assert low / 2 <= line["seconds"] <= 2 * high, line


def test_fidelity__is_that_of_the_recorded_runs() -> None:
    page = (ROOT / "docs/FIDELITY.md").read_text()
    assert page == load_script("fidelity").render()
    assert "| public | dgi | cora | 82.3 |" in page


def test_speed__page_and_picture_are_those_of_the_recorded_runs() -> None:
    script = load_script("method_speed")
    lines, scores = script.read()
    assert script.PAGE.read_text() == script.render(lines, scores)
    drawn = script.draw(script.complete(lines, scores))
    assert script.PICTURE.read_text() == drawn


def test_choices__are_those_of_the_recorded_runs() -> None:
    script = load_script("choices")
    page = script.PAGE.read_text()
    assert page == script.fill(page)
    assert "* Whole graphs: `dsgrl` is ahead of `histograms`" in page


# Where judging took longer than training: on small sets at half the width, which halves
# the training and not the judging, and on IMDB-M with two seeds of three.
DEAR = {
    ("enzymes", "dsgrl-feature", "default, out_channels=64", 0),
    ("enzymes", "dsgrl-feature", "tuned, out_channels=64", 0),
    ("imdb-m", "dsgrl-feature", "tuned, out_channels=64", 0),
    ("imdb-m", "dsgrl-feature", "tuned", 1),
    ("imdb-m", "dsgrl-feature", "tuned", 2),
}


@pytest.mark.parametrize("suite", ["nodes", "graphs", "hetero"])
def test_results__the_probe_cost_no_more_than_the_training(suite: str) -> None:
    lines = read_lines([ROOT / "results" / f"{suite}.jsonl"])
    trained = [line for line in lines if line["method"].startswith("dsgrl-")]
    assert len(trained) > 20
    dear = {
        (line["dataset"], line["method"], line["recipe"], line["seed"])
        for line in trained
        if line["probe_seconds"] > line["fit_seconds"]
    }
    assert dear == (DEAR if suite == "graphs" else set())


NODE_SETS = ("cs", "photo", "github", "deezer", "dblp", "cora", "citeseer", "debian")
# What tuned recipes have to reach: the paper's best, or what was within sight of our
# first sketches.
REACH = {
    ("cs", "5/15/80"): 92.9,
    ("photo", "5/15/80"): 91.8,
    ("imdb", "imdb-20"): 53.1,
    ("imdb", "imdb-40"): 54.9,
    ("imdb", "imdb-60"): 56.3,
    ("dd", "folds"): 78.0,
    ("nci1", "folds"): 75.2,
    ("proteins", "folds"): 75.6,
    ("enzymes", "folds"): 60.0,
    ("imdb-b", "folds"): 72.0,
    ("imdb-m", "folds"): 50.3,
    ("reddit-b", "folds"): 82.0,
    ("collab", "folds"): 72.0,
}
# Tuned before ties were mended; docs/RESULTS.md says so.
MISSED = {("imdb-b", "folds")}


def recorded(method: str, recipe: str) -> dict[str, float]:
    lines = read_lines([ROOT / "results" / "nodes.jsonl"])
    return {
        line["dataset"]: line["mean"]
        for line in lines
        if (line["method"], line["recipe"], line["seed"]) == (method, recipe, 0)
    }


@pytest.mark.parametrize(
    ("recipe", "least"), [("default", 1.0), ("default, out_channels=64", 3.0)]
)
def test_results__what_is_learned_is_worth_its_training(
    recipe: str, least: float
) -> None:
    trained = recorded("topology-none", recipe)
    # Its own untrained model, and the often stronger one of learned features.
    for control in ("random-none", "random-f"):
        before = recorded(control, recipe)
        gains = {name: trained[name] - before[name] for name in NODE_SETS}
        assert min(gains.values()) > -0.3, gains
        assert statistics.mean(gains.values()) >= least, gains


def test_results__the_default_is_ahead_of_tuned_cca_ssg() -> None:
    theirs = recorded("cca-ssg", "tuned")
    for method, least in (("topology-none", 4), ("dsgrl", 6)):
        ours = recorded(method, "default")
        gaps = {name: ours[name] - theirs[name] for name in NODE_SETS}
        assert min(gaps.values()) > -0.5, gaps
        assert sum(gap > 0 for gap in gaps.values()) >= least, gaps
        assert ours["debian"] >= 77


def test_results__the_default_is_never_behind_what_needs_no_training() -> None:
    ours, hops, raw = (recorded(name, "default") for name in ("dsgrl", "hops", "raw"))
    assert len(ours) == 14
    # Raw features of Physics have not been recorded.
    assert len(raw.keys() & ours.keys()) >= 12
    best = {name: max(hops[name], raw.get(name, 0.0)) for name in ours}
    behind = {name: ours[name] - best[name] for name in ours}
    assert min(behind.values()) >= -0.5, behind
    assert statistics.mean(ours[name] - hops[name] for name in ours) >= 1.0


# By how much at most; docs/RESULTS.md says so.
BEHIND_ON_GRAPHS = {"imdb-b": 1.4, "nci1": 0.6}


def test_results__the_default_of_graphs_is_near_what_needs_no_training() -> None:
    found: dict[str, dict[str, float]] = {}
    for line in read_lines([ROOT / "results" / "graphs.jsonl"]):
        if line["recipe"] == "default" and line["seed"] == 0:
            found.setdefault(line["dataset"], {})[line["method"]] = line["mean"]
    controls = ("histograms", "random-dsgrl")
    rows = {name: row for name, row in found.items() if "random-dsgrl" in row}
    assert len(rows) == 9
    behind = {
        name: max(row[control] for control in controls) - row["dsgrl"]
        for name, row in rows.items()
    }
    missed = {name: gap for name, gap in behind.items() if gap > 0.5}
    assert missed.keys() == BEHIND_ON_GRAPHS.keys()
    assert all(gap < BEHIND_ON_GRAPHS[name] for name, gap in missed.items())


def test_results__tuned_recipes_reach_what_was_asked() -> None:
    files = ("nodes.jsonl", "graphs.jsonl", "hetero.jsonl")
    found: dict[tuple[str, str], dict[str, dict[int, tuple[float, float]]]] = {}
    for line in read_lines([ROOT / "results" / name for name in files]):
        is_ours = line["method"].startswith(("dsgrl-", "topology-"))
        if is_ours and line["recipe"] == "tuned" and line["metric"] != "micro_f1":
            scores = found.setdefault((line["dataset"], line["protocol"]), {})
            pair = (line["val_mean"], line["mean"])
            scores.setdefault(line["method"], {})[line["seed"]] = pair
    missed = set()
    for key, least in REACH.items():
        # Validation rows choose among ours; the folds or test rows only judge.
        _, reached = max(
            tuple(map(statistics.mean, zip(*seeds.values(), strict=True)))
            for seeds in found[key].values()
        )
        if reached < least:
            missed.add(key)
    assert missed == MISSED


def anchors() -> dict[tuple[bool, str], dict[str, float]]:
    found: dict[tuple[bool, str], dict[str, float]] = {}
    for line in read_lines([ROOT / "results" / "anchors.jsonl"]):
        scores = found.setdefault((line["features"], line["method"]), {})
        scores[line["dataset"]] = line["mean"]
    return found


def test_anchors__the_default_is_ahead_of_cca_ssg_and_never_behind_the_floor() -> None:
    found = anchors()
    ours, theirs = found[True, "dsgrl"], found[True, "cca-ssg"]
    assert len(ours) == 14
    floor = {name: max(found[True, k][name] for k in ("raw", "hops")) for name in ours}
    assert min(ours[name] - floor[name] for name in ours) >= -0.5
    assert sum(ours[name] > theirs[name] for name in ours) >= 11


def test_anchors__edges_only_is_ahead_of_node2vec() -> None:
    found = anchors()
    ours, walks, theirs = (found[False, k] for k in ("dsgrl", "walks", "node2vec"))
    assert len(ours) == 14
    behind = {n: ours[n] - max(walks[n], theirs[n]) for n in ours}
    assert min(behind.values()) >= -0.5, behind
    assert statistics.mean(ours[n] - theirs[n] for n in ours) >= 1.0
