import json
import logging
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dsgrl
from dsgrl.bench.recipes import read_recipe
from dsgrl.cli import app, main
from dsgrl.datasets.files import read_graph
from dsgrl.datasets.table import DATASETS
from dsgrl.estimator import DSGRL

COMMANDS = [c.name or c.callback.__name__ for c in app.registered_commands]
NUM_NODES = 40
# From the highest to the lowest, so that a sorted copy is noticed.
IDS = [f"node-{i:02d}" for i in reversed(range(NUM_NODES))]
EMBED = "embed edges.csv --nodes nodes.csv --epochs 3 --dim 8"
TRANSFORM = "transform edges.csv --nodes nodes.csv"
EDGES = "source,target\na,b\nb,c\n"
NODES = "id,f0,f1\na,1,2\nb,3,4\nc,5,7\n"

# By case: the table of edges, the table of nodes, and what the message must name.
BAD_TABLES: dict[str, tuple[str | bytes, str | bytes, list[str]]] = {
    "no target": ("a,b,c\na,b,c\n", NODES, ["edges.csv", "--source", "a, b, c"]),
    "target twice": ("source,target,target\na,b,c\n", NODES, ["edges.csv", "target"]),
    "wrong id": (EDGES, "name,f0\na,1\n", ["edges.csv", "'b'", "in 'name'"]),
    "unknown node": (EDGES + "c,ghost\n", NODES, ["edges.csv", "row 3", "'ghost'"]),
    "id twice": (EDGES, NODES + "b,1,1\n", ["nodes.csv", "'b'", "2 times"]),
    "empty": ("source,target\n", "id\n", ["empty"]),
    "empty with a feature": ("source,target\n", "id,f0\n", ["empty"]),
    "empty file": ("", NODES, ["edges.csv", "is empty"]),
    "one node": ("source,target\n", "id,f0\na,1\n", ["one node"]),
    "weight": ("source,target,weight\na,b,-2\n", NODES, ["edges.csv", "row 1", "-2"]),
    "odd id": (b"source,target\nM\x81,b\n", NODES, ["edges.csv", "UTF-8"]),
    "odd label": (EDGES, b"id,label\na,\x81\nb,\nc,\n", ["nodes.csv", "UTF-8"]),
    "ragged": (EDGES + "a,b,c,d\n", NODES, ["edges.csv", "cannot be read"]),
}
# By command line: what the message must name.
BAD_WORDS: dict[str, list[str]] = {
    "embde": ["embde", "--help"],
    "embed edges.csv": ["--out"],
    "embed gone.csv -o z.npy": ["gone.csv", "no such file"],
    "embed edges.csv --nodes gone.csv -o z.npy": ["gone.csv", "no such file"],
    "embed header.csv -o z.npy": ["empty"],
    "embed debain -o z.npy": ["'debain'", "'debian'"],
    f"{EMBED} -o z.txt": ["z.txt", ".parquet", ".csv"],
    f"{EMBED} -o header.csv/z.npy": ["header.csv", "cannot be written"],
    f"{EMBED} -o z.npy --model header.csv/m": ["header.csv", "cannot be written"],
    f"{EMBED} -o z.npy --model header.csv": ["header.csv", "is a file"],
    f"{EMBED} -o z.npy --epoch 3": ["--epoch", "--epochs"],
    f"{EMBED} -o z.npy --qqqq": ["--qqqq", "--help"],
    f"{EMBED} -o z.npy --dim 7": ["--dim 7", "even"],
    f"{EMBED} -o z.npy --dim wide": ["--dim", "integer"],
    f"{EMBED} -o z.npy --epochs -1": ["--epochs", "-1"],
    f"{EMBED} -o z.npy --epochs ²": ["--epochs", "²"],
    f"{EMBED} -o z.npy --encoder mlp": ["mlp", "gcn", "gin"],
    f"{EMBED} -o z.npy --lr nan": ["lr", "nan"],
    f"{EMBED} -o z.npy --device toaster": ["device", "toaster"],
    f"{EMBED} -o z.npy --device cuda:99": ["device", "cuda:99"],
    f"{EMBED} -o z.npy --seed {10**30}": [],
    f"{TRANSFORM} -o z.npy --model gone": ["gone", "no saved model"],
    f"{TRANSFORM} -o z.npy --model plain": ["trained without", "this graph is with"],
    "transform edges.csv -o z.npy --model model": ["trained with", "is without"],
}


