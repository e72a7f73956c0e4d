"""Explain, by measurement, where the paper's recipe misses the paper's numbers.

`python scripts/differences.py` writes docs/DIFFERENCES.md from the recorded lines
(`make readme`); with `--measure` it first records what is missing, one fit at a time.
"""

import argparse
import logging
from pathlib import Path

from dsgrl.bench.differences import find_gaps
from dsgrl.bench.lines import read_lines
from dsgrl.bench.variants import measure

ROOT = Path(__file__).parent.parent
FILES = ("nodes.jsonl", "graphs.jsonl", "hetero.jsonl")
logger = logging.getLogger("differences")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--lines", type=Path, nargs="*", default=[])
    parser.add_argument("--results", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    paths = [ROOT / "results" / name for name in FILES] + options.lines
    gaps = find_gaps(read_lines(p for p in paths if p.exists()))
    for gap in gaps:
        logger.info("%s %s %s %.1f %.1f %+.1f (%s s)", gap.dataset, gap.method, gap.title, gap.ours, gap.paper, gap.points, gap.line["fit_seconds"])
    if options.only:
        gaps = [g for g in gaps if f"{g.dataset}/{g.method}" in options.only]
    if options.measure:
        for line in measure(gaps, results=options.results, on_start=logger.info):
            logger.info("   %s: %.1f (val %.1f) %.1fs", line["variant"], line["mean"], line["val_mean"], line["fit_seconds"])
