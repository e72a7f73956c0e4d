"""The page in a browser: opened from disk, without a network."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsgrl.report.page import write_page
from report.pages import NASTY, make_contents

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {"desk": (1280, 900), "phone": (390, 844)}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no chromium found (Debian: apt install chromium)"
    ),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pages") / "my page.html"
    write_page(file, make_contents())
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    tools = pytest.importorskip("playwright.sync_api")
    with tools.sync_playwright() as tool:
        found = tool.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield found
        found.close()


class Opened:
    """A page that was opened, what it wrote to the console and what it asked for."""

    def __init__(self, browser: Any, path: Path, size: str, theme: str) -> None:
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            offline=True,
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def place(self, row: int) -> tuple[float, float]:
        """Return where a row is on the screen, in pixels."""
        x, y = self.page.evaluate(
            """(i) => { const box = stage.getBoundingClientRect();
            return [box.left + px(i) / dense, box.top + py(i) / dense]; }""",
            row,
        )
        return x, y

    def evaluate(self, code: str) -> Any:
        return self.page.evaluate(code)

    def text(self, selector: str) -> str:
        found: str = self.page.inner_text(selector)
        return found


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    found = Opened(browser, path, "desk", "light")
    found.page.locator("#map").scroll_into_view_if_needed()
    yield found
    assert found.said == []
    found.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_page__opens_alone_fits_and_is_accessible(
    browser: Any, path: Path, size: str, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = Opened(browser, path, size, theme)
    assert found.said == []
    assert found.asked == [path.as_uri()]
    assert found.evaluate("window.broken") is None
    wide = found.evaluate("document.documentElement.scrollWidth")
    assert wide <= SIZES[size][0]
    # With a point selected its panel is filled.
    found.evaluate("select(12)")
    faults = [
        (each["id"], each["impact"], each["nodes"][0]["html"][:120])
        for each in axe.run(found.page).response["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert faults == []
    found.context.close()


def test_hover__shows_id_label_and_neighbours(opened: Opened) -> None:
    for row in (0, 20, 41):
        opened.page.mouse.move(*opened.place(row))
        tip = opened.evaluate("document.getElementById('tip').textContent")
        shown = opened.evaluate(f"hovered === {row}")
        if shown:
            break
    assert shown
    contents = make_contents()
    assert tip.startswith(contents.ids[row])
    assert "label: " in tip
    assert contents.ids[(row + 3) % 60] in tip
    assert opened.page.locator("#tip *").count() == 4
    opened.page.mouse.move(2, 2)
    assert not opened.page.locator("#tip").is_visible()


def test_search__filters_map_and_table(opened: Opened) -> None:
    opened.page.fill("#search", "NODE-4")
    assert opened.text("#found") == "10 found"
    assert opened.evaluate("isLit.reduce((a, b) => a + b)") == 10
    assert opened.page.locator("#rows tbody tr").count() == 10
    opened.page.press("#search", "Enter")
    assert opened.text("#details b") == "node-40"
    # An id as a whole comes before longer ones that contain it.
    opened.evaluate("texts[49] = 'node-4'")
    opened.page.press("#search", "Enter")
    assert opened.evaluate("selected") == 49
    opened.page.fill("#search", "no such thing")
    assert opened.text("#place") == "no match"
    opened.page.fill("#search", "")
    assert opened.evaluate("isLit.reduce((a, b) => a + b)") == 60


def test_search__finds_nasty_ids_as_text(opened: Opened) -> None:
    for text in NASTY:
        wanted = text.split("\n")[0].strip()
        if not wanted:
            continue
        opened.page.fill("#search", wanted)
        assert opened.evaluate("listed.length") >= 1, wanted
        opened.page.press("#search", "Enter")
        shown = opened.evaluate("document.querySelector('#details b').textContent")
        assert wanted in shown
    assert opened.evaluate("window.broken") is None


def test_colour__by_every_column(opened: Opened) -> None:
    names = opened.page.locator("#colour option").all_inner_texts()
    assert names[:5] == ["cluster", "label", "degree", "age", "word 0"]
    seen = set()
    for number in range(len(names)):
        opened.page.select_option("#colour", str(number))
        seen.add(tuple(opened.evaluate("[...paint]")))
        legend = opened.text("#legend")
        assert legend.strip()
    assert len(seen) == len(names)
    opened.page.select_option("#colour", "1")
    assert re.split(r"\s*\n\s*", opened.text("#legend"))[:2] == ["b", "30"]
    assert "unknown" in opened.text("#legend")
    opened.page.select_option("#colour", "3")
    assert "Grey: unknown (20)" in opened.text("#legend")


def test_legend__a_category_is_shown_by_itself(opened: Opened) -> None:
    button = opened.page.locator("#legend button").nth(1)
    button.click()
    assert opened.evaluate("isLit.reduce((a, b) => a + b)") == 20
    pressed = opened.page.locator("#legend button[aria-pressed=true]")
    assert pressed.count() == 1
    pressed.click()
    assert opened.evaluate("isLit.reduce((a, b) => a + b)") == 60


def test_keyboard__selects_moves_and_zooms(opened: Opened) -> None:
    opened.page.focus("#board")
    opened.page.keyboard.press("ArrowRight")
    first = opened.evaluate("selected")
    assert first >= 0
    opened.page.keyboard.press("ArrowRight")
    second = opened.evaluate("selected")
    assert opened.place(second)[0] > opened.place(first)[0]
    opened.page.keyboard.press("+")
    assert opened.evaluate("view.scale") == pytest.approx(1.4)
    before = opened.place(second)[0]
    opened.page.keyboard.press("Shift+ArrowRight")
    assert opened.place(second)[0] == pytest.approx(before - 60, abs=2)
    opened.page.keyboard.press("0")
    assert opened.evaluate("view.scale") == 1
    opened.page.keyboard.press("Escape")
    assert opened.evaluate("selected") == -1


def test_mouse__click_selects_wheel_zooms_drag_moves(opened: Opened) -> None:
    x, y = opened.place(31)
    opened.page.mouse.click(x, y)
    chosen = opened.evaluate("selected")
    assert chosen >= 0
    opened.page.mouse.wheel(0, -240)
    opened.page.wait_for_function("view.scale > 1")
    # What is under the mouse stays there.
    assert opened.place(31) == pytest.approx((x, y), abs=2)
    opened.page.mouse.down()
    opened.page.mouse.move(x + 40, y + 30, steps=4)
    opened.page.mouse.up()
    assert opened.place(31) == pytest.approx((x + 40, y + 30), abs=2)
    assert opened.evaluate("selected") == chosen
    link = opened.page.locator("#details li button").first
    name = link.inner_text()
    link.click()
    assert opened.text("#details b") == name


def test_table__sorts_pages_and_selects(opened: Opened) -> None:
    assert opened.text("#place") == "1 to 25 of 60"
    opened.page.click("#next")
    assert opened.text("#place") == "26 to 50 of 60"
    head = opened.page.locator("#rows th", has_text="degree")
    head.locator("button").click()
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    top = opened.page.locator("#rows tbody tr").first
    assert top.locator("td").nth(3).inner_text() == "59"
    top.locator("button").click()
    assert opened.text("#details b") == "node-59"


def test_theme__switches_and_points_follow(opened: Opened) -> None:
    before = opened.evaluate("[paint[0], inks.back]")
    opened.page.click("#theme")
    assert opened.evaluate("document.documentElement.dataset.theme") == "dark"
    after = opened.evaluate("[paint[0], inks.back]")
    assert after[0] != before[0]
    assert sum(after[1]) < sum(before[1])


def test_map__has_ink_where_points_are(opened: Opened) -> None:
    opened.page.wait_for_function("!isQueued")
    hit = opened.evaluate(
        """[...ids.keys()].filter((i) => pixels[Math.round(py(i)) * wide +
        Math.round(px(i))] !== pixel(inks.back)).length"""
    )
    assert hit == 60
