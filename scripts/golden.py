"""Rewrite the golden values of the tests: `make golden`; review the difference."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parent.parent / "tests"


def load(path: Path) -> ModuleType:
    """Import a test file by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Compute every golden value anew and write it."""
    # The tests share a module of samples.
    sys.path.insert(0, str(TESTS))
    files = {
        "objective": TESTS / "losses/test_objective.py",
        "methods": TESTS / "test_golden.py",
    }
    for name, path in files.items():
        target = TESTS / "golden" / f"{name}.json"
        if not target.exists():
            target.write_text("{}")
        values = load(path).golden_values()
        target.write_text(json.dumps(values, indent=2) + "\n")
        sys.stderr.write(f"{target}: {len(values)} values\n")


if __name__ == "__main__":
    main()
