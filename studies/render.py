"""Computes the pages of `studies/pages` from the recorded lines: `make readme`.

A page is a template of `studies/templates` whose marks, like `<!-- tables -->`, are
replaced by tables.

example: python -m studies.render
"""

import argparse
import re
from collections.abc import Callable

from studies import (
    PAGES,
    TEMPLATES,
    ablations,
    choosing,
    columns,
    cures,
    differences,
    fit_time,
    generated,
    joining,
    learning,
    which_views,
)
from studies.kinds import KINDS

Tables = Callable[[], dict[str, str]]
TABLES: dict[str, Tables] = {
    "ABLATIONS.md": ablations.tables,
    "CHOOSING.md": choosing.tables,
    "COLUMNS.md": lambda: {"columns": columns.table()},
    "CURES.md": cures.tables,
    "DIFFERENCES.md": differences.tables,
    "JOINING.md": lambda: {
        **joining.tables(),
        "generated": generated.table(),
        "kinds": generated.table(KINDS),
        "time": fit_time.table(),
    },
    "LEARNING.md": learning.tables,
    "VIEWS.md": which_views.tables,
}


def render(name: str) -> str:
    """Return a page.

    Args:
        name: a key of `TABLES`.
    """
    tables = TABLES[name]()
    text = (TEMPLATES / name).read_text()
    # Comments such as "not run: takes hours" are for the tests of the page.
    marks = re.findall(r"^<!-- ([^:\n]+) -->$", text, re.MULTILINE)
    if sorted(marks) != sorted(tables):
        raise ValueError(f"{name}: marks {marks}, expected {list(tables)}")
    for mark, table in tables.items():
        text = text.replace(f"<!-- {mark} -->", table.strip("\n"))
    return text


def main() -> None:
    """Write every page and picture."""
    argparse.ArgumentParser(
        prog="python -m studies.render",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    for name in TABLES:
        (PAGES / name).write_text(render(name))
    for name, picture in learning.pictures().items():
        (PAGES / "pictures" / name).write_text(picture)


if __name__ == "__main__":
    main()
