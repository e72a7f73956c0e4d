"""The pages are those of the recorded lines."""

import pytest

from studies import PAGES, learning
from studies.render import TABLES, render


@pytest.mark.parametrize("name", TABLES)
def test_pages__are_those_of_the_recorded_lines(name: str) -> None:
    assert (PAGES / name).read_text() == render(name)


def test_pages__every_page_is_computed() -> None:
    assert {path.name for path in PAGES.glob("*.md")} == TABLES.keys()


@pytest.mark.slow
def test_pictures__are_those_of_the_recorded_lines() -> None:
    for name, picture in learning.pictures().items():
        assert (PAGES / "pictures" / name).read_text() == picture


@pytest.mark.parametrize("name", TABLES)
def test_pages__open_with_three_to_five_lines(name: str) -> None:
    title, answer, *_ = render(name).split("\n\n")
    assert title.startswith("# ")
    assert 3 <= len(answer.splitlines()) <= 5


def test_render__a_mark_without_a_table_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "CURES.md", lambda: {"other": ""})
    with pytest.raises(ValueError, match="CURES"):
        render("CURES.md")
