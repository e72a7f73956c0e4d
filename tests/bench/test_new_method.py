"""A new method touches two files: its own, and the registry. The rest follows."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import dsgrl

ROOT = Path(__file__).parents[2]
METHOD = '''
"""Toy: a linear map of smoothed features that keeps their inner products."""

from typing import Any, ClassVar, Self

from torch import Tensor, nn

from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import COUNT, parameter
from dsgrl.typing import Level, LossTerms


class ToyMethod(Method):
    """One encoder whose columns are to have deviation 1."""

    class Config(FitConfig):
        """The parameters of the toy."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=8, search=(4, 16, "log")
        )

    summary: ClassVar[str] = "columns of deviation one"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder."""
        width = config.out_channels
        return cls(Encoder(spec.in_channels[0], width, width, num_layers=1))

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return how far the deviations are from one."""
        z = self.embed(batch)
        loss = (z.std(dim=0) - 1).square().mean()
        return LossTerms({"deviation": loss}, z=z.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the graph as it is [N, D]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        return z
'''


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the package and add a method as CONTRIBUTING says: two files."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "dsgrl"
    shutil.copytree(
        Path(dsgrl.__file__).parent,
        package,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (package / "methods" / "toy.py").write_text(METHOD.lstrip())
    registry = package / "methods" / "registry.py"
    text = registry.read_text()
    row = "METHODS: dict[str, type[Method]] = {\n"
    assert row in text
    text = text.replace(row, f'{row}    "toy": ToyMethod,\n')
    last = "from dsgrl.methods.dsgrl import DSGRLMethod\n"
    text = text.replace(last, f"{last}from dsgrl.methods.toy import ToyMethod\n")
    registry.write_text(text)
    return folder


def call(copied: Path, cwd: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copied), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_new_method__touches_two_files(copied: Path) -> None:
    here, there = Path(dsgrl.__file__).parent, copied / "dsgrl"
    files = {path.relative_to(there) for path in there.rglob("*") if path.is_file()}
    changed = {
        path.as_posix()
        for path in files
        if path.suffix != ".pyc"
        and (
            not (here / path).exists()
            or (here / path).read_bytes() != (there / path).read_bytes()
        )
    }
    assert changed == {"methods/toy.py", "methods/registry.py"}


@pytest.mark.slow
def test_new_method__is_listed(copied: Path, tmp_path: Path) -> None:
    listed = call(copied, tmp_path, "dsgrl", "list")
    assert "toy" in listed
    assert "random-toy" in listed


@pytest.mark.slow
def test_new_method__embeds_a_csv(copied: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    edges = "\n".join(f"{a},{b}" for a, b in rng.integers(0, 30, (90, 2)))
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}\n")
    out, model = tmp_path / "z.parquet", tmp_path / "model"
    options = ["--method", "toy", "--epochs", "2", "--dim", "6", "--model", str(model)]
    call(copied, tmp_path, "dsgrl", "embed", "edges.csv", "--out", str(out), *options)
    again = tmp_path / "again.parquet"
    call(
        copied,
        tmp_path,
        *("dsgrl", "transform", "edges.csv", "--out", str(again)),
        *("--model", str(model)),
    )
    one, two = (pq.read_table(path) for path in (out, again))
    vectors = [np.array(table["embedding"].to_pylist()) for table in (one, two)]
    assert vectors[0].shape == (one.num_rows, 6)
    np.testing.assert_allclose(*vectors, atol=1e-6)


@pytest.mark.slow
def test_new_method__is_benchmarked_with_its_controls(
    copied: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results.jsonl"
    call(
        copied,
        tmp_path,
        *("dsgrl", "bench", "nodes", "--datasets", "debian", "--methods", "toy"),
        *("--set", "epochs=1", "--in-process", "--results", str(results)),
    )
    lines = [json.loads(text) for text in results.read_text().splitlines()]
    assert [line["method"] for line in lines] == ["toy", "random-toy", "hops", "raw"]
    assert [line["epochs"] for line in lines] == [1, 0, 0, None]


@pytest.mark.slow
def test_new_method__is_tuned(copied: Path, tmp_path: Path) -> None:
    call(
        copied,
        tmp_path,
        *("dsgrl", "tune", "debian", "--method", "toy", "--trials", "1"),
        *("--set", "epochs=1"),
    )
    (recipe,) = tmp_path.rglob("*.toml")
    assert "out_channels = 8" in recipe.read_text()


@pytest.mark.slow
def test_new_method__is_tested_by_the_contract(copied: Path) -> None:
    collected = call(
        copied,
        ROOT,
        *("pytest", "--collect-only", "-q", "-p", "no:cacheprovider"),
        "tests/methods/test_contract.py",
    )
    for name in ("toy", "cca-ssg"):
        assert f"[{name}" in collected
    assert collected.count("[toy") == collected.count("[dgi")
