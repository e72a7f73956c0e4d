"""Puts the pages of the site together: `build/docs`, from which `make docs` builds it.

The pages of `studies/pages` stay where they are and appear as `studies/NAME.md` of the
site. Links work in the repository; in the copies they are rewritten for the site. A
link to a file that is no page, such as a file of results, becomes its name.
"""

import posixpath
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "docs"
# Where folders of the repository are on the site.
PLACES = {"docs": "", "studies/pages": "studies/"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")


def assemble(out: Path = OUT) -> None:
    """Write the pages, pictures and figures of the site to a folder."""
    shutil.rmtree(out, ignore_errors=True)
    for folder, place in PLACES.items():
        for path in sorted((ROOT / folder).rglob("*")):
            if not path.is_file():
                continue
            copy = out / place / path.relative_to(ROOT / folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".md":
                name = path.relative_to(ROOT).as_posix()
                copy.write_text(rewrite_links(path.read_text(), name))
            else:
                shutil.copyfile(path, copy)


def rewrite_links(text: str, name: str) -> str:
    """Rewrite the links of a page for the site.

    Args:
        text: of the page.
        name: its path in the repository.
    """
    here = posixpath.dirname(_place_of(name) or name) or "."

    def rewrite(found: re.Match[str]) -> str:
        mark, words, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        place = _place_of(path)
        if place is not None:
            return f"{mark}[{words}]({posixpath.relpath(place, here)}{anchor or ''})"
        # A link that leads nowhere is left as it is: the strict build fails on it.
        return words if (ROOT / path).exists() else found.group(0)

    return LINK.sub(rewrite, text)


def _place_of(path: str) -> str | None:
    """Return where a file of the repository is on the site, if it is there."""
    for folder, place in PLACES.items():
        if path.startswith(f"{folder}/") and (ROOT / path).is_file():
            return place + path.removeprefix(f"{folder}/")
    return None


if __name__ == "__main__":
    assemble()
