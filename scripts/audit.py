"""Looks up installed packages in a database of vulnerabilities (pip-audit).

pip-audit says "no known vulnerabilities" also if it could look up nothing, e.g. behind
an index without that database. Here the packages that were looked up are counted. Where
there is no database it says so in one line and exits with 0, so that a machine without
a network can run the same checks.
"""

import json
import subprocess
import sys
from typing import Any

COMMAND = ["-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner=off"]


def audit() -> int:
    """Print what was found; return 1 if there are vulnerabilities."""
    done = subprocess.run(
        [sys.executable, *COMMAND, "--format=json"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        sys.stdout.write(f"audit: nothing was looked up: {reason}\n")
        return 0
    lines, code = describe(packages)
    sys.stdout.write("\n".join(lines) + "\n")
    return code


def describe(packages: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Return lines and exit code for the packages in the output of pip-audit."""
    asked = [package for package in packages if "skip_reason" not in package]
    if not asked:
        return [
            f"audit: nothing was looked up: the database knows none of "
            f"{len(packages)} packages, or cannot be reached"
        ], 0
    found = [
        f"{package['name']} {package['version']}: {fault['id']}"
        for package in asked
        for fault in package["vulns"]
    ]
    left_out = len(packages) - len(asked)
    rest = f", {left_out} could not be looked up" if left_out else ""
    summary = f"audit: {len(asked)} packages looked up{rest}, {len(found)} faults"
    return [*found, summary], int(bool(found))


if __name__ == "__main__":
    sys.exit(audit())
