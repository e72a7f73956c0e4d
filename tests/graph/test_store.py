"""Opening a stored graph: nothing is copied, damage is refused, models accept it."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from dsgrl import DSGRL
from dsgrl.datasets import read_graph
from dsgrl.datasets.known import plans_of
from dsgrl.datasets.rows import collect_rows
from dsgrl.graph import as_graph, propagate
from dsgrl.graph.store import StoredGraph
from dsgrl.io.tables import as_lists
from dsgrl.typing import InputError
from store_cases import assert_same_graph, store


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    names = np.array([f"n{i}" for i in range(80)])
    ends = names[rng.integers(80, size=(2, 300))]
    edges = pa.table({"source": ends[0], "target": ends[1]})
    nodes = pa.table(
        {
            "id": names,
            "size": rng.normal(size=80),
            "city": rng.choice(["a", "b", "c"], 80),
            "label": rng.choice(["x", "y"], 80),
        }
    )
    for name, table in (("e", edges), ("n", nodes)):
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    return folder / "e.parquet", folder / "n.parquet"


@pytest.fixture
def folder(tables: tuple[Path, Path], tmp_path: Path) -> Path:
    store(*tables, tmp_path / "g")
    return tmp_path / "g"


def test_open__shares_the_pages_of_the_files(folder: Path) -> None:
    before = Path("/proc/self/maps").read_text()
    stored = StoredGraph.open(folder)
    graph = as_graph(stored)
    now = Path("/proc/self/maps").read_text().splitlines()
    for name in ("rowptr.npy", "col.npy", "features.npy"):
        path = str(folder / name)
        assert path not in before
        lines = [line for line in now if line.endswith(path)]
        assert lines
        # Shared with other processes, and never written to.
        assert {line.split()[1] for line in lines} == {"r--s"}
    assert graph.adjacency is stored.adjacency
    assert graph.x is stored.features
    # One number in memory stands for all weights.
    assert graph.adjacency.value.untyped_storage().nbytes() == 4


def test_open__warns_of_nothing(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stored = StoredGraph.open(folder)
        assert as_graph(stored).num_nodes == 80
        assert stored.x is not None


def test_weights_of_one__multiply_as_any_other(folder: Path) -> None:
    adjacency = StoredGraph.open(folder).adjacency
    h = torch.randn(80, 3, requires_grad=True)
    plain = adjacency.with_value(torch.ones(adjacency.num_edges))
    assert torch.equal(propagate(adjacency, h), propagate(plain, h))
    for kind in ("gcn", "mean", "sum", "loops"):
        ours, theirs = adjacency.normalized(kind), plain.normalized(kind)
        assert torch.equal(ours.value, theirs.value)
        one, other = propagate(ours, h), propagate(theirs, h)
        assert torch.equal(one, other)
        (gradient,) = torch.autograd.grad(one.square().sum(), h)
        (wanted,) = torch.autograd.grad(other.square().sum(), h)
        assert torch.equal(gradient, wanted)


@pytest.mark.parametrize("augment", ["feature", "both", None])
def test_fit__equals_that_of_the_tables(
    tables: tuple[Path, Path], folder: Path, augment: Any
) -> None:
    data, stored = read_graph(*tables), read_graph(folder)
    options: dict[str, Any] = {"epochs": 2, "out_channels": 8, "random_state": 0}
    if augment is not None:
        options["augment"] = augment
    z = DSGRL(**options).fit_transform(data)
    model = DSGRL(**options).fit(stored)
    again = model.transform(stored)
    assert (z == again).all()
    rows, others = collect_rows(data, z), collect_rows(stored, again)
    assert rows.ids == others.ids
    assert rows.labels == others.labels


def test_epochs_auto__equals_that_of_the_tables(
    tables: tuple[Path, Path], folder: Path
) -> None:
    model = DSGRL(out_channels=8, random_state=0)
    first = model.fit_transform(read_graph(*tables))
    assert (first == model.fit_transform(read_graph(folder))).all()


def test_transform__with_the_plan_of_a_model(
    tables: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    """Other tables are stored as the model's own; else they are refused."""
    model = DSGRL(epochs=1, out_channels=8, random_state=0).fit(read_graph(folder))
    nodes = pyarrow.parquet.read_table(tables[1])
    size = pa.array(np.asarray(nodes["size"]) * 3 + 1)
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(nodes.set_column(1, "size", size), other)
    store(tables[0], other, tmp_path / "own")
    with pytest.raises(InputError, match="store it with --model"):
        model.transform(read_graph(tmp_path / "own"))
    plan = (plans_of(model) or {})["node"]
    store(tables[0], other, tmp_path / "like", plan=plan)
    data = read_graph(tables[0], other, like=model)
    stored = read_graph(tmp_path / "like", like=model)
    assert_same_graph(data, stored)
    assert (model.transform(data) == model.transform(stored)).all()