class Result(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[[str], Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, as it would run in its own."""

    def call(words: str) -> Result:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            # Without pytest's handlers, so that warnings go to stderr as for users.
            patch.setattr(logging.root, "handlers", [])
            patch.setattr(sys, "argv", ["dsgrl", *words.split()])
            with pytest.raises(SystemExit) as caught:
                main()
        return Result(caught.value.code, *capsys.readouterr())

    return call


def run_process(words: str, *, file_limit: int | None = None) -> Result:
    """Run the real command, with files limited to so many bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    done = subprocess.run(
        [sys.executable, "-m", "dsgrl", *words.split()],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=limit if file_limit else None,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_nodes(path: Path, columns: str) -> None:
    x = np.random.default_rng(0).normal(size=(NUM_NODES, len(columns.split(","))))
    rows = (",".join([i, *map(str, row)]) for i, row in zip(IDS, x, strict=True))
    write(path, "\n".join([f"id,{columns}", *rows]) + "\n")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a graph and two models: one with its features, one of its edges alone."""
    folder = tmp_path_factory.mktemp("prepared")
    pairs = [(i, (i + step) % NUM_NODES) for i in range(NUM_NODES) for step in (1, 7)]
    edges, nodes = folder / "edges.csv", folder / "nodes.csv"
    write(edges, "source,target\n" + "".join(f"{IDS[i]},{IDS[j]}\n" for i, j in pairs))
    write(folder / "header.csv", "source,target\n")
    write_nodes(nodes, "u,v,w")
    model = DSGRL(epochs=1, out_channels=4)
    model.fit(read_graph(edges, nodes)).save(folder / "model")
    model.fit(read_graph(edges)).save(folder / "plain")
    return folder


@pytest.fixture
def here(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of what was prepared, as the current folder."""
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    return folder


def read_embeddings(path: Path) -> tuple[list[Any], np.ndarray]:
    table = pyarrow.parquet.read_table(path)
    return table["id"].to_pylist(), np.array(table["embedding"].to_pylist())


def assert_refused(result: Result, *parts: str) -> None:
    """One line says what is wrong; a summary of what was read may come before it."""
    assert result.code == 2
    assert result.out == ""
    line = result.err.splitlines()[-1]
    assert other_lines(result.err) == [line], result.err
    assert line.startswith("dsgrl: error: ")
    for part in parts:
        assert part in line


def other_lines(err: str) -> list[str]:
    """Return the lines that are not of the summary of what was read."""
    summary = ("read ", "features: ", "labels: ", "types of nodes: ", "relations: ")
    starts = tuple(f"dsgrl: {word}" for word in summary)
    return [line for line in err.splitlines() if not line.startswith(starts)]


@pytest.mark.parametrize("command", COMMANDS)
def test_help__has_an_example(run: Run, command: str) -> None:
    result = run(f"{command} --help")
    assert result.code == 0
    assert f"Example: dsgrl {command}" in " ".join(result.out.split())


@pytest.mark.parametrize("words", ["", "--help"])
def test_help__of_the_whole_names_every_command(run: Run, words: str) -> None:
    result = run(words)
    assert result.code == 0
    assert "Example" in result.out
    assert set(COMMANDS) <= set(result.out.split())


def test_version__as_a_process() -> None:
    assert run_process("--version") == Result(0, f"dsgrl {dsgrl.__version__}\n", "")


def test_list__names_every_dataset(run: Run) -> None:
    result = run("list --data some/folder")
    assert result.code == 0
    firsts = [line.split()[0] for line in result.out.splitlines() if line.strip()]
    assert [name for name in firsts if name in DATASETS] == list(DATASETS)
    assert "some/folder" in result.out


@pytest.mark.slow
def test_embed__as_a_process_then_transform(run: Run, here: Path) -> None:
    made = run_process(f"{EMBED} -o a.parquet --model new")
    assert (made.code, other_lines(made.err)) == (0, [])
    again = run(f"{TRANSFORM} -o b.parquet --model new")
    assert (again.code, other_lines(again.err)) == (0, [])
    assert again.err == made.err
    ids, z = read_embeddings(here / "a.parquet")
    same_ids, same_z = read_embeddings(here / "b.parquet")
    assert ids == same_ids == IDS
    assert z.shape == (NUM_NODES, 8)
    assert np.isfinite(z).all()
    np.testing.assert_allclose(same_z, z, rtol=1e-5, atol=1e-6)


def test_embed__output_is_named_as_it_is(run: Run, here: Path) -> None:
    result = run(f"{EMBED} -o z[best].npy")
    assert result.code == 0
    assert (here / "z[best].npy").is_file()
    assert "z[best].npy" in result.out


@pytest.mark.slow
def test_embed__no_edges_is_a_warning(here: Path) -> None:
    result = run_process(f"{EMBED} -o z.parquet".replace("edges.csv", "header.csv"))
    assert result.code == 0
    assert "no edges" in result.err
    ids, z = read_embeddings(here / "z.parquet")
    assert ids == IDS
    assert np.isfinite(z).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_embed__full_disk_keeps_the_old_file(here: Path) -> None:
    write(here / "z.parquet", "an older result")
    before = sorted(here.iterdir())
    result = run_process(f"{EMBED} -o z.parquet --dim 256", file_limit=4096)
    assert_refused(result, "z.parquet", "disk is full")
    assert (here / "z.parquet").read_bytes() == b"an older result"
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("case", BAD_TABLES)
def test_embed__bad_tables(run: Run, here: Path, case: str) -> None:
    edges, nodes, parts = BAD_TABLES[case]
    write(here / "edges.csv", edges)
    write(here / "nodes.csv", nodes)
    assert_refused(run(f"{EMBED} -o z.npy"), *parts)
    assert not (here / "z.npy").exists()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_embed__truncated_parquet(run: Run, here: Path, share: float) -> None:
    path = here / "edges.parquet"
    pyarrow.parquet.write_table(pa.table({"source": IDS, "target": IDS}), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert_refused(run("embed edges.parquet -o z.npy"), "edges.parquet", "truncated")


@pytest.mark.parametrize("words", BAD_WORDS)
def test_command_line__bad_words(run: Run, here: Path, words: str) -> None:
    before = sorted(here.rglob("*"))
    assert_refused(run(words), *BAD_WORDS[words])
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("columns", ["u,v", "u,v,x"])
def test_transform__missing_column(run: Run, here: Path, columns: str) -> None:
    write_nodes(here / "nodes.csv", columns)
    result = run(f"{TRANSFORM} -o z.npy --model model")
    assert_refused(result, "nodes.csv", "no column w")


def test_transform__a_new_column_is_left_out(run: Run, here: Path) -> None:
    assert run(f"{TRANSFORM} -o before.npy --model model").code == 0
    lines = (here / "nodes.csv").read_text().splitlines()
    more = [f"{line},{'new' if i == 0 else i}" for i, line in enumerate(lines)]
    (here / "nodes.csv").write_text("\n".join(more) + "\n")
    result = run(f"{TRANSFORM} -o after.npy --model model")
    assert result.code == 0
    assert "left out new" in result.err
    np.testing.assert_array_equal(
        np.load(here / "after.npy"), np.load(here / "before.npy")
    )


def test_transform__other_count_of_nameless_columns(run: Run, here: Path) -> None:
    np.savez(here / "g.npz", edge_index=np.array([[0], [1]]), x=np.ones((2, 5)))
    result = run("transform g.npz -o z.npy --model model")
    assert_refused(result, "5 feature columns", "trained on 3")


def set_format(path: Path, number: int) -> None:
    write(path, json.dumps({**json.loads(path.read_text()), "format": number}))


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda model: write(model / "config.json", "{garbage"), "is broken"),
        (lambda model: write(model / "config.json", '{"format": 4}'), "is broken"),
        (lambda model: os.truncate(model / "model.safetensors", 999), "is broken"),
        (lambda model: (model / "model.safetensors").unlink(), "is broken"),
        (lambda model: set_format(model / "config.json", 999), "newer dsgrl"),
        (lambda model: set_format(model / "config.json", 1), "older dsgrl"),
    ],
    ids=["garbage", "no parameters", "truncated", "no weights", "newer", "older"],
)
def test_transform__broken_model(
    run: Run, here: Path, damage: Callable[[Path], Any], part: str
) -> None:
    damage(here / "model")
    assert_refused(run(f"{TRANSFORM} -o z.npy --model model"), "model: ", part)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("bench scale --methods cca-ssg", "--methods"),
        ("bench scale --recipe paper", "--recipe"),
        ("bench speed --set lr=0.1", "--set"),
        ("bench scale --seeds 1,2", "--seeds"),
        ("bench nodes --repeats 11", "--repeats"),
    ],
)
def test_bench__an_option_that_would_do_nothing_is_refused(
    run: Run, words: str, option: str
) -> None:
    result = run(words)
    assert result.code == 2
    assert f"{option} has no meaning for suite '{words.split()[1]}'" in result.err
    assert result.out == ""


