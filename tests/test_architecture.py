"""The rooms and who may import whom, read from the source."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dsgrl"
FILES = sorted(SOURCE.rglob("*.py"))

# A room may import from rooms of a lower number, and from itself.
ORDER = {
    "allocator": 0,
    "typing": 0,
    "parameters": 1,
    "io": 1,
    "ranks": 1,
    "store": 1.5,
    "graph": 2,
    "datasets": 3,
    "encode": 4,
    "floor": 5,
    "losses": 4,
    "augment": 5,
    "methods": 6,
    "train": 7,
    "estimator": 8,
    "evaluation": 8,
    "explore": 9,
    "bench": 9,
    "demo": 10,
    "report": 10,
    "tune": 10,
    "cli": 11,
    "__main__": 12,
    "__init__": 12,
}
# Libraries that belong to some rooms only.
ONLY_IN = {
    "sklearn": (
        "evaluation",
        "estimator",
        "datasets/builtin",
        "graph/walks",
        "floor/projection",
        "explore/clusters",
        "io/text",
    ),
    "optuna": ("tune",),
    "networkx": ("io/networks",),
    "duckdb": ("store/database",),
    "pacmap": ("report/layout",),
    "fast_hdbscan": ("explore/clusters",),
    "typer": ("cli",),
    "torch_geometric.datasets": ("datasets/table",),
}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def place_of(path: Path) -> str:
    return str(path.relative_to(SOURCE).with_suffix(""))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(str(node.module))
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_allowed(room: str, name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "dsgrl" or len(parts) < 2 or parts[1] not in ORDER:
        return True
    return parts[1] == room or ORDER[parts[1]] < ORDER[room]


def test_source__every_room_is_in_the_order() -> None:
    assert {room_of(path) for path in FILES} <= ORDER.keys()


def test_imports__go_one_way() -> None:
    wrong = [
        f"{place_of(path)} imports {name}"
        for path in FILES
        for name in imports_of(path)
        if not is_allowed(room_of(path), name)
    ]
    assert wrong == []


def test_imports__libraries_stay_in_their_rooms() -> None:
    wrong = [
        f"{place_of(path)} imports {name}"
        for path in FILES
        for name in imports_of(path)
        for library, rooms in ONLY_IN.items()
        if f"{name}.".startswith(f"{library}.") and not place_of(path).startswith(rooms)
    ]
    assert wrong == []


def test_source__has_no_utils() -> None:
    names = {"utils", "helpers", "misc", "common", "manager"}
    assert [place_of(path) for path in FILES if path.stem in names] == []


def test_source__seeds_in_one_place() -> None:
    wrong = [
        place_of(path)
        for path in FILES
        if path.name != "seed.py"
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"manual_seed", "seed", "seed_everything"}
    ]
    assert wrong == []


def test_source__files_stay_small() -> None:
    limits = {"methods/dsgrl": 125}
    wrong = [
        place_of(path)
        for path in FILES
        if len(path.read_text().splitlines()) > limits.get(place_of(path), 350)
    ]
    assert wrong == []


def test_evaluation__imports_no_method() -> None:
    for path in (SOURCE / "evaluation").glob("*.py"):
        assert not any(
            "methods" in name or "train" in name for name in imports_of(path)
        )


@pytest.mark.parametrize("module", ["dsgrl", "dsgrl.cli"])
def test_import__is_quick_and_does_no_work(module: str) -> None:
    """Help and completion must not wait for torch."""
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_io__loads_no_torch() -> None:
    modules = ["dsgrl.io", "dsgrl.store"] + [
        f"dsgrl.{room}.{path.stem}"
        for room in ("io", "store")
        for path in sorted((SOURCE / room).glob("*.py"))
        if path.stem != "__init__"
    ]
    # All in one process: as soon as one loads torch, it is named.
    code = (
        "import importlib, sys\n"
        f"for name in {modules}:\n"
        "    importlib.import_module(name)\n"
        "    if {'torch', 'torch_geometric'} & set(sys.modules):\n"
        "        sys.exit(name)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_documents__every_module_has_a_docstring() -> None:
    missing = [p for p in FILES if ast.get_docstring(parse(p)) is None]
    assert missing == []