def test_plan__of_a_model_misses_a_column(
    tables: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    plan = StoredGraph.open(folder).column_plan
    nodes = pyarrow.parquet.read_table(tables[1]).drop_columns("city")
    pyarrow.parquet.write_table(nodes, tmp_path / "n.parquet")
    for path in (tmp_path / "n.parquet", None):
        with pytest.raises(InputError, match=r"has no column .*city"):
            store(tables[0], path, tmp_path / "h", plan=plan)


def test_read_graph__like_stored_data(tables: tuple[Path, Path], folder: Path) -> None:
    data = read_graph(*tables, like=read_graph(folder))
    assert data.column_plan == StoredGraph.open(folder).column_plan


@pytest.mark.parametrize(
    "options",
    [
        {"nodes": "n.csv"},
        {"directed": True},
        {"features": ["size"]},
        {"columns": {"weight": "w"}},
        {"unknown": "drop"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_read_graph__refuses_options_of_tables(folder: Path, options: Any) -> None:
    with pytest.raises(InputError, match="give such options to 'dsgrl store'"):
        read_graph(folder, **options)


def damage(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_open__refuses_an_unfinished_folder(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match="unfinished"):
        read_graph(folder)


@pytest.mark.parametrize("name", ["col.npy", "ids.arrow", "features.npy"])
def test_open__refuses_other_sizes(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1])
    with pytest.raises(InputError, match=f"{name} has .* bytes, expected"):
        read_graph(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        read_graph(folder)


def test_open__refuses_another_format(folder: Path) -> None:
    damage(folder, format_version=2)
    with pytest.raises(InputError, match=r"format 2, this one reads 1"):
        read_graph(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"num_nodes": 79},
        {"num_edges": 3},
        {"num_features": 1},
        {"files": 3},
        {"understood": {"level": "node"}},
        {"files": {}},
    ],
    ids=str,
)
def test_open__refuses_a_manifest_that_does_not_fit(
    folder: Path, changes: dict[str, Any]
) -> None:
    damage(folder, **changes)
    with pytest.raises(InputError, match="store the graph again"):
        read_graph(folder)


def test_open__refuses_half_a_manifest(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(InputError, match=r"manifest\.json: cannot be read"):
        read_graph(folder)


def test_verify__finds_one_changed_byte(folder: Path) -> None:
    stored = StoredGraph.open(folder)
    stored.manifest.verify(folder)
    content = bytearray((folder / "col.npy").read_bytes())
    content[-4] ^= 1
    (folder / "col.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"col\.npy is damaged"):
        stored.manifest.verify(folder)


OWN_MEMORY = """
import sys
import psutil
from dsgrl.datasets import read_graph
from dsgrl.graph import as_graph
own = lambda: psutil.Process().memory_full_info().uss
read_graph(sys.argv[1]), as_graph(read_graph(sys.argv[1]))
before = own()
graph = as_graph(read_graph(sys.argv[2]))
assert graph.num_nodes == 200_000
print(own() - before)
"""


@pytest.mark.slow
def test_open__takes_no_memory_of_its_own(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(200_000, size=(2, 2_000_000))
    pa.parquet.write_table(
        pa.table({"source": ends[0], "target": ends[1]}), tmp_path / "e.parquet"
    )
    x = rng.normal(size=(200_000, 16)).astype(np.float32)
    rows = pa.table({"id": np.arange(200_000), "features": as_lists(x)})
    pa.parquet.write_table(rows, tmp_path / "n.parquet")
    large = tmp_path / "large"
    manifest = store(tmp_path / "e.parquet", tmp_path / "n.parquet", large)
    size = sum(entry["bytes"] for entry in manifest.files.values())
    done = subprocess.run(
        [sys.executable, "-c", OWN_MEMORY, str(folder), str(large)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 0.05 * size
