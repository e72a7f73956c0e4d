"""Take the pictures of the page for the documents.

    dsgrl demo --report demo/report.html
    python scripts/page_pictures.py demo/report.html

Needs the extra `dev` and chromium. Writes docs/page/*.png: wide and on a phone, light
and dark, from the summary to the legend.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent.parent / "docs" / "page"
CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZES = {"wide": (1280, 1240), "phone": (390, 1380)}


def main(page_path: Path) -> None:
    """Open the page in each form and keep what is seen first."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        for name, (width, height) in SIZES.items():
            for theme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=theme,
                    offline=True,
                )
                page = context.new_page()
                page.goto(page_path.resolve().as_uri())
                page.wait_for_selector("html[data-ready]")
                page.wait_for_function("!isQueued")
                target = FOLDER / f"{name}-{theme}.png"
                page.screenshot(path=target)
                sys.stderr.write(f"{target}: {target.stat().st_size / 1e3:.0f} KB\n")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
