"""Turns `Contents` into one HTML file."""

import base64
import hashlib
import importlib.resources
from html import escape
from pathlib import Path
from string import Template

from dsgrl.io.atomic import atomic_write, check_writable
from dsgrl.report.contents import Contents
from dsgrl.report.encode import encode_data
from dsgrl.report.layout import NUM_NEIGHBORS
from dsgrl.report.sections import (
    cluster_section,
    score_section,
    settings_section,
    spectrum_section,
    summary_section,
    training_section,
    views_section,
)
from dsgrl.report.sentences import count
from dsgrl.typing import InputError

# In the order in which they run, as one script.
SCRIPTS = ("data.js", "colours.js", "map.js", "table.js")


def check_page_path(path: Path) -> None:
    """Fail before any work is done if a page could not be written to `path`."""
    if path.suffix not in (".html", ".htm"):
        raise InputError(f"{path}: a page is one HTML file, expected a name in .html")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected a file name")
    check_writable(path.parent)


def write_page(path: Path, contents: Contents) -> int:
    """Write a page; it appears when complete. Return its size in bytes."""
    check_page_path(path)
    page = render(contents).encode("utf-8", "replace")
    with atomic_write(path) as part:
        part.write_bytes(page)
    return len(page)


def render(contents: Contents) -> str:
    """Return the page: style, script and data are part of it, it asks for nothing."""
    script = "\n".join(read_asset(name) for name in SCRIPTS)
    digest = hashlib.sha256(script.encode()).digest()
    data, left_out = encode_data(contents)
    sections = [
        summary_section(contents, _notes(contents, left_out)),
        _map_section(contents),
        cluster_section(contents),
        score_section(contents),
        training_section(contents),
        spectrum_section(contents),
        views_section(contents),
        settings_section(contents),
    ]
    return Template(read_asset("page.html")).substitute(
        # The browser runs this script and no other, whatever an id may contain.
        script_hash=f"sha256-{base64.b64encode(digest).decode()}",
        title=escape(contents.title),
        style=read_asset("page.css"),
        sections="\n".join(sections),
        version=escape(contents.versions.get("dsgrl", "")),
        data=data,
        script=script,
    )


def read_asset(name: str) -> str:
    """Read a part of the page that ships with the package."""
    file = importlib.resources.files("dsgrl.report") / "assets" / name
    return file.read_text(encoding="utf-8")


def _map_section(contents: Contents) -> str:
    has_types = any(column.name == "type" for column in contents.columns)
    types = (
        " Vectors of different types cannot be compared: each type has a map of its "
        "own, side by side."
    )
    return Template(read_asset("map.html")).substitute(
        count=escape(count(len(contents.ids), contents.what)),
        layout=escape(contents.layout),
        types=types if has_types else "",
    )


def _notes(contents: Contents, left_out: int) -> list[str]:
    notes = list(contents.notes)
    if contents.layout == "PCA" and len(contents.ids) > NUM_NEIGHBORS:
        notes.append(
            "The map shows the two main directions of the vectors only. With PaCMAP it "
            "shows neighbourhoods: pip install 'dsgrl[report]'."
        )
    if left_out:
        notes.append(
            f"{left_out} of {len(contents.feature_names)} feature columns are not in "
            f"this file: they are empty, or there was no room for them."
        )
    return notes
