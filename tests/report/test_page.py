import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dsgrl.report.charts import histogram, line_chart, short
from dsgrl.report.contents import LearnedViews
from dsgrl.report.page import check_page_path, read_asset, render, write_page
from dsgrl.typing import InputError
from report.pages import NASTY, make_contents

VOID = {"meta", "input", "br", "line", "rect", "circle", "polyline", "img"}


class Reader(HTMLParser):
    """Collects elements, attributes and text; checks that elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        self.text[inside] = self.text.get(inside, "") + data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_page__asks_for_nothing() -> None:
    page = render(make_contents())
    found = read(page)
    names = {name for name, _ in found.attributes}
    assert names.isdisjoint({"src", "href", "srcset", "action", "data", "poster"})
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttp|import\(", page)
    assert "default-src 'none'" in page


def test_page__runs_its_own_script_and_no_other() -> None:
    page = render(make_contents())
    allowed = re.findall(r"script-src '([^']+)'", page)
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert allowed == [f"sha256-{digest}"]
    assert not any(name.startswith("on") for name, _ in read(page).attributes)


def test_page__ids_and_labels_are_text() -> None:
    found = read(render(make_contents()))
    assert found.tags.count("script") == 2
    assert {"img", "b", "i", "x", "term", "name"} & set(found.tags) <= {"b"}
    assert found.tags.count("style") == 1
    # A cluster's most central id is shown as it is.
    assert NASTY[0] in found.text["bdi"]
    assert "Embedding of <b>nodes</b> & links" in found.text["h1"]


def test_page__says_everything_in_text() -> None:
    page = render(make_contents())
    text = " ".join(" ".join(read(page).text.values()).split())
    for part in (
        "Two.",
        "third & last",
        "70.2",
        "epoch 12",
        "2 of 3 directions have 90 %",
        "10 edges were learned; 6 of them (60 %) are new",
        "alike to 40 %",
        "dsgrl embed 'my edges.csv' -o z.parquet",
        "Seed 0",
    ):
        assert part in text
    assert page.count("aria-label=") >= 6


def test_page__what_is_not_there_is_said() -> None:
    empty = {"history": [], "scores": [], "scored": "", "views": None, "epoch": None}
    text = " ".join(read(render(make_contents(**empty))).text.values())
    assert "There are no labels" in text
    assert "No training was recorded" in text
    assert "No model was given" in text
    plain = make_contents(views=LearnedViews("The second view has single nodes."))
    assert "Nothing was learned for the views" in render(plain)


def test_page__every_element_the_script_asks_for_is_there() -> None:
    names = ("data.js", "colours.js", "map.js", "table.js")
    script = "".join(read_asset(name) for name in names)
    asked = set(re.findall(r'\bat\("([\w-]+)"\)', script))
    given = {value for name, value in read(render(make_contents())).attributes}
    assert len(asked) > 10
    assert asked <= given


def test_page__notes_on_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsgrl.report.encode.FEATURE_BYTES", 0)
    contents = dataclasses.replace(make_contents(), layout="PCA", notes=["<Beware>"])
    page = render(contents)
    assert "&lt;Beware&gt;" in page
    assert "8 of 8 feature columns are not in this file" in page
    assert "dsgrl[report]" in page


def test_write__appears_complete_and_refuses_other_names(tmp_path: Path) -> None:
    path = tmp_path / "my page.html"
    size = write_page(path, make_contents())
    assert path.stat().st_size == size
    assert [file.name for file in tmp_path.iterdir()] == ["my page.html"]
    with pytest.raises(InputError, match=r"expected a name in \.html"):
        check_page_path(tmp_path / "page.txt")


def test_charts__are_inside_their_box_whatever_the_numbers() -> None:
    cases = ([1.0], [2.0, 2.0], [float("nan"), 1.0, 3.0], [1e-9, 5e8], [-3.0, -1.0])
    for y in cases:
        chart = line_chart("t", list(range(len(y))), y, mark=0)
        numbers = re.findall(r'points="([^"]+)"', chart)
        for point in " ".join(numbers).split():
            a, b = map(float, point.split(","))
            assert 0 <= a <= 320
            assert 0 <= b <= 170
    assert line_chart("t", [1], [float("nan")]) == ""
    assert line_chart("t", [1, 2], [0, -1], is_log=True) == ""
    assert histogram("t", make_contents().spectrum, "x").count("<rect") == 24


def test_charts__long_lines_are_thinned_and_keep_their_end() -> None:
    chart = line_chart("t", list(range(10_001)), [float(i) for i in range(10_001)])
    points = re.findall(r'points="([^"]+)"', chart)[0].split()
    assert len(points) <= 402
    assert points[-1].startswith("310.0,12.0")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.12345, "0.123"), (12345, "12,345"), (1e-5, "1.0e-05")],
)
def test_short(value: float, text: str) -> None:
    assert short(value) == text
