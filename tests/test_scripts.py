from typing import Any

from loading import load_script

ASKED: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {"name": "b", "skip_reason": "not found"}
FAULTY: dict[str, Any] = {"name": "c", "version": "2", "vulns": [{"id": "X-1"}]}


def test_audit__says_that_nothing_was_looked_up() -> None:
    lines, code = load_script("audit").describe([SKIPPED, SKIPPED])
    assert code == 0
    assert len(lines) == 1
    assert "nothing was looked up" in lines[0]


def test_audit__counts_what_was_looked_up_and_fails_on_faults() -> None:
    describe = load_script("audit").describe
    assert describe([ASKED, SKIPPED]) == (
        ["audit: 1 packages looked up, 1 could not be looked up, 0 faults"],
        0,
    )
    lines, code = describe([ASKED, FAULTY])
    assert code == 1
    assert "c 2: X-1" in lines


def test_site__links_work_in_both_places() -> None:
    rewrite = load_script("site").rewrite_links
    page = "docs/RESULTS.md"
    text = "[a](../studies/pages/JOINING.md) [b](../results/nodes.jsonl) [c](gone.md)"
    assert rewrite(text, page) == "[a](studies/JOINING.md) b [c](gone.md)"
    back = rewrite("[r](../../docs/RESULTS.md#x)", "studies/pages/JOINING.md")
    assert back == "[r](../RESULTS.md#x)"
