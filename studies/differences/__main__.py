"""Where our numbers differ from the paper's, and what explains it.

With `--measure`, record what is missing: the paper's recipe again, one thing changed
each time, one fit at a time. Without it, list the cells that differ.

example: python -m studies.differences --measure --cells photo/random-f
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from dsgrl.allocator import retain_heap
from dsgrl.bench.lines import read_lines
from studies.differences import BENCH_FILES, FILE
from studies.differences.changes import Variant, affordable, plan
from studies.differences.gaps import Gap, find_gaps
from studies.differences.variants import measure

logger = logging.getLogger("differences")


def main(arguments: Sequence[str] | None = None) -> None:
    """Record what is missing, or list what there is to explain."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.differences",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--measure", action="store_true", help="record what is missing")
    parser.add_argument(
        "--lines", type=Path, nargs="*", default=[], help="more files of result lines"
    )
    parser.add_argument("--cells", nargs="*", help="DATASET/METHOD; all by default")
    parser.add_argument(
        "--fits", nargs="*", help="keys of FITS; by default those that take little time"
    )
    parser.add_argument("--results", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    gaps = find_gaps(read_lines([*BENCH_FILES, *options.lines]))
    if options.cells is not None:
        gaps = [gap for gap in gaps if f"{gap.dataset}/{gap.method}" in options.cells]

    def choose(gap: Gap) -> list[Variant]:
        if options.fits is None:
            return affordable(gap)
        return [variant for variant in plan(gap) if variant.fit in options.fits]

    if not options.measure:
        for gap in gaps:
            logger.info("%s %s: %+.1f", gap.place, gap.method, gap.points)
        return
    retain_heap()
    for line in measure(gaps, results=options.results, chosen=choose):
        logger.info("    %s: %.1f", line["variant"], line["mean"])


if __name__ == "__main__":
    main()
