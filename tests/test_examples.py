"""The scripts and the notebook of `examples/` run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# What the last line of every script has to say.
LAST_LINES = {
    "own_csv": r"unseen: \(1, 256\)",
    "several_types": r"topic of a paper from its vector: \d+\.\d \+- \d+\.\d %",
    "whole_graphs": r"DSGRL: \d+\.\d \+- \d+\.\d %",
    "resume": "the same bits: True",
    "own_encoder": "same: True",
    "new_method": r"\(5685, 64\)",
}
NOTEBOOK = EXAMPLES / "explore.ipynb"


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_examples__all_are_tested_and_listed() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == LAST_LINES.keys()
    listed = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.iterdir():
        assert path.name == "README.md" or f"({path.name})" in listed, path


@pytest.mark.slow
@pytest.mark.parametrize("name", LAST_LINES)
def test_example__runs(name: str, tmp_path: Path) -> None:
    # PyG still scripts some classes at import.
    out = run(
        ["-W", "ignore::DeprecationWarning", str(EXAMPLES / f"{name}.py")], tmp_path
    )
    assert re.fullmatch(LAST_LINES[name], out.splitlines()[-1]), out


def test_notebook__has_no_output() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.slow
def test_notebook__cells_run_in_order(tmp_path: Path) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    assert len(sources) > 4
    run(["-W", "ignore::DeprecationWarning", "-c", "\n".join(sources)], tmp_path)
    assert (tmp_path / "page.html").stat().st_size > 10_000
