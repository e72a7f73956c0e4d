"""Write docs/DIFFERENCES.md from the recorded result lines: `make readme`.

With `--measure`, record first what is missing of it in results/differences.jsonl: the
paper's recipe again, one thing changed each time, one fit at a time.
"""

import argparse
import logging
from pathlib import Path

from studies.differences.changes import Variant, affordable, plan
from studies.differences.gaps import Gap, find_gaps
from studies.differences.page import render_page
from studies.differences.variants import measure
from dsgrl.bench.lines import read_lines

ROOT = Path(__file__).parent.parent
# Result files that hold cells of `dsgrl bench nodes|graphs|hetero`.
FILES = ("nodes.jsonl", "graphs.jsonl", "hetero.jsonl")
VARIANTS = ROOT / "results" / "differences.jsonl"

logger = logging.getLogger("differences")


def render() -> str:
    """Return the page."""
    paths = [ROOT / "results" / name for name in FILES]
    gaps = find_gaps(read_lines(path for path in paths if path.exists()))
    return render_page(gaps, read_lines([VARIANTS]) if VARIANTS.exists() else [])


def record(options: argparse.Namespace) -> None:
    """Measure what is missing; a line per score."""

    def chosen(gap: Gap) -> list[Variant]:
        if options.fits is None:
            return affordable(gap)
        return [variant for variant in plan(gap) if variant.fit in options.fits]

    paths = [*(ROOT / "results" / name for name in FILES), *options.lines]
    gaps = find_gaps(read_lines(path for path in paths if path.exists()))
    if options.cells is not None:
        gaps = [gap for gap in gaps if f"{gap.dataset}/{gap.method}" in options.cells]
    for line in measure(
        gaps, results=options.results, chosen=chosen, on_start=logger.info
    ):
        logger.info("    %s: %.1f", line["variant"], line["mean"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="record what is missing")
    parser.add_argument(
        "--lines", type=Path, nargs="*", default=[], help="more files of result lines"
    )
    parser.add_argument("--cells", nargs="*", help="DATASET/METHOD; all if not given")
    parser.add_argument(
        "--fits", nargs="*", help="keys of FITS; if not given, what there is time for"
    )
    parser.add_argument("--results", type=Path, default=VARIANTS)
    options = parser.parse_args()
    if options.measure:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
        record(options)
    if options.results == VARIANTS:
        (ROOT / "docs" / "DIFFERENCES.md").write_text(render())
