"""Every command and code block of the pages runs, and prints what the page shows."""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from documents import ROOT, Block, read_blocks, run_block, run_commands, run_page
from loading import load_script

DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorials" / "own-data.md"
# Its examples are run with less training by test_docs.
README = ROOT / "README.md"
STUDIES = sorted((ROOT / "studies/pages").glob("*.md"))
PAGES = sorted(DOCS.rglob("*.md"))
EVERY = [README, ROOT / "CONTRIBUTING.md", *PAGES, *STUDIES]
# How many blocks are not run, and have a reason instead.
NOT_RUN = {
    "README.md": 1,
    "CONTRIBUTING.md": 1,
    "docs/howto/install.md": 2,
    "docs/RESULTS.md": 1,
    "studies/pages/ABLATIONS.md": 1,
    "studies/pages/CHOOSING.md": 1,
    "studies/pages/COLUMNS.md": 1,
    "docs/SCALING.md": 4,
    "docs/SPEED.md": 1,
}
COMMAND = re.compile(r"^\s*(dsgrl|make|python|pip|uv) \w", re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def to_run(path: Path) -> list[Block]:
    blocks = read_blocks(path)
    return [b for b in blocks if b.language != "text" and not b.reason]


RUNNABLE = [path for path in PAGES if to_run(path)]


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the tutorial, which other pages use."""
    folder = tmp_path_factory.mktemp("tables")
    with contextlib.chdir(folder):
        run_block(read_blocks(TUTORIAL)[0], TUTORIAL.name)
        embed = "dsgrl embed edges.csv --nodes nodes.csv --label team"
        list(run_commands(f"{embed} --epochs 5 -o z.parquet --model model"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_page__runs_from_top_to_bottom(
    page: Path, tables: Path, tmp_path: Path
) -> None:
    if page.parent.name == "howto" or page.name == "ARCHITECTURE.md":
        shutil.copytree(tables, tmp_path, dirs_exist_ok=True)
    assert run_page(page, tmp_path) == len(to_run(page)) > 0


@pytest.mark.parametrize("page", EVERY, ids=name_of)
def test_page__blocks_that_are_not_run_have_a_reason(page: Path) -> None:
    blocks = read_blocks(page)
    reasons = [block.reason for block in blocks if block.reason]
    assert len(reasons) == NOT_RUN.get(name_of(page), 0)
    for block in blocks:
        if block.language == "text" and not block.follows:
            assert not COMMAND.search(block.source), block.source


def test_pages__other_documents_have_no_blocks_to_run() -> None:
    for page in (ROOT / "CONTRIBUTING.md", *STUDIES):
        assert to_run(page) == [], page


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page__opens_with_its_answer(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert lines[0].startswith("# ")
    first = lines[2 : lines.index("", 2)]
    assert 1 <= len(first) <= 6
    assert not first[0].startswith(("#", "|", "!", "`" * 3))


def test_run_page__sees_a_wrong_output_and_a_failing_command(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="line 5"):
        run_page(page, tmp_path)
    page.write_text("```bash\ndsgrl embed gone.csv -o z.npy\n```\n")
    with pytest.raises(AssertionError, match="no such file"):
        run_page(page, tmp_path)
    page.write_text("```bash\nfalse\n```\n")
    with pytest.raises(AssertionError, match="line 1"):
        run_page(page, tmp_path)
    page.write_text("<!-- not run: no reason -->\n```bash\nfalse\n```\n")
    assert run_page(page, tmp_path) == 0
    page.write_text("```\nfalse\n```\n")
    with pytest.raises(AssertionError, match="blocks of"):
        read_blocks(page)


@pytest.mark.slow
def test_site__builds_without_a_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("zensical")
    load_script("site").assemble(tmp_path / "build" / "docs")
    shutil.copyfile(ROOT / "mkdocs.yml", tmp_path / "mkdocs.yml")
    (tmp_path / "src").symlink_to(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", "mkdocs.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = {p.relative_to(tmp_path / "site") for p in tmp_path.rglob("*.html")}
    assert {p.relative_to(DOCS).with_suffix(".html") for p in PAGES} <= written
    assert Path("studies/LEARNING.html") in written
    reference = (tmp_path / "site" / "reference.html").read_text()
    assert "random_state" in reference
    assert "https://fonts" not in reference