METHODS_TRIED = ["dsgrl", "dsgrl-topology", "topology-none", "cca-ssg", "dgi"]


@pytest.mark.parametrize("method", METHODS_TRIED)
def test_embed__any_method_with_model_and_transform(
    run: Run, here: Path, method: str
) -> None:
    words = f"embed edges.csv --nodes nodes.csv --method {method} --epochs 2 --dim 6"
    result = run(f"{words} -o own.npy --model own")
    assert result.code == 0, result.err
    assert np.load(here / "own.npy").shape == (NUM_NODES, 6)
    assert run(f"{TRANSFORM} -o again.npy --model own").code == 0
    np.testing.assert_array_equal(
        np.load(here / "again.npy"), np.load(here / "own.npy")
    )


def read_config(here: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((here / "own/config.json").read_text())
    return found["resolved"]


def test_embed__options_override_settings_which_override_the_recipe(
    run: Run, here: Path
) -> None:
    (here / "own.toml").write_text(
        "lr = 0.5\nout_channels = 3\nepochs = 1\n"
        '[views]\nkind = "learned_graph"\nedges_per_node = 4\nrefresh = 2\n'
    )
    words = "embed edges.csv --nodes nodes.csv --recipe own.toml --set lr=0.25"
    words += " --set views.refresh=3 --set out_channels=2 --dim 8 -o z.npy --model own"
    result = run(words)
    assert result.code == 0, result.err
    found = read_config(here)
    assert (found["views"], found["views__edges_per_node"]) == ("learned_graph", 4)
    assert (found["lr"], found["views__refresh"], found["out_channels"]) == (0.25, 3, 4)


def test_embed__a_recipe_by_name(run: Run, here: Path) -> None:
    words = "embed edges.csv --nodes nodes.csv --recipe tuned/cca-ssg/cora"
    words += " --method cca-ssg --epochs 1 -o z.npy --model own"
    result = run(words)
    assert result.code == 0, result.err
    recipe = read_recipe("tuned/cca-ssg/cora")
    assert len(recipe) > 3
    found = read_config(here)
    assert {k: found[k] for k in recipe if k != "epochs"} == {
        k: v for k, v in recipe.items() if k != "epochs"
    }


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("--method cca-sg", ["unknown method 'cca-sg'", "did you mean 'cca-ssg'"]),
        ("--method random-f", ["unknown method 'random-f'"]),
        ("--method raw", ["unknown method 'raw'"]),
        ("--set learning=1", ["unknown key 'learning'"]),
        ("--set views.edge_drap=1", ["edge_drap", "edge_drop"]),
        ("--set views.refresh=1", ["views__refresh", "NodeAlone"]),
        ("--method dgi --augment feature", ["unknown key 'augment'", "dgi"]),
        ("--method dsgrl-both --augment feature", ["dsgrl-both' fixes it"]),
        ("--method cca-ssg --views v", ["has no views"]),
        ("--recipe gone.toml", ["no recipe 'gone.toml'"]),
        ("--recipe tuned/cca-ssg/cora", ["is for cca-ssg"]),
        ("--set lr", ["expected key=value"]),
        ("--lr 0", ["lr=0", "above 0"]),
    ],
)
def test_embed__bad_words_about_the_method(
    run: Run, here: Path, words: str, parts: list[str]
) -> None:
    result = run(f"embed edges.csv --nodes nodes.csv -o own.npy {words}")
    assert_refused(result, *parts)
    assert not (here / "own.npy").exists()


def test_bench__an_option_given_twice_counts_twice(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--datasets a --datasets b` took b alone."""
    asked: list[Any] = []

    def run_suite(suite: str, **options: Any) -> Any:
        asked.append([options[name] for name in ("datasets", "methods", "seeds")])
        return iter(())

    monkeypatch.setattr("dsgrl.bench.runner.run_suite", run_suite)
    words = (
        "bench nodes --datasets cora --datasets photo,cs --methods raw --methods dgi"
    )
    assert run(f"{words} --seeds 1 --seeds 2,3").code == 0
    assert asked == [[["cora", "photo", "cs"], ["raw", "dgi"], [1, 2, 3]]]
