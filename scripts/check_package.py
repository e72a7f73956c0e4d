"""Installs the built wheel into a new environment and tries it.

The environment sees the packages of this one, so that torch is not fetched again; our
own package comes from the wheel.
"""

import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRY = """
import dsgrl, pathlib, sys
assert pathlib.Path(dsgrl.__file__).is_relative_to(sys.prefix), dsgrl.__file__
assert (pathlib.Path(dsgrl.__file__).parent / "py.typed").is_file()
"""


def check(dist: Path) -> None:
    """Try the one wheel and the one source archive of a folder."""
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = {"README.md", "LICENSE", "pyproject.toml", "src/dsgrl/py.typed"} - names
    assert not missing, f"{source}: lacks {missing}"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "new"
        venv.create(place, with_pip=True)
        python = place / "bin" / "python"
        (packages,) = place.glob("lib/python*/site-packages")
        (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
        install = [python, "-m", "pip", "install", "--quiet"]
        _run([*install, "--no-deps", "--ignore-installed", wheel], folder)
        _run([python, "-c", TRY], folder)
        _run([place / "bin" / "dsgrl", "--help"], folder)
        embed = ["embed", "debian", "--method", "hops", "-o", "z.parquet", "--quiet"]
        _run([place / "bin" / "dsgrl", *embed], folder)
        _run([*install, "--dry-run", f"{wheel}[report]"], folder)
    sys.stdout.write(f"{wheel.name} and {source.name}: installed and tried\n")


def _run(command: list[str | Path], folder: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


if __name__ == "__main__":
    check(ROOT / "dist" if len(sys.argv) < 2 else Path(sys.argv[1]).resolve())
